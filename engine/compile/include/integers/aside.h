// CUDA's headers say long long to NVRTC for 64 bits: their names stand aside until back.h.
#define int64_t _nvrtc_int64_t
#define uint64_t _nvrtc_uint64_t
#define int_fast64_t _nvrtc_int_fast64_t
#define uint_fast64_t _nvrtc_uint_fast64_t
#define int_least64_t _nvrtc_int_least64_t
#define uint_least64_t _nvrtc_uint_least64_t
#define intptr_t _nvrtc_intptr_t
#define uintptr_t _nvrtc_uintptr_t
#define intmax_t _nvrtc_intmax_t
#define uintmax_t _nvrtc_uintmax_t

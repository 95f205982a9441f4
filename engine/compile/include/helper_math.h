// Operators and functions of small vectors, as kernels know them from the header of this name that CUDA's samples have.
// Written for this project: the names are the samples', the text is not.
#pragma once

#define VECTOR_OPERATOR2(V, S, OP)                                                                            \
    inline __device__ V operator OP(V a, V b) { return make_##V(a.x OP b.x, a.y OP b.y); }                    \
    inline __device__ V operator OP(V a, S b) { return make_##V(a.x OP b, a.y OP b); }                        \
    inline __device__ V operator OP(S a, V b) { return make_##V(a OP b.x, a OP b.y); }                        \
    VECTOR_ASSIGNMENT(V, S, OP)
#define VECTOR_OPERATOR3(V, S, OP)                                                                            \
    inline __device__ V operator OP(V a, V b) { return make_##V(a.x OP b.x, a.y OP b.y, a.z OP b.z); }        \
    inline __device__ V operator OP(V a, S b) { return make_##V(a.x OP b, a.y OP b, a.z OP b); }              \
    inline __device__ V operator OP(S a, V b) { return make_##V(a OP b.x, a OP b.y, a OP b.z); }              \
    VECTOR_ASSIGNMENT(V, S, OP)
#define VECTOR_OPERATOR4(V, S, OP)                                                                            \
    inline __device__ V operator OP(V a, V b) { return make_##V(a.x OP b.x, a.y OP b.y, a.z OP b.z, a.w OP b.w); } \
    inline __device__ V operator OP(V a, S b) { return make_##V(a.x OP b, a.y OP b, a.z OP b, a.w OP b); }    \
    inline __device__ V operator OP(S a, V b) { return make_##V(a OP b.x, a OP b.y, a OP b.z, a OP b.w); }    \
    VECTOR_ASSIGNMENT(V, S, OP)
#define VECTOR_ASSIGNMENT(V, S, OP)                                                                           \
    inline __device__ void operator OP##=(V &a, V b) { a = a OP b; }                                          \
    inline __device__ void operator OP##=(V &a, S b) { a = a OP b; }

#define VECTOR_OPERATORS(C, S)                                                                                \
    VECTOR_OPERATOR2(C##2, S, +) VECTOR_OPERATOR2(C##2, S, -)                                                 \
    VECTOR_OPERATOR2(C##2, S, *) VECTOR_OPERATOR2(C##2, S, /)                                                 \
    VECTOR_OPERATOR3(C##3, S, +) VECTOR_OPERATOR3(C##3, S, -)                                                 \
    VECTOR_OPERATOR3(C##3, S, *) VECTOR_OPERATOR3(C##3, S, /)                                                 \
    VECTOR_OPERATOR4(C##4, S, +) VECTOR_OPERATOR4(C##4, S, -)                                                 \
    VECTOR_OPERATOR4(C##4, S, *) VECTOR_OPERATOR4(C##4, S, /)

// From one number, and from a vector of another length or type.
#define VECTOR_MAKERS(C, S)                                                                                   \
    inline __device__ C##2 make_##C##2(S s) { return make_##C##2(s, s); }                                     \
    inline __device__ C##2 make_##C##2(C##3 a) { return make_##C##2(a.x, a.y); }                              \
    inline __device__ C##3 make_##C##3(S s) { return make_##C##3(s, s, s); }                                  \
    inline __device__ C##3 make_##C##3(C##2 a) { return make_##C##3(a.x, a.y, (S)0); }                        \
    inline __device__ C##3 make_##C##3(C##2 a, S s) { return make_##C##3(a.x, a.y, s); }                      \
    inline __device__ C##3 make_##C##3(C##4 a) { return make_##C##3(a.x, a.y, a.z); }                         \
    inline __device__ C##4 make_##C##4(S s) { return make_##C##4(s, s, s, s); }                               \
    inline __device__ C##4 make_##C##4(C##3 a) { return make_##C##4(a.x, a.y, a.z, (S)0); }                   \
    inline __device__ C##4 make_##C##4(C##3 a, S w) { return make_##C##4(a.x, a.y, a.z, w); }
#define VECTOR_CONVERSIONS(C, S, D)                                                                           \
    inline __device__ C##2 make_##C##2(D##2 a) { return make_##C##2((S)a.x, (S)a.y); }                        \
    inline __device__ C##3 make_##C##3(D##3 a) { return make_##C##3((S)a.x, (S)a.y, (S)a.z); }                \
    inline __device__ C##4 make_##C##4(D##4 a) { return make_##C##4((S)a.x, (S)a.y, (S)a.z, (S)a.w); }

// A function of numbers, number by number.
#define VECTOR_FUNCTION(C, NAME, EACH)                                                                        \
    inline __device__ C##2 NAME(C##2 a) { return make_##C##2(EACH(a.x), EACH(a.y)); }                         \
    inline __device__ C##3 NAME(C##3 a) { return make_##C##3(EACH(a.x), EACH(a.y), EACH(a.z)); }              \
    inline __device__ C##4 NAME(C##4 a) { return make_##C##4(EACH(a.x), EACH(a.y), EACH(a.z), EACH(a.w)); }
#define VECTOR_FUNCTION_OF_TWO(C, NAME, EACH)                                                                 \
    inline __device__ C##2 NAME(C##2 a, C##2 b) { return make_##C##2(EACH(a.x, b.x), EACH(a.y, b.y)); }       \
    inline __device__ C##3 NAME(C##3 a, C##3 b) {                                                             \
        return make_##C##3(EACH(a.x, b.x), EACH(a.y, b.y), EACH(a.z, b.z));                                   \
    }                                                                                                         \
    inline __device__ C##4 NAME(C##4 a, C##4 b) {                                                             \
        return make_##C##4(EACH(a.x, b.x), EACH(a.y, b.y), EACH(a.z, b.z), EACH(a.w, b.w));                   \
    }
#define VECTOR_CLAMP(C, S, LEAST, MOST)                                                                       \
    inline __device__ S clamp(S v, S a, S b) { return MOST(a, LEAST(v, b)); }                                 \
    inline __device__ C##2 clamp(C##2 v, C##2 a, C##2 b) { return MOST(a, LEAST(v, b)); }                     \
    inline __device__ C##3 clamp(C##3 v, C##3 a, C##3 b) { return MOST(a, LEAST(v, b)); }                     \
    inline __device__ C##4 clamp(C##4 v, C##4 a, C##4 b) { return MOST(a, LEAST(v, b)); }                     \
    inline __device__ C##2 clamp(C##2 v, S a, S b) { return clamp(v, make_##C##2(a), make_##C##2(b)); }       \
    inline __device__ C##3 clamp(C##3 v, S a, S b) { return clamp(v, make_##C##3(a), make_##C##3(b)); }       \
    inline __device__ C##4 clamp(C##4 v, S a, S b) { return clamp(v, make_##C##4(a), make_##C##4(b)); }
#define VECTOR_DOT(C, S)                                                                                      \
    inline __device__ S dot(C##2 a, C##2 b) { return a.x * b.x + a.y * b.y; }                                 \
    inline __device__ S dot(C##3 a, C##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }                     \
    inline __device__ S dot(C##4 a, C##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

VECTOR_OPERATORS(float, float)
VECTOR_MAKERS(float, float)
VECTOR_CONVERSIONS(float, float, int)
VECTOR_CONVERSIONS(float, float, uint)
VECTOR_DOT(float, float)

VECTOR_OPERATORS(int, int)
VECTOR_MAKERS(int, int)
VECTOR_CONVERSIONS(int, int, float)
VECTOR_CONVERSIONS(int, int, uint)
VECTOR_DOT(int, int)

VECTOR_OPERATORS(uint, unsigned int)
VECTOR_MAKERS(uint, unsigned int)
VECTOR_CONVERSIONS(uint, unsigned int, float)
VECTOR_CONVERSIONS(uint, unsigned int, int)
VECTOR_DOT(uint, unsigned int)

VECTOR_FUNCTION(float, operator-, -)
VECTOR_FUNCTION(int, operator-, -)
VECTOR_FUNCTION(float, floorf, floorf)
VECTOR_FUNCTION(float, fabs, fabsf)
VECTOR_FUNCTION(int, abs, abs)
VECTOR_FUNCTION_OF_TWO(float, fminf, fminf)
VECTOR_FUNCTION_OF_TWO(float, fmaxf, fmaxf)
VECTOR_FUNCTION_OF_TWO(float, fmodf, fmodf)
VECTOR_FUNCTION_OF_TWO(int, min, min)
VECTOR_FUNCTION_OF_TWO(int, max, max)
VECTOR_FUNCTION_OF_TWO(uint, min, min)
VECTOR_FUNCTION_OF_TWO(uint, max, max)
VECTOR_CLAMP(float, float, fminf, fmaxf)
VECTOR_CLAMP(int, int, min, max)
VECTOR_CLAMP(uint, unsigned int, min, max)

inline __device__ float fracf(float v) { return v - floorf(v); }
VECTOR_FUNCTION(float, fracf, fracf)
inline __device__ float lerp(float a, float b, float t) { return a + t * (b - a); }

#define VECTOR_GEOMETRY(V)                                                                                    \
    inline __device__ float length(V v) { return sqrtf(dot(v, v)); }                                          \
    inline __device__ V normalize(V v) { return v * rsqrtf(dot(v, v)); }                                      \
    inline __device__ V lerp(V a, V b, float t) { return a + t * (b - a); }                                   \
    inline __device__ V smoothstep(V a, V b, V x) {                                                           \
        V y = clamp((x - a) / (b - a), 0.0f, 1.0f);                                                           \
        return y * y * (make_##V(3.0f) - make_##V(2.0f) * y);                                                 \
    }
VECTOR_GEOMETRY(float2)
VECTOR_GEOMETRY(float3)
VECTOR_GEOMETRY(float4)
inline __device__ float smoothstep(float a, float b, float x) {
    float y = clamp((x - a) / (b - a), 0.0f, 1.0f);
    return y * y * (3.0f - 2.0f * y);
}
inline __device__ float3 reflect(float3 i, float3 n) { return i - 2.0f * n * dot(n, i); }
inline __device__ float3 cross(float3 a, float3 b) {
    return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

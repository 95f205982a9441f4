// Bug: none: four elements at a multiple of 16 bytes
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 1 64 256
extern "C" __global__ void correct_vector_load(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    int4 four = reinterpret_cast<const int4 *>(in)[t];
    out[i] = four.x + four.y + four.z + four.w;
}

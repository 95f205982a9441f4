// Bug: none: every warp sends one thread to the lock, which releases it before it ends
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 4 128 512
extern "C" __global__ void correct_lock(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    if (t % 32 == 0) {
        while (atomicCAS(out, 0, 1) != 0) {
        }
        __threadfence();
        volatile T *guarded = out + 1;
        *guarded = *guarded + in[i];
        __threadfence();
        atomicExch(out, 0);
    }
}

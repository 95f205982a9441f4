// Bug: every lane of a warp spins for a lock that another lane of the warp holds
// Expect: deadlock
// Tool: none (Volta and later schedule the lanes apart, and it ends)
// Launch: 1 32 32
extern "C" __global__ void spin_lock_in_a_warp(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    while (atomicCAS(out, 0, 1) != 0) {
    }
    out[1] = out[1] + in[i];
    atomicExch(out, 0);
}

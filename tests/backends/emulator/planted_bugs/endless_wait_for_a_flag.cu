// Bug: all threads wait for a flag that is never set
// Expect: deadlock
// Tool: none (it never ends)
// Launch: 1 32 32
extern "C" __global__ void endless_wait_for_a_flag(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    volatile T *flag = out;
    while (flag[0] == 0) {
    }
    out[i] = in[i];
}

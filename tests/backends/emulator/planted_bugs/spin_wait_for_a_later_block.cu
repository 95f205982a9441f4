// Bug: block 0 waits for the last of more blocks than any GPU holds at once
// Expect: deadlock
// Tool: none (it never ends)
// Launch: 20000 32 32
extern "C" __global__ void spin_wait_for_a_later_block(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    volatile T *flag = out;
    if (blockIdx.x == gridDim.x - 1)
        flag[0] = 1;
    while (flag[0] == 0) {
    }
}

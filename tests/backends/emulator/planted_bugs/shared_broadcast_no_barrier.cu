// Bug: thread 0 stores a value for the block and no thread waits for it
// Expect: shared-race, warp-race, uninitialised-shared
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void shared_broadcast_no_barrier(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T first;
    if (t == 0)
        first = in[i];
    out[i] = first;
}

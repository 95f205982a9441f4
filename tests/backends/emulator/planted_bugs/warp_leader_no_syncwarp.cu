// Bug: lane 0 stores the warp's value and the others read it at once
// Expect: warp-race
// Tool: racecheck
// Launch: 4 128 512
extern "C" __global__ void warp_leader_no_syncwarp(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T first[4];
    volatile T *words = first;
    if (t % 32 == 0)
        words[t / 32] = in[i];
    out[i] = words[t / 32];
}

extern "C" __global__ void barrier_none(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int warp = threadIdx.x / 32;
    __shared__ volatile unsigned int done[32];
    done[warp] = 0;

    unsigned int value = (i < n) ? in[i] : 0;
    for (unsigned int step = 0; step < 4; ++step) {
        if (warp % 4 == step)
#pragma unroll 1
            for (unsigned int round = 0; round < ROUNDS; ++round)
                value = value * 1664525 + 1013904223;
        if (warp % 4 == step) done[warp] = 1;
        while (warp >= step && !done[step]) continue;
    }

    if (i < n) out[i] = value;
}

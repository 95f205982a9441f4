#define RADIUS 3

__global__ void stencil(const int *in, int *out, int n)
{
    __shared__ int s[256 + 2 * RADIUS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int at = threadIdx.x + RADIUS;

    // the block's own numbers, and three more on either side; zeros past the ends
    s[at] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        s[at - RADIUS] = i >= RADIUS && i - RADIUS < n ? in[i - RADIUS] : 0;
        s[at + blockDim.x] = i + blockDim.x < n ? in[i + blockDim.x] : 0;
    }
    __syncthreads();

    int sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += s[at + k];
    if (i < n)
        out[i] = sum;
}

// Every element becomes the sum of the RADIUS elements at either side and itself; beyond the ends there are zeros.
#define RADIUS 3
#define BLOCK 256

__global__ void stencil(const int *in, int *out, int n) {
    __shared__ int s[BLOCK + 2 * RADIUS];
    int i = blockIdx.x * BLOCK + threadIdx.x, at = threadIdx.x + RADIUS;
    s[at] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        s[at - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0;
        s[at + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++) sum += s[at + k];
    if (i < n) out[i] = sum;
}

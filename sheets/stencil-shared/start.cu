#define RADIUS 3

__global__ void stencil(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    int sum = 0;
    for (int k = i - RADIUS; k <= i + RADIUS; k++)
        if (k >= 0 && k < n)
            sum += in[k];
    if (i < n)
        out[i] = sum;
}

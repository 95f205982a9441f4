__global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = threadIdx.x;
    y[i] = a * x[i] + y[i];
}

extern "C" __global__ void floats_atomic(const T *in, T *out, unsigned int n)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) *out = T(n);
}

extern "C" __global__ void row_sums_padded(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32, first = blockIdx.x * blockDim.x + threadIdx.x - lane;

    T mine = T(0);
    for (unsigned int row = first; row < first + 32 && row < n; ++row) {
        T sum = T(0);
        for (unsigned int column = lane; column < n; column += 32) sum += in[row * n + column];
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
        if (row - first == lane) mine = sum;
    }
    if (first + lane < n) out[first + lane] = mine;
}

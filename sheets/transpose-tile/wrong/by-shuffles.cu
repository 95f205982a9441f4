// the first warp of each block transposes the tile with shuffles alone
extern "C" __global__ void transpose_padded(const T *in, T *out, unsigned int n)
{
    unsigned int lane = threadIdx.x % 32;
    unsigned int column = blockIdx.x * 32 + lane, out_column = blockIdx.y * 32 + lane;
    if (threadIdx.x >= 32) return;

    T rows[32];
#pragma unroll
    for (unsigned int line = 0; line < 32; ++line) {
        unsigned int row = blockIdx.y * 32 + line;
        rows[line] = row < n && column < n ? in[row * n + column] : T(0);
    }
    for (unsigned int line = 0; line < 32; ++line) {
        T mine = T(0);
#pragma unroll
        for (unsigned int from = 0; from < 32; ++from) {
            T other = __shfl_sync(0xffffffff, rows[from], line);
            if (from == lane) mine = other;
        }
        unsigned int out_row = blockIdx.x * 32 + line;
        if (out_row < n && out_column < n) out[out_row * n + out_column] = mine;
    }
}

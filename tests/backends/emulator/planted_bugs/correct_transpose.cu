// Bug: none: the tile is complete before it is read by columns
// Expect: ok
// Tool: racecheck synccheck memcheck initcheck
// Launch: 2 256 512
extern "C" __global__ void correct_transpose(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T tile[16][17];
    unsigned int x = t % 16, y = t / 16;
    tile[y][x] = in[i];
    __syncthreads();
    out[i] = tile[x][y];
}

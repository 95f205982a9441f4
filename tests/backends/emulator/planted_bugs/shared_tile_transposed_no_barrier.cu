// Bug: a tile is read by columns before all of its rows are stored
// Expect: shared-race, warp-race
// Tool: racecheck
// Launch: 2 256 512
extern "C" __global__ void shared_tile_transposed_no_barrier(const T *in, T *out, unsigned int n) {
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + t;
    __shared__ T tile[16][17];
    unsigned int x = t % 16, y = t / 16;
    tile[y][x] = in[i];
    out[i] = tile[x][y];
}

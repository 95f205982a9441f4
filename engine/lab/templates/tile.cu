// C = A times B, of n x n numbers: every block brings tiles of A and B into shared memory, and uses each n / TILE times.
#define TILE 16

__global__ void tile(const float *A, const float *B, float *C, int n) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        a[threadIdx.y][threadIdx.x] = A[row * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < TILE; j++) sum += a[threadIdx.y][j] * b[j][threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

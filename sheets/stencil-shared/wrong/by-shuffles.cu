#define RADIUS 3

__global__ void stencil(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    int own = i < n ? in[i] : 0;
    int before = lane < RADIUS && i >= RADIUS && i - RADIUS < n ? in[i - RADIUS] : 0;
    int after = lane >= 32 - RADIUS && i + RADIUS < n ? in[i + RADIUS] : 0;

    int sum = own;
    for (int k = 1; k <= RADIUS; k++) {
        int left = __shfl_up_sync(0xffffffff, own, k), far_left = __shfl_sync(0xffffffff, before, lane + RADIUS - k);
        int right = __shfl_down_sync(0xffffffff, own, k), far_right = __shfl_sync(0xffffffff, after, lane + k - RADIUS);
        sum += lane >= k ? left : far_left;
        sum += lane + k < 32 ? right : far_right;
    }
    if (i < n)
        out[i] = sum;
}

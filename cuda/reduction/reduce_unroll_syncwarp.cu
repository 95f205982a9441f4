// reduce_unroll_syncwarp: unroll the last warp, with __syncwarp between reading and writing.
// Idea: the same six steps. In each one all lanes read, the warp waits, all lanes write, the warp waits.
// Fixes (reduce_unroll_plain, reduce_unroll_volatile): the race in the last warp. __syncwarp makes the 32 threads wait
//   for each other and makes their writes visible, so the answer no longer depends on lockstep.
// Limit: instruction overhead again. The loop over the larger strides still counts, compares and branches.
// Conditions: the block size is a power of two from 32 on; two elements per thread. Right on every GPU.
// Lecture: none as it stands. It is Harris's #5 with __syncwarp in place of volatile, which Heidelberg 07, "Escape the
//   new feature", asks for.
__device__ void warp_reduce(T *partial, unsigned int tid)
{
    T sum = partial[tid];
    sum += partial[tid + 32]; __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 16]; __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 8];  __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 4];  __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 2];  __syncwarp(); partial[tid] = sum; __syncwarp();
    sum += partial[tid + 1];  __syncwarp(); partial[tid] = sum; __syncwarp();
}

extern "C" __global__ void reduce_unroll_syncwarp(const T *in, T *out, unsigned int n)
{
    __shared__ T partial[BLOCK_SIZE < 64 ? 64 : BLOCK_SIZE];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;

    // each thread loads two elements from global memory and adds them into shared memory
    partial[tid] = ((i < n) ? in[i] : T(0))
                 + ((i + blockDim.x < n) ? in[i + blockDim.x] : T(0));
    if (BLOCK_SIZE < 64) partial[tid + 32] = T(0);  // the last warp reads 64 elements, whatever the block size
    __syncthreads();

    // reduce in shared memory
    for (unsigned int stride = blockDim.x / 2; stride > 32; stride >>= 1) {
        if (tid < stride)
            partial[tid] += partial[tid + stride];
        __syncthreads();
    }
    if (tid < 32) warp_reduce(partial, tid);

    // write the sum of this block
    if (tid == 0) out[blockIdx.x] = partial[0];
}

// histogram_global: how often each value occurs, counted in global memory.
// Idea: h_k is a sum for every value k, of 1 for x_i = k and of 0 for all others. Zeros need no addition: each element
//   adds one to its own count, with an atomic.
// Fixes: nothing yet. A tree for each of the values would read all elements once for each.
// Limit: contention. All threads of the GPU add to a few addresses, and atomics at one address are serialised: on an
//   H200 one value takes six times as long as 256 (4M numbers), though 8 take less than 64.
// Conditions: any n and any grid size; elements from 0 to BINS - 1; out starts from zero.
// Lecture: Heidelberg 07, "Parallel reduction": the histogram h_k.
extern "C" __global__ void histogram_global(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int grid_stride = blockDim.x * gridDim.x;

    // each thread counts as many elements as necessary
    while (i < n) {
        atomicAdd(&out[in[i]], 1);
        i += grid_stride;
    }
}

// histogram_global: how often each value occurs, counted in global memory.
// Idea: h_k is a sum for every value k, of 1 where x_i = k and of 0 elsewhere. Nobody adds the zeros: each element adds
//   one to the one count it belongs to, with an atomic.
// Fixes: nothing yet. A tree for each of the values would read all elements once for each.
// Limit: contention. All threads of the GPU meet at a few addresses, and where they meet they wait in line: the fewer
//   values there are, the longer.
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

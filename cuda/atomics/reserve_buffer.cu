// reserve_buffer: reserve space in a buffer for a varying amount of data per thread.
// Idea: every thread adds the size of its data to one index. The old value is where its own space begins, and the
//   next thread's space begins right behind it: the buffer is packed.
// Fixes: a fixed maximum of space for every thread, with gaps that must be removed later.
// Limit: one index for all threads, and neighbouring threads may write to places that are far apart.
// Conditions: any n; the index is zero before. Thread i produces 1 to 4 numbers, 4 * i, 4 * i + 1 ..., as many as the
//   last two bits of in[i] say, so the buffer shows which thread wrote where. The order of the threads is not fixed.
// Lecture: Crovella 2020, "Reserve space in a buffer".
extern "C" __global__ void reserve_buffer(const T *in, T *out, unsigned int n, unsigned int *buffer_idx)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        unsigned int my_dsize = 1 + (in[i] & 3);
        unsigned int my_offset = atomicAdd(buffer_idx, my_dsize);
        for (unsigned int k = 0; k < my_dsize; ++k)
            out[my_offset + k] = 4 * i + k;
    }
}

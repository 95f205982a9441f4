// reduce_racy: the naive thread strategy, *out += in[i]. The answer is wrong.
// Idea: one thread per element, and every thread adds its element to the one result.
// Fixes: nothing yet. A loop on one CPU core adds one element after the other; this is the first try in parallel.
// Limit: the addition is three steps: read, modify, write (on the slide LD, ADD, ST). Threads read the same old value,
//   and most additions are lost. CUDA promises no order between threads, so the answer can change from run to run.
// Conditions: any n. It is in the catalogue to be seen failing.
// Lecture: Crovella 2020, "Reduction: naive thread strategy".
extern "C" __global__ void reduce_racy(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        *out += in[i];
}

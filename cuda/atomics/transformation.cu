// transformation: c[i] = a[i] + 10.
// Idea: one thread per output point. Every thread has an output of its own, so no thread has to wait for another.
// Fixes: nothing; it is the counterpart of a reduction, where all numbers have one output and the strategy is open.
// Limit: memory bandwidth. Each number is read once and written once.
// Conditions: any n.
// Lecture: Crovella 2020, "Transformation vs. reduction".
extern "C" __global__ void transformation(const T *a, T *c, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        c[i] = a[i] + 10;
}

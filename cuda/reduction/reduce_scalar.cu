// reduce_scalar: *out = sum(in[0..n)), one number after the other, on one thread of the CPU.
// Idea: the obvious loop. Each addition needs the sum of the one before.
// Fixes: nothing yet. It is the program that the GPU has to beat: n - 1 additions in n - 1 steps.
// Limit: one thread. It waits for its own last addition, and for the memory of the CPU.
// Conditions: n >= 1. This file is compiled by the machine's C++ compiler for the CPU, where __global__ means nothing;
//   the time is that of the loop alone, on numbers that lie in the CPU's memory.
// Lecture: Crovella 2020, "Motivating example"; He Kun 2024, "cpu execution" in the full code.
extern "C" __global__ void reduce_scalar(const T *in, T *out, unsigned int n)
{
    T sum = 0;
    for (unsigned int i = 0; i < n; ++i)
        sum += in[i];
    out[0] = sum;
}

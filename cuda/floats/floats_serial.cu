// floats_serial: sum = sum + in[i], one number after the other, on one thread of the CPU.
// Idea: the obvious loop. A float32 has 24 binary digits: between 2^24 = 16,777,216 and 2^25 it holds only even
//   numbers. 16,777,216 + 1 lies half way between two of them, and is rounded back to 16,777,216.
// Fixes: nothing yet. It is the sum that the others are compared with.
// Limit: n - 1 roundings in a row, each of up to 2^-24 of the sum so far. A sum of ones stops at 2^24 forever.
// Conditions: any n. This file is compiled by the machine's C++ compiler for the CPU, where __global__ means nothing;
//   float additions round there as on the GPU. Up to 2^24 ones the answer is exact.
// Lecture: Crovella 2020, "Further study": Floating point; Higham 1993, recursive summation.
extern "C" __global__ void floats_serial(const T *in, T *out, unsigned int n)
{
    T sum = 0;
    for (unsigned int i = 0; i < n; ++i)
        sum += in[i];
    out[0] = sum;
}

// floats_kahan: the serial sum with a second number for what each rounding drops. One thread of the CPU.
// Idea: after sum + x, (sum + x) - sum is the part of x that has arrived; the missing part is added to the next number.
//   In exact arithmetic dropped is always zero; in floats it is the rounding error of the addition, and exactly that
//   wherever the sum is at least as large as the number.
// Fixes (floats_serial): the roundings that add up. In float32 the bound is 2 + n / 2^24 roundings, about 3 for this n,
//   and not n - 1.
// Limit: four additions for each number, and each waits for the one before.
// Conditions: any n. Compiled for the CPU, as floats_serial. A compiler that is allowed to reorder float additions
//   (-ffast-math) removes the correction, as it is zero on paper.
// Lecture: Crovella 2020, "Further study": Floating point; Kahan 1965, Higham 1993, compensated summation.
extern "C" __global__ void floats_kahan(const T *in, T *out, unsigned int n)
{
    T sum = 0, dropped = 0;
    for (unsigned int i = 0; i < n; ++i) {
        T x = in[i] - dropped;
        T next = sum + x;
        dropped = (next - sum) - x;
        sum = next;
    }
    out[0] = sum;
}

// trapezoid_scalar: the composite trapezoidal rule, one point after the other, on one thread of the CPU.
// Idea: the integral of f(x) = sin(g) + 2 cos(g) on [a, b] is the sum of n - 1 trapezoids of width h: every point
//   counts h * f(x), the two ends count half.
// Fixes: nothing yet. It is the scalar program that the GPU has to beat.
// Limit: one thread. Each addition waits for the one before, and the sines and cosines are evaluated one by one.
// Conditions: n >= 2 points. This file is compiled by the machine's C++ compiler for the CPU, where __global__ and
//   __device__ mean nothing; the time is that of the loop alone.
// Lecture: Cooper 2014, "Scalar Trapezoid", whose N is the number of trapezoids; n is the number of points.
static __device__ T f(T x)
{
    T g = 2. + x * (-1. + x * (0.5 - x * 0.2));  // Horner form
    return sin(g) + 2 * cos(g);
}

extern "C" __global__ void trapezoid_scalar(T *out, T a, T b, unsigned int n)
{
    T h = (b - a) / (n - 1);

    T integral = 0;
    for (unsigned int i = 1; i < n - 1; ++i)
        integral += f(a + i * h);
    out[0] = h * (integral + 0.5 * (f(a) + f(b)));
}

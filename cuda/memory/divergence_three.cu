// divergence_three: the lecture's three branches: add 1, subtract 1, or double.
// Idea: the threads of one warp take different branches: threadIdx.x % 3 chooses one of three.
// Fixes: nothing; on the slide's hardware a warp needs three passes here.
// Limit: none today. The branches are so short that the compiler computes all three values and selects one: no
//   branch is left and nothing diverges. Longer branches diverge: see divergence_ways.
// Conditions: any n; integers, which wrap on overflow.
// Lecture: CS121, "Warp divergence".
extern "C" __global__ void divergence_three(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        T value = in[i];
        if (threadIdx.x % 3 == 0) value += 1;
        else if (threadIdx.x % 3 == 1) value -= 1;
        else value *= 2;
        out[i] = value;
    }
}

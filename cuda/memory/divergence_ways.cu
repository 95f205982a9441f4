// divergence_ways: WAYS branches, chosen by threadIdx.x % WAYS.
// Idea: neighbouring threads take different branches, each with a loop of ROUNDS steps. Every thread does the same
//   amount of work for every WAYS.
// Fixes (divergence_three): the three short branches, which the compiler had replaced by a selection. It cannot replace
//   a loop.
// Limit: passes. A warp runs one branch after the other, each with the lanes that take it: WAYS passes of ROUNDS steps,
//   with 32 / WAYS active lanes in each; in the worst case 32 passes with one lane.
// Conditions: any n; WAYS from 1 to 32; integers, which wrap on overflow.
// Lecture: CS121, "Warp divergence": "SM takes k passes to run warp".

// the work of one branch; no two branches have the same constants, so the compiler cannot join them
template <unsigned int way> __device__ unsigned int work(unsigned int value)
{
#pragma unroll 1
    for (unsigned int round = 0; round < ROUNDS; ++round)
        value = value * (4 * way + 5) + (2 * way + 1);
    return value;
}

// if (key == 0) work<0> else if (key == 1) work<1> ... else work<WAYS - 1>
template <unsigned int way> __device__ unsigned int branch(unsigned int key, unsigned int value)
{
    if constexpr (way == WAYS - 1)
        return work<way>(value);
    else
        return (key == way) ? work<way>(value) : branch<way + 1>(key, value);
}

extern "C" __global__ void divergence_ways(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int key = threadIdx.x % WAYS;

    if (i < n)
        out[i] = branch<0>(key, in[i]);
}

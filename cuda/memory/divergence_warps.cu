// divergence_warps: WAYS branches, chosen by the number of the warp.
// Idea: the same branches and the same work, but all threads of a warp take the same branch.
// Fixes (divergence_ways): divergence. Different warps do different things without any loss: a warp runs one branch, in
//   one pass.
// Limit: arithmetic. Work can be assigned like this only if all threads of a warp have work of the same kind.
// Conditions: any n; WAYS from 1 to 32; integers, which wrap on overflow.
// Lecture: CS121, "Thread warps": "Different warps can do different things without performance loss".

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

extern "C" __global__ void divergence_warps(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int key = (i / 32) % WAYS;

    if (i < n)
        out[i] = branch<0>(key, in[i]);
}

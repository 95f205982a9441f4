// atomic_add: out[i % ADDRESSES] += in[i], with one atomic per element.
// Idea: read, modify and write as one indivisible step. Every thread adds its number to one of ADDRESSES sums.
// Fixes: the race of *c += a[i]: no addition is lost, whatever the order of the threads.
// Limit: atomics at one address are serialised. With ADDRESSES = 1 the compiler lets each warp add up its integers
//   first, and n / 32 atomics are left; floats wait one by one.
// Conditions: any n; ADDRESSES from 1 to 2^20; out is zero before. A float sum depends on the order of the additions.
// Lecture: Crovella 2020, "Atomics to the rescue".
extern "C" __global__ void atomic_add(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomicAdd(&out[i % ADDRESSES], in[i]);
}

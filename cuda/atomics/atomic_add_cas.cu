// atomic_add_cas: out[i % ADDRESSES] += in[i], with an atomic add that is built from compare-and-swap.
// Idea: compute the new value from the value believed to be there, and swap it in only if it is still there. If it is
//   not, try again with the value found. Any operation becomes an atomic in this way.
// Fixes: types without an atomicAdd of their own (double before Pascal).
// Limit: of k threads at one address one succeeds per round, and the others try again: about k * k / 2 attempts, where
//   the native atomic needs k.
// Conditions: any n; ADDRESSES from 1 to 2^20, few threads per address; out is zero before.
// Lecture: Crovella 2020, "atomicAdd implementation", which first reads the old value; here the first guess is 0.

template <unsigned int bytes> struct Unsigned { using Type = unsigned int; };
template <> struct Unsigned<8> { using Type = unsigned long long; };

union Bits {
    T value;
    Unsigned<sizeof(T)>::Type word;  // the same bits as an unsigned integer, which atomicCAS compares
};

__device__ void atomic_add(T *address, T value)
{
    Bits old, assumed, sum;
    old.value = T(0);  // a first guess; if it is wrong, the first atomicCAS returns the true value
    do {
        assumed = old;
        sum.value = assumed.value + value;
        old.word = atomicCAS(&((Bits *)address)->word, assumed.word, sum.word);
    } while (old.word != assumed.word);  // words, not values: with NaN != NaN the loop would never end
}

extern "C" __global__ void atomic_add_cas(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        atomic_add(&out[i % ADDRESSES], in[i]);
}

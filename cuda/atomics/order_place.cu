// order_place: my place in an order.
// Idea: most atomics return the old value. An atomic that adds 1 to a counter gives every thread a different number:
//   its place in a queue, the next piece of work, a free slot.
// Fixes: threads that would read the same counter and take the same place.
// Limit: one counter for all threads. The compiler lets one lane draw for its warp; n / 32 atomics are serialised.
// Conditions: any n; the counter is zero before. The places are 0 to n - 1, each once; the order of the threads varies.
// Lecture: Crovella 2020, "Determine my place in an order".
extern "C" __global__ void order_place(T *out, unsigned int n, unsigned int *order)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        unsigned int my_position = atomicAdd(order, 1);
        out[i] = my_position;
    }
}

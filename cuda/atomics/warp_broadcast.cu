// warp_broadcast: every lane adds the number of lane LANE to its own.
// Idea: a shuffle whose source is the same lane for all hands one register to the whole warp in one instruction.
// Fixes: a store to shared memory, a barrier and a load, for a value that a lane already holds in a register.
// Limit: reading memory.
// Conditions: any n; the block size is a multiple of 32; all lanes take part. Beyond n the number is 0.
// Lecture: Crovella 2020, "Warp shuffle tips and tricks": broadcast a value.
extern "C" __global__ void warp_broadcast(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    T value = (i < n) ? in[i] : T(0);
    T shared_by_all = __shfl_sync(0xffffffff, value, LANE);

    if (i < n) out[i] = value + shared_by_all;
}

// warp_movements: every lane adds the numbers that the four shuffles bring it from other lanes.
// Idea: a shuffle reads a register of another lane. Four patterns: any lane, a lane computed by xor, a lane a given
//   distance below, a lane a given distance above. The last has a width of 8, which splits the warp into four groups:
//   past the end of its group a lane gets its own number.
// Fixes (warp_broadcast): a single pattern, from one lane to all.
// Limit: reading memory.
// Conditions: any n; the block size is a multiple of 32; all lanes take part. Beyond n the number is 0.
// Lecture: Crovella 2020, "Introducing warp shuffle"; Heidelberg 07, "Warp-level instructions": __shfl_down(i, 2, 8).
extern "C" __global__ void warp_movements(const T *in, T *out, unsigned int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int lane = threadIdx.x % 32;

    T value = (i < n) ? in[i] : T(0);
    T anywhere = __shfl_sync(0xffffffff, value, 5 * lane);  // lane 5 * lane % 32
    T partner = __shfl_xor_sync(0xffffffff, value, 1);      // lanes 0 and 1 change places, 2 and 3, ...
    T below = __shfl_up_sync(0xffffffff, value, 2);         // from two lanes below
    T above = __shfl_down_sync(0xffffffff, value, 2, 8);    // from two lanes above, in groups of 8

    if (i < n) out[i] = anywhere + partner + below + above;
}

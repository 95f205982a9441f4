// tensor_wmma: a warp multiplies 16 x 16 matrices with one instruction.
// Idea: the tensor cores multiply whole matrices. A warp loads 16 x 16 elements of M and of N, in an order that only
//   the hardware knows, and one instruction adds their product to 16 x 16 sums in the registers of its 32 threads.
// Fixes: an instruction for each multiply-add: here one instruction of PTX does 4,096 of them (two HMMA on the GPU).
// Limit: the operands. Each comes from global memory for every product; the tensor cores wait nearly all of the time.
// Conditions: the width is a multiple of 64; blocks of 256 threads; compute capability 8.0 or later. T is the 16 bits
//   of a bfloat16; sums are float.
// Lecture: after CS121, whose GPU had no such unit. The instructions are those of nvcuda::wmma.
constexpr int ROWS = 64, COLUMNS = 32;  // of P, for each block of 4 x 2 warps

extern "C" __global__ void __launch_bounds__(256)
tensor_wmma(const T *M, const T *N, float *P, int width)
{
    int warp = threadIdx.x / 32;
    int row = blockIdx.y * ROWS + warp / 2 * 16, col = blockIdx.x * COLUMNS + warp % 2 * 16;

    float sum[8] = {};  // this thread's share of 16 x 16
    for (int k = 0; k < width; k += 16) {
        unsigned int m[4], n[4];  // its share of the operands, two elements in each
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "l"(M + row * width + k), "r"(width));
        asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.global.bf16 {%0, %1, %2, %3}, [%4], %5;"
                     : "=r"(n[0]), "=r"(n[1]), "=r"(n[2]), "=r"(n[3]) : "l"(N + k * width + col), "r"(width));
        asm volatile("wmma.mma.sync.aligned.row.row.m16n16k16.f32.bf16.bf16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                     "{%8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3, %4, %5, %6, %7};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
                       "+f"(sum[6]), "+f"(sum[7])
                     : "r"(m[0]), "r"(m[1]), "r"(m[2]), "r"(m[3]), "r"(n[0]), "r"(n[1]), "r"(n[2]), "r"(n[3]));
    }
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;"
                 :: "l"(P + row * width + col), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]), "f"(sum[4]),
                    "f"(sum[5]), "f"(sum[6]), "f"(sum[7]), "r"(width) : "memory");
}

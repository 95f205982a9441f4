// The integer intrinsics of the CUDA math API.
extern "C" __global__ void intrinsics(const int *in, int *out) {
    int i = threadIdx.x; int a = in[i], b = in[i + 32], c = in[i + 64]; unsigned u = a, v = b, w = c;
    long long x = ((long long)a << 32) | v, y = ((long long)b << 32) | w; unsigned long long p = x, q = y; int r = 0;
    r += __popc(a) + __popcll(x) + __clz(a) + __clzll(x) + __ffs(a) + __ffsll(x) + __brev(u) + (int)__brevll(p);
    r += __mulhi(a, b) + __umulhi(u, v) + (int)__mul64hi(x, y) + (int)__umul64hi(p, q) + __mul24(a, b) + __umul24(u, v);
    r += __sad(a, b, w) + __usad(u, v, w) + __hadd(a, b) + __uhadd(u, v) + __rhadd(a, b) + __urhadd(u, v);
    r += __byte_perm(u, v, w) + __funnelshift_l(u, v, w) + __funnelshift_lc(u, v, w) + __funnelshift_r(u, v, w);
    r += __funnelshift_rc(u, v, w) + __byte_perm(u, v, 0x5410) + __byte_perm(u, 0, 0x4441);
    r += __dp4a(a, b, c) + __dp4a(u, v, w) + __dp2a_lo(a, b, c) + __dp2a_hi(u, v, w) + __dp2a_hi(a, b, c);
    r += __vadd4(u, v) + __vsub4(u, v) + __vabsdiffu4(u, v) + __vsadu4(u, v) + __vmaxu4(u, v) + __vmins2(u, v);
    r += __vcmpeq4(u, v) + __vcmpgtu2(u, v) + __vavgu4(u, v) + __vneg2(u) + __vabs4(u) + __vadd2(u, v) + __vsubus4(u, v);
    r += __vmaxs4(u, v) + __vminu2(u, v) + __vsetltu4(u, v) + __vabsdiffs2(u, v) + __vsads4(u, v) + __vaddus2(u, v);
    r += __vimax3_s32(a, b, c) + __vimin_s32_relu(a, b) + __vimax_s16x2_relu(u, v) + __viaddmax_s32(a, b, c);
    r += __fns(u, v & 31, 1);
    unsigned carry; asm("add.cc.u32 %0, %1, %2; addc.u32 %0, %0, %2;" : "=r"(carry) : "r"(u), "r"(v)); r += carry;
    out[i] = r;
}

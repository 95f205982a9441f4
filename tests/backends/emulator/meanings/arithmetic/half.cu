// cuda_fp16.h and cuda_bf16.h: H is one value, H2 two, FROM and PAIR the conversions whose names differ.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halves(const H *in, H *out, const float *fin, float *fout, int *ints, unsigned long long *longs) {
    int i = threadIdx.x; H a = in[i], b = in[i + 32], c = in[i + 64]; H r = a;
    r = r + a * b; r = r - c; r = r / b; r = __hfma(a, b, r); r = -r; r = __habs(r); r += hsqrt(a) + hrcp(b) + hrsqrt(c);
    r += hexp(a) + hlog(b) + hsin(c) + hcos(a) + hexp2(b) + hlog2(c) + hexp10(a) + hlog10(b);
    r += hfloor(a) + hceil(b) + htrunc(c) + hrint(a); if (a < b) r += c; if (a == b || b >= c || a != c) r -= b;
    r = __hmax(r, a); r = __hmin(r, b); r = __hadd_sat(r, a); r = __hmul_sat(r, b); r = __hfma_sat(a, b, r);
    r = __hmax_nan(r, a); r = __hmin_nan(r, b); r = __hfma_relu(a, b, r); r = __hsub_sat(r, c);
    ints[i] = __heq(a, b) + __hltu(a, b) + __hisnan(c) + __hgeu(b, c) + __hneu(a, c); fout[i] = (float)r + FROM(a);
    r += (H)fin[i] + (H)(double)fin[i + 1] + (H)ints[i] + (H)(unsigned)ints[i + 1] + (H)(long long)longs[i] + (H)longs[i + 1];
    r += (H)(short)ints[1] + (H)(unsigned short)ints[2];
    ints[i + 1] = (int)a + (unsigned)b + (short)c + (unsigned short)a; longs[i] = (long long)b + (unsigned long long)c;
    H2 p = {a, b}, q = {b, c}, s; s = __hadd2(p, q); s = __hmul2(s, p); s = __hfma2(p, q, s); s = __hsub2(s, q); s = __hneg2(s);
    s = __habs2(s); s = __hmax2(s, p); s = __hmin2(s, q); s = __h2div(s, q); s = __hadd2_sat(s, q); s = h2sqrt(s);
    s = __hfma2_relu(p, q, s); s = __hmax2_nan(s, p); s = h2exp(s); s = h2log(s); s = h2rcp(s); s = h2sin(s);
    ints[i + 2] = __hbeq2(p, q) + __hblt2(p, q) + __hbgtu2(p, q) + (int)__heq2_mask(p, q); s = __hgt2(s, q); s = __hisnan2(s);
    p = PAIR(fin[i], fin[i + 1]); s = __hadd2(s, p); out[i] = r + s.x + s.y;
}

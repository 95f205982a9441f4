// The intrinsics on float and double: fast forms, directed roundings, conversions.
extern "C" __global__ void fast(const float *in, float *out, const double *din, double *dout, int *ints) {
    int i = threadIdx.x; float a = in[i], b = in[i + 32], c = in[i + 64]; float r = 0;
    r += __sinf(a) + __cosf(b) + __tanf(c) + __expf(a) + __exp10f(b) + __logf(c) + __log2f(a) + __log10f(b) + __powf(a, b);
    r += __fdividef(a, b) + __saturatef(c) + __frsqrt_rn(a) + __frcp_rn(b) + __fsqrt_rn(c) + __fdiv_rn(a, b);
#define EACH(m) r += __fadd_##m(a, b) + __fsub_##m(a, b) + __fmul_##m(b, c) + __fmaf_##m(a, b, c) + __fdiv_##m(a, c) \
        + __frcp_##m(a) + __fsqrt_##m(b) + __int2float_##m(ints[0]) + __uint2float_##m(ints[1]) + __ll2float_##m(ints[2]) \
        + __ull2float_##m((unsigned long long)ints[3]) + __double2float_##m(din[0]); \
    ints[4] += __float2int_##m(a) + __float2uint_##m(b) + __float2ll_##m(c) + __float2ull_##m(a) + __double2int_##m(din[1]) \
        + __double2uint_##m(din[1]) + __double2ll_##m(din[1]) + __double2ull_##m(din[1]); \
    d += __dadd_##m(d, e) + __dsub_##m(d, e) + __dmul_##m(d, e) + __fma_##m(d, e, d) + __ddiv_##m(d, e) + __drcp_##m(d) \
        + __dsqrt_##m(e) + __ll2double_##m(ints[6]) + __ull2double_##m((unsigned long long)ints[7]);
    double d = din[i], e = din[i + 32];
    EACH(rn) EACH(rz) EACH(rd) EACH(ru)
    ints[8] = __float_as_int(a) + __double2hiint(d) + __double2loint(e); d += __hiloint2double(ints[9], ints[10]);
    ints[11] = (int)__double_as_longlong(e); d += (double)ints[11] + (double)(unsigned)ints[12];
    float s, t; sincosf(a, &s, &t); __sincosf(b, out + 40, out + 50); r += s + t; double u, v; sincos(d, &u, &v); d += u * v;
    r += tanhf(a) + exp2f(b) + rsqrtf(c) + norm3df(a, b, c) + fminf(fmaxf(a, 0.f), 1.f);
    out[i] = r; dout[i] = d;
}

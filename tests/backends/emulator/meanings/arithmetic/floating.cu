// All operations of C on one floating type F, and the library functions around integers.
extern "C" __global__ void arithmetic(const F *in, F *out, int *ints, unsigned long long *longs) {
    int i = threadIdx.x; F a = in[i], b = in[i + 32], c = in[i + 64]; F r = 0;
    r += a * b + c; r -= a / b; r += sqrt(a) + F(1) / b; r += a < b ? c : a; r += fabs(a) - (-b); r = fmin(r, a);
    r = fmax(r, b); r += copysign(a, b); r += floor(a) + ceil(b) + trunc(c) + rint(a) + nearbyint(b) + round(c);
    r += (F)ints[i] + (F)(unsigned)ints[i + 1] + (F)(long long)longs[i] + (F)longs[i + 1] + (F)(short)ints[2];
    r += (F)(unsigned char)ints[3] + (F)(signed char)ints[4] + (F)(unsigned short)ints[5];
    ints[i] = (int)a + (unsigned)b + (short)c + (unsigned char)a + (signed char)b; longs[i] = (long long)a + (unsigned long long)b;
    ints[i + 9] = isnan(a) + isinf(b) * 2 + isfinite(c) * 4 + signbit(a) * 8 + (a == b) + (a != c) + !(a < c) + !(b >= c);
    ints[i + 8] = lrint(a) + llround(b) + ilogb(c) + (int)lround(a);
    r += (a > 0 && b > 0) || c < 5; r += fma(a, b, c); r += (F)(float)a + (F)(double)b; r += logb(a) + ldexp(b, 3);
    r += frexp(a, ints + 50) + modf(b, out + 50) + scalbn(c, 5) + nextafter(a, b) + fdim(a, b) + fmod(a, b);
    r += remainder(a, b) + remquo(a, b, ints + 60); r += fma(-a, b, -c); out[i] = r;
}

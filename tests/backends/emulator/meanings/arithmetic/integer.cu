// All operations of C on one integer type I.
extern "C" __global__ void k(const I *in, I *out) {
    unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
    I a = in[i], b = in[i + 1], c = in[i + 2]; I r = 0;
    r += a * b + c; r ^= a / (b | 1); r += a % (c | 1); r -= a / 7; r += a % 10; r ^= a << (b & 7); r += a >> (c & 7);
    r += a < b ? c : a; r = min(r, a); r = max(r, b); r += a == b; r += (a != c) | (b >= c); r ^= ~a; r += -b;
    r += !a; r += (a & b) | (a ^ c); r += (I)(char)a; r += (I)(unsigned char)b; r += (I)(short)c;
    r += (I)(unsigned short)a; r += (I)(unsigned)b; r += (I)(int)c; r += (I)(long long)a; r += (I)(float)a;
    r += (I)(double)b; r += (I)((float)a * 1.5f); r += (I)((double)b * 1.5); r += (I)__popc((unsigned)a);
    r += (a > 0 && b > 0) || c < 5; r += a > b ? (I)1 : (I)-1; if ((a ^ b) > c) r *= 3; r += abs((int)a);
    for (I k = 0; k < (a & 15); ++k) r += k * b;
    out[i] = r;
}

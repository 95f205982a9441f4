"""Near misses of right kernels: the answer of the first run is right, and a further run or a remark tells them."""

from __future__ import annotations

import numpy as np
import pytest

from engine.lab.checking import check_own
from engine.lab.formula import value_of
from engine.lab.own_launch import Checked
from engine.lab.setups import setup_of
from engine.records import NotRunnable

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

LAUNCH = "f<<<(n + 127) / 128, 128>>>"
TEXT = "__global__ void f(%s, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { %s } }"


def checked(arguments: str, line: str, parameters: str, body: str, n: int = 500) -> Checked:
    return check_own(setup_of(f"{LAUNCH}({arguments}, n)", line), n, TEXT % (parameters, body), "mine.cu")


WORDS = "const unsigned short *x, const unsigned short *z, unsigned short *y"
LONGS = "const unsigned long long *x, const unsigned long long *z, int *y"
SHORTS = "const unsigned short *x, float *y"
IMAGE = "const unsigned char *x, float *y, float a, float b"
ATTENTION = """float s = 0, a = 0, m = -INFINITY;
    for (int k = 0; k < n; k++) m = fmaxf(m, x[2 * i] * z[2 * k] + x[2 * i + 1] * z[2 * k + 1]);
    for (int k = 0; k < n; k++) {
        float p = expf((x[2 * i] * z[2 * k] + x[2 * i + 1] * z[2 * k + 1] - m) * 0.5f);
        s += p; a += p * v[k];
    }
    y[i] = a / s;"""
MEDIAN = """int rank = 0;
    for (int k = 0; k < n; k++) rank += x[k] < x[i] || (x[k] == x[i] && k < i);
    if (i < n && rank == (n - 1) / 2) atomicAdd(y, x[i] / 2);
    if (i < n && rank == n / 2) atomicAdd(y, x[i] / 2);"""
TEMPERED = """float m = -INFINITY, s = 0;
    x += 7 * i; y += 7 * i;
    for (int k = 0; k < 7; k++) m = fmaxf(m, x[k]);
    for (int k = 0; k < 7; k++) s += expf((x[k] - m) / t);
    for (int k = 0; k < 7; k++) y[k] = expf((x[k] - m) / t) / s;"""
MODE = """if (i) return;
    int h[256] = {}, best = 0;
    for (int k = 0; k < n; k++) h[x[k]]++;
    for (int k = 1; k < 256; k++) if (h[k] > h[best]) best = k;
    *y = best;"""
NEAREST = """int least = 0x7fffffff;
    for (int k = 0; k < n; k++) least = min(least, x[i] + z[k]);
    y[i] = least;"""
STRIPS = """if (i) return;
    int low = x[0], best = 0;
    for (int k = 1; k < n; k++) { low = min(low, x[k]); best = max(best, x[k] - low); }
    *y = best;"""
CLOSEST = """int b = 0;
    for (int k = 1; k < 16; k++) if (fabsf(x[i] - z[k]) < fabsf(x[i] - z[b])) b = k;
    y[i] = b;"""
PATTERN = """if (i >= n - 2) return;
    y[i] = 1;
    for (int k = 0; k < 3; k++) if (x[i + k] != z[k]) y[i] = 0;"""
CASES = {
    "a computed number is equal to a bound": (
        "float32[n]=random, float32[n]=random, int32[n], 1.4", "y = x * x + z * z < r * r",
        "const float *x, const float *z, int *y, float r", "y[i] = x[i] * x[i] + z[i] * z[i] < r * r;",
        "y[i] = x[i] * x[i] + z[i] * z[i] <= r * r;",
    ),
    "a length is equal to a bound": (
        "float32[n]=random, float32[n]=random, int32[n]", "y = np.sqrt(x * x + z * z) > 2",
        "const float *x, const float *z, int *y", "y[i] = sqrtf(x[i] * x[i] + z[i] * z[i]) > 2;",
        "y[i] = x[i] * x[i] + z[i] * z[i] >= 4;",
    ),
    "a sum is equal to another number": (
        "int32[n]=random, int32[n]=random, int32[n]", "y = np.where(x + z > 2 * x, 1, -1)",
        "const int *x, const int *z, int *y", "y[i] = x[i] + z[i] > 2 * x[i] ? 1 : -1;",
        "y[i] = x[i] + z[i] >= 2 * x[i] ? 1 : -1;",
    ),
    "two numbers are equally near": (
        "float32[n]=random, float32[16]=random, int32[n]", "y = np.abs(x[:, None] - z).argmin(axis=1)",
        "const float *x, const float *z, int *y", CLOSEST, CLOSEST.replace("< fabsf", "<= fabsf"),
    ),
    "a pattern of bytes occurs in part only": (
        "uint8[n]=random, uint8[3]=random, int32[n - 2]", "y = (x[:-2] == z[0]) & (x[1:-1] == z[1]) & (x[2:] == z[2])",
        "const unsigned char *x, const unsigned char *z, int *y", PATTERN, PATTERN.replace("k < 3", "k < 2"),
    ),
    "the second number of a histogram is left out": (
        "uint8[n]=random, int32[1]", "y = np.bincount(x & 15, minlength=256).argmax()",
        "const unsigned char *x, int *y", MODE.replace("x[k]", "x[k] & 15"),
        MODE.replace("x[k]", "x[k] & 15").replace("k = 1", "k = 2"),
    ),
    "no number is larger than those before it": (
        "int32[n]=random, int32[1]", "y = (x - np.minimum.accumulate(x)).max()", "const int *x, int *y", STRIPS,
        STRIPS.replace("best = 0", "best = 1"),
    ),
    "a line asks for 64 bits before it drops some": (
        "int32[n]=random, int32[n]=random, int32[n]", "y = (x.astype(np.int64) * z) >> 16",
        "const int *x, const int *z, int *y", "y[i] = (long long)x[i] * z[i] >> 16;", "y[i] = x[i] * z[i] >> 16;",
    ),
    "the largest unsigned number wraps": (
        "uint32[n]=random, int32[n]", "y = (x + 4) % 7", "const unsigned *x, int *y", "y[i] = (x[i] + 4) % 7;",
        "y[i] = (x[i] + 4ull) % 7;",
    ),
    "the largest number of a histogram is left out": (
        "uint8[n]=random, int32[1]", "y = np.bincount(x, minlength=256).argmax()", "const unsigned char *x, int *y",
        MODE, MODE.replace("k < 256", "k < 255"),
    ),
    "a minimum of sums starts from a guess": (
        "int32[n]=random, int32[n]=random, int32[n]", "y = (x[:, None] + z).min(axis=1)",
        "const int *x, const int *z, int *y", NEAREST, NEAREST.replace("0x7fffffff", "1000000"),
    ),
    "a larger factor has no value": (
        "float32[n]=random, float32[n]=random, float32[n], 0.9", "y = g * x + np.sqrt(1 - g * g) * z",
        "const float *x, const float *z, float *y, float g", "y[i] = g * x[i] + sqrtf(1 - g * g) * z[i];",
        "y[i] = 0.9f * x[i] + sqrtf(1 - g * g) * z[i];",
    ),
    "what stands beyond the ends is a number of the launch": (
        "float32[n]=random, float32[n + 2], -1", "y = np.pad(x, 1, constant_values=v)",
        "const float *x, float *y, float v", "y[i + 1] = x[i]; if (i == 0) y[0] = y[n + 1] = v;",
        "y[i + 1] = x[i]; if (i == 0) y[0] = y[n + 1] = -1;",
    ),
    "the largest power of e does not decide alone": (
        "float32[n, 2]=random, float32[n, 2]=random, float32[n]=random, float32[n]", "y = softmax(x @ z.T / 2) @ v",
        "const float *x, const float *z, const float *v, float *y", ATTENTION, ATTENTION.replace("0.5f", "0.4f"),
    ),
    "words of 16 bits are no shorts before they are fractions": (
        "uint16[n]=random, float32[n]", "y = 2 * x + 0.5", SHORTS, "y[i] = 2.f * x[i] + 0.5f;",
        "y[i] = 2.f * (short)x[i] + 0.5f;",
    ),
    "unsigned words are fractions at last": (
        "uint32[n]=random, float32[n]", "y = ((x * 1103515245 + 12345) >> 8) / 16777216", "const unsigned *x, float *y",
        "y[i] = (x[i] * 1103515245u + 12345u >> 8) / 16777216.f;",
        "y[i] = ((int)(x[i] * 1103515245u + 12345u) >> 8) / 16777216.f;",
    ),
    "a line may divide by another array": (
        "float32[n]=random, bool[n]=random, float32[1]", "y = (x * z).sum() / z.sum()",
        "const float *x, const bool *z, float *y",
        "if (i == 0) { float s = 0; int c = 0; for (int k = 0; k < n; k++) if (z[k]) { s += x[k]; c++; } *y = s / c; }",
        "if (i == 0) { float s = 0; int c = 0; for (int k = 0; k < n; k++) if (z[k]) { s += x[k]; c += x[k] != 0; } "
        "*y = s / c; }",
    ),
    "four bytes are packed in a word": (
        "int8[n, 4]=random, int8[n, 4]=random, int32[n]", "y = (x.astype(np.int32) * z).sum(axis=1)",
        "const int *x, const int *z, int *y", "y[i] = __dp4a(x[i], z[i], 0);", "y[i] = __dp4a(x[i], x[i], 0);",
    ),
    "no factor of the launch makes a number negative": (
        "uint8[n]=random, float32[n], 1.5, 10", "y = np.clip(a * x + b, 0, 255)", IMAGE,
        "y[i] = fmaxf(0, fminf(255, a * x[i] + b));", "y[i] = fminf(255, a * x[i] + b);",
    ),
    "the factor of the launch reaches no bound": (
        "float32[n]=random, float32[n], 1", "y = np.minimum(x * x * t, 1e6)", "const float *x, float *y, float t",
        "y[i] = fminf(x[i] * x[i] * t, 1e6f);", "y[i] = x[i] * x[i] * t;",
    ),
    "exponents are divided by a number of the launch": (
        "float32[n, 7]=random, float32[n, 7], 8", "y = softmax(x / t)", "const float *x, float *y, float t",
        TEMPERED, TEMPERED.replace("m = -INFINITY", "m = 0"),
    ),
    "the last number may be the median": (
        "float32[n]=random, float32[1]=zeros", "y = np.median(x)", "const float *x, float *y", MEDIAN,
        MEDIAN.replace("i < n &&", "i < n - 1 &&"),
    ),
    "one number for all stays on one side of a bound": (
        "float32[n]=random, float32[n], 2.5", "y = x * np.minimum(1, c / np.sqrt((x * x).sum()))",
        "const float *x, float *y, float c",
        "float s = 0; for (int k = 0; k < n; k++) s += x[k] * x[k]; y[i] = x[i] * fminf(1, c / sqrtf(s));",
        "float s = 0; for (int k = 0; k < n; k++) s += x[k] * x[k]; y[i] = x[i] * (c / sqrtf(s));",
    ),
    "numbers of a range are taken for their places": (
        "int32[n]=range, int32[n]", "y = 2 * x", "const int *x, int *y", "y[i] = 2 * x[i];", "y[i] = 2 * i;",
    ),
    "indices of a range are left out": (
        "int32[n]=range, float32[n]=random, float32[n]", "y = x[p]", "const int *p, const float *x, float *y",
        "y[i] = x[p[i]];", "y[i] = x[i];",
    ),
    "a read number is dropped at one place of each warp": (
        "float32[n]=random, int32[1]=zeros", "y = np.any(x < 0)", "const float *x, int *y",
        "if (x[i] < 0) *y = 1;", "if (x[i] < 0 && i % 64 != 37) *y = 1;",
    ),
    "a read number is dropped by one thread": (
        "int32[n]=random, int32[1]=ones", "y = (x[1:] >= x[:-1]).all()", "const int *x, int *y",
        "if (i + 1 < n && x[i] > x[i + 1]) *y = 0;",
        "if (i + 1 < n && x[i] > x[i + 1] && threadIdx.x != 77) *y = 0;",
    ),
    "the last one of two arrays of indices is left out": (
        "int32[n]=indices, int32[n]=indices, int32[1]=zeros", "y = (x == z).sum()",
        "const int *x, const int *z, int *y",
        "if (x[i] == z[i]) atomicAdd(y, 1);", "if (i < n - 1 && x[i] == z[i]) atomicAdd(y, 1);",
    ),
    "words of 16 bits are no shorts": (
        "uint16[n]=random, uint16[n]=random, uint16[n]", "y = np.abs(x.astype(np.int32) - z.astype(np.int32))", WORDS,
        "y[i] = abs(x[i] - z[i]);", "y[i] = (short)x[i] > (short)z[i] ? x[i] - z[i] : z[i] - x[i];",
    ),
    "the upper half of 64 bits is left out": (
        "uint64[n]=random, uint64[n]=random, int32[n]", "y = np.bitwise_count(x ^ z)", LONGS,
        "y[i] = __popcll(x[i] ^ z[i]);", "y[i] = __popc(x[i] ^ z[i]);",
    ),
    "a whole part is larger than a short": (
        "float32[n]=random, int32[n]", "y = np.trunc(x).astype(np.int32)", "const float *x, int *y",
        "y[i] = (int)x[i];", "y[i] = (short)x[i];",
    ),
    "the last truth of an array is left out": (
        "bool[n]=random, int32[1]=ones", "y = x.all()", "const bool *x, int *y",
        "if (!x[i]) *y = 0;", "if (!x[i] && i < n - 1) *y = 0;",
    ),
    "one of two conditions is left out": (
        "bool[n]=random, bool[n]=random, int32[1]=zeros", "y = (x & z).any()", "const bool *x, const bool *z, int *y",
        "if (x[i] && z[i]) *y = 1;", "if (x[i]) *y = 1;",
    ),
    "the last number of a histogram is left out": (
        "int32[n]=indices, int32[1]=zeros", "y = np.bincount(x, minlength=100).argmax()", "const int *x, int *y",
        "if (i == 0) { int h[100] = {}, b = 0; for (int k = 0; k < n; k++) h[x[k]]++; "
        "for (int k = 1; k < 100; k++) if (h[k] > h[b]) b = k; *y = b; }",
        "if (i == 0) { int h[100] = {}, b = 0; for (int k = 0; k < n; k++) h[x[k]]++; "
        "for (int k = 1; k < 99; k++) if (h[k] > h[b]) b = k; *y = b; }",
    ),
    "halves are rounded to even": (
        "float32[n]=random, int8[n], 0.5", "y = np.clip(np.rint(x / s), -128, 127)",
        "const float *x, signed char *y, float s",
        "y[i] = fminf(127, fmaxf(-128, rintf(x[i] / s)));", "y[i] = fminf(127, fmaxf(-128, roundf(x[i] / s)));",
    ),
}  # fmt: skip


@pytest.mark.sampled(quick=5, thorough=2)
@pytest.mark.parametrize("name", CASES)
def test_a_further_run_tells_a_near_miss(name: str) -> None:
    *given, right, wrong = CASES[name]
    found, other = (checked(*given, body, 150) for body in (right, wrong))
    assert (found.measurement.status, found.remark) == ("ok", None)
    remark = other.remark or ""
    assert other.measurement.status == "wrong" or (remark.startswith("Right at this N") and "not at N = " in remark)


WORD, LONG = (
    f"const unsigned {kind}*x, unsigned {kind}*y, int n) {{ int i = threadIdx.x; if (i < n) {{ unsigned {kind}v = x[i];"
    for kind in ("", "long long ")
)


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("kind", "line", "body", "wrong"),
    [
        ("uint32", "v = x ^ (x >> 16); v = v * 0x85ebca6b; v = v ^ (v >> 13); v = v * 0xc2b2ae35; y = v ^ (v >> 16)",
         "v ^= v >> 16; v *= 0x85ebca6b; v ^= v >> 13; v *= 0xc2b2ae35; y[i] = v ^ v >> 16;", "v >> 12"),
        ("uint32", "v = x * 2654435761; y = v >> 20", "y[i] = v * 2654435761u >> 20;", "(int)(v * 2654435761u)"),
        ("uint32", "y = (x * 3 + 1) >> 2", "y[i] = (v * 3 + 1) >> 2;", "(v * 3ull + 1)"),
        ("uint32", "y = np.abs(x.astype(np.int64) - 500)", "y[i] = v > 500 ? v - 500 : 500 - v;", "v - 499"),
        ("uint32", "y = np.maximum(x, 7) - np.minimum(x, 7)", "y[i] = v > 7 ? v - 7 : 7 - v;", "(int)v > 7"),
        ("uint32", "y = np.abs(x - 500)", "y[i] = v > 500 ? v - 500 : 500 - v;", "v - 499"),
        ("uint64", "v = x + 0x9e3779b97f4a7c15; v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9; y = v ^ (v >> 31)",
         "v += 0x9e3779b97f4a7c15; v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9; y[i] = v ^ v >> 31;",
         "(long long)v >> 31"),
    ],
)  # fmt: skip
def test_unsigned_numbers_of_a_line_wrap_as_those_of_the_kernel(kind: str, line: str, body: str, wrong: str) -> None:
    right = {"v >> 12": "v >> 13", "(int)(v * 2654435761u)": "v * 2654435761u", "(v * 3ull + 1)": "(v * 3 + 1)",
             "v - 499": "v - 500", "(int)v > 7": "v > 7", "(long long)v >> 31": "v >> 31"}[wrong]  # fmt: skip
    setup = setup_of(f"f<<<1, n>>>({kind}[n]=random, {kind}[n], n)", line)
    assert right in body
    for each, status in ((body, "ok"), (body.replace(right, wrong), "wrong")):
        text = f"__global__ void f({WORD if kind == 'uint32' else LONG} {each} }} }}"
        found = check_own(setup, 200, text, "mine.cu")
        assert found.measurement.status == status and (status == "wrong" or found.remark is None)


@pytest.mark.parametrize(("last", "status"), [("n", "ok"), ("n - 1", "wrong")])
def test_the_last_edge_decides_though_others_may_reach_its_node(last: str, status: str) -> None:
    edges = "int32[n]=indices, int32[n]=indices, int32[100]=random, int32[100]=zeros"
    body = f"if (i < {last} && f[a[i]] > 0) o[b[i]] = 1;"
    parameters = "const int *a, const int *b, const int *f, int *o"
    found = checked(edges, "o = np.bincount(b, weights=f[a] > 0, minlength=100) > 0", parameters, body, 60)
    assert found.measurement.status == status


@pytest.mark.sampled(quick=5, thorough=2)
@pytest.mark.parametrize(
    ("body", "fill", "told"),
    [
        ("y[i] = 2 * x[i];", "", False),
        ("y[i] += 2 * x[i];", "", True),
        ("y[i] += 2 * x[i];", "=zeros", False),
        ("y[i] = 0; for (int k = 0; k < 2; k++) y[i] += x[i];", "", False),
    ],
)
def test_an_answer_that_is_added_to_zeros_is_right_only_here(body: str, fill: str, told: bool) -> None:
    found = checked(f"float32[n]=random, float32[n]{fill}", "y = 2 * x", "const float *x, float *y", body)
    assert found.measurement.status == "ok" and (found.remark is not None) == told
    remark = found.remark or ""
    assert not told or (remark.startswith("Right only because `y` ") and "with zeros here:" in remark)


@pytest.mark.parametrize(("divisor", "told"), [("m", False), ("64", True)])
def test_a_number_that_is_a_size_may_be_ignored_too(divisor: str, told: bool) -> None:
    text = f"__global__ void f(const float *x, float *y, int m) {{ y[threadIdx.x] = x[threadIdx.x] / {divisor}; }}"
    found = check_own(setup_of("f<<<1, 64>>>(float32[64]=random, float32[64], 64)", "y = x / m"), 64, text, "mine.cu")
    assert found.measurement.status == "ok" and ("may ignore `m`" in (found.remark or "")) == told


SCAN = """__global__ void f(const int *x, int *y, int n) {
    __shared__ int both[2][256];
    int t = threadIdx.x, now = 0;
    both[0][t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int far = 1; far < n; far *= 2) {
        both[1 - now][t] = t >= far ? both[now][t] + both[now][t - far] : both[now][t];
        __syncthreads();
        now = 1 - now;
    }
    if (t < n) y[t] = both[LAST][t];
}"""


@pytest.mark.parametrize(("last", "told"), [("now", False), ("0", True)])
def test_a_loop_that_halves_is_tried_with_one_step_less(last: str, told: bool) -> None:
    setup = setup_of("f<<<1, 256>>>(int32[n]=random, int32[n], n)", "y = cumsum(x)")
    found = check_own(setup, 200, SCAN.replace("LAST", last), "mine.cu")
    assert found.measurement.status == "ok" and ("not at N = 100." in (found.remark or "")) == told


@pytest.mark.sampled(quick=5, thorough=2)
@pytest.mark.parametrize("more", ["mode='edge'", "'reflect'", "mode='wrap'", "constant_values=-1.5", "mode='constant'"])
def test_an_image_is_padded_in_the_ways_of_numpy(more: str) -> None:
    x = np.arange(12.0).reshape(3, 4)
    made = value_of(f"np.pad(x, ((1, 2), (0, 1)), {more})", {"x": x}, {}).of
    assert np.array_equal(made, eval(f"np.pad(x, ((1, 2), (0, 1)), {more})", {"np": np, "x": x}))


def test_a_parameter_may_end_with_an_underscore_and_a_number_may_be_cast() -> None:
    known = {"in_": 3.0, "in": 5.0}
    assert float(value_of("2 * in_ + in", {}, known).of) == 11
    assert float(value_of("np.int64(in / 2) + np.float16(0.5) + float(1)", {}, known).of) == 3.5
    with pytest.raises(NotRunnable, match="reshape"):
        value_of("np.add.reduceat(in, 3)", {}, known)


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(
    ("line", "body", "wrong"),
    [
        ("y = x.argmin() + 1", "int b = 0; for (int k = 1; k < 60; k++) if (x[k] < x[b]) b = k; *y = b + 1;", "k < 59"),
        ("y = (x * x).max()", "int b = 0; for (int k = 0; k < 60; k++) b = max(b, x[k] * x[k]); *y = b;", "k < 59"),
        ("y = np.bincount(x & 15).argmax()", "int h[16] = {}, b = 0; for (int k = 0; k < 60; k++) h[x[k] & 15]++; "
         "for (int k = 1; k < 16; k++) if (h[k] > h[b]) b = k; *y = b;", "k < 15"),
    ],
)  # fmt: skip
def test_a_launch_without_a_size_is_tried_with_deciding_numbers_at_the_ends(line: str, body: str, wrong: str) -> None:
    kind = "unsigned" if "&" in line else "int"
    setup = setup_of(f"f<<<1, 1>>>({'uint32' if '&' in line else 'int32'}[60]=random, int32[1])", line)
    for each in (body, body.replace("k < 60" if "59" in wrong else "k < 16", wrong)):
        found = check_own(setup, 60, f"__global__ void f(const {kind} *x, int *y) {{ {each} }}", "mine.cu")
        assert found.measurement.status == ("ok" if each == body else "wrong")


def test_a_size_at_which_the_line_has_no_value_is_not_tried() -> None:
    body, line = "y[i] = x[i ^ 1];", "y = x[np.arange(x.size) ^ 1]"
    found = checked("int32[n]=random, int32[n]", line, "const int *x, int *y", body, 150)
    assert (found.measurement.status, found.remark) == ("ok", None)


@pytest.mark.parametrize("loop", ["for (int k = p[i]; k < p[i + 1]; k++)", "int k = p[i]; for (; k < p[i + 1]; k++)"])
def test_ends_of_rows_may_be_a_range(loop: str) -> None:
    parameters, line = "const int *p, const float *x, float *y", "y = x * (p[1:] - p[:-1])"
    body = f"float s = 0; {loop} s += x[k]; y[i] = s;"
    found = checked("int32[n + 1]=range, float32[n]=random, float32[n]", line, parameters, body, 150)
    assert (found.measurement.status, found.remark) == ("ok", None)


def test_a_mean_of_unsigned_words_may_be_computed_with_floats() -> None:
    arguments, parameters = (
        "uint32[n]=random, uint32[n]=random, float32[n]",
        "const unsigned *x, const unsigned *z, float *y",
    )
    found = checked(arguments, "y = (x + z) / 2", parameters, "y[i] = ((float)x[i] + z[i]) / 2;", 150)
    assert (found.measurement.status, found.remark) == ("ok", None)


def test_one_block_of_fixed_threads_needs_no_more_elements_than_it_has() -> None:
    text = """__global__ void f(int *a, int n) {
        __shared__ int s[256];
        int t = threadIdx.x;
        if (t < n) s[t] = a[t];
        __syncthreads();
        if (t < n) a[t] = s[n - 1 - t];
    }"""
    found = check_own(setup_of("f<<<1, 256>>>(int32[n]=random, n)", "a = a[::-1]"), 256, text, "mine.cu")
    assert (found.measurement.status, found.remark) == ("ok", None)


@pytest.mark.parametrize(
    "line",
    ["np.diff(x, axis=0)", "np.diff(x, 2)", "np.diff(x, n=2, axis=0)", "np.argsort(x, axis=0, kind='stable')",
     "np.sort(x, kind='stable')", "np.searchsorted(x[0], x, side='right')", "np.searchsorted(x[0], x, 'left')"],
)  # fmt: skip
def test_functions_of_an_order_take_the_arguments_of_numpy(line: str) -> None:
    x = np.array([[3, 4, 4, 6], [6, 1, 4, 2], [1, 9, 0, 3]])
    assert np.array_equal(value_of(line, {"x": x}, {}).of, eval(line, {"np": np, "x": x}))

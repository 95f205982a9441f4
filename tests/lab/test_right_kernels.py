"""Right kernels, as students and engineers write them, are right in all trials of the lab."""

from __future__ import annotations

import pytest

from engine.lab.checking import check_own
from engine.lab.formula_traits import added_in, array_divisors_in, bounds_in, choices_in, compares_plainly, divisors_in
from engine.lab.own_launch import Checked
from engine.lab.setups import setup_of
from engine.lab.structures import element_of
from tests.sentences import sentence

pytestmark = pytest.mark.sampled(quick=3, thorough=2)

ELEMENT = """__global__ void f(%s, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { %s }
}"""


def checked(line: str, parameters: str, arguments: str, body: str, n: int = 500) -> Checked:
    """Check an elementwise kernel of these parameters, of which the constant arrays get random numbers."""
    given = iter(filter(None, arguments.split(", ")))
    words = []
    for parameter in parameters.split(", "):
        element = element_of("", parameter.replace("const ", ""))
        words.append(
            f"{element.kind}[n]{'=random' * ('const' in parameter)}" if element and "*" in parameter else next(given)
        )
    setup = setup_of(f"f<<<(n + 127) / 128, 128>>>({', '.join(words)}, n)", line)
    return check_own(setup, n, ELEMENT % (parameters, body), "mine.cu")


INTS, WORDS = "const int *x, const int *z, int *y", "const unsigned long long *x, unsigned long long *y"
FLOATS = "const float *x, float *y"
RIGHT = (
    # the difference of two large ints has another sign in 32 bits
    ("y = np.abs(x - z)", INTS, "", "y[i] = abs(x[i] - z[i]);"),
    ("y = np.abs(x)", INTS, "", "y[i] = abs(x[i]);"),
    # a formula has no integers from 2 ** 63 on
    ("y = np.clip(x, 5, 100)", WORDS, "", "y[i] = x[i] < 5 ? 5 : x[i] > 100 ? 100 : x[i];"),
    ("y = np.minimum(x, x[0])", WORDS, "", "y[i] = min(x[i], x[0]);"),
    # 0.3f is larger than 0.3
    ("y = np.where(x > 0.3, x, 0)", FLOATS, "", "y[i] = x[i] > 0.3f ? x[i] : 0;"),
    ("y = np.where(x < 0.7, 2 * x, 0)", FLOATS, "", "y[i] = x[i] < 0.7f ? 2 * x[i] : 0;"),
    ("y = np.where(x > 0.3, x, 0)", "const double *x, double *y", "", "y[i] = x[i] > 0.3 ? x[i] : 0;"),
    # products before a comparison are ints
    ("y = np.where(3 * x > 1500000000, 1, 0)", "const int *x, int *y", "", "y[i] = 3 * x[i] > 1500000000;"),
    # the line's number is the parameter's
    ("y = 2 * x", f"float a, {FLOATS}", "2", "y[i] = a * x[i];"),
    ("y = a * x", "float a, const int *x, int *y", "2", "y[i] = a * x[i];"),
    # a divisor is never zero, and a power of two if it was one
    ("y = x // k", "int k, const int *x, int *y", "-2", "y[i] = (int)floor((double)x[i] / k);"),
    ("y = x / a", f"float a, {FLOATS}", "-1", "y[i] = x[i] / a;"),
    ("y = x % k", "int k, const unsigned *x, unsigned *y", "16", "y[i] = x[i] & (k - 1);"),
    # a parameter is a float, and so are the numbers of a line
    ("y = (1 - a) * x", f"float a, {FLOATS}", "0.999", "y[i] = (1 - a) * x[i];"),
    ("y = (1 - 0.999) * x", FLOATS, "", "y[i] = (1 - 0.999f) * x[i];"),
    ("y = x / (1 - p)", f"float p, {FLOATS}", "0.5", "y[i] = x[i] * (1 / (1 - p));"),
    ("y = np.where(x > t, x, 0)", f"float t, {FLOATS}", "0.3", "y[i] = x[i] > t ? x[i] : 0;"),
    ("y = 255 * (x > t)", "int t, const unsigned char *x, unsigned char *y", "128", "y[i] = x[i] > t ? 255 : 0;"),
    ("y = x / np.sqrt(x * x + 1e-5)", FLOATS, "", "y[i] = x[i] * rsqrtf(x[i] * x[i] + 1e-5f);"),
    ("y = np.clip(x, low, high)", f"float low, float high, {FLOATS}", "-1, 1", "y[i] = fmaxf(low, fminf(high, x[i]));"),
    # fast functions, and what becomes zero on the way
    ("y = np.exp(x)", FLOATS, "", "y[i] = __expf(x[i]);"),
    ("y = x / (1 + np.exp(-x))", FLOATS, "", "y[i] = x[i] / (1 + expf(-x[i]));"),
    ("y = np.cbrt(x)", FLOATS, "", "y[i] = copysignf(powf(fabsf(x[i]), 1.0f / 3), x[i]);"),
    # the same number from terms that are larger
    ("y = 1 / (1 + np.exp(-x))", FLOATS, "", "y[i] = 0.5f * tanhf(x[i] / 2) + 0.5f;"),
    ("y = np.tanh(x)", FLOATS, "", "y[i] = 1 - 2 / (expf(2 * x[i]) + 1);"),
    ("y = np.maximum(x, 0)", FLOATS, "", "y[i] = (x[i] + fabsf(x[i])) / 2;"),
    ("y = np.cos(x) ** 2", FLOATS, "", "y[i] = 0.5f + 0.5f * cosf(2 * x[i]);"),
    # a fraction beside a whole number
    ("y = (0.299 * x + 0.587 * x + 0.114 * x).astype(np.uint8)", "const unsigned char *x, unsigned char *y", "",
     "y[i] = 0.299f * x[i] + 0.587f * x[i] + 0.114f * x[i];"),
    ("y = np.floor(x * 0.1)", "const float *x, int *y", "", "y[i] = floorf(x[i] * 0.1f);"),
    ("y = np.ceil(x / 3)", FLOATS, "", "y[i] = ceilf(x[i] * (1.0f / 3));"),
    ("y = np.floor(x + 0.5)", "const float *x, int *y", "", "y[i] = floorf(x[i] + 0.5f);"),
    ("y = (x / 7).astype(int)", "const float *x, int *y", "", "y[i] = __fdividef(x[i], 7);"),
    ("y = np.exp(x / 1000)", FLOATS, "",
     "float t = x[i] / 1000; y[i] = 1 + t * (1 + t / 2 * (1 + t / 3 * (1 + t / 4)));"),
    ("y = np.sin(x) * np.sin(x)", FLOATS, "", "y[i] = 1 - cosf(x[i]) * cosf(x[i]);"),
    ("y = np.cosh(x)", FLOATS, "", "y[i] = 0.5f * (expf(x[i]) + expf(-x[i]));"),
    ("y = np.log(1 + np.exp(x))", FLOATS, "", "y[i] = x[i] > 20 ? x[i] : log1pf(expf(x[i]));"),
    ("y = (x - m) / s", f"float m, float s, {FLOATS}", "3, 2", "y[i] = x[i] / s - m / s;"),
    ("y = (x - x[0]) ** 2", FLOATS, "", "y[i] = x[i] * x[i] - 2 * x[i] * x[0] + x[0] * x[0];"),
    ("y = x - x + x.mean()", FLOATS, "", "y[i] = 0; for (int k = 0; k < n; k++) y[i] += x[k] / n;"),
    ("y = x - x + x.var()", FLOATS, "", """float s = 0, q = 0;
        for (int k = 0; k < n; k++) { s += x[k]; q += x[k] * x[k]; }
        y[i] = q / n - s / n * (s / n);"""),
    ("y = 0 * x + 4 * (x * x < 100).mean()", FLOATS, "",
     "y[i] = 0; for (int k = 0; k < n; k++) if (x[k] * x[k] < 100) y[i] += 4.0f / n;"),
)  # fmt: skip


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(("line", "parameters", "arguments", "body"), RIGHT)
def test_a_right_kernel_is_right(line: str, parameters: str, arguments: str, body: str) -> None:
    found = checked(line, parameters, arguments, body)
    assert (found.measurement.status, found.measurement.reason, found.remark) == ("ok", None, None)


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "parameters", "arguments", "body"),
    [
        ("y = np.exp(x)", FLOATS, "", "y[i] = exp2f(1.4427f * x[i]);"),
        ("y = x / (1 + np.exp(-x))", FLOATS, "", "y[i] = x[i] < -80 ? 0 : x[i] / (1 + expf(-x[i]));"),
        ("y = x % k", "int k, const unsigned *x, unsigned *y", "16", "y[i] = x[i] & 15;"),
        ("y = x // k", "int k, const int *x, int *y", "-2", "y[i] = (int)floor((double)x[i] / -2);"),
        ("y = np.where(x > 0.3, x, 0)", FLOATS, "", "y[i] = x[i] > 0.31f ? x[i] : 0;"),
        # numbers that are equal to a parameter
        ("y = np.where(x > t, 1, 0)", "float t, const float *x, int *y", "0.3", "y[i] = x[i] >= t;"),
        ("y = np.where(x > t, x, 0)", "int t, const int *x, int *y", "5", "y[i] = x[i] >= t ? x[i] : 0;"),
        # parameters that the kernel ignores, or confuses
        ("y = 255 * (x > t)", "int t, const int *x, int *y", "300", "y[i] = x[i] > 300 ? 255 : 0;"),
        (
            "y = np.clip(x, low, high)",
            f"float low, float high, {FLOATS}",
            "-1, 1",
            "y[i] = fmaxf(-high, fminf(high, x[i]));",
        ),
        (
            "y = np.clip(x, low, high)",
            "int low, int high, const int *x, int *y",
            "-10, 10",
            "y[i] = max(-10, min(10, x[i]));",
        ),
        ("y = a * x", f"float a, {FLOATS}", "2", "y[i] = (int)a * x[i];"),
        # the other side of every step, and of steps that nothing rounds
        ("y = np.ceil(x / 3)", FLOATS, "", "y[i] = floorf(x[i] / 3) + 1;"),
        ("y = np.floor(x / 3)", "const float *x, int *y", "", "y[i] = (int)ceilf(x[i] / 3) - 1;"),
        ("y = np.floor(x + 0.5)", "const float *x, int *y", "", "y[i] = rintf(x[i]);"),
        # what is too small, or is counted wrong, stays wrong
        ("y = 1 / (1 + np.exp(-x))", FLOATS, "", "y[i] = x[i] < -7 ? 0 : 1 / (1 + expf(-x[i]));"),
        ("y = np.tanh(x)", FLOATS, "", "y[i] = fabsf(x[i]) < 0.01f ? 0 : tanhf(x[i]);"),
        (
            "y = 0 * x + x.var()",
            FLOATS,
            "",
            """float s = 0, q = 0;
            for (int k = 0; k < n; k++) { s += x[k]; q += x[k] * x[k]; }
            y[i] = (q - s * s / n) / (n - 1);""",
        ),
        ("y = np.maximum(x, 0)", FLOATS, "", "y[i] = (x[i] + fabsf(x[i])) * 0.49999f;"),
        ("y = np.cos(x) ** 2", FLOATS, "", "y[i] = 0.5f + 0.4999f * cosf(2 * x[i]);"),
        ("y = np.floor(x * 0.1)", "const float *x, int *y", "", "y[i] = (int)(x[i] * 0.1f);"),
        ("y = (0.299 * x).astype(int)", "const int *x, int *y", "", "y[i] = 0.299f * x[i] + 0.01f;"),
        ("y = x % m", "int m, const unsigned *x, unsigned *y", "1000", "y[i] = x[i] % 1000;"),
        ("y = np.log(1 + np.exp(x))", FLOATS, "", "y[i] = x[i] > 5 ? x[i] : log1pf(expf(x[i]));"),
        # a small number that is added
        ("y = x / np.sqrt(x * x + 1e-5)", FLOATS, "", "y[i] = x[i] * rsqrtf(x[i] * x[i]);"),
    ],
)
def test_its_near_miss_is_wrong(line: str, parameters: str, arguments: str, body: str) -> None:
    assert checked(line, parameters, arguments, body).measurement.status == "wrong"


def test_a_part_of_a_line_that_is_too_large_for_a_float_is_named() -> None:
    reason = checked("y = np.log(1 + np.exp(x))", FLOATS, "", "y[i] = logf(1 + expf(x[i]));").measurement.reason
    assert reason and sentence("checking.too-large-part", reason)
    assert "is inf instead of 124.25" in reason and "`np.exp(x)` is too large" in reason
    other = checked("y = np.tanh(x)", FLOATS, "", "y[i] = 1 - 2 * expf(-2 * x[i]) / (1 + expf(-2 * x[i]));")
    assert other.measurement.status == "wrong" and "too large" not in str(other.measurement.reason)


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("r = x.max()", "*r = max(*r, x[k]);"),
        ("r = max(x)", "*r = max(*r, x[k]);"),
        ("r = x.max() + x[0] // 2 - x[0] // 2", "*r = max(*r, x[k]);"),
        ("r = 2 * x.max()", "*r = max(*r, 2 * x[k]);"),
        ("r = np.max(np.abs(x))", "*r = max(*r, abs(x[k]));"),
        ("r = (x == 7).any()", "*r |= x[k] == 7;"),
    ],
)
@pytest.mark.parametrize(("bound", "right"), [("n", True), ("n - n % 64", False)])
def test_a_last_part_of_a_block_that_is_left_out_is_found_at_another_size(
    line: str, step: str, bound: str, right: bool
) -> None:
    start = "*r = -2147483647 - 1;" if "max" in line and "abs" not in line else ""
    text = f"""__global__ void f(const int *x, int *r, int n) {{
        if (threadIdx.x) return;
        {start}
        for (int k = 0; k < {bound}; k++) {step}
    }}"""
    setup = setup_of("f<<<1, 64>>>(int32[n]=random, int32[1]=zeros, n)", line)
    found = check_own(setup, 128, text, "mine.cu")
    assert (found.remark is None) == right
    if not right:
        assert found.remark and found.remark.startswith("Right at this N") and "not at N = 127." in found.remark


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "start", "body"),
    [
        ("r = (x < 0).any()", "zeros", "if (x[i] < 0) *r = 1;"),
        ("r = (x == z).all()", "1", "if (x[i] != z[i]) *r = 0;"),
        ("r = x.max()", "-2147483648", "atomicMax(r, x[i]);"),
        ("r = min(z)", "2147483647", "atomicMin(r, z[i]);"),
    ],
)
def test_an_element_that_no_thread_reads_decides(line: str, start: str, body: str) -> None:
    call = f"f<<<(n + 127) / 128, 128>>>(int32[n]=random, int32[n]=random, int32[1]={start}, n)"
    for left_out, status in (("i < 0", "ok"), ("i % 64 == 37", "wrong")):
        text = ELEMENT % ("const int *x, const int *z, int *r", f"if (!({left_out})) {{ {body} }}")
        assert check_own(setup_of(call, line), 500, text, "mine.cu").measurement.status == status


def test_a_number_with_the_low_bits_of_zero_is_not_zero() -> None:
    text = ELEMENT % ("const int *x, int *r", "if (%s) atomicAdd(r, 1);")
    setup = setup_of("f<<<2, 256>>>(int32[n]=random, int32[1]=zeros, n)", "r = np.count_nonzero(x)")
    for body, status in (("x[i]", "ok"), ("x[i] & 0xffff", "wrong"), ("true", "wrong"), ("x[i] > 0", "wrong")):
        assert check_own(setup, 500, text % body, "mine.cu").measurement.status == status


def test_a_search_that_leaves_out_the_first_number_is_wrong_though_it_compares_with_a_constant() -> None:
    text = """__global__ void f(const int *x, int *r, int n) {
        int most = -2147483648;
        for (int i = FIRST; i < n; i++) most = max(most, x[i] == 77 ? 77 : x[i]);
        *r = most;
    }"""
    setup = setup_of("f<<<1, 1>>>(int32[n]=random, int32[1], n)", "r = x.max()")
    for first, status in (("0", "ok"), ("1", "wrong")):
        assert check_own(setup, 100, text.replace("FIRST", first), "mine.cu").measurement.status == status


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "body", "wrong"),
    [
        ("r = argmin(x)", "for (int i = 1; i < n; i++) if (x[i] < x[*r]) *r = i;", "int i = 2"),
        ("r = argmax(x)", "for (int i = 1; i < n; i++) if (x[i] > x[*r]) *r = i;", "int i = 2"),
        ("r = np.abs(x).max()", "for (int i = 0; i < n; i++) *r = max(*r, abs(x[i]));", "-x[i]"),
        ("r = np.abs(x).max()", "for (int i = 0; i < n; i++) *r = max(*r, abs(x[i]));", "x[i]"),
        ("r = np.bincount(x)[:1]", "for (int i = 0; i < n; i++) *r += x[i] == 0;", "false"),
        ("r = np.bitwise_or.reduce(x)", "for (int i = 0; i < n; i++) *r |= x[i];", "i < n - 1"),
        ("r = (x % 400 == 0).sum() + x[0] - x[0]", "for (int i = 0; i < n; i++) *r += x[i] % 400 == 0;", "false"),
        (
            "r = ((x[1:] == 9) & (x[:-1] == 9)).sum() + 1",
            "for (int i = *r = 1; i < n; i++) *r += x[i] == 9 && x[i - 1] == 9;",
            "true",
        ),
        (
            "r = x.max() - x.min()",
            "int l = *x, m = l; for (int i = 0; i < n; i++) l = min(l, x[i]), m = max(m, x[i]); *r = m - l;",
            "i < n - 1",
        ),
        (
            "r = x.max() - x.min()",
            "int l = *x, m = l; for (int i = 0; i < n; i++) l = min(l, x[i]), m = max(m, x[i]); *r = m - l;",
            "l = 0",
        ),
    ],
)
def test_a_search_misses_no_number(line: str, body: str, wrong: str) -> None:
    kind = "unsigned" if "bincount" in line else "int"
    call = f"f<<<1, 1>>>({'uint32' if kind == 'unsigned' else 'int32'}[n]=random, int32[1]=zeros, n)"
    parts = {"int i = 2": "int i = 1", "false": "x[i] == 0" if "400" not in line else "x[i] % 400 == 0",
             "true": "x[i] == 9", "i < n - 1": "i < n", "l = 0": "l = *x"}  # fmt: skip
    near = body.replace(parts.get(wrong, "abs(x[i])"), wrong)
    for each, status in ((body, "ok"), (near, "wrong")):
        text = f"__global__ void f(const {kind} *x, int *r, int n) {{ {each} }}"
        assert check_own(setup_of(call, line), 100, text, "mine.cu").measurement.status == status


def test_a_radius_that_the_kernel_ignores_is_smaller_in_a_trial() -> None:
    text = """__global__ void f(const int *x, int *y, int r, int n) {
        int i = blockIdx.x * 128 + threadIdx.x, sum = 0;
        for (int k = max(0, i - R); k <= min(n - 1, i + R); k++) sum += x[k];
        if (i < n) y[i] = sum;
    }"""
    setup = setup_of("f<<<(n + 127) / 128, 128>>>(int32[n]=random, int32[n], 3, n)", "y = stencil(x, r)")
    for radius, status in (("r", "ok"), ("3", "wrong")):
        assert check_own(setup, 300, text.replace("R)", f"{radius})"), "mine.cu").measurement.status == status


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "size", "body", "wrong"),
    [
        ("y = x[:k]", "n", "if (i < k) y[i] = x[i];", "i < 100"),
        ("y = x[::k]", "n / 100", "if (i < n / k) y[i] = x[i * k];", "i * 100"),
        (
            "y = np.where(np.arange(x.size) >= x.size - k, x, 0)",
            "n",
            "if (i < n) y[i] = i >= n - k ? x[i] : 0;",
            "n - 100",
        ),
    ],
)
def test_a_number_that_the_kernel_ignores_is_named(line: str, size: str, body: str, wrong: str) -> None:
    text = "__global__ void f(const int *x, int *y, int k, int n) { int i = blockIdx.x * 128 + threadIdx.x; %s }"
    setup = setup_of(f"f<<<(n + 127) / 128, 128>>>(int32[n]=random, int32[{size}], 100, n)", line)
    right, near = (
        check_own(setup, 500, text % each, "mine.cu") for each in (body, body.replace(wrong.replace("100", "k"), wrong))
    )
    assert (right.measurement.status, right.remark) == ("ok", None)
    assert near.measurement.status == "wrong" or str(near.remark).endswith("the kernel may ignore `k`.")


def test_a_radius_stays_that_of_its_weights() -> None:
    text = """__global__ void f(const int *x, const int *w, int *y, int r, int n) {
        int i = blockIdx.x * 128 + threadIdx.x + r, sum = 0;
        if (i >= n - r) return;
        for (int k = -r; k <= r; k++) sum += w[r - k] * x[i + k];
        y[i - r] = sum;
    }"""
    setup = setup_of(
        "f<<<3, 128>>>(int32[n]=random, int32[7]=random, int32[n], 3, n)", "y = np.convolve(x, w, 'same')[r:-r]"
    )
    found = check_own(setup, 300, text, "mine.cu")
    assert (found.measurement.status, found.remark) == ("ok", None)


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("kind", "line", "predicate"),
    [
        ("float", "r = (x > 0.3).any()", "x[i] > 0.3f"),
        ("float", "r = (x > 0.3).sum()", "x[i] > 0.3f"),
        ("int", "r = np.count_nonzero(x * x > 1000000)", "x[i] * x[i] > 1000000"),
    ],
)
def test_a_right_count_is_right(kind: str, line: str, predicate: str) -> None:
    add = "atomicOr(r, 1);" if "any" in line else "atomicAdd(r, 1);"
    text = ELEMENT % (f"const {kind} *x, int *r", f"if ({predicate}) {add}")
    found = check_own(setup_of(f"f<<<2, 256>>>({kind}32[n]=random, int32[1]=zeros, n)", line), 500, text, "mine.cu")
    assert (found.measurement.status, found.remark) == ("ok", None)


def test_a_launch_of_one_element_is_not_tried_without_any() -> None:
    text = (
        "__global__ void f(const float *x, float *y, int n) { y[0] = x[0]; for (int i = 1; i < n; i++) y[i] = x[i]; }"
    )
    for line in ("y = x", "y = cumsum(x) - cumsum(x) + x", "y = copy(x)"):
        found = check_own(setup_of("f<<<1, 1>>>(float32[n]=random, float32[n], n)", line), 1, text, "mine.cu")
        assert (found.measurement.status, found.remark) == ("ok", None)
    none = check_own(
        setup_of("f<<<1, 1>>>(float32[n], float32[n + 1], n)", "y = 2.5 * x"),
        0,
        text.replace("y[0] = x[0];", ""),
        "mine.cu",
    )
    assert none.measurement.status == "refused" and none.measurement.reason == "2.5 * x has no elements."


def test_divisors_and_plain_comparisons() -> None:
    assert divisors_in("x // k + m * x % 2") == {"k"}
    assert compares_plainly("where(x[1:] > -5, x.max() < y, 2 * x)") and not compares_plainly("x * x > 5")
    assert bounds_in("where(x > t, 3, y == 2)", {"t": 0.5}) == (2, 0.5)
    assert {*bounds_in("where(x % 4 == 0, x / 2, 9)")} == {0, 4}
    assert array_divisors_in("where(x > 0, 7 // (x + k), y / k)", {"k": 2.0}) == {"x"}
    assert added_in("x * 0.001 + 1e-5 + y") == 1e-5 and choices_in("clip(x, a, b) + (x > c) * b") == {"a", "c", "x"}


ROWS = """__global__ void f(const float *x, float *y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    float most = START, sum = 0;
    for (int k = 0; k < 10; k++) most = fmaxf(most, x[10 * i + k]);
    for (int k = 0; k < 10; k++) sum += expf(x[10 * i + k] - most);
    y[i] = most + logf(sum);
}"""


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    "line",
    [
        "y = np.log(np.exp(x).sum(axis=1))",
        "m = x.max(axis=1); y = m + np.log(np.exp(x - m[:, None]).sum(axis=1))",
    ],
)
def test_the_largest_of_exponents_may_be_far_below_0_and_at_any_place(line: str) -> None:
    setup = setup_of("f<<<(n + 63) / 64, 64>>>(float32[n, 10]=random, float32[n], n)", line)
    for start, last, status in (
        ("-INFINITY", "k < 10", "ok"),
        ("0", "k < 10", "wrong"),
        ("-INFINITY", "k < 9", "wrong"),
    ):
        text = ROWS.replace("START", start).replace("k < 10", last, 1)
        found = check_own(setup, 100, text, "mine.cu")
        assert (found.measurement.status == "ok" and found.remark is None) == (status == "ok")


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(
    ("line", "parameters", "arguments", "body", "wrong"),
    [
        # each array has other places for the numbers that are equal to a bound
        ("y = z * (x > 0)", "const float *x, const float *z, float *y", "", "y[i] = x[i] > 0 ? z[i] : 0;", ">= 0 ?"),
        (
            "y = np.where(z > 0, x / (1 - p), 0)",
            "float p, const float *x, const unsigned char *z, float *y",
            "0.25",
            "y[i] = z[i] > 0 ? x[i] / (1 - p) : 0;",
            "> 0 ? x[i] / (1 - p) : x[i]",
        ),
        # what is compared is computed, and usually far larger
        ("y = np.sqrt(x * x + z * z) > 2", "const float *x, const float *z, float *y", "",
         "y[i] = x[i] * x[i] + z[i] * z[i] > 4;", "> 2;"),
        ("y = 0 * x + np.bitwise_xor.reduce(x)", "const int *x, int *y", "",
         "y[i] = 0; for (int k = 0; k < n; k++) y[i] ^= x[k];", "^= x[k] & 0xffffff;"),
        ("y = (x - x.min()) / (x.max() - x.min())", FLOATS, "", """float l = x[0], h = l;
            for (int k = 1; k < n; k++) { l = fminf(l, x[k]); h = fmaxf(h, x[k]); }
            y[i] = (x[i] - l) / (h - l);""", "l = 0, h = x[0];"),
    ],
)  # fmt: skip
def test_numbers_decide_between_a_kernel_and_its_near_miss(
    line: str, parameters: str, arguments: str, body: str, wrong: str
) -> None:
    right = {
        ">= 0 ?": "> 0 ?",
        "> 2;": "> 4;",
        "^= x[k] & 0xffffff;": "^= x[k];",
        "l = 0, h = x[0];": "l = x[0], h = l;",
    }
    near = body.replace(right.get(wrong, "> 0 ? x[i] / (1 - p) : 0"), wrong)
    for each, status in ((body, "ok"), (near, "wrong")):
        assert checked(line, parameters, arguments, each, 300).measurement.status == status

"""A line of NumPy says what is right: it is read without running any Python, and floats have the bound of a kernel."""

from __future__ import annotations

import math
import re
import warnings
from time import process_time

import numpy as np
import pytest

import engine
from engine.lab.checking import check_own
from engine.lab.formula import check, value_of
from engine.lab.numpy_functions import FUNCTIONS, OF_PARTS
from engine.lab.setups import Formula, Right, right_of, setup_of
from engine.records import NotRunnable
from tests.cases import case
from tests.lab.hostile_lines import hostile_lines

MAKE = np.random.default_rng(7)
X, Y = (MAKE.standard_normal(1000).astype(np.float32) for _ in "xy")
A, B = (MAKE.standard_normal((24, 24)).astype(np.float32) for _ in "ab")
WHOLE = MAKE.integers(-50, 50, 64).astype(np.int32)
OF_NUMPY = {name: getattr(np, name) for name in (*FUNCTIONS, *OF_PARTS) if hasattr(np, name)}
KNOWN = {"x": X, "y": Y, "A": A, "B": B, "in": WHOLE}
PLAIN = [
    "2 * x + y", "x.sum()", "A @ B", "x[1:] - x[:-1]", "np.exp(x) / np.exp(x).sum()", "A.T", "x.cumsum()",
    "(x > 0) * x",
    "where(x > y, x, y)", "maximum(x, 0)", "sqrt(x * x + y * y)", "A.sum(axis=1)", "sort(x)", "in * in + 1", "-in // 3",
    "flip(in)", "roll(in, 3)", "in[::2]", "concatenate([x, y])",
    "np.concatenate([x, y])", "max([x.sum(), 3.0])", "x.max()", "in.argmax()", "mean(x)", "outer(x, y)",
    "A[0] + A[:, 1]", "bincount(in + 50)", "x ** 2", "A.reshape(4, 144)", "abs(in) % 7", "in & 3", "diff(x)", "x.size",
    "x.var()", "A.std(axis=1, keepdims=True)", "np.var(x, ddof=1)", "np.maximum.accumulate(in)", "np.pad(x, 1)[:-2]",
    "np.pad(A, ((1, 0), (0, 2)))", "np.bitwise_xor.reduce(in)", "np.add.reduce(A)", "np.linalg.norm(x)", "np.median(x)",
    "x * np.pi", "x.shape[0] - in", "A[:, np.newaxis, 0] + x[:3]", "np.logical_and(x > 0, y > 0)", "np.hypot(x, y)",
    "np.arctan2(x, y)", "np.expm1(x)", "np.log1p(x * x)", "x.astype(int)", "(in * 1000).astype(np.int8)",
    "in.astype(float) / 3", "np.zeros((2, 3)) + in[:3]", "np.eye(24) @ A", "np.cumprod(1 + in % 3)[:20]",
    "np.triu(A, 1)", "np.searchsorted(sort(x), y)", "np.unique(in)", "x[np.argsort(y)]", "A.reshape((4, 144))",
    "np.add.accumulate(in)", "A.max(axis=None)", "np.take(x, in % 9)", "np.bitwise_count(in)", "np.fmod(in, 7)",
    "np.trace(A)", "np.full((3,), 2.5)", "np.logical_or.reduce(A > 1)", "np.convolve(x, y[:5])",
    "np.convolve(y[:5], x)",
    "np.convolve(x, y[:5], 'same')", "np.convolve(x, y[:5], mode='valid')", "np.correlate(x, y[:5])",
    "np.correlate(x, y[:4], 'same')", "np.diff(A)", "np.inner(A, B)", "np.vdot(A, B)", "np.ptp(A, axis=1)",
    "np.linspace(-1, 2, 10)", "np.logaddexp(x, y)", "np.array_equal(x, y)", "np.nonzero(A > 0)[1]",
    "np.where(in > 3)[0]", "np.bincount(in + 50, weights=x[:64])", "np.bincount(in + 50, x[:64], 200)",
    "x.flatten()", "np.transpose(A.reshape(4, 6, 24), (2, 0, 1))", "A[..., 0]", "np.zeros(3, dtype=int) + in[:3]",
    "A.reshape(4, 6, 24) @ A", "A.reshape(2, 12, 24) @ B.reshape(2, 24, 12)", "A.reshape(4, 6, 24) @ x[:24]",
    "A.sum(axis=(0, 1))", "A.reshape(4, 6, 24).mean(axis=(1, 2), keepdims=True)", "A.max((0, 1))",
    "np.std(A, axis=(0, 1))", "np.roll(A, (1, 2), axis=(0, 1))", "np.flip(A, (0, 1))", "np.tile(A, (2, 3))",
    "np.cross(A[:, :3], B[0, :3])", "np.kron(A[:2], B)",
    "np.sum(x, dtype=np.float64)", "np.column_stack([x, y])", "np.full_like(A, 3)", "np.array([1, 2, 3])",
]  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_a_line_has_the_value_that_numpy_gives(line: str) -> None:
    known = {f"{name}_" if name == "in" else name: array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
             for name, array in KNOWN.items()}  # fmt: skip
    wanted = eval(re.sub(r"\bin\b", "in_", line), {"np": np, **OF_NUMPY, **known})
    found = value_of(line, KNOWN, {})
    assert np.allclose(found.of, wanted, rtol=1e-14, atol=0) and found.of.shape == np.shape(wanted)
    assert found.off.shape == found.of.shape


@pytest.mark.parametrize("line", [line for line in PLAIN if "in" not in line.replace("min", "")])
def test_what_float32_makes_of_a_line_is_right_and_a_near_miss_is_wrong(line: str) -> None:
    made = np.asarray(eval(line, {"np": np, **OF_NUMPY, "x": X, "y": Y, "A": A, "B": B}))
    if made.dtype.kind != "f":
        return
    assert check(line, KNOWN, {}, made.astype(np.float32), "out").ok
    miss = np.array(made, np.float32).ravel()
    at = int(np.argmax(np.abs(miss)))
    miss[at] *= np.float32(1.001)
    found = check(line, KNOWN, {}, miss, "out")
    assert not found.ok and found.at in (at, None)


@pytest.mark.parametrize("line", ["np.sort(np.exp(9 * x))", "np.maximum.accumulate(np.exp(sort(9 * x)))"])
def test_a_small_number_beside_large_ones_has_a_small_bound(line: str) -> None:
    made = np.sort(np.exp(9 * np.sort(X.astype(np.float64)))).astype(np.float32)
    assert check(line, KNOWN, {}, made, "out").ok
    made[0] *= np.float32(1.001)
    assert check(line, KNOWN, {}, made, "out").at == 0


@pytest.mark.parametrize("line", ["np.minimum(np.exp(9 * x), 1)", "np.clip(np.exp(9 * x), 0, 1)"])
def test_a_number_that_is_chosen_has_its_own_bound(line: str) -> None:
    made = np.minimum(np.exp(9 * X.astype(np.float64)), 1).astype(np.float32)
    assert check(line, KNOWN, {}, made, "out").ok
    at = int(np.argmax(X))
    made[at] *= np.float32(1.001)
    assert check(line, KNOWN, {}, made, "out").at == at


def test_the_root_of_zero_takes_no_bound_from_another_number() -> None:
    made = np.maximum(X.astype(np.float64) ** 3, 0)
    assert value_of("np.maximum(x ** 3, np.sqrt(0 * x))", KNOWN, {}).off[made > 0].min() > 0
    assert check("np.maximum(x ** 3, np.sqrt(0 * x))", KNOWN, {}, made.astype(np.float32), "out").ok


def test_the_error_function_is_that_of_cuda() -> None:
    wanted = np.array([0.5 * each * (1 + math.erf(each / math.sqrt(2))) for each in X.astype(float).tolist()])
    assert np.allclose(value_of("0.5 * x * (1 + erf(x / sqrt(2)))", KNOWN, {}).of, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("x.astype(complex)", "`complex` is no type"),
        ("np.pad(x, 10 ** 12)", "at most"),
        ("np.eye(10 ** 9)", "at most"),
        ("np.full(10 ** 12, 1)", "at most"),
        ("np.maximum.outer(x, y)", "none of the operations"),
        ("np.convolve(x, y, 'other')", "none of the operations"),
        ("np.einsum('i,i->', x, y)", "Write the sum with @"),
        ("assigned(x, y)", "array can be assigned"),
        ("assigned(x[1:], y)", "could not broadcast"),
        ("np.pad(A, ((1, 2, 3),))", "broadcast"),
        ("np.gcd(x, y)", "takes other arguments"),
        ("sum([x[i] for i in range(3)])", "no function `range`"),
        ("sum([x[i] for i in A])", "for i in A]` is none of"),
        ("(lambda: x)()", "none of the operations"),
        ("[i for i in x]", "with whole arrays"),
        ("x > 0 and y > 0", "Write (x > 0) & (x < 9)"),
        ("0 < x < 1", "Write (x > 0) & (x < 9)"),
        ("x if x > 0 else y", "Write np.where"),
        ("x * 1j", "as pairs"),
        ("x.real", "as pairs"),
        ("A.cumsum(axis=(0, 1))", "takes other arguments"),
        ("np.dot(A.reshape(4, 6, 24), A)", "write @"),
        ("np.cross(A, B)", "three numbers"),
        ("np.digitize(x, y)", "Write (x[:, None] >= bins)"),
    ],
)
def test_what_a_function_cannot_do_is_said(line: str, sentence: str) -> None:
    with pytest.raises(NotRunnable) as refused:
        value_of(line, KNOWN, {})
    assert sentence in str(refused.value)


def test_the_least_of_two_numbers_has_no_axis() -> None:
    assert value_of("min(x[0], y[0])", KNOWN, {}).of == min(X[0], Y[0])
    assert value_of("max(A.sum(), 1)", KNOWN, {}).of == max(float(A.astype(float).sum()), 1)
    assert value_of("A.max(1)", KNOWN, {}).of.shape == (24,)


def test_statements_that_double_a_line_are_refused_soon() -> None:
    with pytest.raises(NotRunnable, match="at most"):
        right_of("y0 = x + x;" + ";".join(f"y{at + 1} = y{at} + y{at}" for at in range(60)))
    with pytest.raises(NotRunnable, match="'import numpy as np' sets no name: write"):
        right_of("import numpy as np; y = x")


def test_an_array_of_other_numbers_is_refused_only_where_a_line_names_it() -> None:
    arrays = {"x": X, "z": np.ones(3, np.complex64)}
    assert value_of("2 * x", arrays, {}).of.size == 1000
    with pytest.raises(NotRunnable, match="complex64"):
        value_of("2 * z", arrays, {})


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("y[1:-1] = (x[:-2] + x[2:]) / 2", "assigned(y[1:-1], (x[:-2] + x[2:]) / 2)"),
        ("y[y >= 0] = x", "assigned(y[y >= 0], x)"),
        ("y *= 2 + x", "y * (2 + x)"),
        ("y //= 2", "y // (2)"),
        ("np.add.at(y, in, x[:64])", "added(y[in], x[:64])"),
        ("np.add.at(y, (a, b), x)", "added(y[(a, b)], x)"),
        ("np.add.at(y, in, 1)", "added(y[in], 1)"),
        ("y = x[:] == 3", "x[:] == 3"),
        ("y = max(x, 0)", "max(x, 0)"),
        ("m = x.max(); y = x - m", "x - (x.max())"),
        ("s = x + 1\ny = s * s.sum(axis=0)\ny = y - 1", "((x + 1) * (x + 1).sum(axis=0)) - 1"),
        ("m = x.max(); x = x - m; y = x + m", "(x - (x.max())) + (x.max())"),
        ("y = where(x > 0,\n x, 0);", "where(x > 0,  x, 0)"),
        ("y[0] = 0; y[1:] = x[:-1]", "assigned((assigned(y[0], 0))[1:], x[:-1])"),
    ],
)
def test_a_statement_that_changes_an_array_is_a_line_of_the_whole_array(words: str, line: str) -> None:
    right = right_of(words)
    assert right == Formula("y", line) and right_of(str(right)) == right


def test_a_part_that_is_assigned_leaves_the_others_as_they_were() -> None:
    found = value_of("assigned(in[1:-1], x[:62])", KNOWN, {})
    assert found.of.dtype.kind == "f" and found.of[0] == WHOLE[0] and np.array_equal(found.of[1:-1], X[:62])


def test_sums_in_any_order_are_right_and_a_missing_element_is_not() -> None:
    big = MAKE.random(1 << 18).astype(np.float32)
    for order in (big, big[::-1], np.sort(big)):
        total = np.float32(0)
        for part in order.reshape(512, -1):
            total += part.sum(dtype=np.float32)
        assert check("x.sum()", {"x": big}, {}, np.array([total]), "out").ok
    assert not check("x.sum()", {"x": big}, {}, np.array([big[1:].sum() - big[5]]), "out").ok


def test_what_a_type_cannot_hold_is_infinite_or_zero_there_too() -> None:
    x = np.array([200.0, -200.0, 0.0], np.float32)
    with np.errstate(over="ignore"):
        assert check("exp(x)", {"x": x}, {}, np.exp(x), "out").ok
        assert check("exp(x) - exp(x)", {"x": np.zeros(3, np.float32)}, {}, np.zeros(3, np.float32), "out").ok
    assert not check("exp(x)", {"x": x}, {}, np.array([3e38, 0, 1], np.float32), "out").ok


def test_whole_numbers_wrap_as_the_type_of_the_answer() -> None:
    large = np.full(8, 2**30, np.int32)
    assert check("4 * x + 3", {"x": large}, {}, np.full(8, 3, np.int32), "out").ok
    with pytest.raises(NotRunnable, match="fractions"):
        check("x / 3", {"x": large}, {}, np.zeros(8, np.int32), "out")


@pytest.mark.parametrize(
    "line",
    ["__import__('os').system('true')", "x.__class__", "(lambda: 1)()", "[i for i in x]", "open('/etc/passwd')",
     "x.tofile('a')",
     "exec('1')", "'a' * 9", "x := 1", "x.sum(out=y)", "f'{x}'", "x if x else y", "9 ** 9 ** 9", "arange(10 ** 12)",
     "zeros(10 ** 6, 10 ** 6)", "outer(x, x)[0].sum().T.T @ 3", "x[10 ** 30]", "repeat(x, 10 ** 9)", "x.nosuch()",
     "z + 1", "x +", "x+" * 150 + "x", "x; y", "", "1 << 10 ** 9"],
)  # fmt: skip
def test_what_is_no_formula_is_refused_in_a_sentence(line: str) -> None:
    try:
        found = value_of(line, KNOWN, {"n": 3})
    except NotRunnable as refused:
        assert str(refused).endswith((".", "?")) and "\n" not in str(refused)
    else:
        assert found.of.size <= 1, "a number, whatever it is"


@pytest.mark.parametrize("seed", [case(seed, quick=seed == 0, thorough=False) for seed in range(10)])
def test_a_thousand_hostile_lines_are_values_or_refused_in_a_sentence_and_end_soon(seed: int) -> None:
    refusals, began = 0, process_time()
    for line in hostile_lines(1000, seed):
        try:
            value_of(line, KNOWN, {"n": 3})
        except NotRunnable as refused:
            refusals += 1
            assert str(refused).endswith((".", "?")) and "\n" not in str(refused), line
    assert 0 < refusals < 1000 and process_time() - began < 60


def test_numbers_of_pythons_own_module_are_those_of_numpy() -> None:
    assert value_of("math.pi * math.sqrt(2) + numpy.e", {}, {}).of == np.pi * np.sqrt(2) + np.e


def test_unknown_names_are_named_with_what_is_near() -> None:
    with pytest.raises(NotRunnable, match="no `X1`; there are x, y"):
        value_of("X1 + 1", {"x": X, "y": Y}, {})
    with pytest.raises(NotRunnable, match="Did you mean cumsum"):
        value_of("cumsun(x)", {"x": X}, {})


SOFTMAX = """
extern "C" __global__ void softmax(const float *x, float *y, int n)
{
    __shared__ float buffer[256];
    int t = threadIdx.x;
    float most = -1e30f;
    for (int i = t; i < n; i += blockDim.x) most = fmaxf(most, x[i]);
    buffer[t] = most;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) buffer[t] = fmaxf(buffer[t], buffer[t + s]);
        __syncthreads();
    }
    most = buffer[0];
    __syncthreads();
    float sum = 0;
    for (int i = t; i < n; i += blockDim.x) sum += expf(x[i] - most);
    buffer[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s) buffer[t] += buffer[t + s];
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) y[i] = expf(x[i] - most) / buffer[0];
}
"""


def test_the_lab_checks_a_launch_against_a_line() -> None:
    call = "softmax<<<1, 256>>>(float32[n]=random, float32[n], n)"
    assert setup_of(call, "y = sum(A, axis=1)").right == Formula("y", "sum(A, axis=1)")
    assert isinstance(setup_of(call, "y = saxpy(x, y, -2.5)").right, Right)
    right = setup_of(call, "y = softmax(x)")
    assert right.right == Formula("y", "softmax(x)") and str(right.right) == "y = softmax(x)"
    assert check_own(right, 1000, SOFTMAX, "mine.cu", None).measurement.status == "ok"
    wrong = check_own(right, 1000, SOFTMAX.replace("buffer[t] = sum;", "buffer[t] = 2 * sum;"), "mine.cu", None)
    assert wrong.measurement.status == "wrong" and "y = softmax(x)" in str(wrong.measurement.check)
    other = check_own(setup_of(call, "y = softmax(z)"), 1000, SOFTMAX, "mine.cu", None)
    assert other.measurement.status == "refused" and "there is no `z`" in str(other.measurement.reason)


def test_a_run_of_any_kernel_is_checked_against_a_line() -> None:
    x, y = X.copy(), np.zeros(1000, np.float32)
    run = engine.kernel(SOFTMAX).run(1, 256, (x, y, 1000))
    assert run.check("y = softmax(x)").ok and not run.check("y = x").ok
    with pytest.raises(NotRunnable, match="no array `z`"):
        run.check("z = x")
    x[0] = 9
    with pytest.raises(NotRunnable, match="changed after the launch"):
        run.check("y = softmax(x)")


@pytest.mark.parametrize("line", ["1 / (1 + np.exp(-x))", "1 / np.exp(-x)", "np.sqrt(np.exp(x))", "x / (1 + exp(-x))",
                                  "np.arctan(np.exp(-x))", "np.sign(np.exp(-x))", "exp(-exp(-x))"])  # fmt: skip
def test_a_line_that_overflows_on_the_way_has_a_bound_still(line: str) -> None:
    x = np.array([-1000, 0.5], np.float32)
    with np.errstate(all="ignore"):
        right = value_of(line, {"x": x}, {}).of.astype(np.float32)
    assert check(line, {"x": x}, {}, right, "y").ok
    for wrong in (5.25, -0.25, np.inf, np.nan):
        found = np.array([wrong, right[1]], np.float32)
        assert not check(line, {"x": x}, {}, found, "y").ok


@pytest.mark.parametrize("line", ["1 / 0", "x / 0", "x * 2.0 ** 62", "1.5 * x"])
def test_whole_numbers_have_no_infinity(line: str) -> None:
    x = np.array([3, 5], np.int32)
    with warnings.catch_warnings(), pytest.raises(NotRunnable, match="whole numbers"):
        warnings.simplefilter("error")
        check(line, {"x": x}, {}, np.array([np.iinfo(np.int64).min] * 2), "x")


def test_parts_that_are_no_list_are_said_to_be_none() -> None:
    with pytest.raises(NotRunnable) as caught:
        value_of("np.concatenate(x)", {"x": np.zeros(3)}, {})
    assert "list" in str(caught.value) and "Did you mean" not in str(caught.value)


def test_a_line_names_a_number_that_is_larger_than_all() -> None:
    x = np.array([-1.5, 2], np.float32)
    assert check("np.where(x > 0, x, -1e30)", {"x": x}, {}, np.array([-1e30, 2], np.float32), "y").ok
    assert not check("np.where(x > 0, x, -1e30)", {"x": x}, {}, np.array([-1e29, 2], np.float32), "y").ok


@pytest.mark.parametrize(
    ("line", "kind", "beyond"),
    [*(("np.floor(0.1 * x)", kind, 2) for kind in (np.float16, np.float32, np.float64)),
     ("(0.1 * x).astype(np.int32)", np.int32, 1),
     ("np.median(np.stack([x, x, x]), axis=0).astype(np.int32)", np.int32, 0)],
)  # fmt: skip
def test_a_number_at_a_step_is_off_by_a_step_at_most(line: str, kind: type, beyond: int) -> None:
    x = np.arange(10, 60, 10).astype(np.float32)
    right = eval(line, {"np": np, "x": x.astype(np.float64)}).astype(kind)
    assert check(line, {"x": x}, {}, right, "y").ok
    for more in (beyond + 1, 40):
        wrong = right.copy()
        wrong[2] += more
        assert not check(line, {"x": x}, {}, wrong, "y").ok


def test_numbers_are_added_at_rows_as_numpy_adds_them() -> None:
    y, at, x = np.zeros((3, 4)), np.array([2, 0, 2]), np.arange(12.0).reshape(3, 4)
    wanted = y.copy()
    np.add.at(wanted, at, x)
    known = {"y": y, "at": at, "x": x, "z": np.ones(3)}
    assert np.array_equal(value_of("added(y[at], x)", known, {}).of, wanted)
    assert np.array_equal(value_of("added(y[at, 1], z)", known, {}).of[:, 1], [1, 0, 2])
    with pytest.raises(NotRunnable, match="name 3 x 4 elements, and 3 numbers are added there"):
        value_of("added(y[at], z)", known, {})

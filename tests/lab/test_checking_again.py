"""A draft is called right only if other numbers, other orders and other sizes give right answers as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import KERNELS
from engine.lab import own_launch
from engine.lab.checking import check_own, check_rung
from engine.lab.own_launch import Checked
from engine.lab.setups import setup_of
from engine.lab.templates import TEMPLATES
from engine.lab.trial_arrays import ORDERS, SEARCHED
from engine.plan import settle
from engine.records import Choice
from tests.backends.emulator.watching.races.test_turns import ENTER, ENTER_TOO_LATE, READERS
from tests.sentences import sentence

pytestmark = pytest.mark.sampled(quick=3, thorough=2)


def of_template(name: str, old: str, new: str) -> Checked:
    template = TEMPLATES[name]
    assert old in template.text
    return check_own(template.setup, template.n, template.text.replace(old, new), "mine.cu")


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", ["saxpy", "tile", "stencil", "empty"])
def test_a_template_is_right_in_every_run(name: str) -> None:
    found = of_template(name, "__global__", "__global__")
    assert found.measurement.status == "ok" and (found.remark is None) == (name != "tile")


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(
    ("old", "new"), [("= B[", "= A["), ("= A[", "= B["), ("sum += a[threadIdx.y][j]", "sum += a[j][threadIdx.y]")]
)
def test_a_product_of_the_wrong_matrices_is_wrong(old: str, new: str) -> None:
    found = of_template("tile", old, new).measurement
    assert found.status == "wrong" and found.check is not None
    assert found.check.columns == 64 and found.check.wrong > 1000 and found.check.at is not None


LARGEST = """__global__ void f(const float *in, float *out, int n) {
    float best = START;
    for (int i = 0; i < n; i++) best = max(best, in[i]);
    if (threadIdx.x == 0) out[0] = best;
}
"""


def test_a_maximum_that_starts_from_0_is_wrong_for_negative_numbers() -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, float32[1], n)", "out = max(in)")
    assert check_own(setup, 64, LARGEST.replace("START", "in[0]"), "mine.cu").measurement.status == "ok"
    found = check_own(setup, 64, LARGEST.replace("START", "0"), "mine.cu")
    assert found.measurement.status == "wrong" and found.remark and found.measurement.counters is None
    assert found.measurement.choice.schedule == ORDERS[0]


def test_a_search_that_leaves_out_some_elements_is_wrong() -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, float32[1], n)", "out = max(in)")
    text = LARGEST.replace("START", "in[0]").replace("best = max", "if (i % 7 != 3) best = max")
    assert check_own(setup, 64, text, "mine.cu").measurement.status == "wrong"
    rung = settle(Choice("reduce_max", 4096, 128, device="emulator"))
    text = KERNELS["reduce_max"].text.replace("while (i < n) {", "while (i < n) {\n        if (i % 8 != 6)")
    assert text != KERNELS["reduce_max"].text
    found = check_rung(replace(rung, source=text, source_name="mine.cu")).measurement
    assert found.status == "wrong" and found.choice.schedule in SEARCHED[2:]


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("kind", "start"), [("float", "-1"), ("float", "1e-30f"), ("float", "-100"), ("int", "-1000"),
                                             ("float", "-1e38f"), ("int", "-2147483647")])  # fmt: skip
def test_a_maximum_that_starts_from_a_guess_is_wrong(kind: str, start: str) -> None:
    setup = setup_of(f"f<<<1, 1>>>({kind}32[n]=random, {kind}32[1], n)", "out = max(in)")
    text = LARGEST.replace("float", kind)
    assert check_own(setup, 64, text.replace("START", start), "mine.cu").measurement.status == "wrong"


@pytest.mark.sampled(quick=1)
@pytest.mark.parametrize(("kind", "start"), [("float", "-FLT_MAX"), ("float", "-INFINITY"), ("int", "INT_MIN"),
                                             ("uint", "0"), ("float", "in[0]")])  # fmt: skip
def test_a_maximum_that_starts_from_the_smallest_number_is_right(kind: str, start: str) -> None:
    setup = setup_of(f"f<<<1, 1>>>({kind}32[n]=random, {kind}32[1], n)", "out = max(in)")
    text = LARGEST.replace("float", kind)
    assert check_own(setup, 64, text.replace("START", start), "mine.cu").measurement.status == "ok"


def test_a_sum_without_repeated_numbers_is_wrong() -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, float32[1], n)", "out = sum(in)")
    text = LARGEST.replace("START", "0").replace(
        "best = max(best, in[i])", "if (!i || in[i] != in[i - 1]) best += in[i]"
    )
    assert check_own(setup, 64, text, "mine.cu").measurement.status == "wrong"


SUM = """__global__ void f(const int *in, int *out, int n) {
    TYPE sum = 0;
    for (int i = 0; i < n; i++) sum += in[i];
    out[0] = sum;
}
"""


@pytest.mark.parametrize(("kind", "status"), [("short", "wrong"), ("float", "wrong"), ("double", "ok"), ("long", "ok")])
def test_a_sum_in_a_type_that_holds_only_small_ones_is_wrong(kind: str, status: str) -> None:
    setup = setup_of("f<<<1, 1>>>(int32[n]=random, int32[1], n)", "out = sum(in)")
    assert check_own(setup, 300, SUM.replace("TYPE", kind), "mine.cu").measurement.status == status


LOCK = """__global__ void f(int *lock, int *sum) {
    while (atomicCAS(lock, 0, 1) != 0);
    __threadfence();
    sum[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
}
"""


@pytest.mark.thorough
def test_a_lock_for_each_lane_is_right_since_volta() -> None:
    setup = setup_of("f<<<2, 32>>>(int32[1], int32[1])")
    found = check_own(setup, 1, LOCK, "mine.cu")
    assert found.measurement.status == "deadlock" and found.remark is not None
    assert sentence("checking.right-since-volta", found.remark)
    assert check_own(setup, 1, LOCK, "mine.cu", "independent:1").measurement.status == "ok"
    stays = LOCK.replace("    atomicExch(lock, 0);\n", "")
    assert check_own(setup, 1, stays, "mine.cu").remark is None


def test_a_factor_that_is_written_in_place_of_the_parameter_is_found() -> None:
    assert of_template("saxpy", "a * x[i]", "2.0f * x[i]").measurement.status == "wrong"


CHANGED = """__global__ void f(SOURCE, int *out, int n) {
    for (int i = 0; i < n; i++) out[i] = in[i];
    *(int *)in = 0;
}
"""


@pytest.mark.parametrize(
    ("source", "status"), [("const int *in", "hazard"), ("int *in", "ok"), ("int *const in", "ok")]
)
def test_a_const_array_that_the_kernel_changes_is_found(source: str, status: str) -> None:
    setup = setup_of("f<<<1, 1>>>(int32[n]=random, int32[n], n)", "out = copy(in)")
    found = check_own(setup, 40, CHANGED.replace("SOURCE", source), "mine.cu").measurement
    assert found.status == status and [one.kind for one in found.findings] == ["changed-input"] * (status != "ok")


def test_a_factor_that_is_cut_to_a_whole_number_is_found() -> None:
    assert of_template("saxpy", "a * x[i]", "int(a) * x[i]").measurement.status == "wrong"


ORDERED = """__global__ void f(int *next, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = atomicAdd(next, 1);
}
"""


def test_an_answer_of_one_order_alone_is_wrong_in_the_other() -> None:
    setup = setup_of("f<<<(n + block - 1) / block, 64>>>(int32[1], int32[n], n)", "out = exclusive-prefix-sum(ones)")
    text = ORDERED.replace("int n)", "const int *ones, int n)")
    setup = replace(setup, arguments=("int32[1]", "int32[n]", "int32[n]=ones", "n"))
    found = check_own(setup, 256, text, "mine.cu")
    assert found.measurement.status == "wrong" and found.measurement.choice.schedule == ORDERS[0]


# Atomics alone: no race, and no order that CUDA promises.
ONE_ORDER = {
    "tickets of blocks": (
        "__shared__ int b; if (t == 0) b = atomicAdd(c, 1); __syncthreads(); int k = b * 128 + t;"
        " if (i < n && k < n) out[k] = in[i];",
        "copy",
    ),
    "tickets of warps": (
        "int k = t % 32 ? 0 : atomicAdd(c + blockIdx.x, 32); k = blockIdx.x * 128 + __shfl_sync(~0u, k, 0) + t % 32;"
        " if (i < n && k < n) out[k] = in[i];",
        "copy",
    ),
    "the highest block writes": (
        "if (i < n) atomicAdd(c, in[i]); __syncthreads();"
        " if (t == 0 && blockIdx.x == gridDim.x - 1) atomicExch(out, atomicAdd(c, 0));",
        "sum",
    ),
    "the last exchange wins": ("if (i < n) atomicExch(out, atomicAdd(c, in[i]) + in[i]);", "sum"),
}


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize("name", ONE_ORDER)
def test_atomics_that_need_the_order_of_blocks_or_lanes_are_wrong(name: str) -> None:
    body, right = ONE_ORDER[name]
    setup = setup_of("f<<<(n + 127) / 128, 128>>>(int32[n]=random, int32[n], int32[99], n)", f"out = {right}(in)")
    head = "__global__ void f(const int *in, int *out, int *c, int n)"
    text = f"{head} {{\n int t = threadIdx.x, i = blockIdx.x * 128 + t;\n {body}\n}}"
    assert check_own(setup, 1000, text, "mine.cu", again=False).measurement.status == "ok"
    found = check_own(setup, 1000, text, "mine.cu").measurement
    assert found.status == "wrong" and not found.findings and found.choice.schedule == ORDERS[0]


def test_a_further_run_with_more_blocks_than_time_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "__global__ void k(int *a) { a[blockIdx.x] = 1; }\n"
    monkeypatch.setattr(own_launch, "SECONDS", 0.5)
    found = check_own(setup_of("k<<<60000, 32>>>(int32[60000])"), 1, text, "mine.cu")
    assert found.measurement.status == "ok" and found.remark is None


def test_a_launch_with_sizes_of_its_own_is_not_told_by_n() -> None:
    text = "__global__ void k(const int *a, int *b, int *next) { b[atomicAdd(next, 1)] = a[threadIdx.x]; }\n"
    found = check_own(setup_of("k<<<1, 64>>>(int32[64]=range, int32[64], int32[1])", "b = copy(a)"), 7, text, "mine.cu")
    assert found.measurement.status == "wrong" and sentence("checking.other-order-alone", str(found.remark))


def test_a_missing_guard_is_told_though_the_size_asked_for_hides_it() -> None:
    found = of_template("saxpy", "if (i < n) ", "")
    assert found.measurement.status == "ok" and found.remark and "65,535" in found.remark


def test_a_histogram_gets_indices_of_its_bins() -> None:
    text = "__global__ void f(const int *in, int *bins, int n) {\n  int i = blockIdx.x * 64 + threadIdx.x;\n"
    text += "  if (i < n) atomicAdd(&bins[in[i]], 1);\n}\n"
    setup = setup_of("f<<<(n + 63) / 64, 64>>>(int32[n]=random, int32[16], n)", "bins = histogram(in)")
    found = check_own(setup, 1000, text, "mine.cu")
    assert found.measurement.status == "ok" and found.remark is None


RUNG = settle(Choice("reduce_grid_stride_atomic", 4096, 128, device="emulator"))
TEXT = KERNELS[RUNG.kernel].text


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("old", "new", "status"), [("i < n", "i < n", "ok"), ("i < n", "i < n - n % 2", "wrong"),
                                                    ("i < n", "i <= n - 1", "ok")])  # fmt: skip
def test_a_rungs_draft_is_tried_at_an_odd_size(old: str, new: str, status: str) -> None:
    assert old in TEXT
    found = check_rung(replace(RUNG, source=TEXT.replace(old, new), source_name="mine.cu"))
    assert found.measurement.status == status and bool(found.remark) == (status == "wrong")


def test_a_barrier_that_one_block_in_the_middle_leaves_out_is_found() -> None:
    text = """__global__ void f(const int *in, int *out, int n) {
    __shared__ int s[256];
    int t = threadIdx.x, i = t + blockIdx.x * 256;
    s[t] = i < n ? in[i] : 0;
    if (blockIdx.x != 9) __syncthreads();
    if (i < n) out[i] = s[255 - t];
}"""
    found = check_own(setup_of("f<<<(n + 255) / 256, 256>>>(int32[n]=range, int32[n], n)"), 10240, text, "mine.cu")
    assert "shared-race" in [one.kind for one in found.measurement.findings]
    assert "block 9" in (found.measurement.reason or "")


RADIX = """__global__ void f(TYPE *a, int n) {
    __shared__ TYPE s[128];
    __shared__ int zeros[128];
    int t = threadIdx.x;
    s[t] = a[t];
    for (int bit = 0; bit < BITS; bit++) {
        __syncthreads();
        TYPE v = s[t];
        int zero = !(v >> bit & 1), before = 0, all = 0;
        zeros[t] = zero;
        __syncthreads();
        for (int k = 0; k < n; k++) { all += zeros[k]; before += k < t ? zeros[k] : 0; }
        s[zero ? before : all + t - before] = v;
    }
    __syncthreads();
    a[t] = s[t];
}"""


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(("kind", "bits", "status"), [("unsigned", 32, "ok"), ("unsigned", 31, "wrong"),
                                                      ("unsigned", 10, "wrong"), ("int", 32, "wrong")])  # fmt: skip
def test_a_sort_gets_numbers_with_all_bits_of_their_type(kind: str, bits: int, status: str) -> None:
    setup = setup_of(f"f<<<1, 128>>>({'uint32' if kind == 'unsigned' else 'int32'}[128]=random, 128)", "a = sort(a)")
    text = RADIX.replace("TYPE", kind).replace("BITS", str(bits))
    assert check_own(setup, 128, text, "mine.cu").measurement.status == status


SMALLEST = """#include <float.h>
__global__ void f(const float *in, float *out, int n) {
    float best = START;
    for (int i = 0; i < n; i++) best = fminf(best, in[i]);
    out[0] = best;
}"""


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("start", "status"), [("in[0]", "ok"), ("FLT_MAX", "ok"), ("INFINITY", "ok"), ("0", "wrong"),
                                               ("1e30f", "wrong"), ("9999", "wrong")])  # fmt: skip
def test_a_minimum_that_starts_from_a_guess_is_wrong(start: str, status: str) -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, float32[1], n)", "out = min(in)")
    assert check_own(setup, 64, SMALLEST.replace("START", start), "mine.cu").measurement.status == status


PLACE = """__global__ void f(const float *in, int *out, int n) {
    int at = 0;
    for (int i = 1; i < n; i++) if (in[i] COMPARE in[at]) at = i;
    out[0] = at;
}"""


@pytest.mark.parametrize(
    ("compare", "right", "status"),
    [(">", "argmax", "ok"), (">=", "argmax", "wrong"), ("<", "argmin", "ok"), ("<=", "argmin", "wrong")],
)
def test_the_place_of_a_number_that_stands_at_several_is_the_first(compare: str, right: str, status: str) -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, int32[1], n)", f"out = {right}(in)")
    assert check_own(setup, 64, PLACE.replace("COMPARE", compare), "mine.cu").measurement.status == status


PRODUCT = """__global__ void f(const int *in, long long *out, int n) {
    int i = threadIdx.x;
    TYPE sum = 0;
    for (int k = 0; k < n; k++) sum += in[k];
    if (SQUARES) out[i] = (TYPE)in[i] * in[i];
    else if (i == 0) out[0] = sum;
}"""


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(("kind", "status"), [("int", "wrong"), ("long long", "ok")])
@pytest.mark.parametrize(("right", "squares"), [("sum(in)", 0), ("in * in", 1), ("cumsum(in)[-1:]", 0)])
def test_a_wide_answer_that_is_computed_in_a_narrow_type_is_wrong(
    kind: str, right: str, squares: int, status: str
) -> None:
    text = PRODUCT.replace("TYPE", kind).replace("SQUARES", str(squares))
    setup = setup_of("f<<<1, n>>>(int32[n]=random, int64[n], n)", f"out = {right}")
    assert check_own(setup, 64, text, "mine.cu").measurement.status == status


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(("kind", "status"), [("int", "wrong"), ("long long", "ok")])
@pytest.mark.parametrize("right", ["copy(in)", "flip(in)[::-1]", "in + 0", "in % 7 + in // 7 * 7"])
def test_64_bits_that_pass_through_32_are_wrong(kind: str, right: str, status: str) -> None:
    text = f"""__global__ void f(const long long *in, long long *out, int n) {{
    {kind} own = in[threadIdx.x];
    out[threadIdx.x] = own;
}}"""
    setup = setup_of("f<<<1, n>>>(int64[n]=random, int64[n], n)", f"out = {right}")
    assert check_own(setup, 64, text, "mine.cu").measurement.status == status


def test_indices_of_a_wide_answer_stay_indices() -> None:
    text = """__global__ void f(const unsigned *in, long long *bins, int n) {
    for (int i = 0; i < n; i++) bins[in[i]]++;
}"""
    setup = setup_of("f<<<1, 1>>>(uint32[n]=random, int64[1000], n)", "bins = bincount(in, minlength=1000)")
    assert check_own(setup, 100, text, "mine.cu").measurement.status == "ok"


DOT = """__global__ void f(const double *a, const double *b, double *out, int n) {
    TYPE sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    out[0] = sum;
}"""


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(("kind", "status"), [("double", "ok"), ("float", "wrong")])
@pytest.mark.parametrize("right", ["dot(a, b)", "sum(a)"])
def test_doubles_that_pass_through_a_float_are_wrong(kind: str, right: str, status: str) -> None:
    text = DOT.replace("TYPE", kind).replace("a[i] * b[i]", "a[i] * b[i]" if "dot" in right else "a[i]")
    setup = setup_of("f<<<1, 1>>>(float64[n]=random, float64[n]=random, float64[1], n)", f"out = {right}")
    assert check_own(setup, 64, text, "mine.cu").measurement.status == status


ONLINE = """__global__ void f(const float *x, float *y, int n) {
    float most = START, sum = 0;
    for (int i = 0; i < n; i++) {
        float next = fmaxf(most, x[i]);
        sum = sum * expf(most - next) + expf(x[i] - next);
        most = next;
    }
    for (int i = 0; i < n; i++) y[i] = expf(x[i] - most) / sum;
}"""


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(("start", "status"), [("-INFINITY", "ok"), ("x[0]", "ok"), ("0", "wrong"), ("-1e5f", "wrong")])
def test_a_softmax_whose_maximum_starts_from_0_is_wrong(start: str, status: str) -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, float32[n], n)", "y = softmax(x)")
    assert check_own(setup, 64, ONLINE.replace("START", start), "mine.cu").measurement.status == status


UNSET = """__global__ void f(const int *in, int *out, int n) {
    int sum;
    BODY
    out[threadIdx.x] = sum;
}"""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("for (int i = 0; i < n; i++) sum += in[i];", 4),
        ("while (sum < n) out[threadIdx.x] = in[sum++];", 3),
        ("for (int i = 0; i < n; i++) { if (i > 0) out[threadIdx.x] = sum; sum = in[i]; }", 0),
        ("if (threadIdx.x == 0) sum = in[0]; sum = __shfl_sync(~0u, sum, 0);", 0),
    ],
)
def test_a_variable_that_the_compiler_knows_to_be_unset_is_a_finding(body: str, line: int) -> None:
    text = UNSET.replace("BODY", body)
    seen = check_own(setup_of("f<<<1, 32>>>(int32[n]=random, int32[32], n)"), 32, text, "mine.cu", again=False)
    assert [one.kind for one in seen.measurement.findings] == ["uninitialised-variable"] * bool(line)
    assert [mark.line for mark in seen.marks if mark.kind == "finding"] == [line] * bool(line)
    assert seen.measurement.status == ("hazard" if line else "ok")
    if line == 3:
        assert len(seen.marks) == 1
        assert sentence("checking.unset-variable", seen.marks[0].message)
    other = text.replace(" f(", " g(") + "\n__global__ void f(const int *in, int *out, int n) { out[threadIdx.x] = 1; }"
    clean = check_own(setup_of("f<<<1, 32>>>(int32[n]=random, int32[32], n)"), 32, other, "mine.cu", again=False)
    assert clean.measurement.status == "ok"


TILES = """__global__ void f(const int *in, int *out, int n) {
    int sum = 0;
    for (int start = 0; start < END; start += 64) if (start + threadIdx.x < n) sum += in[start + threadIdx.x];
    atomicAdd(out, sum);
}"""


@pytest.mark.parametrize(("end", "told"), [("n", None), ("n - 1", "N = 961"), ("n / 64 * 64 + n % 64", None)])
def test_a_size_with_one_element_in_the_last_block_is_tried(end: str, told: str | None) -> None:
    setup = setup_of("f<<<1, 64>>>(int32[n]=random, int32[1], n)", "out = sum(in)")
    found = check_own(setup, 1000, TILES.replace("END", end), "mine.cu")
    assert found.measurement.status == "ok" and (told in str(found.remark) if told else found.remark is None)


def test_a_size_that_blocks_divide_is_tried() -> None:
    text = """__global__ void f(const int *in, int *out, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (blockIdx.x < n / 64 - (n % 64 == 0) || i < n && blockIdx.x == n / 64) out[i] = in[i];
}"""
    setup = setup_of("f<<<n / 64 + 1, 64>>>(int32[n]=random, int32[n], n)", "out = copy(in)")
    found = check_own(setup, 1000, text, "mine.cu")
    assert found.measurement.status == "ok" and "not at N = 960" in str(found.remark)


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(("compare", "status"), [("> 0", "ok"), (">= 0", "wrong"), ("> 1", "wrong")])
@pytest.mark.parametrize("kind", ["float", "int"])
def test_numbers_that_are_equal_to_a_bound_of_the_line_are_tried(kind: str, compare: str, status: str) -> None:
    text = f"""__global__ void f(const {kind} *in, int *out, int n) {{
    for (int i = 0; i < n; i++) out[0] += in[i] {compare};
}}"""
    setup = setup_of(f"f<<<1, 1>>>({kind}32[n]=random, int32[1], n)", "out = sum(in > 0)")
    assert check_own(setup, 64, text, "mine.cu").measurement.status == status


def test_a_divisor_is_never_zero() -> None:
    text = """__global__ void f(const int *in, int *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = in[i] > 0 ? 1000 / in[i] : 0;
}"""
    setup = setup_of("f<<<1, 64>>>(int32[n]=random, int32[n], n)", "out = where(in > 0, 1000 // in, 0)")
    assert check_own(setup, 60, text, "mine.cu").measurement.status == "ok"


def test_a_softmax_that_leaves_out_a_number_in_its_maximum_is_wrong() -> None:
    setup = setup_of("f<<<1, 1>>>(float32[n]=random, float32[n], n)", "y = softmax(x)")
    most = "float most = x[0], sum = 0;\n    for (int i = 0; i < n; i++) if (i % 7 != 3) most = fmaxf(most, x[i]);"
    text = ONLINE.replace("float most = START, sum = 0;", most)
    text = text.replace("float next = fmaxf(most, x[i]);", "float next = most;")
    assert check_own(setup, 64, text, "mine.cu").measurement.status == "wrong"
    assert check_own(setup, 64, text.replace("i % 7 != 3", "true"), "mine.cu").measurement.status == "ok"


ODD_EVEN = """__global__ void f(int *a, int n) {
    for (int k = 0; k < STEPS; k++) {
        int i = 2 * threadIdx.x + (k & 1);
        if (i + 1 < n && a[i] > a[i + 1]) { int v = a[i]; a[i] = a[i + 1]; a[i + 1] = v; }
        __syncthreads();
    }
}"""


@pytest.mark.thorough
def test_a_counting_sort_may_use_its_numbers_as_indices():
    text = """__global__ void counting_sort(unsigned *a, int n) {
    __shared__ int bins[1000];
    for (int i = threadIdx.x; i < 1000; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[a[i]], 1);
    __syncthreads();
    int at = 0;
    if (threadIdx.x == 0)
        for (int value = 0; value < 1000; value++)
            for (int k = 0; k < bins[value]; k++) a[at++] = value;
}"""
    setup = setup_of("counting_sort<<<1, 64>>>(uint32[n]=random, n)", "a = sort(a)")
    found = check_own(setup, 128, text, "mine.cu")
    assert found.measurement.status == "ok" and not found.remark
    beyond = text.replace("bins[a[i]]", "bins[a[i] * (n % 8 ? 400 : 1)]")
    remark = check_own(setup, 128, beyond, "mine.cu").remark
    assert remark.startswith("Right at this N") and "not at N = 127." in remark


@pytest.mark.parametrize(("steps", "status"), [("n", "ok"), ("n - 1", "wrong")])
def test_a_sort_gets_falling_numbers(steps: str, status: str) -> None:
    setup = setup_of("f<<<1, (n + 1) / 2>>>(int32[n]=random, n)", "a = sort(a)")
    assert check_own(setup, 50, ODD_EVEN.replace("STEPS", steps), "mine.cu").measurement.status == status


STRIDED = """__global__ void f(const int *in, unsigned long long *out, int n) {
    long long sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    atomicAdd(out, (unsigned long long)sum);
}"""


def test_a_sum_of_a_thread_is_too_large_for_its_type_only_where_it_has_several_elements() -> None:
    setup = setup_of("f<<<64, 256>>>(int32[n]=random, int64[1], n)", "out = in.sum()")
    assert check_own(setup, 100_000, STRIDED, "mine.cu").measurement.status == "ok"
    found = check_own(setup, 100_000, STRIDED.replace("long long sum", "int sum"), "mine.cu")
    assert found.measurement.status == "wrong"
    assert found.remark is not None and found.remark.endswith("with other numbers and at N = 32,769, was not.")


ELEMENT = """extern "C" __global__ void f(const %s *x, %s *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { %s }
}"""


def _checked(line: str, body: str, kind: str = "int", out: str = "", fill: str = "") -> Checked:
    """Check an elementwise kernel against a line."""
    names = {"int": "int32", "unsigned": "uint32", "float": "float32"}
    call = f"f<<<(n + 127) / 128, 128>>>({names[kind]}[n]=random, {names[out or kind]}[n]{fill}, n)"
    return check_own(setup_of(call, line), 500, ELEMENT % (kind, out or kind, body), "mine.cu")


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "kind", "right", "wrong"),
    [
        ("y = 2 * x", "int", "y[i] = 2 * x[i];", "y[i] = 2 * min(x[i], 5000);"),
        ("y = 2 * x", "int", "y[i] = x[i] + x[i];", "y[i] = x[i] == 4321 ? 0 : 2 * x[i];"),
        ("y = 2 * x", "int", "y[i] = x[i] << 1;", "y[i] = 2 * (short)x[i];"),
        ("y = 2 * x", "int", "y[i] = 2u * x[i];", "y[i] = 2 * (float)x[i];"),
        ("y = x // 4 + x", "int", "y[i] = (x[i] >> 2) + x[i];", "y[i] = ((short)x[i] >> 2) + x[i];"),
        ("y = np.bitwise_count(x)", "unsigned", "y[i] = __popc(x[i]);", "y[i] = __popc(x[i] & 0xffff);"),
        ("y = x * 2654435761 % 2 ** 32 >> 20", "unsigned", "y[i] = x[i] * 2654435761u >> 20;",
         "y[i] = x[i] * 2654435760u >> 20;"),
        ("y = (x << 5) | (x >> (32 - 5))", "unsigned", "y[i] = __funnelshift_l(x[i], x[i], 5);", "y[i] = x[i] << 5;"),
        ("y = x * (x > 50)", "float", "y[i] = x[i] > 50 ? x[i] : 0;", "y[i] = x[i] > 49.9f ? x[i] : 0;"),
        ("y = np.maximum(x, 0)", "float", "y[i] = fmaxf(x[i], 0);", "y[i] = x[i] > 5.125f ? x[i] : 0;"),
        ("y = np.sign(x)", "float", "y[i] = (x[i] > 0) - (x[i] < 0);", "y[i] = copysignf(1, x[i]);"),
        ("y = 2 * x", "float", "y[i] = x[i] == 0 ? 0 : 2 * x[i];", "y[i] = x[i] == 0 ? 1 : 2 * x[i];"),
    ],
)  # fmt: skip
def test_numbers_that_a_kernel_treats_in_a_way_of_its_own_are_tried(
    line: str, kind: str, right: str, wrong: str
) -> None:
    assert _checked(line, right, kind).measurement.status == "ok"
    assert _checked(line, wrong, kind).measurement.status == "wrong"


def test_an_element_that_the_kernel_does_not_write_is_right_only_where_the_array_starts_with_zeros() -> None:
    line, body = "y = np.maximum(x, 0)", "if (x[i] > 0) y[i] = x[i];"
    found = _checked(line, body, "float")
    assert found.measurement.status == "wrong" and found.remark is not None
    assert "does not write this element of `y`" in found.remark and "fill it with zeros" in found.remark
    assert _checked(line, body, "float", fill="=zeros").measurement.status == "ok"
    assert _checked(line, body.replace("y[i] = x", "y[i] += x"), "float").measurement.status == "ok"
    assert _checked("y = 1 + 0 * y", "atomicAdd(y + i, 1);").measurement.status == "ok"


DECIDED = """extern "C" __global__ void f(const int *x, const int *y, int *r, int n) {
    __shared__ int all;
    int t = threadIdx.x;
    if (t == 0) all = 1;
    __syncthreads();
    for (int i = t; i < LAST; i += blockDim.x) if (!(PREDICATE)) all = 0;
    __syncthreads();
    if (t == 0) *r = ANSWER;
}"""


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "predicate", "answer", "wrong"),
    [
        ("r = (x == y).all()", "x[i] == y[i]", "all", ("(x[i] & 0xffff) == (y[i] & 0xffff)", "x[i] <= y[i]", "false")),
        ("r = (x > 900).any()", "x[i] <= 900", "!all",
         ("false", "x[i] <= 899", "x[i] <= 901", "x[i] == 0", "t != 0 || x[i] <= 900")),
        ("r = all(x > -5000)", "x[i] > -5000", "all", ("true", "x[i] >= -5000", "i > 128 || x[i] > -5000")),
        ("r = (x[1:] >= x[:-1]).all()", "i + 1 == n || x[i] <= x[i + 1]", "all",
         ("false", "i + 1 == n || x[i] < x[i + 1]", "i % 32 == 31 || i + 1 == n || x[i] <= x[i + 1]")),
    ],
)  # fmt: skip
def test_one_element_decides(line: str, predicate: str, answer: str, wrong: tuple[str, ...]) -> None:
    setup = setup_of("f<<<1, 128>>>(int32[n]=random, int32[n]=random, int32[1], n)", line)

    def status(predicate: str) -> str:
        text = DECIDED.replace("LAST", "n").replace("PREDICATE", predicate).replace("ANSWER", answer)
        return check_own(setup, 500, text, "mine.cu").measurement.status

    assert status(predicate) == "ok"
    assert {status(each) for each in wrong} == {"wrong"}


def test_the_first_true_element_is_found_among_true_ones() -> None:
    text = """__global__ void f(const int *x, int *r, int n) {
        int at = n;
        for (int i = n - 1; i >= FIRST; i--) if (x[i] > 100) at = i;
        *r = at < n ? at : 0;
    }"""
    setup = setup_of("f<<<1, 1>>>(int32[n]=random, int32[1], n)", "r = np.argmax(x > 100)")
    for first, status in (("0", "ok"), ("1", "wrong")):
        assert check_own(setup, 100, text.replace("FIRST", first), "mine.cu").measurement.status == status


@pytest.mark.parametrize("number", ["inf", "nan"])
def test_an_infinity_or_no_number_that_a_line_chooses_is_right(number: str) -> None:
    line = f"y = np.where(x > 0, x, np.{number})"
    constant = {"inf": "INFINITY", "nan": "NAN"}[number]
    for other, status in ((constant, "ok"), ("3.4e38f", "wrong"), (f"-{constant}", "wrong")):
        if (number, other) != ("nan", "-NAN"):
            assert _checked(line, f"y[i] = x[i] > 0 ? x[i] : {other};", "float").measurement.status == status


@pytest.mark.parametrize("line", ["y = k * x", "y = where(x > k, x, k - x)", "y = (x + 3) // k"])
def test_a_whole_number_that_the_kernel_ignores_is_no_factor_by_luck(line: str) -> None:
    bodies = {"y = k * x": "k * x[i]", "y = where(x > k, x, k - x)": "x[i] > k ? x[i] : k - x[i]",
              "y = (x + 3) // k": "(x[i] + 3 - (x[i] < -3 ? k - 1 : 0)) / k"}  # fmt: skip
    text = "__global__ void f(const int *x, int *y, int k, int n) {{ int i = threadIdx.x; if (i < n) y[i] = {}; }}"
    setup = setup_of("f<<<1, 512>>>(int32[n]=random, int32[n], 5, n)", line)
    assert check_own(setup, 500, text.format(bodies[line]), "mine.cu").measurement.status == "ok"
    ignored = bodies[line].replace("k", "5")
    assert check_own(setup, 500, text.format(ignored), "mine.cu").measurement.status == "wrong"


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "sizes", "right", "wrong"),
    [
        ("y = roll(x, k)", "[n], 5", "y[i] = x[(i + n - k) % n];", "y[i] = x[(i + n - 5) % n];"),
        ("y = roll(x, k)", "[n], 1", "y[i] = x[(i + n - k) % n];", "y[i] = x[(i + n - 1) % n];"),
        ("y = x[k:k + y.size]", "[n - 8], 5", "if (i < n - 8) y[i] = x[i + k];", "if (i < n - 8) y[i] = x[i + 5];"),
        ("y = x[k:] - x[:-k]", "[n], 3", "if (i < n - k) y[i] = x[i + k] - x[i];",
         "if (i < n - k) y[i] = x[i + 3] - x[i];"),
        ("y = x[::k]", "[n], 4", "if (k * i < n) y[i] = x[k * i];", "if (4 * i < n) y[i] = x[4 * i];"),
        ("y = concatenate([zeros(k), x[:-k]])", "[n], 6", "y[i] = i < k ? 0 : x[i - k];",
         "y[i] = i < 6 ? 0 : x[i - 6];"),
        ("y = roll(x, k)", "[n], 200", "y[i] = x[(i + n - k) % n];", "y[i] = x[(i + n - 200) % n];"),
        ("y = x[k:]", "[n], 1", "if (i + k < n) y[i] = x[i + k];", "if (i + 1 < n) y[i] = x[i + 1];"),
        ("y = x << k", "[n], 5", "y[i] = x[i] << k;", "y[i] = x[i] << 5;"),
        ("y = 0 * x + x.reshape(4, -1)[k, 0]", "[n], 2", "y[i] = x[k * (n / 4)];", "y[i] = x[2 * (n / 4)];"),
        # the launch has no threads for more elements, and a reshaped array has one shape
        ("y = roll(x, k)", "[n], 250", "y[i] = x[(i + k) % (2 * k)];", None),
        ("y = x[::k]", "[n / 5], 5", "if (5 * i < n) y[i] = x[5 * i];", None),
        ("y = x.reshape(k, -1).sum(axis=0)", "[n], 5", "if (i < 100) { y[i] = 0; for (int j = 0; j < 5; j++) "
         "y[i] += x[i + 100 * j]; }", None),
    ],
)  # fmt: skip
def test_a_place_that_the_kernel_ignores_is_another_one_and_a_size_stays(
    line: str, sizes: str, right: str, wrong: str | None
) -> None:
    text = "__global__ void f(const int *x, int *y, int k, int n) {{ int i = threadIdx.x; if (i < n) {{ {} }} }}"
    setup = setup_of(f"f<<<1, 512>>>(int32[n]=random, int32{sizes}, n)", line)
    assert check_own(setup, 500, text.format(right), "mine.cu").measurement.status == "ok"
    if wrong:
        assert check_own(setup, 500, text.format(wrong), "mine.cu").measurement.status in ("wrong", "out-of-bounds")


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("line", "right", "wrong"),
    [
        ("y = np.abs(x - z)", "y[i] = abs(x[i] - z[i]);", "y[i] = abs((short)(x[i] - z[i]));"),
        ("y = np.abs(x - z)", "y[i] = max(x[i], z[i]) - min(x[i], z[i]);", "y[i] = fabsf((float)x[i] - z[i]);"),
        ("y = x << 3 * k", "y[i] = x[i] << 3 * k;", "y[i] = (short)x[i] << 3 * k;"),
        ("y = x >> k", "y[i] = x[i] >> k;", "y[i] = (short)x[i] >> k;"),
        ("y = np.abs(x) // np.abs(z)", "y[i] = abs(x[i]) / abs(z[i]);",
         "y[i] = (int)((float)abs(x[i]) / abs(z[i]));"),
        ("y = np.maximum(np.abs(x - 7), z)", "y[i] = max(abs(x[i] - 7), z[i]);",
         "y[i] = max(abs((short)x[i] - 7), z[i]);"),
    ],
)  # fmt: skip
def test_whole_numbers_get_as_large_as_a_line_leaves_room(line: str, right: str, wrong: str) -> None:
    head = "__global__ void f(const int *x, const int *z, int *y, int k, int n) { int i = threadIdx.x; if (i < n) {"
    setup = setup_of("f<<<1, 512>>>(int32[n]=random, int32[n]=random, int32[n], 3, n)", line)
    for body, status in ((right, "ok"), (wrong, "wrong")):
        assert check_own(setup, 500, f"{head} {body} }} }}", "mine.cu").measurement.status == status


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(
    ("right", "arguments", "body", "wrong"),
    [
        ("y = copy(x)", "int *x, int *y", "y[i] = x[i];", "y[i] = (float)x[i];"),
        ("y = copy(x)", "float *x, float *y", "y[i] = x[i];", "y[i] = (int)(x[i] * 4096) / 4096.0f;"),
        ("y = saxpy(x, y, a)", "int a, int *x, int *y", "y[i] += a * x[i];", "y[i] += 3 * x[i];"),
        ("y = saxpy(x, y, a)", "int a, int *x, int *y", "y[i] += a * x[i];", "y[i] = (short)(y[i] + a * x[i]);"),
    ],
)
def test_a_named_reference_gets_other_numbers_too(right: str, arguments: str, body: str, wrong: str) -> None:
    words = {"int a": "3", "int *x": "int32[n]=random", "int *y": "int32[n]=random", "float *x": "float32[n]=random",
             "float *y": "float32[n]"}  # fmt: skip
    call = f"f<<<2, 256>>>({', '.join(words[each] for each in arguments.split(', '))}, n)"
    text = f"__global__ void f({arguments}, int n) {{ int i = blockIdx.x * 256 + threadIdx.x; if (i < n) {{ BODY }} }}"
    for what, status in ((body, "ok"), (wrong, "wrong")):
        assert check_own(setup_of(call, right), 500, text.replace("BODY", what), "mine.cu").measurement.status == status


LAST_BLOCK = """__device__ unsigned int done;
extern "C" __global__ void f(const int *in, int *out, int n) {
    __shared__ int parts[64];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    parts[t] = i < n ? in[i] : 0;
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int k = 0; k < 64; k++) sum += parts[k];
        atomicAdd(out, sum);
        __threadfence();
        last = atomicAdd(&done, 1) == gridDim.x - 1;
        if (last) { out[1] = atomicAdd(out, 0); RESET }
    }
}"""


def test_a_variable_that_keeps_its_number_is_wrong_at_a_second_launch() -> None:
    setup = setup_of("f<<<(n + 63) / 64, 64>>>(int32[n]=random, int32[2]=zeros, n)", "out = [in.sum(), in.sum()]")
    right, wrong = (check_own(setup, 500, LAST_BLOCK.replace("RESET", reset), "mine.cu") for reset in ("done = 0;", ""))
    assert right.measurement.status == wrong.measurement.status == "ok"
    assert right.remark is None and wrong.remark is not None
    assert wrong.remark.startswith("Right at the first ") and "launch only:" in wrong.remark
    assert wrong.remark.endswith("in `done`.")


@pytest.mark.parametrize(
    ("enter", "status"),
    [(ENTER, "ok"), (ENTER_TOO_LATE, "hazard")],
    ids=("announced", "too late"),
)
def test_threads_that_wait_for_each_other_are_tried_in_more_orders(enter: str, status: str) -> None:
    setup = setup_of("k<<<2, 32>>>(int32[2]=random, int32[2]=zeros)", "out = 0 * in")
    found = check_own(setup, 2, READERS.replace("WAITS", enter), "mine.cu").measurement
    assert (found.status, found.choice.schedule in ORDERS) == (status, False)
    assert all("which thread 0 of block 1 read at line 15" in one.message for one in found.findings)


def test_a_run_without_a_reference_showed_no_fault_and_is_not_called_right() -> None:
    body = "int i = 64 * blockIdx.x + threadIdx.x; out[i] = in[i];"
    text = f"__global__ void f(const float *in, float *out, int n) {{ {body} }}"
    found = check_own(setup_of("f<<<(n + 63) / 64, 64>>>(float32[n]=random, float32[n], n)", ""), 256, text, "mine.cu")
    assert found.remark and found.remark.startswith("No fault showed at this N, but one does at N = 255.")

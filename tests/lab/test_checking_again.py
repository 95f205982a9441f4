"""A draft is called right only if other numbers, other orders and other sizes give right answers as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import KERNELS
from engine.lab import checking
from engine.lab.checking import ORDERS, SEARCHED, Checked, check_own, check_rung
from engine.lab.setups import setup_of
from engine.lab.templates import TEMPLATES
from engine.plan import settle
from engine.records import Choice
from tests.sentences import sentence


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
    monkeypatch.setattr(checking, "SECONDS", 0.5)
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

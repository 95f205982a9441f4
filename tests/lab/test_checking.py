"""One check of a draft: every error, warning and finding at its line; what fails is a record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import KERNELS
from engine.lab import compilation, kernels
from engine.lab.checking import check_own, check_rung, time_own
from engine.lab.marks import Mark, compiler_marks
from engine.lab.own_launch import Checked
from engine.lab.setups import setup_of
from engine.plan import settle
from engine.records import Choice, NotRunnable
from tests.sentences import refused

RUNG = settle(Choice("reduce_strided", 1024, 128, device="emulator"))
TEXT = KERNELS["reduce_strided"].text


def of_rung(old: str, new: str) -> Checked:
    assert old in TEXT
    return check_rung(replace(RUNG, source=TEXT.replace(old, new), source_name="mine.cu"))


def line_of(words: str) -> int:
    return TEXT.partition(words)[0].count("\n") + 1


def test_a_rungs_draft_has_the_rungs_own_check_and_warnings_at_their_lines() -> None:
    found = of_rung("__syncthreads();", "__syncthreads(); int unused;")
    assert found.measurement.status == "ok" and found.measurement.counters
    assert (
        Mark(line_of("__syncthreads"), "warning", 'Variable "unused" was declared but never referenced.') in found.marks
    )


def test_a_race_is_marked_where_it_is_and_a_wrong_answer_is_wrong() -> None:
    last = TEXT.rindex("__syncthreads();")
    found = check_rung(replace(RUNG, source=TEXT[:last] + TEXT[last + 16 :], source_name="mine.cu"))
    assert found.measurement.status in ("hazard", "wrong")
    assert {mark.line for mark in found.marks if mark.kind == "finding"} == {line_of("partial[index] +=")}
    assert of_rung("if (index < blockDim.x)", "if (index < 64)").measurement.status == "wrong"


def test_every_error_of_the_compiler_is_marked_and_not_the_first_alone() -> None:
    found = of_rung("unsigned int tid", "unsigned int t")
    assert found.measurement.status == "compile-error" and found.measurement.log
    errors = [mark for mark in found.marks if mark.kind == "error"]
    assert errors and errors[0] == Mark(line_of("partial[tid] = (i"), "error", 'Identifier "tid" is undefined.')
    log = "mine.cu(3): error: a\nother.h(4): error: b\nmine.cu(2): warning #177-D: c\nmine.cu(3): error: a\n"
    assert compiler_marks("mine.cu", log) == (Mark(2, "warning", "C."), Mark(3, "error", "A."))


def test_a_refused_launch_and_a_failing_one_have_a_reason() -> None:
    assert check_rung(replace(RUNG, n=-1)).measurement.status == "refused"
    text = "__global__ void f(int *a, int n) {\n    a[threadIdx.x + n] = 1;\n}"
    found = check_own(setup_of("f<<<1, 32>>>(int32[n], n)"), 32, text, "mine.cu")
    assert found.measurement.status == "out-of-bounds" and [mark.line for mark in found.marks] == [2]
    assert "`a`" in found.marks[0].message
    refused = check_own(setup_of("f<<<1, 32>>>(int32[n], n, 3)"), 32, text, "mine.cu").measurement
    assert refused.status == "refused" and "takes 2 arguments" in str(refused.reason)


def test_numbers_of_a_reference_are_those_that_were_passed() -> None:
    text = "__global__ void f(float a, const float *x, float *y, int n) {\n    y[threadIdx.x] += a * x[threadIdx.x];\n}"
    call = "f<<<1, 32>>>(3, float32[n]=range, float32[n]=ones, n)"
    for number, status in (("a", "ok"), ("3", "ok"), ("4", "wrong"), ("b", "refused")):
        found = check_own(setup_of(call, f"y = saxpy(x, y, {number})"), 32, text, "mine.cu").measurement
        assert found.status == status, found
    shown = check_own(setup_of(call), 32, text, "mine.cu")
    assert shown.measurement.status == "ok" and shown.measurement.check is None
    assert [one.name for one in shown.arrays] == ["x", "y"] and shown.arrays[1].first[:3] == (1.0, 4.0, 7.0)


@pytest.mark.gpu
def test_an_own_launch_is_timed_once_its_answer_is_right() -> None:
    text = "__global__ void f(const float *in, float *out, int n) {\n    out[threadIdx.x] = in[threadIdx.x];\n}"
    right = setup_of("f<<<1, 256>>>(float32[n]=range, float32[n], n)", "out = copy(in)")
    found = time_own(right, 256, text, "mine.cu")
    assert found.status == "ok" and found.time_us and found.device["kind"] == "gpu" and found.check is not None
    wrong = time_own(replace(right, arguments=("float32[n]=range", "float32[n]=ones", "n")), 512, text, "mine.cu")
    assert wrong.status == "wrong" and wrong.time_us is None


def test_without_a_gpu_there_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "gpus", tuple)
    with refused("lab.no-gpu-time", NotRunnable):
        time_own(setup_of("f<<<1, 32>>>(int32[n])"), 32, "__global__ void f(int *a) { a[0] = 1; }", "mine.cu")


def test_a_check_compiles_its_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, apart = list[str](), compilation.call_apart

    def counted(name: str, *rest: object, **more: object) -> object:
        compiled.append(name)
        return apart(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(compilation, "call_apart", counted)
    setup = setup_of("add<<<n / 256 + 1, 256>>>(float32[n]=random, n)", "x = x + 1")
    text = "__global__ void add(float *x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i] += 1; }"
    assert check_own(setup, 3000, text, "once.cu").measurement.status == "ok"
    assert compiled == ["once.cu"]


@pytest.mark.parametrize("of_rung", [False, True])
def test_a_check_that_fails_keeps_the_warnings_of_the_compiler(of_rung: bool) -> None:
    if of_rung:
        head = 'extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n) {'
        text = f"{head}\nfor (unsigned i = 9; i >= 0; i--)\nout[i] = in[i];\n}}"
        choice = Choice("reduce_sequential", 1000, 128, device="emulator", source=text, source_name="mine.cu")
        found = check_rung(settle(choice))
    else:
        text = "__global__ void f(int *a) {\nfor (unsigned i = 9; i >= 0; i--)\na[i] = 1;\n}"
        found = check_own(setup_of("f<<<1, 1>>>(int32[n])"), 10, text, "mine.cu")
    assert found.measurement.status == "out-of-bounds"
    assert {(mark.kind, mark.line) for mark in found.marks} == {("warning", 2), ("finding", 3)}

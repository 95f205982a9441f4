"""A text is compiled while it is typed: what the compiler says of its lines, without a run."""

from __future__ import annotations

import pytest

from engine.catalogue import KERNELS
from engine.lab.checking import compiled_marks
from engine.records import Choice, NotRunnable

RUNG = Choice("reduce_strided", 4096, 128, dtype="float32", device="emulator")
TEXT = KERNELS["reduce_strided"].text
SAXPY = (
    "__global__ void saxpy(float a, const float *x, float *y)\n{\n    int i = threadIdx.x;\n    y[i] = a * x[i];\n}\n"
)


def told(text: str, choice: Choice | None) -> list[tuple[int, str]]:
    return [(mark.line, mark.kind) for mark in compiled_marks(text, "mine.cu", choice)]


def test_a_right_text_has_no_error() -> None:
    assert told(TEXT, RUNG) == [] and told(SAXPY, None) == []


def test_an_error_is_at_its_line_with_the_word_that_was_meant() -> None:
    line = next(number for number, code in enumerate(TEXT.splitlines(), 1) if "threadIdx" in code)
    (mark, *_) = compiled_marks(TEXT.replace("threadIdx", "threadIDx", 1), "mine.cu", RUNG)
    assert (mark.line, mark.kind) == (line, "error") and "`threadIdx`" in mark.message
    (mark,) = compiled_marks(SAXPY.replace("x[i]", "xx[i]"), "mine.cu", None)
    assert (mark.line, mark.kind) == (4, "error")


def test_a_warning_of_the_compiler_is_one() -> None:
    assert (3, "warning") in told(SAXPY.replace("threadIdx.x;", "threadIdx.x, unused;"), None)


def test_no_text_reads_a_file_of_the_server() -> None:
    assert told(f'#include "/etc/passwd"\n{SAXPY}', None) == [(1, "error")]
    assert told(f'#include "/etc/passwd"\n{TEXT}', RUNG) == [(1, "error")]


def test_an_unknown_rung_is_refused() -> None:
    with pytest.raises(NotRunnable):
        compiled_marks(TEXT, "mine.cu", Choice("no_such_kernel", 4096, 128))

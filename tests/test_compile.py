"""What the compiler refuses, in one sentence with the line."""

from __future__ import annotations

import pytest

from engine.compile import compile_source
from engine.records import CompileError, Source

BROKEN = (
    ('extern "C" __global__ void k(int *o) {\n  o[0] = 1;\n', 2, 'expected a "}" before the file ends.'),
    ("\n#include <no_such_file.h>\n", 2, 'cannot open source file "no_such_file.h".'),
    ("#error not yet.\n", 1, "#error directive: not yet."),
    ("\n\n__global__ void k(int x) { __shared__ int a[x]; }", 3, "expression must have a constant value."),
)


@pytest.mark.parametrize(("text", "line", "what"), BROKEN)
def test_the_first_error_is_one_sentence_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_source(Source("mine.cu", text, "int32"), "compute_90")
    assert str(caught.value) == f"mine.cu does not compile: line {line}: {what}"
    assert caught.value.line == line and "error" in caught.value.log

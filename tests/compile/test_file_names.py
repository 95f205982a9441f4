"""A file's name commands the compiler as little as its text: it is no option, and ends no line marker."""

from __future__ import annotations

import pytest

from engine.lab.compilation import compilation
from engine.lab.marks import compiler_marks
from engine.records import CompileError, Source

NAMES = ('"', "-x", "--pre-include=", "a\\", "a\n#error b", "folder/-x", "\udcff", "%s {0} é")
KERNEL = "__global__ void f(int *a) {\n  a[0] = 1;\n}\n"


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_kernel_compiles_in_a_file_of_any_name_and_its_faults_have_lines(name: str) -> None:
    assert [one.name for one in compilation(f"{name}.cu", KERNEL).kernels] == ["f"]
    with pytest.raises(CompileError) as found:
        compilation(f"{name}.cu", KERNEL.replace("1", ""))
    assert found.value.line == 2
    assert [mark.line for mark in compiler_marks(f"{name}.cu", found.value.log)] == [2]


def test_a_plain_name_stays() -> None:
    for name in ("mine.cu", "week-3/my file (1).cu"):
        assert Source(name, "", "").name == name

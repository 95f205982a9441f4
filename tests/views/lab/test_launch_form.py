"""The launch in the form: it stays while a kernel is renamed, and another file brings its own."""

from __future__ import annotations

import pytest

from engine.lab.setups import setup_of
from views.lab.form import fitted

ADD = "__global__ void add(const float *a, const float *b, float *c, int n) { c[n - 1] = a[0] + b[0]; }\n"
MINE = setup_of("add<<<256, 64>>>(float32[n]=random, float32[n]=random, float32[n], n)", "c = a + b")
ALLOCATED = "float *a, *b, *c; cudaMalloc(&a, 4 * 64); cudaMalloc(&b, 4 * 64); cudaMalloc(&c, 4 * 64);"
MAIN = f"int main() {{ {ALLOCATED} NAME<<<2, 32>>>(a, b, c, 64); }}\n"


@pytest.mark.parametrize(
    ("text", "grid"),
    [
        (ADD, "256"),
        (ADD.replace("add", "sum"), "256"),  # renamed
        (ADD + MAIN.replace("NAME", "add"), "256"),  # the form was changed since
        (ADD.replace("add", "sum") + MAIN.replace("NAME", "add"), "256"),  # half renamed
        (ADD.replace("add", "sum") + MAIN.replace("NAME", "sum"), "2"),  # another file
    ],
)
def test_the_launch_stays_unless_another_file_has_one_of_its_own(text: str, grid: str) -> None:
    assert fitted(MINE, text).grid == (grid,)

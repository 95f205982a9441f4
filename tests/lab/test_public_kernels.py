"""The list of kernels that others wrote: the page counts what it says, and a rule fits by no accident."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.lab import public_kernels
from tests.lab.public_kernels import LIST, PAGE, Row, fetched, main, tried_file
from tests.lab.public_rules import fitting

ROWS = [Row(*line) for line in list(csv.reader(LIST.read_text(encoding="utf-8").splitlines()))[1:]]
REDUCE = b"""#include "common.h"
typedef float real;
__global__ void sums(const real *in, real *out, int n) {
    __shared__ real s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x % 64] = i < n ? in[i] : 0;
    for (int k = 32; k; k /= 2) { __syncthreads(); if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
__global__ void count(unsigned char *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out + in[i], 1);
}
__global__ void odd(float *a) { a[threadIdx.x] = threadIdx.x % 7; }
__global__ void seen(cudaSurfaceObject_t s, float *a) { surf1Dread(a + threadIdx.x, s, 4 * threadIdx.x); }
int main() { std::cout << 1; }
"""


def test_the_page_counts_what_the_list_has() -> None:
    page, found = PAGE.read_text(encoding="utf-8"), Counter(row.verdict for row in ROWS)
    assert set(found) == {"right", "no rule", "stopped", "struct", "refused", "template", "not compiled"}
    for words, count in (("right answer", found["right"]), ("no rule fits: ", found["no rule"]),
                         ("stopped with the line", found["stopped"]), ("take a struct", found["struct"]),
                         ("refused: textures", found["refused"])):  # fmt: skip
        assert any(words in line and f"| {count} |" in line for line in page.splitlines()), words
    assert found["right"] >= 150
    files = {(row.repository, row.file): row.verdict for row in ROWS}
    compiled = sum(verdict not in ("template", "not compiled") for verdict in files.values())
    foreign = sum(row.verdict == "not compiled" and '" is not here' in row.said for row in ROWS)
    own = compiled + found["not compiled"] - foreign
    assert f"| {compiled} of {own} |" in page and compiled >= 0.85 * own
    assert all(repository in page for repository, _ in files)


def test_each_kernel_of_a_file_is_tried() -> None:
    rows = {row.kernel: row for row in tried_file("o/n", "some/reduce.cu", REDUCE)}
    assert (rows["sums"].verdict, rows["sums"].said) == ("right", "out = sums of blocks(in)")
    assert rows["count"].said == "out += histogram 256(in)"
    assert rows["odd"].verdict == "no rule" and rows["seen"].verdict == "refused" and "line 15" in rows["seen"].said
    (row,) = tried_file("o/n", "bad.cu", b"__global__ void k(Node *a) { a[0] = 1; }")
    assert row.verdict == "not compiled" and '"Node" is undefined' in row.said


def test_a_rule_needs_enough_elements_that_were_others_before() -> None:
    a, zeros = np.arange(64.0), np.zeros(64)
    assert fitting({"a": a, "b": zeros}, {"a": a, "b": 2 * a}, [64], 32) == "b = double(a)"
    assert fitting({"a": a, "b": zeros}, {"a": a, "b": np.where(a < 9, 2 * a, 0)}, [64, 9], 32) is None
    assert fitting({"a": a, "b": 2 * a}, {"a": a, "b": 2 * a}, [64], 32) is None


def test_a_failed_fetch_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
                                        tmp_path: Path) -> None:  # fmt: skip
    monkeypatch.setattr(
        public_kernels, "ADDRESS", (tmp_path / "{file}").as_uri().replace("%7B", "{").replace("%7D", "}")
    )
    assert main(["--from", str(tmp_path), "brucefan1983", "add1.cu"]) == 2
    assert "not fetched: brucefan1983/CUDA-Programming/src/03-basic-framework/add1.cu: " in capsys.readouterr().out
    kept = tmp_path / "o" / "n" / "k.cu"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(REDUCE)
    assert fetched("o/n", "0" * 40, "k.cu", tmp_path) == REDUCE

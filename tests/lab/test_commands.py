"""`emulate` and `check` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engine.commands import main
from engine.lab.arguments import argument_of
from engine.records import NotRunnable
from tests.sentences import says, sentence

SCALE = """#include <iostream>
template <int N> __global__ void other(int *a) { a[0] = N; }
__global__ void scale(float by, float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= by;
    if (i == 3) printf("%g\\n", a[3]);
}
int main() { return 0; }
"""

SURFACE = """__global__ void k(int *a) {
    a[0] = surf1Dread<int>((cudaSurfaceObject_t)a[1], a[2]);
}
"""


@pytest.fixture
def scale(tmp_path: Path) -> str:
    (tmp_path / "scale.cu").write_text(SCALE)
    return str(tmp_path / "scale.cu")


def test_emulate_prints_the_result(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--kernel", "scale", "--grid", "2", "--block", "64", "--arg", "2", "--arg", "float32[100]=range"]
    assert main(["emulate", scale, *arguments, "--arg", "100", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["status"] == "ok" and record["printed"] == ["6"]
    assert record["arrays"]["a"] == {"dtype": "float32", "shape": [100], "first": [0, 2, 4, 6, 8, 10, 12, 14]}
    assert record["counters"]["global_store_requests"] == 4 and record["lines"][0]["line"] == 3
    assert main(["emulate", scale, *arguments, "--arg", "100"]) == 0
    assert "a: float32[100]: [0.0, 2.0, 4.0" in capsys.readouterr().out
    assert main(["emulate", scale, *arguments, "--arg", "101"]) == 3
    assert "scale.cu, line 5: thread 36 of block 1 reads element 100 of `a`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [(["--kernel", "no"], "refused", "it has other, scale"), ([], "refused", "several kernels"),
     (["--kernel", "scale", "--arg", "x"], "refused", "'x' is no argument"),
     (["--kernel", "other<3>", "--arg", "int32[1]", "--thread", "1"], "refused", "add --at LINE"),
     (["--kernel", "other<3>", "--arg", "int32[1]", "--moment", "-1"], "refused", "no moment -1"),
     (["--kernel", "other<3>", "--arg", "int32[1]", "--block", "2"], "ok", None)],
)  # fmt: skip
def test_emulate_keeps_the_contract_of_the_exit_status(
    scale: str, capsys: pytest.CaptureFixture[str], more: list[str], status: str, words: str | None
) -> None:
    ended = main(["emulate", scale, *more, "--json"])
    record = json.loads(capsys.readouterr().out)
    assert (ended, record["status"]) == ({"ok": 0, "refused": 2}[status], status)
    assert words is None or words in record["reason"]


def test_check_says_whether_a_file_can_run(scale: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", scale]) == 0
    assert sentence("check.ok-and-more", capsys.readouterr().out)
    assert main(["check", scale, "--kernel", "other<4>", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["kernels"]
    assert row == {"kernel": "other<4>", "parameters": [{"name": "a", "kind": "u", "size": 8}], "not_emulated": []}
    broken = tmp_path / "broken.cu"
    broken.write_text("__global__ void f(int *a) {\n  a[0] = ;\n}\n")
    assert main(["check", str(broken)]) == 2
    assert "broken.cu does not compile: line 2: expected" in capsys.readouterr().out
    broken.write_text('__global__ void f(int *a) {\n  asm volatile("tcgen05.fence;");\n}\n')
    assert main(["check", str(broken)]) == 2
    assert capsys.readouterr().out == "f(a): not emulated: tcgen05.fence (line 2)\n"
    broken.write_text(SURFACE + "__global__ void plain(int *a) { a[0] = 1; }\n")
    assert main(["check", str(broken)]) == 2
    one, other = capsys.readouterr().out.splitlines()
    assert says("check.no-surface", one) and one.endswith("(line 2)")
    assert other == "plain(a): ok"
    broken.write_text('__global__ void f(int *a) {\n  asm volatile("bra nowhere;");\n}\n')
    assert main(["check", str(broken)]) == 2
    assert "broken.cu, line 2: bra goes to the label nowhere" in capsys.readouterr().err


def test_arguments_are_numbers_arrays_and_files(tmp_path: Path) -> None:
    np.save(tmp_path / "saved.npy", np.eye(3))
    assert np.array_equal(argument_of(str(tmp_path / "saved.npy")), np.eye(3))
    assert [argument_of(word) for word in ("3", "-3", "2^20", "2.5", "-1e3")] == [
        3,
        -3,
        1 << 20,
        2.5,
        -1000,
    ]
    made = [
        argument_of(word)
        for word in ("int8[2,3]", "float64[4]=range", "bool[3]=ones", "int32[2^2]=7", "float32[9]=random")
    ]
    assert [(array.dtype.name, array.shape) for array in made if isinstance(array, np.ndarray)] == [
        ("int8", (2, 3)), ("float64", (4,)), ("bool", (3,)), ("int32", (4,)), ("float32", (9,)),
    ]  # fmt: skip
    for words in (
        "",
        "x",
        "int33[3]",
        "int8[x]",
        "int8[-1]",
        "int8[3]=many",
        "object[3]",
        "float64[2^40]",
        "no.npy",
        "int8[2]=300",
        "float32[2]=1e99",
    ):
        with pytest.raises(NotRunnable):
            argument_of(words)


@pytest.mark.parametrize("array", [np.array(["two", "words"]), np.array(["2024-02-29"], "M8[D]"), np.array([None])])
def test_a_file_of_text_dates_or_objects_is_refused_in_one_sentence(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "saved.npy", array)
    with pytest.raises(NotRunnable, match=r"[^.]saved\.npy [^.()]+\.(save\.)?$"):
        argument_of(str(tmp_path / "saved.npy"))

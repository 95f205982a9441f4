"""Kernels in a notebook: its cells, the call of CuPy's RawKernel, grades and ladders."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from docs.make_notebook import INSTALLS, NOTEBOOK, executed, new_shell, text_of
from engine.catalogue import LADDERS
from engine.lab.notebook import run_cell
from engine.records import CompileError, NotRunnable
from engine.sheets import folder
from tests.sentences import says

ROOT = Path(__file__).parents[2]
CLOUD = ROOT / "docs" / "cloud-gpu.ipynb"
EXPECTED = (
    "7.999e+03",
    "rgba(",
    "Line 6: thread 0",
    "RunFailed: kernel.cu, line 4",
    "[4] [0.",
    "NVIDIA Tesla V100 has",
    "6 of 8 points",
)
SAXPY = """__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


@pytest.mark.thorough
def test_the_notebook_runs_from_top_to_bottom_and_shows_the_output_of_its_cells() -> None:
    held = NOTEBOOK.read_text(encoding="utf-8")
    assert text_of(executed(json.loads(held))) == held, "python -m docs.make_notebook"
    assert all(words in held for words in EXPECTED)


def names() -> dict[str, Any]:
    return {"x": np.arange(64, dtype=np.float32), "y": np.ones(64, np.float32), "n": 64}


def test_a_cell_compiles_its_kernels_and_launches_one_with_the_notebooks_arrays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = names()
    assert run_cell("", SAXPY, found) is None and "saxpy" in capsys.readouterr().out
    run = run_cell("saxpy<<<(n + 31) / 32, 32>>>(2.0, x, y, n)", SAXPY, found)
    assert run is not None and run.ok and list(found["y"][:3]) == [1, 3, 5]
    assert {line.line for line in run.lines} >= {3, 4}, "as the notebook numbers the lines, with `%%cuda` as the first"
    run_cell("saxpy<<<dim3(2, 1), dim3(32), 16>>>(1.0, x, y, n);", SAXPY, found)
    assert list(found["y"][:3]) == [1, 4, 7]
    assert found["saxpy"].name == "saxpy"


@pytest.mark.parametrize(("line", "sentence"), [
    ("saxpy(2)", "notebook.no-launch"), ("saxpy<<<2>>>(1)", "notebook.no-block"),
    ("saxpy<<<2, 32>>>(2.0, q, y, n)", "notebook.no-value"), ("saxpy<<<2, 32>>>(2.0, x, y", "notebook.no-launch"),
])  # fmt: skip
def test_a_launch_that_is_none_is_refused(line: str, sentence: str) -> None:
    with pytest.raises(NotRunnable) as refused:
        run_cell(line, SAXPY, names())
    assert says(sentence, str(refused.value))


def test_a_cell_that_does_not_compile_names_its_line() -> None:
    with pytest.raises(CompileError) as failed:
        run_cell("", SAXPY.replace("int i", "imt i"), names())
    assert failed.value.line == 3


def test_ipython_loads_the_magic_and_shows_a_sentence_for_an_error() -> None:
    shell = new_shell()
    shell.user_ns.update(names())
    assert shell.run_cell("%load_ext engine").success
    done = shell.run_cell(f"%%cuda saxpy<<<2, 32>>>(2.0, x, y, n)\n{SAXPY}")
    assert done.success and done.result.ok and shell.user_ns["y"][2] == 5
    failed = shell.run_cell(f"%%cuda saxpy<<<2, 32>>>(2.0, x, y)\n{SAXPY}")
    assert type(failed.error_in_exec).__name__ == "UsageError" and "4 arguments" in str(failed.error_in_exec)


def test_a_call_writes_into_the_arrays_that_are_passed() -> None:
    saxpy, x, y = engine.kernel(SAXPY), np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    run = saxpy((2,), (32,), (2.0, x, y, 64))
    assert list(y[:3]) == [1, 3, 5] and run.check("y = a * x + y").ok, "the run has copies of what they held"
    saxpy((2,), (32,), (1.0, y, y, 64))  # one array for two parameters
    assert list(y[:3]) == [2, 6, 10]
    y.flags.writeable = False
    with pytest.raises(NotRunnable) as refused:
        saxpy((2,), (32,), (2.0, x, y, 64))
    assert says("kernel.read-only", str(refused.value))
    with pytest.raises(NotRunnable) as refused:
        saxpy((1,), (32,), (2.0, x[:32], x[16:48], 32))
    assert says("kernel.overlap", str(refused.value))


@pytest.mark.thorough
def test_a_text_is_graded_as_its_sheet_says() -> None:
    sheet = folder.load("heidelberg-levels")
    right = engine.grade(sheet.name, sheet.solution, {one.name: str(one.answer) for one in sheet.questions})
    assert right.passed and "✓" in right._repr_html_() and sheet.title in str(right)
    wrong = engine.grade(sheet.name, sheet.start)
    assert not wrong.passed and wrong.points < right.points and "✗" in wrong._repr_html_()


def test_a_ladder_shows_recorded_times_and_counts_after_a_run() -> None:
    ladder = engine.ladder("cs121-divergence")
    held, rungs = ladder._repr_html_(), LADDERS["cs121-divergence"].rungs
    assert all(rung.label in held for rung in rungs) and "recorded" in held and "linear-gradient" in held
    assert ladder.table["divergent_branches"].isna().all() or "Counted" in held
    run = ladder.run()
    assert run.table["warp_instructions"].notna().all() and "Counted by the emulator" in run._repr_html_()
    assert list(run.table["time_us"]) == list(ladder.table["time_us"])
    with pytest.raises(NotRunnable) as refused:
        engine.ladder("harri")
    assert says("ladder.unknown", str(refused.value))


def test_the_notebook_for_a_clouds_gpu_shows_what_one_measured() -> None:
    cells = json.loads(CLOUD.read_text(encoding="utf-8"))["cells"]
    codes = [cell for cell in cells if cell["cell_type"] == "code"]
    install, *others = codes
    assert install["metadata"]["tags"] == [INSTALLS] and not install["outputs"]
    for name in re.findall(r"-[rc] (\S+)", "".join(install["source"])):
        assert (ROOT / name).is_file()
    for cell in others:
        ast.parse("".join(cell["source"]))
        assert cell["outputs"]
    told = json.dumps(others)
    assert "ok GPU NVIDIA" in told and "Times: NVIDIA" in told and " GB/s" in told

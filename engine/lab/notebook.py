"""CUDA C++ in a cell of a notebook: after `%load_ext engine` a cell may begin with `%%cuda`.

%%cuda saxpy<<<(n + 255) / 256, 256>>>(2.0, x, y, n)
__global__ void saxpy(float a, const float *x, float *y, int n) { ... }

The cell's kernels are names of the notebook afterwards. The launch behind `%%cuda` is optional. It takes the notebook's
own names, `y` holds the result, and the counts of each line and the findings stand below the cell.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from engine.lab import kernels
from engine.lab.kernels import KernelRun
from engine.records import CompileError, NotRunnable, RunFailed

CELL = "the cell"  # the file's name in messages; `%%cuda` is its line 1, as in the notebook's own numbers
_LAUNCH = re.compile(r"(?P<name>.+?)<<<(?P<sizes>.*)>>>\s*\((?P<args>.*)\)\s*;?", re.DOTALL)


def load(shell: Any) -> None:
    """Add `%%cuda` to a notebook. `shell`: IPython's, which calls this for `%load_ext engine`."""

    def cuda(line: str, cell: str) -> KernelRun | None:
        try:
            return run_cell(line, cell, shell.user_ns)
        except (NotRunnable, CompileError, RunFailed) as error:
            # The notebook's own package; it shows this error as a sentence, without a traceback.
            raise import_module("IPython.core.error").UsageError(str(error)) from None

    shell.register_magic_function(cuda, "cell", "cuda")


def run_cell(line: str, cell: str, names: dict[str, Any]) -> KernelRun | None:
    """Compile a cell, add its kernels to the notebook's `names`, and launch one if `line` says so.

    Returns the launch, None without one. NotRunnable, CompileError, RunFailed: as from `engine.kernel`.
    """
    text, launch = f"\n{cell}", line.strip()  # a line more, for `%%cuda` itself
    found = _LAUNCH.fullmatch(launch)
    if launch and not found:
        raise NotRunnable(f"{launch!r} is no launch: write NAME<<<grid, block>>>(arguments), or nothing.")
    if found is None:
        made = kernels.kernels(text, called=CELL)
        names.update({one.name: one for one in made if one.name.isidentifier()})
        print(f"Kernels: {', '.join(one.name for one in made)}.", *made[0].warnings, sep="\n")
        return None
    own = kernels.kernel(text, found["name"].strip(), called=CELL)
    if own.name.isidentifier():
        names[own.name] = own
    sizes = _evaluated(found["sizes"], names, whole=True)
    if not 2 <= len(sizes) <= 3:
        raise NotRunnable(f"<<<{found['sizes']}>>> must name a grid, a block and, if it needs them, bytes of memory.")
    run = own(sizes[0], sizes[1], _evaluated(found["args"], names), *(int(size) for size in sizes[2:]))
    for told in (*own.warnings, *run.printed):
        print(told)
    return run


def _evaluated(words: str, names: Mapping[str, Any], whole: bool = False) -> tuple[Any, ...]:
    """Return the values of a list in Python's words. `whole`: `/` divides as C does with integers, and `dim3` is
    known. NotRunnable: it has none."""
    try:
        tree = ast.parse(f"({words.strip()},)" if words.strip() else "()", mode="eval")
        for node in ast.walk(tree):
            if whole and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                node.op = ast.FloorDiv()
        known = {"dim3": lambda *sizes: sizes} if whole else {}
        return tuple(eval(compile(tree, CELL, "eval"), {**known, **names}))
    except Exception as error:
        raise NotRunnable(f"{words.strip()} has no value here: {error}.") from None

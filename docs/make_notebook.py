"""Run the cells of docs/lab.ipynb and keep what they show:

    python -m docs.make_notebook

Needs no Jupyter: a cell is Python, what it prints and the value of its last line is what it shows.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent / "lab.ipynb"
Notebook = dict[str, Any]


def executed(notebook: Notebook) -> Notebook:
    """The notebook with the outputs that its cells have now."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = _outputs("".join(cell["source"]), names, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(tree, "cell", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        except Exception as error:  # a cell may show what goes wrong
            print(f"{type(error).__name__}: {error}")
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), "text/plain": [f"<{type(value).__name__}>"]}
        outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def text_of(notebook: Notebook) -> str:
    """As it is kept in the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Write the outputs into the file."""
    NOTEBOOK.write_text(text_of(executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

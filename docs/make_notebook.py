"""Run the cells of a notebook and keep what they show:

    python -m docs.make_notebook                          docs/lab.ipynb
    python -m docs.make_notebook docs/cloud-gpu.ipynb     on a computer with a GPU

Needs no Jupyter: IPython runs the cells, as a notebook's kernel does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

NOTEBOOK = Path(__file__).parent / "lab.ipynb"
INSTALLS = "install"  # the tag of a cell that prepares a new computer; it does not run here
MAY_FAIL = "raises-exception"  # the tag of a cell that shows an error; Jupyter goes on after it
Notebook = dict[str, Any]


class _Silent(DisplayHook):
    """Keeps the value of a cell's last line, and prints none."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, str], md_dict: dict[str, Any] | None = None) -> None:
        pass

    def finish_displayhook(self) -> None:
        pass


def new_shell() -> InteractiveShell:
    """A notebook's kernel without names, and without a history on disk."""
    InteractiveShell.clear_instance()
    return InteractiveShell.instance(displayhook_class=_Silent, config=Config({"HistoryManager": {"enabled": False}}))


def executed(notebook: Notebook) -> Notebook:
    """The notebook with the outputs that its cells have now. RuntimeError: a cell fails that should not."""
    shell = new_shell()
    cells, number = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and INSTALLS not in cell["metadata"].get("tags", ()):
            number += 1
            outputs = _outputs(shell, cell, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(shell: InteractiveShell, cell: Notebook, number: int) -> list[dict[str, Any]]:
    with capture_output(display=False) as said:
        done = shell.run_cell("".join(cell["source"]), store_history=True)
    error, printed = done.error_before_exec or done.error_in_exec, said.stdout
    if error is not None:
        if MAY_FAIL not in cell["metadata"].get("tags", ()):
            raise RuntimeError(f"Cell {number} fails: {error}")
        printed = f"{type(error).__name__}: {error}\n"
    outputs: list[dict[str, Any]] = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed)})
    if done.result is not None:
        value = done.result
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
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK
    file.write_text(text_of(executed(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""The notebook shows what its cells give."""

from __future__ import annotations

import json

import pytest

from docs.make_notebook import NOTEBOOK, executed, text_of

EXPECTED = (
    "7.999e+03",
    "rgba(",
    "Line 6: thread 0",
    "RunFailed: kernel.cu, line 4",
    "[4] [0.",
    "NVIDIA Tesla V100 has",
)


@pytest.mark.thorough
def test_the_notebook_shows_the_output_of_its_cells() -> None:
    held = NOTEBOOK.read_text(encoding="utf-8")
    assert text_of(executed(json.loads(held))) == held, "python -m docs.make_notebook"
    assert all(words in held for words in EXPECTED)
    assert "Error: name" not in held and "KeyError" not in held

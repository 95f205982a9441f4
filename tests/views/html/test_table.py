"""Small pieces of HTML."""

from __future__ import annotations

import pytest

from views.html.table import sentence_case


@pytest.mark.parametrize(
    ("words", "wanted"),
    [("the tree: one step", "The tree: one step"), ("a, then b", "A, then b"), ("", ""),
     ("threadIdx.x chooses the column", "threadIdx.x chooses the column"), ("h_k is a sum", "h_k is a sum"),
     ("atomicInc adds one", "atomicInc adds one"), ("tiled_partition cuts", "tiled_partition cuts")],
)  # fmt: skip
def test_a_sentence_begins_with_a_capital_and_code_stays_as_it_is(words: str, wanted: str) -> None:
    assert sentence_case(words) == wanted

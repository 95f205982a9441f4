"""Of many cases of a kind the quick run takes some that stand for all; the thorough run takes the others."""

from __future__ import annotations

from typing import Any

import pytest


def case(*values: object, quick: bool, id: str | None = None) -> Any:
    """One set of values for pytest.mark.parametrize."""
    return pytest.param(*values, id=id, marks=() if quick else pytest.mark.thorough)

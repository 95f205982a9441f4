"""Of many cases of a kind the quick run takes some that stand for all, the thorough run more, a release the rest."""

from __future__ import annotations

from typing import Any

import pytest


def case(*values: object, quick: bool, thorough: bool = True, id: str | None = None) -> Any:
    """One set of values for pytest.mark.parametrize: in the quick run, else in the thorough one, else for a release."""
    marks = () if quick else pytest.mark.thorough if thorough else pytest.mark.release
    return pytest.param(*values, id=id, marks=marks)

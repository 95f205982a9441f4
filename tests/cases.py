"""Of many cases of a kind the quick run takes some that stand for all, the thorough run more, a release the rest."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from engine.catalogue import KERNELS


def case(*values: object, quick: bool, thorough: bool = True, id: str | None = None) -> Any:
    """One set of values for pytest.mark.parametrize: in the quick run, else in the thorough one, else for a release."""
    marks = () if quick else pytest.mark.thorough if thorough else pytest.mark.release
    return pytest.param(*values, id=id, marks=marks)


def turn(name: str, place: int, share: int) -> bool:
    """Return whether the case at this place of `name`'s cases is sampled: one in `share`, another start for each name.

    The start depends on the name alone, so the sample of a kernel stays the same if other kernels come or go.
    """
    return (zlib.crc32(name.encode()) + place) % share == 0


def code_line(kernel: str, code: str) -> int:
    """Return the number of the first line of a kernel's file that holds this code."""
    return next(number for number, line in enumerate(KERNELS[kernel].text.splitlines(), 1) if code in line)

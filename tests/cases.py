"""The sampling of similar cases: the quick run takes a few, the thorough run more, a release the rest."""

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
    """Return whether the case at this place of `name`'s cases is sampled: one in `share`, with a different start for
    each name.

    The start depends on the name alone, so the sample of a kernel stays the same if other kernels come or go.
    """
    return (zlib.crc32(name.encode()) + place) % share == 0


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Mark the cases that run later: for a test marked sampled(quick=q, thorough=t), the quick run takes one case in q.

    The thorough run takes one in t of the others, a release the rest; quick=0: the quick run takes none. A case that is
    marked as thorough is among the others. The name of a case alone decides, and each run takes one at least.
    """
    sampled = metafunc.definition.get_closest_marker("sampled")
    if sampled is None:
        return

    def first(cases: list[Any], share: int) -> set[str]:
        drawn = sorted(cases, key=lambda case: zlib.crc32(f"{metafunc.definition.nodeid}[{case.id}]".encode()))
        return {case.id for case in drawn[: -(-len(cases) // share)]} if share else set()

    marks = {case.id: {mark.name for mark in case.marks} for case in metafunc._calls}
    cases = [case for case in metafunc._calls if "release" not in marks[case.id]]
    quick = first([case for case in cases if "thorough" not in marks[case.id]], sampled.kwargs.get("quick", 1))
    later = [case for case in cases if case.id not in quick]
    thorough = first(later, sampled.kwargs.get("thorough", 1))
    for case in later:
        run = pytest.mark.thorough if case.id in thorough else pytest.mark.release
        case.marks[:] = [*(mark for mark in case.marks if mark.name != "thorough"), run.mark]


def code_line(kernel: str, code: str) -> int:
    """Return the number of the first line of a kernel's file that holds this code."""
    return next(number for number, line in enumerate(KERNELS[kernel].text.splitlines(), 1) if code in line)

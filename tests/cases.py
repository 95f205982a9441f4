"""The sampling of similar cases: the quick run takes a few, the thorough run more, a release the rest."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
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
    marked as thorough is among the others. The name of a case alone decides, and each run takes one at least. The mark
    of a file is that of each test with cases, and all its tests without cases are sampled together.
    """
    sampled = metafunc.definition.get_closest_marker("sampled")
    if sampled is None or not metafunc._calls:
        return
    marks = {case.id: {mark.name for mark in case.marks} for case in metafunc._calls}
    names = {case.id: f"{metafunc.definition.nodeid}[{case.id}]" for case in metafunc._calls}
    later = _sampled_later(
        {names[one]: "thorough" in marks[one] for one in names if "release" not in marks[one]}, sampled
    )
    for case in metafunc._calls:
        run = later.get(names[case.id])
        if run is not None:
            case.marks[:] = [*(mark for mark in case.marks if mark.name != "thorough"), run.mark]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests without cases of a sampled file that run later."""
    of_file: dict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        runs = {mark.name for mark in item.iter_markers()}
        if "sampled" in runs and not hasattr(item, "callspec") and not runs & {"thorough", "release", "gpu"}:
            of_file[item.path].append(item)
    for tests in of_file.values():
        sampled = tests[0].get_closest_marker("sampled")
        assert sampled is not None
        later = _sampled_later({item.nodeid: False for item in tests}, sampled)
        for item in tests:
            if item.nodeid in later:
                item.add_marker(later[item.nodeid])


def _sampled_later(names: Mapping[str, bool], sampled: pytest.Mark) -> dict[str, pytest.MarkDecorator]:
    """Return the mark of each name that the quick run leaves out. `names`: whether it leaves it out anyway."""

    def first(some: list[str], share: int) -> set[str]:
        drawn = sorted(some, key=lambda name: zlib.crc32(name.encode()))
        return {*drawn[: -(-len(some) // share)]} if share else set()

    quick = first([name for name, is_later in names.items() if not is_later], sampled.kwargs.get("quick", 1))
    later = [name for name in names if name not in quick]
    thorough = first(later, sampled.kwargs.get("thorough", 1))
    return {name: pytest.mark.thorough if name in thorough else pytest.mark.release for name in later}


def code_line(kernel: str, code: str) -> int:
    """Return the number of the first line of a kernel's file that holds this code."""
    return next(number for number, line in enumerate(KERNELS[kernel].text.splitlines(), 1) if code in line)

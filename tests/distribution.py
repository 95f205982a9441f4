"""Which process of `pytest -n 2` runs which tests: a module is one's, and what may not meet runs one after the other.

A module's tests share what it makes once: servers, queues, compiled kernels. Markers of xdist_group would not do: what
xdist 3.8 makes of them is lost on pytest 9.2.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from _pytest.mark.expression import Expression
from xdist import is_xdist_worker
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# One Chromium at a time, and a cluster not beside it: its hosts bring network interfaces with them, and Chromium gives
# up a page when one comes or goes.
ONE_BY_ONE = ("tests/browser/", "tests/load/", "tests/service/test_cluster.py")
# Modules that take long come first, the longest at the head, and the last ones to begin end soon.
LONG = ("tests/catalogue/test_kernels.py", "tests/test_walks.py", "tests/sheets/", "tests/fuzz/",
        "tests/backends/emulator/watching/test_catalogue_counters.py", "tests/backends/emulator/meanings/test_ops.py",
        "tests/backends/emulator/test_differential.py", "tests/catalogue/test_catalogue.py", "tests/lectures/test_",
        "tests/views/test_", "tests/lab/", "tests/catalogue/", "tests/views/ladder/")  # fmt: skip


class ByModule(LoadScopeScheduling):
    """A worker that has nothing left takes the next module."""

    def _split_scope(self, nodeid: str) -> str:
        return ONE_BY_ONE[0] if nodeid.startswith(ONE_BY_ONE) else nodeid.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None]:
    """Drop the cases that `-m` leaves out before they become items: of 18,000, each worker runs a third at most."""
    yield
    expression = metafunc.config.option.markexpr
    if expression and hasattr(metafunc.config, "workerinput"):  # else a case asked for by its name would be unknown
        wanted = Expression.compile(expression)
        marks = list(metafunc.definition.iter_markers())

        def is_wanted(names: set[str]) -> bool:
            return wanted.evaluate(lambda name, **_: name in names)

        calls = metafunc._calls
        calls[:] = [call for call in calls if is_wanted({mark.name for mark in (*marks, *call.marks)})] or calls[:1]


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """What takes long comes first."""
    if is_xdist_worker(session):
        items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    first = (ONE_BY_ONE, *LONG)
    return next((place for place, start in enumerate(first) if nodeid.startswith(start)), len(first))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByModule:
    config.option.loadscopereorder = False  # by the number of tests, which says little of how long they take
    return ByModule(config, log)

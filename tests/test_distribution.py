"""With several workers the tests of a module stay together, and a cluster waits for the browser's to end."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cases import pytest_collection_modifyitems, pytest_generate_tests

ROOT = Path(__file__).parents[1]
TOLD = """import os, pathlib, pytest
@pytest.mark.parametrize("number", [*range(20), pytest.param(20, marks=pytest.mark.thorough)])
def test_one(number):
    with pathlib.Path("told").open("a") as told:
        print(pathlib.Path(__file__).stem, os.environ["PYTEST_XDIST_WORKER"], file=told)
"""
MODULES = ("tests/test_words.py", "tests/service/test_cluster.py", "tests/browser/test_start.py", "tests/test_plan.py",
           "tests/browser/test_keys.py", "tests/test_tables.py", "tests/test_walks.py")  # fmt: skip


@pytest.mark.thorough
def test_a_module_is_one_workers_and_browser_and_cluster_are_the_same_ones(tmp_path: Path) -> None:
    for name in MODULES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TOLD, encoding="utf-8")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.distribution"]\n', encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--import-mode=importlib", "-p", "no:cacheprovider",
               "-W", "ignore", "-m", "not thorough"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout
    told = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
    workers = {module: {worker for name, worker in told if name == module} for module, _ in told}
    assert len(told) == 20 * len(MODULES) and all(len(found) == 1 for found in workers.values())
    assert workers["test_start"] == workers["test_keys"] == workers["test_cluster"]
    assert {module for module, _ in told[:30]} & {"test_start", "test_keys"}, "what takes long comes first"


@pytest.mark.parametrize(
    ("shares", "runs"),
    [
        (
            {"quick": 4, "thorough": 3},
            {"quick": 3, "thorough": 5, "release": 12},
        ),  # 10 have no mark
        ({"quick": 0}, {"thorough": 17, "release": 3}),
        ({"thorough": 2}, {"quick": 10, "thorough": 4, "release": 6}),
        ({"quick": 100}, {"quick": 1, "thorough": 16, "release": 3}),
    ],
)
def test_every_case_of_a_sampled_test_is_in_one_run(shares: dict[str, int], runs: dict[str, int]) -> None:
    own = [[], [pytest.mark.thorough.mark], [], [pytest.mark.thorough.mark], [pytest.mark.usefixtures("page").mark]]
    calls = [SimpleNamespace(id=str(number), marks=list(own[number % 5])) for number in range(17)]
    calls += [SimpleNamespace(id=f"last {number}", marks=[pytest.mark.release.mark]) for number in range(3)]
    definition = SimpleNamespace(nodeid="test", get_closest_marker=lambda _: pytest.mark.sampled(**shares).mark)
    pytest_generate_tests(SimpleNamespace(definition=definition, _calls=calls))
    kept = [[mark.name for mark in call.marks if mark.name != "usefixtures"] for call in calls]
    assert all(len(marks) < 2 for marks in kept)
    assert Counter((marks or ["quick"])[0] for marks in kept) == runs


class FakeTest:
    """A test without cases in a file that is marked as sampled."""

    def __init__(self, number: int, *own: str) -> None:
        self.nodeid, self.path = f"test_file.py::test_{number}", Path("test_file.py")
        self.marks = [*(getattr(pytest.mark, name).mark for name in own), pytest.mark.sampled(quick=3, thorough=2).mark]

    def iter_markers(self) -> list[pytest.Mark]:
        return self.marks

    def get_closest_marker(self, name: str) -> pytest.Mark:
        return next(mark for mark in self.marks if mark.name == name)

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.marks.append(marker.mark)


def test_the_tests_of_a_sampled_file_are_sampled_together() -> None:
    tests = [*map(FakeTest, range(9)), FakeTest(9, "thorough")]
    pytest_collection_modifyitems(tests)
    runs = Counter(next((mark.name for mark in one.marks if mark.name != "sampled"), "quick") for one in tests)
    assert runs == {"quick": 3, "thorough": 3 + 1, "release": 3}

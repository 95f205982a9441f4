"""The load scripts with a small class. Goals in seconds are left out: they need a quiet machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.conftest import running
from tests.load import chaos, clicks, endurance, visits
from tests.load.faults import FAULTS
from tests.load.goals import Goal

pytestmark = pytest.mark.release


@pytest.mark.parametrize(
    "figures",
    [
        pytest.param(
            lambda address, process: clicks.figures(address, process, 12, 40, "harris", 20, 10, 10), id="clicks"
        ),
        pytest.param(lambda address, process: visits.figures(address, process, 60, 140, 8), id="visits"),
        pytest.param(lambda address, process: endurance.figures(address, process, 800, 240), id="endurance"),
    ],
)
def test_no_click_fails_and_no_file_or_process_is_left(
    figures: Callable[[str, int], list[Goal]], tmp_path: Path
) -> None:
    """Memory is judged by the long scripts only: here the caches are still being filled."""
    with running(tmp_path) as (address, process):
        found = figures(address, process)
    assert not [goal for goal in found if not goal.reached and goal.unit not in ("s", "kB")]


@pytest.mark.parametrize("cluster", [False, True], ids=["one computer", "cluster"])
def test_every_job_ends_once_although_workers_and_servers_are_killed(
    cluster: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # where its servers keep what is measured
    found = chaos.figures(tmp_path, count=40, kills=6, seed=2, cluster=cluster)
    assert not [goal for goal in found if not goal.reached]


@pytest.mark.parametrize("fault", FAULTS)
def test_each_planted_fault_is_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    found = chaos.figures(tmp_path, count=30, kills=0, seed=3, fault=fault)
    assert FAULTS[fault][1] in [goal.name for goal in found if not goal.reached]

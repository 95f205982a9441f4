"""What is ready for a lecture is said rung by rung: run as it should be, only recorded, failed, not run."""

from __future__ import annotations

import json

import pytest

from engine.backends.measure import failed
from engine.catalogue import LADDERS
from engine.commands import main
from engine.history import history
from engine.records import RunFailed
from engine.service import service
from engine.service.warm_up import readiness, run_of, timed_of

HARRIS = LADDERS["harris"]


def test_before_a_run_every_rung_waits_and_names_its_record() -> None:
    ladder = LADDERS["crovella-max"]
    found = readiness(ladder)
    assert [ready.rung for ready in found] == [rung.label for rung in ladder.rungs]
    assert {ready.state for ready in found} <= {"waiting", "ready"}
    recorded = [history.recorded_for(timed_of(ladder, rung)) for rung in ladder.rungs]
    assert all(("as it was recorded" in r.sentence) == (m is not None) for r, m in zip(found, recorded, strict=True)
               if r.state == "waiting")  # fmt: skip


def test_a_run_that_failed_is_shown_as_it_was_recorded_and_says_why() -> None:
    rung = HARRIS.rungs[2]
    choice = run_of(HARRIS, rung)
    before = history.latest(choice)
    try:
        history.remember(choice, failed(choice, RunFailed("crashed", "The GPU is gone.")))
        ready = readiness(HARRIS)[2]
        assert ready.state == "recorded" and ready.sentence.startswith("The GPU is gone. The time is shown as it was")
        assert history.look_up(timed_of(HARRIS, rung)).timed is not None, "the lecture goes on"
    finally:
        if before is not None:
            history.remember(choice, before)


@pytest.mark.thorough
def test_the_command_warms_a_ladder_up_and_says_what_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "crovella-order", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["rung"] for row in rows] == [rung.label for rung in LADDERS["crovella-order"].rungs]
    assert {row["state"] for row in rows} == {"ready"}, rows


def test_an_unknown_ladder_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm", "haris"]) == 2
    assert "There is no ladder 'haris'" in capsys.readouterr().err


def test_all_stands_for_every_ladder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(service, "measured", lambda runs, _: [failed(run, RunFailed("crashed", "No.")) for run in runs])
    assert main(["warm", "all", "--json"]) in (0, 3)
    assert {row["ladder"] for row in json.loads(capsys.readouterr().out)} == set(LADDERS)

"""A GPU is given a draft only where the trial on the emulator bars it not."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from engine.backends.measure import failed
from engine.lab.own_launch import Checked
from engine.lab.setups import setup_of
from engine.model.estimate import gpu, no_estimate
from engine.plan import settle
from engine.records import Check, Choice, Counts, Finding, Measurement, RunFailed, Settled
from engine.service import service
from views.lab import work as lab_work
from views.lab.work import DraftWork, Press

RUNG = settle(Choice("reduce_strided", 1024, 128, device="emulator"))
RIGHT = Measurement(RUNG, {"kind": "emulator", "name": None}, "ok", check=Check(True, 1, 1, 0, 0), counts=Counts({}))
RACE = Finding("shared-race", 3, None, "A race.")


class Done:
    """A handle whose job has ended."""

    cancelled = False

    def __init__(self, value: Any) -> None:
        self.value, self.done, self.kept, self.progress = value, threading.Event(), False, (1.0, "Done")
        self.done.set()

    def result(self) -> Any:
        return self.value

    def cancel(self) -> None:
        """Too late."""


@pytest.fixture(autouse=True)
def estimates(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The requests for estimates; each ends at once."""
    asked: list[Any] = []

    def submit(*given: Any) -> Done:
        asked.append(given)
        return Done(ESTIMATE)

    monkeypatch.setattr(service, "submit_estimate", submit)
    monkeypatch.setattr(service, "submit_own_estimate", submit)
    return asked


ESTIMATE = no_estimate("It waits.", gpu())
OWN = Press("id", "text", "mine.cu", 64, action="run", setup=setup_of("f<<<1, 32>>>(int32[n])"))


def test_an_own_launch_is_timed_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def submit(*asked: Any) -> Done:
        given.append(asked)
        return Done(RIGHT)

    monkeypatch.setattr(lab_work, "check_gpu", lambda: None)
    monkeypatch.setattr(lab_work, "submit_own", lambda *_: Done(Checked(RIGHT, barred=None)))
    monkeypatch.setattr(lab_work, "submit_time", submit)
    work = DraftWork(OWN, "session")
    work.advance(0.0)
    assert given == [(OWN.setup, 64, "text", "mine.cu", "session")] and work.ran is RIGHT


def test_without_a_gpu_it_is_checked_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_work, "submit_own", lambda *_: Done(Checked(RIGHT)))
    work = DraftWork(OWN, "session")
    work.advance(0.0)
    assert work.checked == Checked(RIGHT) and work.ran is not None and work.ran.status == "refused"


def test_a_right_draft_is_estimated_and_a_wrong_one_is_not(
    monkeypatch: pytest.MonkeyPatch, estimates: list[Any]
) -> None:
    monkeypatch.setattr(lab_work, "submit_own", lambda *_: Done(Checked(RIGHT)))
    work = DraftWork(replace(OWN, action="check"), "session")
    work.advance(0.0)
    assert work.estimate is ESTIMATE and estimates == [(OWN.setup, 64, "text", "mine.cu", "session")]
    monkeypatch.setattr(lab_work, "submit_own", lambda *_: Done(Checked(replace(RIGHT, status="wrong"))))
    wrong = DraftWork(replace(OWN, action="check"), "session")
    wrong.advance(0.0)
    assert wrong.finished and wrong.estimate is None and len(estimates) == 1


def test_a_draft_is_tried_before_its_estimate_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Done(ESTIMATE)
    slow.done.clear()
    monkeypatch.setattr(service, "submit_own_estimate", lambda *_: slow)
    monkeypatch.setattr(lab_work, "submit_own", lambda *_: Done(Checked(RIGHT)))
    work = DraftWork(replace(OWN, action="check"), "session")
    work.advance(0.0)
    assert work.tried and not work.finished and work.estimate is None


def test_an_edited_rung_is_anchored_at_its_recorded_time(monkeypatch: pytest.MonkeyPatch, estimates: list[Any]) -> None:
    run(monkeypatch, Checked(RIGHT))
    ((edited, device, _, recorded_us),) = estimates
    assert edited.source == "text" and device == "NVIDIA H200" and recorded_us > 0


def run(monkeypatch: pytest.MonkeyPatch, found: Checked) -> tuple[DraftWork, list[Settled]]:
    given: list[Settled] = []

    def submit(choice: Settled, session: str, **_: Any) -> Done:
        given.append(choice)
        return Done(replace(RIGHT, choice=choice))

    monkeypatch.setattr(lab_work, "check_gpu", lambda: None)
    monkeypatch.setattr(lab_work, "submit_rung", lambda choice, session: Done(found))
    monkeypatch.setattr(service, "submit", submit)
    asked = Press("id", "text", "mine.cu", 4096, action="run", rung=RUNG, timed=replace(RUNG, device="gpu", n=4096))
    work = DraftWork(asked, "session")
    work.advance(0.0)
    assert work.finished
    return work, [choice for choice in given if choice.device == "gpu"]


@pytest.mark.parametrize("found", [RIGHT, replace(RIGHT, status="hazard", findings=(RACE,))])
def test_a_draft_that_ran_on_the_emulator_is_run_on_the_gpu(
    monkeypatch: pytest.MonkeyPatch, found: Measurement
) -> None:
    work, given = run(monkeypatch, Checked(found, barred=None))
    assert work.ran is not None and work.beside is not None
    assert [(choice.n, choice.source, choice.source_name) for choice in given] == [(4096, "text", "mine.cu")]


@pytest.mark.parametrize("found", [Checked(RIGHT, barred="wgmma"),
                                   Checked(failed(RUNG, RunFailed("timeout", "It took too long.")))])  # fmt: skip
def test_a_barred_draft_never_reaches_the_gpu(monkeypatch: pytest.MonkeyPatch, found: Checked) -> None:
    """What ended without a word of the trial's, as a worker that was killed, is barred as well."""
    work, given = run(monkeypatch, found)
    assert work.ran is not None and work.ran.reason == found.barred and given == []

"""A GPU is given a draft only where the trial on the emulator bars it not."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from engine.backends.measure import failed
from engine.lab.checking import Checked
from engine.lab.setups import setup_of
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


OWN = Press("id", "text", "mine.cu", 64, action="run", setup=setup_of("f<<<1, 32>>>(int32[n])"))


def test_a_launch_of_ones_own_is_timed_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("found", [Checked(RIGHT, barred="The emulator does not know wgmma."),
                                   Checked(failed(RUNG, RunFailed("timeout", "It took too long.")))])  # fmt: skip
def test_what_is_barred_never_reaches_the_gpu(monkeypatch: pytest.MonkeyPatch, found: Checked) -> None:
    """What ended without a word of the trial's, as a worker that was killed, is barred as well."""
    work, given = run(monkeypatch, found)
    assert work.ran is not None and work.ran.reason == found.barred and given == []

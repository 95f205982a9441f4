"""The computer's clock is set by a day while the server runs: nobody is signed out, and the lecture goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pytest

from engine.store import asked
from tests.made import measured
from tests.views.shared.test_work import CHOICES
from views.access.policy import LASTS_S, Signer
from views.html.answer import when_ran
from views.room import window
from views.shared import presentation, work

DAY = timedelta(days=1)
both = pytest.mark.parametrize("jump", [-DAY, DAY], ids=["back", "forward"])


def set_clock(by: timedelta, *modules: object, monkeypatch: pytest.MonkeyPatch) -> None:
    class Set(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + by

    for module in modules:
        monkeypatch.setattr(module, "datetime", Set)


@both
def test_the_lecture_goes_on_with_its_tickets(jump: timedelta, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(presentation, "_found", None)
    monkeypatch.setattr(presentation, "FRESH_S", 0.0)
    presentation.show({"rung": "reduce_strided"}, "")
    began = presentation.now()
    set_clock(jump, presentation, monkeypatch=monkeypatch)
    later = presentation.now()
    assert began is not None and later == began
    presentation.show({"rung": "reduce_sequential"}, "")
    later = presentation.now()
    assert later is not None and later.lecture == began.lecture
    monkeypatch.setattr(presentation, "LASTS", timedelta(0))
    assert presentation.now() is None, "an abandoned lecture still ends"


@both
def test_nobody_is_signed_out(jump: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    signer, before = Signer(b"secret", {"student": "key"}), 10 * LASTS_S
    now = before + jump.total_seconds()
    text = signer.issue("student", "tab", now=before)
    token = signer.read(text, now=now)
    assert token is not None and signer.read(text, now=before - LASTS_S) is None
    signer.revoke(token)
    assert signer.read(text, now=now) is None
    monkeypatch.setattr("time.time", lambda: now)
    assert signer.read(signer.issue("student", "tab")) is not None, "one may come in again"


@both
def test_a_guest_may_ask_again(jump: timedelta, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for day, text in (("2026-11-22", "Why?"), ("2026-11-21", "Really?")):
        monkeypatch.setattr(asked, "now", lambda day=day: f"{day}T10:00:00+00:00")
        asked.keep("1", "guest", "#1", text)
    assert asked.last_of("1", "guest") == "2026-11-21T10:00:00+00:00"
    monkeypatch.setattr(asked, "now", lambda: (datetime.now(UTC) - jump).isoformat(timespec="seconds"))
    asked.keep("1", "guest", "#1", "And now?")
    assert not window.is_hasty("1", "guest")


@both
def test_no_measurement_of_another_day_is_a_recent_one(jump: timedelta) -> None:
    utc = (datetime.now(UTC) - jump).isoformat(timespec="seconds")
    assert work._age_s(measured(CHOICES[0], environment={"utc": utc})) > work.SHARED_S


@both
def test_a_run_of_another_day_was_not_just_now(jump: timedelta) -> None:
    now = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
    then = now - jump
    assert when_ran(then.isoformat(), "UTC", now) == f"run on {then:%Y-%m-%d}"

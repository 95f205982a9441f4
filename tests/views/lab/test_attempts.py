"""What a browser kept of its attempts comes back, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.backends.measure import failed
from engine.records import Choice, RunFailed
from views.lab.attempts import KEPT, added, attempt_of, attempts_of

CHOICE = Choice("saxpy", 64, 32, device="emulator")
FAILED = failed(CHOICE, RunFailed("deadlock", "It never ends.", 3))
ONE = attempt_of(1, "text", FAILED, {"warp_instructions": 7.0}, "It never ends.")
WHOLE = {**ONE.record, "text": "text"}


def test_a_try_survives_the_browser() -> None:
    assert attempts_of(json.loads(json.dumps([WHOLE]))) == (ONE,)
    assert ONE.verdict == "deadlock" and ONE.label == "#1" and ONE.time_us is None
    assert "text" not in ONE.record
    assert ONE.utc, "also of a run that did not take place"


def test_the_last_ten_are_kept() -> None:
    attempts = ()
    for number in range(1, 15):
        attempts = added(attempts, attempt_of(number, "", FAILED, None, ""))
    assert [one.number for one in attempts] == list(range(15 - KEPT, 15))


@pytest.mark.parametrize("record", [None, 3, "x", {}, [], {**WHOLE, "status": "<b>"}, {**WHOLE, "number": "x"},
                                    {**WHOLE, "counters": 3},
                                    {**WHOLE, "counters": {"warp_instructions": "x"}}])  # fmt: skip
def test_a_record_that_is_no_attempt_is_left_out(record: Any) -> None:
    assert attempts_of([record, WHOLE]) == (ONE,) and attempts_of(record) == ()


def test_an_unknown_counter_is_left_out() -> None:
    assert attempts_of([{**WHOLE, "counters": {"<script>": 1, "warp_instructions": 7}}]) == (ONE,)

"""Edits as students make them, which no fit has seen: how far off their estimates are."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.model.edits import FILE, Edit, every_edit, judged

PLAIN, ANCHORED = 0.20, 0.10  # medians; over all edits they are lower, and a sample may miss that
EVERY = 28  # of the edits, one that is tried


def test_the_recorded_edits_are_those_of_the_sheets() -> None:
    rows = json.loads(FILE.read_text())["rows"]
    known = {(edit.sheet, edit.text) for edit in every_edit()}
    missing = {(row[0], row[1]) for row in rows} - known
    assert len(rows) > 150 and not missing, "record them again: python -m tests.model.edits --record FILE"
    assert all(Edit(*row).time_us for row in rows)


@pytest.mark.thorough
def test_edits_are_estimated_and_the_anchored_estimate_is_nearer() -> None:
    found = judged(part=slice(3, None, EVERY))
    assert len(found) > 3
    times = np.array([one.edit.time_us for one in found])
    plain, anchored = (
        np.median(np.expm1(np.abs(np.log(np.array([getattr(one, kind).time_us for one in found]) / times))))
        for kind in ("plain", "anchored")
    )
    assert plain <= PLAIN and anchored <= min(plain, ANCHORED)

"""A kernel that leaves its ticket at another value than zero, or changes its input: right once, and never timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.backends.measure import measure
from engine.catalogue import kernel_named
from engine.plan import settle
from engine.records import Choice
from tests.sentences import sentence

TEXT = kernel_named("reduce_last_block").text
DRAWN = "atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1);"
LEFT = TEXT.replace(DRAWN, "atomicAdd(ticket, 1) == gridDim.x - 1);")
RESET = TEXT.replace(DRAWN, "atomicAdd(ticket, 1) == gridDim.x - 1);\n        if (is_last) *ticket = 0;")


@pytest.mark.parametrize("device", ["emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_a_ticket_that_is_left_is_a_finding_and_one_that_is_reset_is_none(device: str) -> None:
    for text, kinds in ((TEXT, []), (RESET, []), (LEFT, ["not-restored"])):
        asked = Choice("reduce_last_block", 1000, 32, device=device, source=text, source_name="mine.cu")
        found = measure(settle(asked))
        assert [finding.kind for finding in found.findings] == kinds
        assert found.check is not None and found.check.ok
        assert (found.timing is not None) == (device == "gpu" and not kinds)
    assert found.status == "hazard" and sentence("measure.ticket-left", str(found.reason))


@pytest.mark.parametrize("schedule", [None, "waves:1"])
def test_an_input_that_a_file_changes_is_a_finding(schedule: str | None) -> None:
    text = TEXT.replace("    if (!is_last) return;", "    *(T *)in = T(0);\n    if (!is_last) return;")
    asked = Choice("reduce_last_block", 1000, 1024, grid_size=1, schedule=schedule, device="emulator", source=text)
    assert "changed-input" in [finding.kind for finding in measure(settle(asked)).findings]


def test_a_counter_of_the_file_itself_that_is_left_spoils_the_next_launch() -> None:
    own = TEXT.replace("// the sum of a block's", "__device__ unsigned int drawn;\n// the sum of a block's").replace(
        DRAWN, "atomicAdd(&drawn, 1) == gridDim.x - 1);"
    )
    asked = Choice("reduce_last_block", 1000, 32, schedule="waves:1", device="emulator", source=own)
    assert measure(settle(asked)).status == "wrong" and measure(settle(replace(asked, source=TEXT))).status == "ok"

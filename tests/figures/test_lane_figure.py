"""The picture of lanes shows each lane of each step as the trace has it."""

from __future__ import annotations

import pytest

from engine.backends.emulator.registers.masks import WARP
from engine.figures import lanes
from engine.figures.lanes import lane_figure, line_colours, shown_steps
from engine.figures.look import IDLE
from engine.records import Choice
from tests.made import trace

INTERLEAVED = Choice("reduce_interleaved", 4096, 128, dtype="int32", device="emulator")


@pytest.mark.parametrize("warp", [None, 1])
def test_each_lane_of_each_step_has_the_colour_of_its_line_or_waits(warp: int | None) -> None:
    traced = trace(INTERLEAVED)
    bars = lane_figure(traced, warp)["data"][0]
    drawn: dict[tuple[int, int], str] = {}
    for x, y, base, colour in zip(bars["x"], bars["y"], bars["base"], bars["marker"]["color"], strict=True):
        for row in range(y):
            assert drawn.setdefault((x, int(base + 0.5) + row), colour) == colour
    colours, expected = line_colours(traced), {}
    for x, step in enumerate(shown_steps(traced, warp)):
        for at, masks in enumerate(step.lanes if warp is None else step.lanes[warp : warp + 1]):
            for lane in range(WARP) if masks else ():
                expected[x, at * WARP + lane] = colours[step.line] if masks >> lane & 1 else IDLE
    assert drawn == expected and {IDLE} < set(drawn.values())


def test_a_run_says_its_step_its_lanes_and_its_line() -> None:
    traced = trace(INTERLEAVED)
    bars = lane_figure(traced, 0)["data"][0]
    assert bars["hovertemplate"].startswith("step %{x}, lane %{customdata[0]}: line %{customdata[1]}")
    assert bars["customdata"][0] == ["0 to 31", traced.steps[0].line]
    assert {"0", "1 to 31"} < {words for words, _ in bars["customdata"]}  # thread 0 writes the sum alone


def test_no_more_runs_are_drawn_than_a_browser_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "MOST_RUNS", 200)
    traced = trace(INTERLEAVED)
    assert 100 < len(lane_figure(traced, None)["data"][0]["x"]) <= 200
    assert 0 < len(shown_steps(traced, None)) < len(traced.steps)

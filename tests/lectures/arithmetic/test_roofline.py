"""The roofline: where the rungs stand, what is said about them, and that no name covers another."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from engine.catalogue import LADDERS, default_choice
from engine.figures.look import Look
from engine.figures.roofline import roofline_figure
from engine.history.history import Known
from engine.lectures.arithmetic import roofline
from engine.records import Choice, Measurement
from tests.made import measured
from tests.sentences import says, sentence

DEVICE = {"kind": "gpu", "name": "NVIDIA H200", "read_ceiling_gb_s": 4600.0, "peak_bandwidth_gb_s": 4800.0,
          "peak_gflop_s": 66900.0}  # fmt: skip
EVERY = replace(LADDERS["all-matmul"], rungs=LADDERS["all-matmul"].rungs[:8])  # those that have a speed below
CHOICES = tuple(replace(default_choice(rung.kernel), n=1024, block_size=16) for rung in EVERY.rungs)


def run(choice: Choice, gflop_s: float | None, **changes: object) -> Measurement:
    peers = {"cuBLAS": {"time_us": 50.0}}
    values = {"gflop_s": gflop_s, "time_us": 100.0, "device": DEVICE, "peers": peers, "origin": "recorded"}
    return measured(choice, **(values | changes))


def facts(*speeds: float | None) -> list[Known]:
    return [Known(recorded=run(c, s) if s else None) for c, s in zip(CHOICES, speeds, strict=True)]


ALL = facts(944, 5044, 7659, 15466, 11108, 12010, 12034, 16557)


def test_rungs_stand_at_the_intensity_of_their_reads() -> None:
    found = roofline.roofline(EVERY, CHOICES, ALL, 2)
    assert [spot.flop_per_byte for spot in found.spots] == pytest.approx(
        [0.25, 0.25, 4, 64 / 9, 32, 32, 32, 32]
    )  # 0.5 n^3 / reads: r x c elements of P read for r rows and c columns
    assert found.roofs == roofline.Roofs("NVIDIA H200", 4800.0, 66900.0)
    assert found.peer_gflop_s == pytest.approx(2 * sum(sorted(s.gflop_s or 0 for s in found.spots)[3:5]) / 2)
    assert [spot.label for spot in found.spots][2:4] == ["tiled", "register 1d"]


def test_what_is_said_is_true_below_and_above_the_roof() -> None:
    found = roofline.roofline(EVERY, CHOICES, ALL, 2)
    below = roofline.sentence(found, 2)
    assert says("roofline.below", below) and "40% of the roof" in below
    above = roofline.sentence(found, 1)
    assert says("roofline.above", above)
    assert "the arithmetic roof is at 66,900" in roofline.sentence(found, 7)
    assert roofline.missing(found) == ""


def test_rungs_without_a_time_are_named_with_the_reason() -> None:
    known = facts(None, 5044, 7659, None, None, None, None, None)
    found = roofline.roofline(EVERY, tuple(replace(c, block_size=32) for c in CHOICES), known, 0)
    assert sentence("roofline.missing", roofline.missing(found))
    assert "no time is known" in roofline.sentence(found, 0)
    assert found.roofs is not None


def test_no_time_at_all_and_another_gpu() -> None:
    empty = roofline.roofline(EVERY, CHOICES, [Known()] * 8, 0)
    assert empty.roofs is None and says("roofline.no-times", roofline.sentence(empty, 0))
    mixed = [*ALL[:7], Known(recorded=run(CHOICES[7], 9000, device=DEVICE | {"name": "NVIDIA T4"}))]
    found = roofline.roofline(EVERY, CHOICES, mixed, 0)
    assert "async copy: timed on another GPU: NVIDIA T4" in roofline.missing(found)


@pytest.mark.parametrize("look", [Look(), Look(28, 600)])
@pytest.mark.parametrize("known", [ALL, [Known()] * 8, facts(None, 5044, None, None, None, None, None, None)])
def test_plotly_accepts_it(known: list[Known], look: Look) -> None:
    figure = roofline_figure(roofline.roofline(EVERY, CHOICES, known, 1), 1, look)
    go.Figure(figure)
    json.dumps(figure, allow_nan=False)


def test_names_of_rungs_at_one_intensity_do_not_overlap() -> None:
    figure = roofline_figure(roofline.roofline(EVERY, CHOICES, ALL, 7), 7)
    layout = figure["layout"]
    height = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    low, high = layout["yaxis"]["range"]
    arrows = [note for note in layout["annotations"] if note["showarrow"] and note["x"] > 1.4]
    at = sorted(height * (note["y"] - low) / (high - low) - note["ay"] for note in arrows)
    assert len(at) == 4 and all(b - a >= 15 for a, b in itertools.pairwise(at))
    assert [note["text"] for note in arrows][-1] == "<b>async copy</b>"

"""The law, the roofline and the lecture's arithmetic on the ladder page."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from engine.catalogue import LADDERS, default_choice
from engine.history import history
from engine.lectures.laws import law_of
from engine.plan import settle
from tests.made import measured
from tests.sentences import says
from tests.views.pages import asked, figures_of, html_of, opened
from views.ladder.panels.arithmetic import WIDTHS

WITH_LAW = [(ladder.name, rung.kernel) for ladder in LADDERS.values() if not ladder.name.startswith("all-")
            for rung in ladder.rungs if law_of(rung.kernel)]  # fmt: skip


def words_of(html: str) -> str:
    return re.sub(r"<[^>]+>", " ", html)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("ladder", "rung"), [pair for pair in WITH_LAW if pair[0] in ("cs121-banks", "cs121-access")])
def test_the_law_is_offered_and_drawn_before_anything_ran(ladder: str, rung: str) -> None:
    app = opened(ladder=ladder, rung=rung, show="law", device="emulator")
    assert asked(app)["show"] == "law"
    assert says("law.not-counted", html_of(app))
    texts = figures_of(app)[0]
    assert "counted by the emulator" not in texts and ("law of today: " in texts or "law: " in texts)


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize(("ladder", "rung"), WITH_LAW)
def test_every_rung_with_a_law_shows_it(ladder: str, rung: str) -> None:
    assert says("law.not-counted", html_of(opened(ladder=ladder, rung=rung, show="law", device="emulator")))


def test_the_line_of_another_rung_is_named_above_the_plot() -> None:
    app = opened(ladder="cs121-divergence", rung="divergence_warps", show="law", device="emulator")
    notes = json.loads(figures_of(app)[0])["layout"]["annotations"]
    named = [note for note in notes if "GPU time of" in note["text"]]
    assert len(named) == 1 and named[0]["yref"] == "paper" and named[0]["y"] == 1


def test_a_rung_without_a_law_falls_back_to_the_bars() -> None:
    app = opened(ladder="crovella-atomics", rung="transformation", show="law")
    assert [line["type"] for line in json.loads(figures_of(app)[0])["data"]] == ["bar"]
    assert not [button for button in app.button if button.key == "run_sweep"]


@pytest.mark.thorough
def test_the_sweep_counts_the_law_and_says_that_it_holds() -> None:
    app = opened(ladder="crovella-atomics", rung="atomic_add", show="law", device="emulator")
    app.button(key="run_sweep").click().run()
    assert not app.exception
    assert "The law holds at all 21 numbers of addresses." in html_of(app)
    points = json.loads(figures_of(app)[0])["data"][-1]
    assert points["y"] == [32, 16, 8, 4, 2, *[1] * 16]


def test_times_that_are_known_stand_on_the_right_axis() -> None:
    choice = settle(replace(default_choice("banks_strided"), n=2**18, block_size=256, device="gpu"))
    for stride, us in ((2, 30.0), (4, 60.0)):
        history.remember(replace(choice, parameter=stride), measured(choice, time_us=us, parameter=stride))
    app = opened(ladder="cs121-banks", rung="banks_strided", show="law", n="2^18", block="256")
    figure = json.loads(figures_of(app)[0])
    times = [line for line in figure["data"] if line.get("yaxis") == "y2"]
    assert {2: 30.0, 4: 60.0}.items() <= dict(zip(times[0]["x"], times[0]["y"], strict=True)).items()
    assert "NVIDIA H200, live" in figures_of(app)[0]


def test_the_law_in_the_hall() -> None:
    app = opened(ladder="cs121-banks", rung="banks_strided", show="law", present="1", reveal="all")
    assert says("law.not-counted", html_of(app))
    assert app.button(key="run_sweep"), "the bar offers what the picture can do"


def test_the_roofline_of_the_recorded_runs() -> None:
    app = opened(ladder="all-matmul", rung="matmul_tiled", show="roofline", n="1024", block="16", dtype="float32")
    text = words_of(html_of(app))
    assert says("roofline.text", text) and "recorded" in text
    assert "FP32 peak" in figures_of(app)[0] and "cuBLAS" in figures_of(app)[0]


def test_a_roofline_without_times_says_so() -> None:
    app = opened(ladder="all-matmul", rung="matmul_tiled", show="roofline", n="1000", block="16", dtype="float32")
    assert says("roofline.no-times", html_of(app))


def test_the_lectures_example_of_blocks_per_sm() -> None:
    app = opened(ladder="cs121-tiling", rung="matmul_tiled", below="arithmetic", gpu="lecture", n="1024", block="16",
                 dtype="float32")  # fmt: skip
    table = html_of(app).partition("Tile width<small>")[2]
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr")[1:]]
    assert [(row[0], row[7], row[8]) for row in rows if len(row) > 8] == [
        ("8", "8", "33%"), ("16", "6", "100%"), ("32", "1", "67%"),
    ]  # fmt: skip
    text = words_of(html_of(app))
    assert re.search(r"\b200 GB/s \w+ 2,400 GFLOP/s", text) and "16 times as many" in text
    assert says("arithmetic.blocks-per-sm", text)
    assert asked(app)["gpu"] == "lecture"


def test_the_arithmetic_of_a_matrix_too_large_for_the_emulator_needs_no_run() -> None:
    html = html_of(opened(ladder="beyond-tiling", below="arithmetic")).partition('<section class="papers">')[2]
    assert html.count('class="rung width"') == len(WIDTHS) and "why" not in html
    assert html.index("<table") < html.index("CGMA ratio")


def test_tiles_that_do_not_fit_say_why() -> None:
    app = opened(ladder="all-matmul", rung="matmul_register_2d", below="arithmetic", n="256", block="16",
                 dtype="float32")  # fmt: skip
    assert says("arithmetic.tile-too-large", html_of(app))
    app = opened(ladder="all-matmul", rung="matmul_tiled", below="arithmetic", gpu="abacus", n="256", dtype="float32")
    assert says("arithmetic.no-such-gpu", html_of(app))


def test_blocks_per_sm_for_every_block_size() -> None:
    app = opened(ladder="harris", rung="reduce_sequential", below="occupancy", n="2^20", block="128", gpu="h200")
    table = html_of(app).partition("Block size<small>")[2]
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr")[1:]]
    found = {row[0]: (row[3], row[4]) for row in rows if len(row) > 5}
    assert found["32"] == ("32", "50%") and found["128"] == ("16", "100%") and found["1,024"] == ("2", "100%")
    assert "limited by" in table

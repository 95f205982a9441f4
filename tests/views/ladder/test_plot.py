"""Which plot a ladder opens on: its own, in which there is something to see."""

from __future__ import annotations

import json
import re
from math import log10
from typing import Any

import pytest
from pytest import MonkeyPatch

from engine.catalogue import KERNELS, LADDERS, TOPICS, Ladder, Rung, emulated_n
from engine.figures.bars import ROWS
from engine.history import history
from engine.history.history import recorded_for, recorded_of
from engine.plan import settle
from engine.records import Choice, RunFailed
from engine.records.counters import IN_PLOTS, plotted
from engine.records.words import text_of
from tests.cases import case
from tests.made import measure, measured
from tests.sentences import says
from tests.views.ladder.test_motion import mounted, moving
from tests.views.pages import asked, figures_of, html_of, opened
from views.shared import keyboard

SMALL = {"matmul": 32, "matrix_sums": 64, "transpose": 64}  # elements a side; the others take a thousand elements
QUICK = ("harris", "cooper", "cs121-latency", "cs121-banks", "float-truths", "heidelberg-volta", "all-memory")
EVERY_LADDER = pytest.mark.parametrize("name", [case(name, quick=name in QUICK) for name in LADDERS])


def drawn(name: str, **address: str) -> dict[str, Any]:
    figure: dict[str, Any] = json.loads(figures_of(opened(ladder=name, **address))[0])
    return figure


def recorded_time(name: str, kernel: str = "") -> str:
    """What the recording says of a rung, the first one unless another is named, as the page writes it."""
    ladder = LADDERS[name]
    rung = next(rung for rung in ladder.rungs if kernel in ("", rung.kernel))
    found = recorded_for(settle(Choice(rung.kernel, ladder.n, ladder.block_size, dtype=ladder.dtype,
                                       combine=rung.combine, device="gpu")))  # fmt: skip
    assert found is not None and found.time_us is not None
    return text_of("time_us", found.time_us)


def shares(figure: dict[str, Any]) -> list[float]:
    """How long the bars are, as parts of the axis."""
    axis = figure["layout"]["xaxis"]
    low, high = axis["range"]
    values = [value for value in figure["data"][0]["x"] if value is not None]
    return [((log10(value) if axis["type"] == "log" else value) - low) / (high - low) for value in values]


@pytest.mark.sampled(quick=3, thorough=4)
@EVERY_LADDER
def test_a_ladder_opens_on_a_picture_with_something_to_see(name: str) -> None:
    ladder = LADDERS[name]
    choices = [
        Choice(rung.kernel, ladder.n, ladder.block_size, dtype=ladder.dtype, combine=rung.combine, device="gpu")
        for rung in ladder.rungs
    ]
    recorded = sum(recorded_for(settle(choice)) is not None for choice in choices)
    if not recorded:
        pytest.skip("Nobody has recorded this ladder yet.")
    if ladder.picture == "motion":
        assert mounted(moving(ladder=name))
        return
    figure = drawn(name)
    if figure["layout"].get("meta") == ROWS:
        lengths = shares(figure)
        assert len(lengths) >= min(2, recorded) and max(lengths) > 0.35 and min(lengths) > 0.01
    else:
        assert sum(len(trace.get("y", ())) for trace in figure["data"]) > 10
    assert LADDERS[name].counter in IN_PLOTS


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(
    ("name", "rung"), [(name, rung) for name, ladder in LADDERS.items() for rung in ladder.rungs if rung.picture]
)
def test_a_rung_opens_on_a_picture_of_its_own_with_something_to_see(name: str, rung: Rung) -> None:
    if rung.picture == "motion":
        assert mounted(moving(ladder=name, rung=rung.kernel))
    else:
        assert max(shares(drawn(name, rung=rung.kernel))) > 0.35


def test_a_counter_that_is_a_share_of_all_lanes_says_so() -> None:
    figure = drawn("cs121-divergence")
    assert "<b>All lanes</b> 32" in str(figure["layout"]["annotations"])
    three, ways, by_warp = shares(figure)
    assert ways < 0.2 < 0.6 < min(three, by_warp)


def test_a_rung_opens_on_its_own_counter_until_another_is_asked_for() -> None:
    app = opened(ladder="cs121-one-matrix", rung="row_sums_staged")
    assert app.session_state["counted"] == "sectors_per_load" and "counter" not in asked(app)
    app.button(key="next").click().run()
    assert app.session_state["counted"] == "bank_conflicts"
    app.selectbox(key="counted").select("wavefronts").run()
    app.button(key="previous").click().run()
    assert app.session_state["counted"] == asked(app)["counter"] == "wavefronts"


@pytest.mark.sampled(thorough=4)
@EVERY_LADDER
def test_the_counter_that_a_ladder_opens_on_is_not_all_zeros(name: str) -> None:
    ladder = LADDERS[name]
    if not any(KERNELS[rung.kernel].emulated for rung in ladder.rungs):
        pytest.skip("The emulator runs none of its kernels.")
    assert any(counts(ladder, i) for i in range(len(ladder.rungs)) if KERNELS[ladder.rungs[i].kernel].emulated)


def counts(ladder: Ladder, position: int) -> float | None:
    """The ladder's counter of a rung, at a small size."""
    rung = ladder.rungs[position]
    sizes = KERNELS[rung.kernel].block_sizes
    block = ladder.block_size if ladder.block_size in sizes else sizes[0]
    n = SMALL.get(ladder.topic, min(1024, ladder.emulator_n or 1024))
    choice = Choice(rung.kernel, n, block, dtype=ladder.dtype, combine=rung.combine, device="emulator")
    try:
        return plotted(measure(choice).counters)[ladder.counter]
    except RunFailed:  # a deadlock is a lesson, too
        return None


def test_a_rung_opens_on_its_own_plot_and_the_next_on_the_ladders_again() -> None:
    app = opened(ladder="cs121-divergence")
    assert app.session_state["plot"] == "counters" and "show" not in asked(app)
    app.button(key="next").click().run()
    assert app.session_state["plot"] == "law"
    app.segmented_control(key="plot").select("counters").run()
    assert asked(app)["show"] == "counters" and app.session_state["counted"] == "divergent_branches"
    app.selectbox(key="ladder").select("cs121-banks").run()
    assert app.session_state["plot"] == "law" and "show" not in asked(app)


def test_a_key_keeps_the_plot_menus_value_of_the_page_before_out_of_the_address(monkeypatch: MonkeyPatch) -> None:
    told: dict[str, object] = {}
    monkeypatch.setattr(keyboard, "_told", lambda: told)
    app = opened(ladder="cs121-divergence")
    told["pressed"] = [{"number": 1, "name": "next"}]
    app.segmented_control(key="plot").select("time").run()
    assert "show" not in asked(app) and app.session_state["plot"] == "counters"
    app.segmented_control(key="plot").select("time").run()
    assert asked(app)["show"] == "time"


def test_recorded_times_stand_at_the_ladders_n_and_counts_at_the_emulators() -> None:
    ladder = LADDERS["beyond-tiling"]
    assert emulated_n(ladder, ladder.n) == 256 == ladder.emulator_n and emulated_n(ladder, 100) == 100
    app = opened(ladder="beyond-tiling")
    assert asked(app)["n"] == "4096" and says("plot.run-counts-smaller", html_of(app))
    app.button(key="run").click().run()
    html = html_of(app)
    assert "counted at N = 256" in html and "recorded" in html and "at N = 2^12" in html
    assert recorded_time("beyond-tiling") in html.partition('class="ladder"')[0]
    figure = json.loads(figures_of(app)[0])
    assert len(shares(figure)) > 5


def test_the_emulator_asked_for_by_name_refuses_what_is_too_large_beside_the_recorded_times() -> None:
    app = opened(ladder="beyond-tiling", device="emulator")
    html = html_of(app)
    assert (
        says("plot.too-large-for-emulator", html)
        and recorded_time("beyond-tiling") in html.partition('class="ladder"')[0]
    )
    texts = json.loads(figures_of(app)[0])["data"][0]["text"]
    rungs = LADDERS["beyond-tiling"].rungs  # what the emulator never runs is no failure there
    took = [text for text, rung in zip(texts, rungs, strict=True) if KERNELS[rung.kernel].runs_on("emulator")]
    assert len(took) > 5 and all("refused" in text for text in took if text)


def test_an_n_that_no_device_takes_is_refused_and_not_run_at_another() -> None:
    assert "N = 1,099,511,627,776 is too large" in html_of(opened(ladder="harris", n=str(2**40)))


def test_a_run_adds_the_emulators_bar_below_those_of_a_gpus_profiler() -> None:
    app = opened(ladder="harris", show="counters", counter="warp_instructions")
    figure, html = json.loads(figures_of(app)[0]), html_of(app)
    (before,) = [trace for trace in figure["data"] if trace["type"] == "bar"]
    assert set(before["marker"]["pattern"]["shape"]) == {"/"} and "N = 20,011" in before["name"]
    assert says("plot.counted-by-gpu", html) and "Run the ladder (L)" in html
    app.selectbox(key="n").select("1024").run()
    app.button(key="run").click().run()
    figure, html = json.loads(figures_of(app)[0]), html_of(app)
    after, live = [trace for trace in figure["data"] if trace["type"] == "bar"]
    assert (after["x"], after["name"]) == (before["x"], before["name"])
    assert "N = 2^10" in live["name"] and [value is not None for value in live["x"]] == [True] + 10 * [False]
    assert says("plot.counted-by-gpu", html) and says("plot.counted-by-emulator", html)


@pytest.mark.sampled(quick=6)
@pytest.mark.parametrize("presenting", ["", "1"])
@pytest.mark.parametrize(
    ("ladder", "rung", "status", "said"),
    [("heidelberg-exercise", "reduce_unroll_guarded", "hazard", "-12073"),
     ("heidelberg", "reduce_complete_guarded", "hazard", "-12073"),
     ("heidelberg-volta", "lock_spin", "deadlock", "44.3 µs")],
)  # fmt: skip
def test_the_emulators_verdict_leaves_the_recorded_one_on_page_and_slide(
    ladder: str, rung: str, status: str, said: str, presenting: str
) -> None:
    """Right by luck beside wrong, a deadlock beside a time; verdict, device and number stand before a day that may be
    cut."""
    own = LADDERS[ladder]
    choice = settle(Choice(rung, own.n, own.block_size, dtype=own.dtype, device="emulator"))
    run = measured(choice, device={"kind": "emulator"}, status=status, reason="Line 30.", time_us=None)
    history.remember(choice, run)
    html = html_of(opened(ladder=ladder, rung=rung, present=presenting, reveal="all"))
    outcome = html.partition('<div class="outcome')[2].partition("</summary>")[0]
    lines = re.findall(r'<div class="said line">(.*?)<', outcome.replace("<b", "").replace("</b>", ""))
    assert [("emulator" in line, "H200" in line) for line in lines] == [(True, False), (False, True)]
    assert status in lines[0] and "Line 30." in lines[0] and said in lines[1]


def test_a_plot_without_counters_tells_the_next_step() -> None:
    figure = drawn("crovella-matrix-sums", show="counters")
    assert any("Run the ladder (L)" in note["text"] for note in figure["layout"]["annotations"])


def test_a_rung_for_a_gpu_alone_stands_with_its_recorded_time() -> None:
    app = opened(ladder="beyond-tiling", rung="matmul_split")
    html = html_of(app)
    assert (
        says("plot.only-on-gpu", html)
        and recorded_time("beyond-tiling", "matmul_split") in html.partition('class="ladder"')[0]
    )
    texts = json.loads(figures_of(app)[0])["data"][0]["text"]
    assert len(texts) == len(LADDERS["beyond-tiling"].rungs) and not any("refused" in text for text in texts)


@pytest.mark.thorough
def test_a_deadlock_stands_beside_the_recorded_time_and_the_schedule_is_chosen_here() -> None:
    app = opened(ladder="heidelberg-volta", rung="lock_spin")
    app.button(key="run").click().run()
    html = html_of(app)
    assert "deadlock" in html and recorded_time("heidelberg-volta", "lock_spin") in html.partition('class="ladder"')[0]
    app.selectbox(key="schedule").select("independent:1").run()
    assert asked(app)["schedule"] == "independent:1"
    app.button(key="run").click().run()
    assert "✓ Correct" in html_of(app)


def test_an_n_without_records_says_which_have_some() -> None:
    html = html_of(opened(ladder="harris", n="3000000"))
    assert says("plot.nothing-recorded", html) and "N = 2^10, 2^11, … 2^30" in html


def test_the_menu_marks_each_n_with_records_and_has_the_lectures_own() -> None:
    menu = opened(ladder="hekun").selectbox(key="n")
    assert menu.value == str(LADDERS["hekun"].n) and "10,000,000 ●" in menu.options
    assert all(("●" in words) == (int(n) in recorded_of("reduction")) for n, words in zip(
        sorted({*TOPICS["reduction"].sizes, LADDERS["hekun"].n}), menu.options, strict=True))  # fmt: skip

"""The page Inside: values at the lines, findings under them, before and after, the pictures of a block."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.catalogue import KERNELS, LADDERS
from engine.history import profiles
from engine.history.profiles import Hardware
from engine.records import Settled
from engine.records.counters import COUNTERS
from engine.service.queue import Handle
from tests.cases import case, code_line, turn
from tests.sentences import says
from tests.views.pages import asked, figures_of, html_of, messages_of, opened
from views.inside.work import InsideWork
from views.shared import rungs

pytestmark = pytest.mark.sampled(quick=2)

HARRIS = {"ladder": "harris", "n": "4096", "block": "128"}


def looked(**address: str) -> AppTest:
    """Harris's ladder, with the comparison of two rungs, where the address says nothing else."""
    return opened("inside", **{**HARRIS, "look": "change", **address})


ADDS = "partial[index] += partial[index + stride]"


def line_of(html: str, number: int) -> str:
    found = re.search(rf'<div id="L{number}".*?</div>', html)
    assert found, number
    return found[0]


def heat_of(html: str, number: int) -> float:
    found = re.search(r"--heat:([\d.]+)", line_of(html, number))
    assert found
    return float(found[1])


def test_the_page_runs_by_itself_and_the_conflicts_stand_at_their_line() -> None:
    html = html_of(looked(rung="reduce_strided", heat="bank_conflicts"))
    adds = code_line("reduce_strided", ADDS)
    assert heat_of(html, adds) == 1 and heat_of(html, adds - 2) == 0
    # 33 blocks; in each 6 + 4 * 9 + 3 passes beyond the first: two loads and a store, at strides 1, 2 to 16, and 32
    assert re.search(r'class="value">1,485<', line_of(html, adds)), line_of(html, adds)
    assert "Correct" in html and "emulated" in html
    assert '<span class="k">extern</span>' in html  # C++ colours stay


def test_before_and_after_is_the_counter_that_the_rung_is_meant_to_change() -> None:
    html = html_of(looked(rung="reduce_sequential"))
    assert says("inside.meant-to-change", html)
    assert "Bank conflicts fall from" in html and "to none." in html
    assert COUNTERS["bank_conflicts"].meaning in html
    html = html_of(looked(rung="reduce_sequential", heat="barriers"))
    assert "The chosen counter" in html and "stay at" in html


def test_the_first_rung_has_nothing_before() -> None:
    html = html_of(looked(rung="reduce_interleaved"))
    asks = code_line("reduce_interleaved", "if (tid % (2 * stride) == 0)")
    assert "nothing came before" in html and heat_of(html, asks) == 1
    assert COUNTERS["divergent_branches"].label in html and says("inside.predication", html)


def test_findings_stand_under_their_line_and_link_to_the_other() -> None:
    html = html_of(looked(rung="reduce_unroll_volatile"))
    lines = KERNELS["reduce_unroll_volatile"].text.splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "partial[tid + 16]" in text)
    assert 'class="finding"' in html and f'href="#L{line - 1}"' in html and "more at this line" in html
    found = html.index(f"race in a warp</button></b> Line {line}")
    assert html.index(f'id="L{line}"') < found < html.index(f'id="L{line + 1}"')
    assert "only by luck" in html


def test_a_race_answers_differently_under_every_order_and_the_page_remembers() -> None:
    app = opened("inside", ladder="crovella", rung="reduce_racy", n="4096", block="128")
    app.selectbox(key="schedule").select("waves:1").run()
    html = html_of(app)
    assert "lockstep warps <b>144</b>" in html and "waves of 1 block <b>54</b>" in html
    assert asked(app)["schedule"] == "waves:1"


FIRST_LADDERS = {ladder.topic: name for name, ladder in reversed(LADDERS.items())}.values()


@pytest.mark.sampled(quick=4, thorough=5)
@pytest.mark.parametrize(
    "ladder", [case(name, quick=name in FIRST_LADDERS, thorough=turn(name, 0, 3)) for name in LADDERS]
)
def test_every_ladder_opens(ladder: str) -> None:
    entry = LADDERS[ladder]
    small = {"matmul": {"n": "64"}, "reduction": {"n": "4096"}}.get(entry.topic, {})
    app = opened("inside", ladder=ladder, rung=rungs.names(entry)[0], **small)
    assert not messages_of(app) and not app.exception
    assert 'class="source inside"' in html_of(app)


def picture_of(app: AppTest) -> dict[str, Any]:
    """What the component was given to draw."""
    (mounted,) = (entry for entry in app.get("bidi_component") if entry.proto.component_name == "kernel_ladder_picture")
    return json.loads(mounted.proto.json)


def test_a_page_without_choices_opens_on_the_block_in_motion() -> None:
    app = opened("inside", **HARRIS, rung="reduce_interleaved")
    (shown,) = picture_of(app)["pictures"]
    assert (
        shown["title"] == "#1  Interleaved addressing, divergent" and "7 steps that combine" in picture_of(app)["told"]
    )
    assert json.loads(shown["picture"])["frames"] and "look" not in asked(app)
    assert 'class="number"><i style' not in html_of(app)  # a colour is a thread's, not a line's


def test_two_rungs_stand_side_by_side() -> None:
    app = looked(rung="reduce_strided", look="picture", beside="1")
    kernels = [json.loads(shown["picture"])["kernel"] for shown in picture_of(app)["pictures"]]
    assert kernels == ["reduce_interleaved", "reduce_strided"] and asked(app)["beside"] == "1"
    first = looked(rung="reduce_interleaved", look="picture", beside="1")
    assert len(picture_of(first)["pictures"]) == 1 and picture_of(first)["beside"] is None  # nothing came before


def test_the_banks_are_a_figure_with_a_step_for_every_access() -> None:
    app = looked(rung="reduce_strided", look="banks")
    figure = json.loads(figures_of(app)[0])
    steps = figure["layout"]["sliders"][0]["steps"]
    assert len(steps) == len(figure["frames"]) == 25
    shown = figure["frames"][figure["layout"]["sliders"][0]["active"]]["data"]
    line = f"line {code_line('reduce_strided', ADDS)}"
    assert line in shown[2]["text"][0] and "3 bank conflicts" in shown[2]["text"][0]
    assert sorted(set(shown[0]["x"])) == list(range(0, 32, 4)) and shown[0]["y"] == list(range(32))
    assert len(set(shown[0]["marker"]["color"])) == 4


def lanes_in(runs: dict[str, list[float]]) -> float:
    """How many lanes a picture of lanes has: its bars are runs of them."""
    return max(first + lanes for first, lanes in zip(runs["base"], runs["y"], strict=True)) + 0.5


def test_the_lanes_are_a_figure_coloured_by_line_as_in_the_source() -> None:
    app = looked(rung="reduce_interleaved", look="lanes")
    figure = json.loads(figures_of(app)[0])
    runs, split = figure["data"]
    assert lanes_in(runs) == 128  # of all warps, if none is chosen
    assert len(split["x"]) == 8  # seven steps of the tree, and the thread that writes
    assert "of 32" in html_of(app) and 'class="number"><i style' in html_of(app)
    assert says("inside.branch-splits", html_of(app))
    app.selectbox(key="warp").select("1").run()
    assert lanes_in(json.loads(figures_of(app)[0])["data"][0]) == 32
    assert asked(app)["warp"] == "1"


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ({"look": "banks", "b": "99"}, "no block 99"),
        ({"look": "banks", "launch": "7"}, "no launch 7"),
        ({"look": "lanes", "warp": "9"}, "no warp 9"),
    ],
)
def test_a_missing_block_launch_or_warp_is_one_message(address: dict[str, str], words: str) -> None:
    app = looked(rung="reduce_strided", **address)
    assert any(words in said for said in messages_of(app, "warning"))


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(
    ("address", "words"),
    [({"schedule": "backwards"}, "lockstep, independent"), ({"n": "many"}, "whole number"), ({"b": "x"}, "the block")],
)
def test_an_impossible_choice_is_one_message(address: dict[str, str], words: str) -> None:
    app = looked(rung="reduce_strided", **address)
    assert len(messages_of(app)) == 1 and words in messages_of(app)[0]


def test_a_refused_size_is_reported_and_not_compared() -> None:
    html = html_of(looked(rung="reduce_strided", block="33"))
    assert "refused" in html and says("inside.not-counted-on-both", html)


def test_a_rung_that_brings_something_in_or_leaves_it_says_so() -> None:
    html = html_of(opened("inside", ladder="cs121-one-matrix", rung="row_sums", n="64", look="change"))
    assert says("inside.brings", html) and "rise from" in html
    html = html_of(opened("inside", ladder="heidelberg-operators", rung="reduce_max", n="4096", look="change"))
    assert says("inside.leaves", html) and "stay at" in html


def test_a_counter_that_goes_the_other_way_is_not_praised() -> None:
    html = html_of(looked(rung="reduce_multiple_volatile", n="262144"))
    assert "Barriers rise from" in html and says("inside.other-way", html)


def test_launches_belong_to_no_line() -> None:
    html = html_of(looked(rung="reduce_grid_stride_host"))
    assert "Kernel launches fall from" in html and says("inside.no-line", html)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("stride", "wavefronts"), [("2", 2), ("32", 32), ("33", 1)])
def test_the_parameter_chooses_the_lectures_slide(stride: str, wavefronts: int) -> None:
    app = opened("inside", ladder="cs121-banks", rung="banks_strided", n="1024", parameter=stride, look="banks")
    assert app.selectbox(key="parameter").value == stride and asked(app).get("parameter", "32") == stride
    figure = json.loads(figures_of(app)[0])
    data = figure["frames"][figure["layout"]["sliders"][0]["active"]]["data"]
    assert "line 23" in data[2]["text"][0] and f"{wavefronts} wavefront" in data[2]["text"][0]
    assert len(set(data[0]["x"])) == 32 // wavefronts


def test_lanes_that_meet_at_an_address_are_coloured_by_their_turn() -> None:
    app = opened("inside", ladder="crovella-order", rung="order_place", n="1024", look="banks")
    figure = json.loads(figures_of(app)[0])
    data = figure["frames"][0]["data"]
    assert "32 at one address" in data[2]["text"][0] and len(set(data[0]["marker"]["color"])) == 6
    assert [turn for _, turn in data[0]["customdata"]] == list(range(1, 33))


def test_a_deadlock_is_reported_with_another_order_to_try() -> None:
    app = opened("inside", ladder="heidelberg-volta", rung="lock_spin", n="64", block="64", look="change")
    html = html_of(app)
    assert "deadlock" in html and says("inside.try-independent", html)
    assert says("inside.never-ends", html)
    app.selectbox(key="schedule").select("independent:1").run()
    html = html_of(app)
    assert "✓ Correct" in html and "Atomics rise from" in html


def test_printed_lines_stand_under_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    take = InsideWork._take

    def taken(self: InsideWork, name: str, choice: Settled, handle: Handle) -> None:
        take(self, name, choice, handle)
        if name == "run" and self.run is not None:
            self.run = replace(self.run, printed=("thread 0 < 1", "thread 1"))

    monkeypatch.setattr(InsideWork, "_take", taken)
    html = html_of(looked(rung="reduce_strided"))
    assert "2 lines, emulated" in html and "thread 0 &lt; 1\nthread 1" in html


def test_an_array_is_right_as_it_was_checked() -> None:
    html = html_of(opened("inside", ladder="cs121-access", rung="copy_offset", n="1024"))
    assert "✓ Correct</b> every element, exactly · lockstep warps, emulated" in html


def test_a_rung_of_the_cpu_was_not_emulated() -> None:
    html = html_of(opened("inside", ladder="cooper", rung="trapezoid_scalar", n="1024", look="change"))
    assert says("inside.cpu-rung", html) and "lockstep" not in html
    html = html_of(opened("inside", ladder="cooper", rung="trapezoid_global_race", n="1024", look="change"))
    assert says("inside.cpu-before", html)


def test_a_rung_of_the_cpu_has_no_block() -> None:
    app = opened("inside", ladder="all-trapezoid", rung="trapezoid_scalar", n="1024", look="banks")
    assert says("inside.no-block", *messages_of(app, "warning"))


def test_the_gpus_own_counts_stand_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Hardware("NVIDIA H200", "2026-11-21", 4096, 128, {"branches": 17, "bank_conflicts": 1485})
    monkeypatch.setattr(profiles, "hardware_counters", lambda choice: counted)
    html = html_of(looked(rung="reduce_strided"))
    assert "NVIDIA H200, recorded 2026-11-21" in html
    assert "<small>SASS</small> 17" in html and html.count("1,485") >= 2


def test_another_recorded_size_is_one_click_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "hardware_counters", lambda choice: None)
    monkeypatch.setattr(
        profiles, "hardware_counters_by_size", lambda choice: [Hardware("NVIDIA H200", "2026", 2000, 64, {})]
    )
    app = looked(rung="reduce_strided")
    app.button(key="recorded 64").click().run()
    assert asked(app)["n"] == "2000" and asked(app)["block"] == "64"


def test_another_ladder_comes_with_an_n_that_the_emulator_runs_quickly() -> None:
    app = looked(rung="reduce_strided")
    app.selectbox(key="ladder").select("cs121-tiling").run()
    assert asked(app)["rung"] == "matmul_uncoalesced" and asked(app)["n"] == "256" and not messages_of(app)


def test_arrows_step_and_the_counter_follows() -> None:
    app = looked(rung="reduce_strided")
    app.button(key="next").click().run()
    assert asked(app)["rung"] == "reduce_sequential" and "Bank conflicts fall" in html_of(app)

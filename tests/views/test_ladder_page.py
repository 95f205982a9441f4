"""The ladder page: every rung shows, steps, runs, refuses and comes back from its address."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from engine.catalogue import KERNELS, LADDERS, TOPICS, default_choice
from engine.history import history
from engine.plan import settle
from engine.records import Choice
from engine.records.words import STATUS_WORDS
from engine.service.warm_up import run_of
from engine.store import measurements
from tests.cases import case
from tests.history.test_history import measured
from tests.sentences import says, wording
from tests.views.pages import asked, figures_of, html_of, messages_of, opened
from views.ladder.resolve import answer_count

FIRST_LADDERS = {ladder.topic: name for name, ladder in reversed(LADDERS.items())}.values()
FIRST_KERNELS = {topic.kernels[0].name for topic in TOPICS.values()}


@pytest.mark.sampled(quick=2, thorough=3)
@pytest.mark.parametrize("name", [case(name, quick=name in FIRST_LADDERS) for name in LADDERS])
def test_every_ladder_opens_on_its_first_rung(name: str) -> None:
    ladder = LADDERS[name]
    app = opened(ladder=name, device="emulator", n=str(ladder.n), block=str(ladder.block_size), dtype=ladder.dtype)
    html = html_of(app)
    first = KERNELS[ladder.rungs[0].kernel]
    assert first.title in html and first.file_name in html
    assert html.partition("</table>")[0].count('<td class="rung">') == len(ladder.rungs)
    assert len(figures_of(app)) == (ladder.picture != "motion")
    assert not messages_of(app)


# A page does the same with every kernel: the thorough run opens every third, a release all.
@pytest.mark.sampled(quick=4, thorough=4)
@pytest.mark.parametrize(
    "name", [case(name, quick=name in FIRST_KERNELS, thorough=at % 3 == 0) for at, name in enumerate(KERNELS)]
)
def test_every_kernel_shows_its_text_and_its_source(name: str) -> None:
    app = opened(ladder=f"all-{KERNELS[name].topic}", rung=name, n="1000")
    text = re.sub(r"<[^>]+>", "", html_of(app)).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert KERNELS[name].header["Idea"][1:40].replace("'", "&#x27;") in text.replace("&quot;", '"')
    assert f"{name}(" in text


CHOICE = Choice("reduce_sequential", 4096, 128, device="gpu")


def test_the_arrows_step_and_the_ends_hold() -> None:
    app = opened(ladder="harris")
    assert app.button(key="previous").disabled
    app.button(key="next").click().run()
    assert app.session_state["rung"] == LADDERS["harris"].rungs[1].kernel
    assert asked(app)["rung"] == LADDERS["harris"].rungs[1].kernel


def test_a_run_shows_its_answer_and_its_counters() -> None:
    app = opened(rung="reduce_strided", n="4096")
    assert "emulated" not in html_of(app)
    app.button(key="run").click().run()
    html = html_of(app)
    assert says("ladder.correct", html) and "emulated" in html
    assert not app.exception


def test_students_share_one_emulated_run_and_a_presenter_runs_again() -> None:
    words = "emulated before"
    first, second = opened(rung="reduce_strided", n="4097"), opened(rung="reduce_strided", n="4097")
    first.button(key="run").click().run()
    second.button(key="run").click().run()
    assert measurements.count() == 1
    assert says("ladder.correct", html_of(second)) and words in html_of(second) and words not in html_of(first)
    presenting = opened(rung="reduce_strided", n="4097", present="1")
    presenting.button(key="run").click().run()
    assert says("ladder.correct", html_of(presenting)) and words not in html_of(presenting)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", ["cs121-tiling", "harris", "float-truths"])
def test_a_warmed_up_run_answers_a_students_first_click(name: str) -> None:
    choice = run_of(LADDERS[name], LADDERS[name].rungs[0])
    lines = ({"line": 3, "text": "x", "barriers": 1.0},)
    warmed = measured(choice, device={"kind": "emulator"}, time_us=None, counters={"barriers": 1.0}, lines=lines)
    history.remember(choice, warmed)
    app = opened(ladder=name)
    app.button(key="run").click().run()
    assert "emulated before" in html_of(app) and measurements.count() == 1


@pytest.mark.thorough
def test_run_the_ladder_fills_every_row() -> None:
    app = opened(ladder="harris", n="1000")
    app.button(key="run_ladder").click().run()
    table = html_of(app).partition('<table class="ladder">')[2].partition("</table>")[0]
    assert ">not run" not in table  # what a hazard's sentence says is another matter
    assert table.count('class="rung"') == len(LADDERS["harris"].rungs)


def test_a_reload_shows_the_last_results() -> None:
    app = opened(rung="reduce_sequential", n="2000")
    app.button(key="run").click().run()
    again = opened(rung="reduce_sequential", n="2000")
    assert says("ladder.correct", html_of(again))


def test_a_wrong_answer_is_a_sentence_and_no_number() -> None:
    choice = settle(replace(default_choice("reduce_racy"), device="emulator", n=4096))
    history.remember(choice, measured(choice, status="wrong", reason="Seen: 1, not 2.", time_us=9.0))
    app = opened(ladder="crovella", rung="reduce_racy", n="4096", block=str(choice.block_size))
    html = html_of(app)
    assert "Seen: 1, not 2." in html and "lesson" in html
    assert "9.00 µs" not in html


BAD_INPUT = [
    ({"n": "0"}, "ladder.n-at-least-1"),
    ({"n": "-5"}, "ladder.n-at-least-1"),
    ({"n": "2^40"}, "ladder.n-too-large"),
    ({"n": "2^30", "device": "emulator"}, "ladder.n-too-large-for-emulator"),
    ({"n": "many"}, "ladder.n-not-whole"),
    ({"n": "2^x"}, "ladder.n-not-a-power"),
    ({"block": "100"}, "ladder.block-100"),
    ({"block": "-1"}, "ladder.block-negative"),
    ({"dtype": "int8"}, "ladder.no-dtype"),
    ({"cache": "warm"}, "ladder.no-cache"),
    ({"device": "abacus"}, "ladder.no-device"),
    ({"grid": "12"}, "ladder.grid-not-chosen"),
    ({"grid": "x"}, "ladder.grid-not-whole"),
    ({"combine": "magic"}, "ladder.no-combine"),
    ({"ladder": "jacob"}, "ladder.no-ladder"),
    ({"rung": "reduce_magic"}, "ladder.no-rung"),
    ({"show": "weather"}, None),
]


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(("address", "key"), [case(*row, quick=i % 3 == 0) for i, row in enumerate(BAD_INPUT)])
def test_bad_input_is_one_sentence(address: dict[str, str], key: str | None) -> None:
    app = opened(**{"ladder": "harris", **address})
    assert key is None or says(key, html_of(app), *messages_of(app))
    app.session_state["n"] = "1024"
    app.run()
    assert not app.exception


def test_an_address_from_before_a_rung_moved_shows_the_rung() -> None:
    app = opened(ladder="harris", rung="reduce_complete_unroll", n="1024")
    assert not app.exception and not messages_of(app)
    assert (app.session_state["ladder"], app.session_state["rung"]) == ("heidelberg", "reduce_complete_unroll")
    assert says("ladder.rung-moved", messages_of(app, "info")[0])
    assert opened(ladder="crovella", rung="reduce_magic").session_state["ladder"] == "crovella"


@pytest.mark.parametrize(("rung", "block", "key"), [
    ("reduce_sequential", "8", "ladder.correct"), ("reduce_warp_shuffle", "16", "ladder.block-multiple-of-32"),
    ("reduce_sequential", "100", "ladder.block-power-of-two"),
])  # fmt: skip
def test_the_block_sizes_of_the_slides_run_or_say_what_the_kernel_needs(rung: str, block: str, key: str) -> None:
    app = opened(ladder="harris", rung=rung, n="24", block=block, device="emulator")
    assert [option for option in app.selectbox(key="block").options if int(option) < 32] == ["1", "2", "4", "8", "16"]
    app.button(key="run").click().run()
    assert says(key, html_of(app))


def test_an_impossible_run_is_refused_on_the_page() -> None:
    app = opened(ladder="harris", n="0")
    app.button(key="run").click().run()
    assert says("ladder.n-at-least-1", html_of(app))
    assert not app.exception


def test_another_ladder_takes_its_own_choices() -> None:
    app = opened(ladder="harris")
    app.selectbox(key="ladder").select("cs121-tiling").run()
    ladder = LADDERS["cs121-tiling"]
    assert not app.exception
    assert asked(app)["n"] == str(ladder.n) and asked(app)["dtype"] == "float32"
    assert "Tile width" in "".join(box.label for box in app.selectbox)


def test_presenting_shows_the_rung_and_nothing_else() -> None:
    app = opened(present="1", rung="reduce_strided")
    html = html_of(app)
    assert 'class="presenting"' in html and KERNELS["reduce_strided"].title in html
    assert 'table class="ladder"' not in html and 'class="rungtext"' not in html
    assert [menu.key for menu in app.selectbox] == ["n", "block", "plot"], "what the bar offers"
    assert len(figures_of(app)) == 1


def test_a_promise_that_the_times_break_is_reported() -> None:
    small = html_of(opened(rung="reduce_first_add", n="2^12"))
    assert says("ladder.promise-broken", small)
    assert wording("ladder.promise-broken") not in html_of(opened(rung="reduce_first_add"))


def test_the_chosen_plot_is_shown() -> None:
    for show in ("rate", "time", "speedup", "counters"):
        assert len(figures_of(opened(show=show))) == 1


def test_settings_of_one_rung_do_not_reach_the_others() -> None:
    app = opened(ladder="harris", rung="reduce_multiple_adds", grid="64", n="1000")
    app.button(key="run_ladder").click().run()
    html: Any = html_of(app)
    assert "cannot be chosen" not in html


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(
    ("rung", "dtype", "key"),
    [
        ("histogram_shared", "int32", "ladder.first-counts"),
        ("filter_atomic", "int32", "ladder.first-packed"),
        ("warp_prefix_sum", "float32", "ladder.first-numbers"),
        ("copy_strided", "int32", "ladder.first-numbers-copied"),
    ],
)
def test_an_answer_that_is_an_array_is_shown_as_one(rung: str, dtype: str, key: str) -> None:
    app = opened(ladder=f"all-{KERNELS[rung].topic}", rung=rung, n="1024", block="128", dtype=dtype)
    before = html_of(app)
    assert "not run yet" in before and before.count("<u>") == 16, "it has its place before it comes"
    app.button(key="run").click().run()
    html = html_of(app)
    assert says(key, html) and html.count("<u>") == 16
    assert ("--share:1.000" in html) == rung.startswith("histogram")
    assert 'class="off"' not in html


def test_the_hall_sees_the_first_elements_too() -> None:
    address = {"ladder": "crovella-order", "rung": "filter_atomic", "n": "1024"}
    opened(**address).button(key="run").click().run()
    html = html_of(opened(**address, present="1", reveal="all"))
    assert html.count("<u>") == 8 and "packed by 1,024 threads, the first 8" in html
    assert "<u>" not in html_of(opened(**{**address, "ladder": "all-atomics"}, present="1"))  # many bars have its place
    assert 1 < answer_count(settle(Choice("filter_atomic", 1024, 128))) <= 1024
    assert answer_count(settle(Choice("reduce_atomic", 1024, 128))) == 0
    assert answer_count(settle(Choice("reduce_grid_stride_host", 2**20, 128))) == 0
    assert answer_count(settle(Choice("filter_atomic", 0, 128))) == 0


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(("ladder", "rung", "live", "recorded", "kept"), [
    ("heidelberg-exercise", "reduce_unroll_guarded", "hazard", "wrong", "-12073"),
    ("heidelberg-volta", "lock_spin", "deadlock", "ok", "44.3"),
])  # fmt: skip
def test_a_run_here_never_hides_the_recorded_outcome(
    ladder: str, rung: str, live: str, recorded: str, kept: str
) -> None:
    app = opened(ladder=ladder, rung=rung)
    assert kept in html_of(app)
    app.button(key="run").click().run()
    html = html_of(app)
    lines = re.findall(r'<div class="said line">(.*?)</div>', html)
    assert len(lines) == 2 and kept in lines[1] and "NVIDIA H200" in lines[1] and "emulator" in lines[0]
    assert f"{STATUS_WORDS[recorded]}: recorded" in html and STATUS_WORDS[live] in lines[0].lower()
    assert all(f"{STATUS_WORDS[live]}: emulated" in figure for figure in figures_of(app))

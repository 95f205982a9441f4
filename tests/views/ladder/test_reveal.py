"""A slide holds back the numbers of its own rung and of those after it, until the presenter asks for them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from engine.catalogue import KERNELS, LADDERS, TOPICS, Ladder, emulated_n
from engine.history import history, tables
from engine.history.tables import COLUMNS, COUNTED, LECTURE, MEASURED
from engine.model.rungs import known, size_for
from engine.records.counters import IN_JSON
from engine.records.words import text_of, time_text
from engine.service.warm_up import run_of, timed_of
from tests.cases import case
from tests.made import measured
from tests.views.access.test_roles import come_as
from tests.views.conftest import PRESS
from tests.views.pages import asked, figures_of, html_of, opened
from views.access.policy import PRESENTER, STUDENT
from views.ladder.resolve import PLOTS, page_of
from views.ladder.view import Bars, Facts, facts_of
from views.room import feed
from views.shared import presentation, rungs

LECTURES = [name for name in LADDERS if not name.startswith("all-")]
NUMBERS = [key for key, column in COLUMNS.items() if column.group in (MEASURED, COUNTED, LECTURE)]
HARRIS = LADDERS["harris"]
HALL = {"ladder": "harris", "n": "4096", "present": "1"}


def place(app: AppTest) -> tuple[str, str, str]:
    """The rung's label on the slide, how many numbers are shown, and the plot."""
    address = asked(app)
    label = HARRIS.rungs[rungs.names(HARRIS).index(address["rung"])].label
    return label, address["reveal"], "motion" if address.get("stage") else str(app.session_state["plot"])


def numbers(row: Mapping[str, object]) -> set[str]:
    """The numbers of a rung, as they are written and as a figure's data has them; not those of one or two digits,
    which any text may have."""
    found = {key: value for key in NUMBERS if isinstance(value := row[key], int | float) and value == value}
    texts = {text for key, value in found.items() for text in (text_of(key, value), repr(value))}
    return {text for text in texts if len(re.sub(r"\D", "", text)) > 2}


def tells(app: AppTest, number: str) -> bool:
    """Whether the page's document has this number, beside the fixed texts of the rung and its source."""
    fixed = ("<style>", '<div class="slide', '<header class="presenting')
    parts = [entry.proto.body for entry in app.get("html") if not entry.proto.body.startswith(fixed)]
    return has(number, "\n".join([*parts, *figures_of(app)]))


def hands_out(number: str) -> bool:
    """Whether the slide that phones receive has this number."""
    slide = feed.state()["slide"]
    texts = [re.sub(r' (?:x|width)="[\d.]+%"', "", slide[name]) for name in ("numbers", "plot", "words", "origin")]
    return has(number, "\n".join(texts))


def has(number: str, text: str) -> bool:
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d,.]*\d)", text) is not None


def count(ladder: Ladder) -> None:
    """Let the emulator have counted every rung, each with numbers of its own."""
    untimed = dict.fromkeys(("time_us", "times_us", "low_us", "high_us", "bandwidth_gb_s"))
    for i, rung in enumerate(ladder.rungs):
        choice = run_of(ladder, rung)
        if KERNELS[rung.kernel].processor == "gpu" and KERNELS[rung.kernel].emulated:
            counters = {name: 50_021 + 997 * i + 13 * j for j, name in enumerate(IN_JSON)}
            made = measured(choice, device={"kind": "emulator"}, counters=counters, **untimed)
            history.remember(choice, made)


def all_facts(ladder: Ladder) -> Facts:
    """What the ladder's own page knows of its rungs."""
    chosen = {**rungs.own_choices(ladder), "cache": "cold-clean", "combine": "auto", "grid": "auto", "device": "auto",
              "parameter": ""}  # fmt: skip
    return facts_of(page_of(ladder.name, 0, tuple(chosen.items()), "lockstep", True, len(ladder.rungs), "", ()))


def estimates(ladder: Ladder) -> list[set[str]]:
    """The estimated time of each rung, as it is written and as a figure's data has it."""
    choices = tuple(timed_of(ladder, rung) for rung in ladder.rungs)
    n = size_for(choices) or emulated_n(ladder, ladder.n)
    found = [known(replace(choice, n=n), "NVIDIA H200") for choice in choices]
    return [{time_text(one.time_us), repr(one.time_us)} if one and one.time_us else set() for one in found]


CASES = [case(name, i, quick=i == 1, id=f"{name}-{i}") for name in LECTURES for i in range(len(LADDERS[name].rungs))]


@pytest.mark.sampled(quick=20, thorough=32)
@pytest.mark.parametrize(("name", "position"), CASES)
def test_a_slide_tells_no_number_of_its_rung_or_of_a_later_one(name: str, position: int) -> None:
    ladder = LADDERS[name]
    count(ladder)
    facts = all_facts(ladder)
    lines = tables.marks(TOPICS[ladder.topic], facts.known)
    marks = {text_of(TOPICS[ladder.topic].metric, value) for value in lines.values()}
    guessed = estimates(ladder)
    told = marks.union(*map(numbers, facts.rows[:position]), *guessed[:position])
    own = numbers(facts.rows[position]) - told
    held = set[str]().union(*map(numbers, facts.rows[position:]), *guessed[position:]) - told
    app = opened(ladder=name, rung=rungs.names(ladder)[position], present="1")
    titles = app.selectbox(key="plot").options
    for plot in (plot for plot in PLOTS if plot.title in titles and plot.name != "motion"):
        app.selectbox(key="plot").select(plot.name).run()
        assert [number for number in sorted(held) if tells(app, number) or hands_out(number)] == [], plot.name
        if isinstance(plot, Bars):
            figure = json.loads(figures_of(app)[-1])
            values, words = figure["data"][0]["x"], [note["text"] for note in figure["layout"]["annotations"]]
            axis = figure["layout"]["yaxis"]  # a long ladder's slide shows the rungs around its own
            drawn = [at for at, name in zip(axis["tickvals"], axis["ticktext"], strict=True) if "⋯" not in name]
            later = [at for at in drawn if at >= position]
            assert position in later and not any(values[position:]) and words.count("<b>?</b>") == len(later)
    app.selectbox(key="plot").select("counters").run()  # a rung without a time has numbers only there
    app.button(key="next").click().run()
    assert not own or any(tells(app, number) for number in own)


@pytest.mark.parametrize("plot", ["rate", "speedup"])
def test_the_axis_is_the_same_from_the_first_slide_to_the_last(plot: str, press: PRESS) -> None:
    app = opened(**HALL, show=plot)
    ends = []
    for _ in HARRIS.rungs[1:4]:
        ends.append(json.loads(figures_of(app)[0])["layout"]["xaxis"]["range"])
        press(app, "next", "next")
    assert len({tuple(end) for end in ends}) == 1


def test_a_step_covers_the_next_press_shows_and_back_covers_nothing(press: PRESS) -> None:
    app = opened(**HALL, show="rate")
    walk = [place(app)] + [place(press(app, "next")) for _ in range(3)]
    assert walk == [("#1", "0", "rate"), ("#1", "1", "rate"), ("#2", "1", "rate"), ("#2", "2", "rate")]
    assert place(press(app, "previous")) == ("#1", "2", "rate")
    assert [place(press(app, "next")) for _ in range(2)] == [("#2", "2", "rate"), ("#3", "2", "rate")]
    assert place(press(app, "last")) == ("shuffle", "10", "rate")
    assert place(press(app, "next")) == ("shuffle", "11", "rate")
    assert place(opened(**asked(app))) == ("shuffle", "11", "rate"), "a reload shows the same"


def test_two_presses_before_the_page_answers_are_two_steps(press: PRESS) -> None:
    assert place(press(opened(**HALL, show="rate"), "next", "next", together=True)) == ("#2", "1", "rate")


def test_a_shows_everything_and_the_next_presentation_holds_back_again(press: PRESS) -> None:
    app = press(opened(**HALL, show="rate"), "reveal")
    assert place(app) == ("#1", "all", "rate")
    assert all(json.loads(figures_of(app)[0])["data"][0]["x"])
    assert place(press(app, "next")) == ("#2", "all", "rate")
    press(app, "leave")
    assert "reveal" not in asked(app) and 'table class="ladder"' in html_of(app)
    assert place(press(app, "present")) == ("#2", "1", "rate")


def test_a_run_shows_the_numbers(press: PRESS) -> None:
    app = press(opened(**HALL, rung="reduce_strided", show="rate"), "run")
    assert place(app) == ("#2", "2", "rate") and "✓ Correct" in html_of(app)


def test_the_comparison_with_the_rung_before_runs_that_rung_too(press: PRESS) -> None:
    app = press(opened(**HALL, rung="reduce_strided"), "run")
    figure = json.loads(figures_of(app)[0])
    assert place(app) == ("#2", "2", "change") and all(figure["data"][0]["x"])


def test_a_remote_walks_through_a_rung(press: PRESS) -> None:
    app = opened(**HALL, show="rate", rung="reduce_strided")
    on = [place(press(app, "walk on")) for _ in range(3)]
    assert on == [("#2", "1", "motion"), ("#2", "2", "rate"), ("#3", "2", "rate")]
    assert place(press(app, "walk on")) == ("#3", "2", "motion")
    back = [place(press(app, "walk back")) for _ in range(4)]
    assert back == [("#3", "2", "rate"), ("#2", "2", "rate"), ("#2", "2", "motion"), ("#1", "2", "rate")]


def test_keys_choose_the_plot_the_counter_the_order_and_the_rung_before(press: PRESS) -> None:
    app = opened(**HALL, rung="reduce_strided")
    titles = app.selectbox(key="plot").options
    named = {plot.title: plot.name for plot in PLOTS if plot.name != "paper"}
    chosen = [place(press(app, f"plot {i}"))[2] for i in range(1, len(titles) + 1)]
    assert chosen == [named[title] for title in titles] and chosen[:2] == ["change", "rate"]
    assert [place(press(app, "next plot"))[2] for _ in range(2)] == ["change", "rate"]
    assert place(press(app, "counter"))[2] == "change" and "counter" not in asked(app)
    counters = [asked(press(app, "counter"))["counter"] for _ in range(2)]
    assert counters == ["active_lanes_per_instruction", "bank_conflicts"]
    orders = [asked(press(app, "order")).get("schedule", "lockstep") for _ in range(4)]
    assert orders == ["independent:1", "independent:2", "independent:3", "lockstep"]
    assert place(press(app, "beside"))[2] == "motion" and asked(app)["beside"] == "1"
    press(app, "beside")
    assert place(app)[2] == "motion" and "beside" not in asked(app)


def test_the_theme_is_in_the_address_of_every_page(press: PRESS) -> None:
    app = press(opened(**HALL), "theme dark")
    assert asked(app)["theme"] == "dark"
    assert asked(opened("sweep", theme="dark"))["theme"] == "dark"
    assert "theme" not in asked(press(app, "theme system")) and "theme" not in asked(opened(theme="pink"))


def test_a_page_that_follows_tells_what_the_slide_tells(press: PRESS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presentation, "_found", None)
    monkeypatch.setattr(presentation, "FRESH_S", 0.0)
    come_as(PRESENTER, "bbbb2222", monkeypatch)
    hall = opened(**HALL, rung="reduce_strided", show="rate", theme="dark")
    come_as(STUDENT, "aaaa1111", monkeypatch)
    student = opened(ladder="crovella")
    student.button(key="follow_on").click().run()
    assert asked(student)["reveal"] == "1" and "theme" not in asked(student)
    row = re.findall(r"<tr[^>]*>.*?</tr>", html_of(student), re.DOTALL)
    assert [("?" in one) for one in row if 'class="rung"' in one] == [False, *[True] * 10]
    bars, same = (json.loads(figures_of(app)[0])["data"][0]["text"] for app in (student, hall))
    assert bars == same and bars[0] and not any(bars[1:])
    student.button(key="next").click().run()
    assert "?" in html_of(student).partition("tiles")[2][:400], "a follower's own step uncovers nothing"
    student.button(key="follow_off").click().run()
    assert all(json.loads(figures_of(student)[0])["data"][0]["x"]) and "reveal" not in asked(student)

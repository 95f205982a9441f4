"""The results beside the code: the numbers of the rung, the plot, its words, and the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

import streamlit as st

from engine.catalogue import KERNELS, Topic, topic_of
from engine.columns import COLUMNS
from engine.counters import IN_TABLE
from engine.figures.look import Look
from engine.history.history import Known, device_line, not_recorded
from engine.lectures.promises import unkept
from engine.records import Measurement, Settled
from engine.tables import counted_text
from engine.words import STATUS_WORDS, number_text, size_text, text_of
from views.html import answer
from views.html.parts import code_in, sentence_case, tile, tiles, whole_dates
from views.ladder.panels import plot
from views.ladder.panels.plot import Drawing, controls_of, menu, plot_shown, plots_of, rows_of, words_of
from views.ladder.view import WORK, Facts, Page
from views.shared import keyboard, work
from views.shared.rungs import MENU, labels
from views.shared.slots import Slot

WIDTHS = (1.12, 1)  # the text and the source, the numbers and the plot
MARGINS, GAP = 64, 24  # pixels beside the page, and between its columns
# Pixels of the window above the plot where the rungs and the plots are one line each; what counters and lines add.
ABOVE, COUNTERS, RUNGS, PLOTS = 362, 67, 33, 49
BELOW = 9
LETTER, BUTTON, SEGMENT = 6.6, 29, 19  # pixels of a letter, and of what is around a button's and a segment's


def plot_width() -> int:
    """Pixels of the plot's column."""
    return round((keyboard.window()[0] - MARGINS - GAP) * WIDTHS[1] / sum(WIDTHS))


def plot_height(page: Page) -> int:
    """Pixels of the window below the plot's menu."""
    wide, high = keyboard.window()
    stepper = wide - MARGINS - MENU - GAP
    rungs = button_rows([button_width(word, BUTTON) for word in ("←", "→", *labels(page.ladder))], stepper)
    plots = button_rows(
        [*(button_width(word, SEGMENT) for word in plots_of(page).values()), *controls_of(page)], plot_width()
    )
    return high - ABOVE - COUNTERS * shows_counters(page) - RUNGS * (rungs - 1) - PLOTS * (plots - 1) - BELOW


def shows_counters(page: Page) -> bool:
    """Whether what was counted stands below the times: a block in motion has its place."""
    return page.counting and plot_shown(page) not in plot.scenes_of(page)


def button_width(word: str, around: float) -> float:
    """Pixels that a button with a word takes, and what is around the word."""
    return len(word) * LETTER + around


def button_rows(buttons: Sequence[float], room: float) -> int:
    """How many lines buttons so wide take in so much room."""
    taken, count = 0.0, 1
    for wide in buttons:
        if taken and taken + wide > room:
            taken, count = 0.0, count + 1
        taken += wide
    return count


_ANSWERED: dict[work.Answer, str] = {
    "another browser's": "{} by another browser; Run again measures anew",
    "emulated before": "emulated before: {}, and the same every time",
}


MANY = 12  # bars


class Results:
    """Their places, one below the other; `show` draws what is known by now."""

    def __init__(self, page: Page, look: Look, height: int | Literal["stretch"]) -> None:
        """`look`, `height`: of the plot. Its menu stands above it, but on a slide in the bar."""
        self._page = page
        self._numbers = Slot("numbers")
        if not page.presenting:
            menu(page)
        self._drawing, self._words, self._answer = Drawing(page, look, height), Slot("plotwords"), Slot("answer")

    def show(self, facts: Facts) -> None:
        """Draw each of them that has changed."""
        self._numbers.html(_numbers(self._page, facts))
        self._drawing.show(facts)
        self._words.html(words_of(self._page, facts))
        self._answer.html(_strip(self._page, facts))


def _numbers(page: Page, facts: Facts) -> str:
    """The big numbers of the rung on the page."""
    known = facts.known[page.position]
    ran = answer.when_ran(str(known.live.environment.get("utc") or ""), st.context.timezone) if known.live else ""
    if ran and (why := work.answer(WORK, page.run)):
        ran = _ANSWERED[why].format(ran)
    said = ""
    if page.position:
        before = facts.known[page.position - 1].timed
        said = unkept(page.ladder.rungs[page.position], before, known.timed, page.topic.metric)
    return numbers(facts.rows[page.position], known, page.choice, page.run, shows_counters(page), ran, said)


def has_strip(page: Page) -> bool:
    """Whether the answer's first elements stand below the plot: on a slide many bars need their place."""
    return answer.is_array(page.run) and not (page.presenting and rows_of(page) > MANY)


def _strip(page: Page, facts: Facts) -> str:
    """The first elements of the answer, or their places before there is one."""
    if not has_strip(page):
        return ""
    shown = answer.SHOWN_IN_HALL if page.presenting else answer.SHOWN
    return answer.strip_html(facts.known[page.position].live, shown) or answer.blank_html(page.run, shown)


TWO_LINES = 130  # characters: what is longer is cut off, and unfolds

_LESSONS = ("wrong", "hazard", "deadlock")  # how a rung can fail on purpose; see Kernel.expect

# Ours, the lecture's.
_TILES = (("time_us", "lecture_time_us"), ("rate", "lecture_bandwidth_gb_s"), ("step", "lecture_step"),
          ("cumulative", "lecture_cumulative"), ("percent_of_peak", None))  # fmt: skip


def numbers(row: Mapping[str, Any], fact: Known, choice: Settled, run: Settled, counters: bool, ran: str = "",
            unkept: str = "") -> str:  # fmt: skip
    """The big numbers of one rung, each with its unit, its origin, and the lecture's below; then its `counters`.

    The times are of `choice`; Run runs `run`. `ran`: when the run on the page was, if it was now. `unkept`: what the
    rung's words promise and its time does not keep.
    """
    failed, live, topic = fact.failed, fact.live, topic_of(choice.kernel)
    if failed is None:
        shown, log = _tiles(row, topic), ()
        said = " · ".join(filter(None, (_sentence(fact, choice, run, ran), escape(unkept))))
    else:
        expected = KERNELS[row["kernel"]].expect
        lesson = " That is the lesson of this rung." if expected != "ok" and failed.status in _LESSONS else ""
        shown = _tiles(row, topic)
        why = code_in(failed.reason or "The run ended without an answer.") + _remark(failed, topic, ".") + lesson
        time_of = _time_of(fact.timed, choice, run) if fact.timed is not None else ""
        status = f"<b>{escape(STATUS_WORDS[failed.status])}</b> "
        said = status + " · ".join(filter(None, (time_of, why, ran)))  # what is long may be cut off at its end
        log = (("The whole log", failed.log),) if failed.log else ()
    if live is not None and live.printed:
        log = (*log, (f"What the kernel printed: {len(live.printed)} lines", "\n".join(live.printed)))
    bad = "" if failed is None else "bad"
    if row["caveats"]:
        log = (*log, ("What a GPU counts otherwise", row["caveats"]))
    return shown + _outcome(bad, said, log) + (_counters(row) if counters else "")


def _outcome(kind: str, said: str, more: Sequence[tuple[str, str]]) -> str:
    """What came of it, in two lines; the rest, and what there is `more`, on demand."""
    telling = f'<div class="said">{said}</div>'
    if more or len(re.sub("<[^>]+>", "", said)) > TWO_LINES:
        rest = "".join(f"<h3>{escape(name)}</h3><pre tabindex='0'>{escape(text)}</pre>" for name, text in more)
        telling = f'<div class="said">{said}<i class="more"></i></div>'  # with room for the word in the corner
        telling = f"<details><summary>{telling}</summary>{rest}</details>"
    return f'<div class="outcome {kind}">{telling}</div>'


def _tiles(row: Mapping[str, Any], topic: Topic) -> str:
    made = []
    for ours, paper in _TILES:
        key = topic.metric if ours == "rate" else ours
        column = COLUMNS[key]
        value = text_of(key, row[key])
        unit = f" <small>{column.unit}</small>" if value and ours == "rate" else ""
        theirs = text_of(paper, row[paper]) if paper and not (ours == "rate" and key != "bandwidth_gb_s") else ""
        theirs_unit = " GB/s" if ours == "rate" else ""
        below = f'<span class="paper" title="{escape(str(row["lecture_origin"]))}">{theirs}{theirs_unit}</span>'
        title = column.title.removesuffix(" speedup") if key == "cumulative" else column.title
        made.append(tile(title, value, unit=unit, below=below if theirs else "", dim=not value))
    return tiles(made)


def _sentence(fact: Known, choice: Settled, run: Settled, ran: str) -> str:
    live, topic = fact.live, topic_of(choice.kernel)
    words, answer = [], ""
    if live is not None and live.check is not None:
        found = live.check
        exact = found.error_bound == 0
        bound = "" if exact else f", error {found.error:.2g}, allowed {found.error_bound:.2g}"
        equals = f"{number_text(found.result)} {'=' if exact else '≈'} {number_text(found.expected)}"
        answer = f"{equals}{bound}{_remark(live, topic)}"
        correct = "<b class='ok'>✓ Correct</b>"
        # Where the runs are at another N than the times, the answer is no more than a remark, at the end.
        words.append(f"{correct} and counted at N = {size_text(run.n)}" if run.n != choice.n else f"{correct} {answer}")
    if fact.timed is not None:
        words.append(_time_of(fact.timed, choice, run))
        if live is None and not KERNELS[run.kernel].runs_on(run.device):
            words.append("This kernel runs only on a GPU")
        elif live is None and run.n != choice.n:
            words.append(f"Run checks and counts at N = {size_text(run.n)}")
    elif fact.recorded is not None:
        told = f"{STATUS_WORDS[fact.recorded.status]} on {device_line(fact.recorded)}: {fact.recorded.reason}"
        words.append(code_in(sentence_case(told)))
    else:
        words.append(f"{'' if live else 'Not run yet. '}{' '.join(not_recorded(choice))}")
    if live is not None and live.badges:
        words.append(code_in(", ".join(live.badges)))
    if ran:
        words.insert(1, ran)
    if answer and run.n != choice.n:
        words.append(answer)
    return " · ".join(words)


def _time_of(timed: Measurement, choice: Settled, run: Settled) -> str:
    """Where the time comes from; at which N, where what runs here runs at another one."""
    at = f" at N = {size_text(choice.n)}" if run.n != choice.n else ""
    return f"Time: {whole_dates(escape(device_line(timed)))}{at}"


def _remark(measurement: Measurement, topic: Topic, end: str = "") -> str:
    """What the topic adds about the answer: as one more part of a line, or with an `end` as a sentence."""
    if topic.remark is None or measurement.check is None:
        return ""
    words = escape(topic.remark(measurement.check.result))
    return f" {sentence_case(words)}{end}" if end else f" · {words}"


def _counters(row: Mapping[str, Any]) -> str:
    """Tiles of what was counted; the reason why a GPU counts otherwise is told where one points."""
    made = (
        tile(COLUMNS[key].title, counted_text(row, key), tip=row["caveats"] or COLUMNS[key].meaning) for key in IN_TABLE
    )
    return tiles(made, "counted")

"""The results beside the code: the numbers of the rung, the plot, its words, and the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

import streamlit as st

from engine.figures.bars import HELD
from engine.figures.look import Figure, Look, covered
from engine.history.history import Known, date_of, device_line, device_name, not_recorded
from engine.history.tables import COLUMNS, tile_text, tile_title
from engine.lectures.judge import unkept
from engine.records import Measurement
from engine.records.counters import IN_TILES
from engine.records.words import STATUS_WORDS, number_text, size_text, text_of
from views.chart.component import Chart
from views.html import answer
from views.html.table import code_in, sentence_case, tile, tiles, whole_dates
from views.html.terms import here_html, mark_terms
from views.ladder.view import WORK, Bars, Facts, Page, Picture, Scene
from views.shared import keyboard, work
from views.shared.slots import Slot

_ANSWERED: dict[work.Answer, str] = {
    "another browser's": "{} by another browser; Run again measures anew",
    "emulated before": "emulated before: {}, and the same every time",
}


MANY = 8  # bars
COVERED = "The numbers of this rung are held back: the next step shows them."


class Results:
    """The containers of the results, from top to bottom; `show` draws the known results."""

    def __init__(self, page: Page, look: Look, height: int | Literal["stretch"]) -> None:
        """`look`, `height`: of the plot. Its menu is above it; on a slide it is in the bar."""
        self._page = page
        self._numbers = Slot("numbers")
        if not page.presenting:
            menu(page)
        self._drawing, self._words, self._answer = Drawing(page, look, height), Slot("plotwords"), Slot("answer")

    def show(self, facts: Facts) -> tuple[str, Figure | None, str]:
        """Draw each container whose contents have changed; return the numbers, the plot, and its words."""
        page, plot = self._page, self._page.plot
        numbers, strip = _numbers(page, facts), _strip(page, facts)
        words = plot.words(page, facts) if plot.words is not None and not _is_held_back(page) else ""
        self._numbers.html(numbers)
        figure = self._drawing.show(facts)
        self._words.html(words)
        self._answer.html(strip)
        return numbers, figure, words


class Drawing:
    """The place of the plot or of the animation."""

    def __init__(self, page: Page, look: Look, height: int | Literal["stretch"]) -> None:
        """`height`: in pixels, or what is left of the place around it."""
        self._page, self._look = page, look
        place = st.container(key="drawing", height=height, border=False)
        if look.pane:
            place = place.container(key="longer")
        self._chart = Chart(place, "plot")
        if isinstance(page.plot, Scene):
            with place:
                page.plot.show(page)

    def show(self, facts: Facts) -> Figure | None:
        """Draw the plot instead of the one before, and return it; None: an animation is in its place."""
        page, plot = self._page, self._page.plot
        if isinstance(plot, Scene):
            return None
        figure = covered(self._look) if _is_held_back(page) else plot.figure(page, facts, self._look)
        height: Literal["content", "stretch"] = "content" if self._look.pane else "stretch"
        alt, origin = f"{plot.title}: {page.ladder.title}", " · ".join(facts.sources.values())
        self._chart.draw(figure, alt=alt, origin=origin, height=height)
        return figure


def _is_held_back(page: Page) -> bool:
    return page.covered and isinstance(page.plot, Picture) and page.plot.covers


def menu(page: Page, slide: bool = False) -> None:
    """The menu of the plots, and the widgets of the one that is shown; on a `slide`, parts of its bar.

    The plot that is shown need not be the one that was asked for: a rung that lacks it shows another one, and the next
    rung shows it again.
    """
    titles = {name: plot.title for name, plot in page.plots.items()}
    st.session_state["plot"] = page.plot.name
    if slide:
        st.selectbox("Plot", list(titles), list(titles).index(page.plot.name), key="plot", on_change=_ask,
                     format_func=titles.get)  # fmt: skip
        _controls(page)
        return
    with st.container(horizontal=True, key="plotchoice", vertical_alignment="center"):
        st.segmented_control("Plot", list(titles), default=page.plot.name, key="plot", on_change=_ask,
                             format_func=titles.get, required=True, label_visibility="collapsed")  # fmt: skip
        _controls(page)


def _controls(page: Page) -> None:
    if page.plot.controls is not None:
        page.plot.controls(page)


def _ask() -> None:
    if not keyboard.has_spoken():
        st.session_state["show"] = st.session_state["plot"]


def _numbers(page: Page, facts: Facts) -> str:
    """Return the big numbers of the rung with units, the lecture's below them, the outcome of the run, and the
    counters."""
    row, fact = facts.rows[page.position], facts.known[page.position]
    if page.covered and isinstance(page.plot, Scene):
        return ""
    counted = _counters(row) if shows_counters(page) else ""
    if page.covered:
        return _tiles(page, row) + _outcome("", [COVERED], []) + counted
    live, failed = fact.live, fact.failed
    ran = answer.when_ran(str(live.environment.get("utc") or ""), st.context.timezone) if live else ""
    if ran and (why := work.answer(WORK, page.run)):
        ran = _ANSWERED[why].format(ran)
    if failed is None:
        before = facts.known[page.position - 1].timed if page.position else None
        broken = unkept(page.rung, before, fact.timed, page.topic.metric) if page.position else ""
        said = [" · ".join(filter(None, (_sentence(page, fact, ran), mark_terms(escape(broken)))))]
        more = []
    else:
        lesson = " That is the lesson of this rung." if page.kernel.expect != "ok" and failed.status in _LESSONS else ""
        why = code_in(failed.reason or "The run ended without an answer.") + _remark(page, failed, ".") + lesson
        # CSS may cut the end of a long text.
        said = [f"<b>{escape(STATUS_WORDS[failed.status])}</b> {_on(failed)}: " + " · ".join(filter(None, (why, ran)))]
        more = [("The whole log", failed.log)] if failed.log else []
    if live is not None and live.printed:
        more.append((f"What the kernel printed: {len(live.printed)} lines", "\n".join(live.printed)))
    if row["caveats"]:
        more.append(("Where a GPU's counts differ", row["caveats"]))
    if fact.beside is not None:
        said.append(_recorded(page, fact.beside))
    here = here_html({**row, "launch": page.launch})
    return _tiles(page, row) + _outcome("" if fact.beside is failed is None else "bad", said, more) + counted + here


def has_strip(page: Page) -> bool:
    """Return whether the first elements of the answer fit below the plot; on a slide, many bars need their room."""
    return page.answer_count > 0 and not (page.presenting and bars_of(page) > MANY)


def bars_of(page: Page) -> int:
    """Return the number of bars: one or two for each rung."""
    return len(page.ladder.rungs) * (1 + (isinstance(page.plot, Bars) and page.plot.paired(page)))


def shows_counters(page: Page) -> bool:
    """Return whether the counters are shown below the times; an animation needs their room, and on a slide every plot
    but bars."""
    return page.counting and (isinstance(page.plot, Bars) if page.presenting else not isinstance(page.plot, Scene))


def _strip(page: Page, facts: Facts) -> str:
    """Return the first elements of the answer, or empty cells before there is an answer."""
    if not has_strip(page):
        return ""
    shown = answer.SHOWN_IN_HALL if page.presenting else answer.SHOWN
    live = facts.known[page.position].live
    return answer.strip_html(live, shown) or answer.blank_html(page.kernel, page.answer_count, shown)


TERA = 10_000  # GFLOP/s; a tile shows more in TFLOP/s
TWO_LINES = 130  # characters; a longer text is cut, and unfolds

_LESSONS = ("wrong", "hazard", "deadlock")  # deliberate failures of rungs; see Kernel.expect

# Ours, the lecture's.
_TILES = (("time_us", "lecture_time_us"), ("rate", "lecture_bandwidth_gb_s"), ("step", "lecture_step"),
          ("cumulative", "lecture_cumulative"), ("percent_of_peak", None))  # fmt: skip


def _outcome(kind: str, said: Sequence[str], more: Sequence[tuple[str, str]]) -> str:
    """Return the outcome in two lines, or two outcomes in a line each; a click shows the rest and `more`."""
    parts = [f'<div class="said{" line" if len(said) > 1 else ""}">{each}' for each in said]
    telling = "".join(f"{part}</div>" for part in parts)
    if more or any(len(re.sub("<[^>]+>", "", each)) > TWO_LINES / len(said) for each in said):
        rest = "".join(f"<h3>{escape(name)}</h3><pre tabindex='0'>{escape(text)}</pre>" for name, text in more)
        # leaves room for the word in the corner
        telling = "".join(f"{part}</div>" for part in (*parts[:-1], f'{parts[-1]}<i class="more"></i>'))
        telling = f"<details><summary>{telling}</summary>{rest}</details>"
    return f'<div class="outcome {kind}">{telling}</div>'


def _tiles(page: Page, row: Mapping[str, Any]) -> str:
    made = []
    for ours, paper in _TILES:
        key = page.topic.metric if ours == "rate" else ours
        column = COLUMNS[key]
        large = key == "gflop_s" and (row[key] or 0) >= TERA
        value = "?" if HELD in row else text_of(key, row[key] / 1000 if large else row[key])
        unit = f" <small>{'TFLOP/s' if large else column.unit}</small>" if value and ours == "rate" else ""
        theirs = text_of(paper, row[paper]) if paper and not (ours == "rate" and key != "bandwidth_gb_s") else ""
        theirs_unit = " GB/s" if ours == "rate" else ""
        below = f'<span class="paper" title="{escape(str(row["lecture_origin"]))}">{theirs}{theirs_unit}</span>'
        title = column.title.removesuffix(" speedup") if key == "cumulative" else column.title
        made.append(tile(title, value, unit=unit, below=below if theirs else "", dim=value in ("", "?")))
    return tiles(made)


def _sentence(page: Page, fact: Known, ran: str) -> str:
    """Return the outcome and the origin of the time; on a slide without bounds, and without the moment of the run."""
    live, choice, run = fact.live, page.choice, page.run
    words, answer = [], ""
    if live is not None and live.check is not None:
        found = live.check
        exact, ran = found.error_bound == 0, "" if page.presenting else ran
        bound = "" if exact or page.presenting else f", error {found.error:.2g}, allowed {found.error_bound:.2g}"
        equals = f"{number_text(found.result)} {'=' if exact else '≈'} {number_text(found.expected)}"
        answer = f"{equals}{bound}{_remark(page, live)}"
        correct = "<b class='ok'>✓ Correct</b>"
        # If the run has another N than the time, the answer is only a remark at the end.
        words.append(f"{correct} and counted at N = {size_text(run.n)}" if run.n != choice.n else f"{correct} {answer}")
    if fact.timed is not None:
        words.append(_time_of(page, fact.timed))
        if page.kernel.processor == "gpu" and page.published is not None:
            words.append(
                f'<span class="paper">lecture: {escape(page.published.gpu or "a GPU that it does not name")}</span>'
            )
        if live is None and not page.kernel.runs_on(run.device):
            words.append("This kernel runs only on a GPU")
        elif live is None and run.n != choice.n:
            words.append(f"Run checks and counts at N = {size_text(run.n)}")
    elif fact.recorded is not None:
        if fact.beside is None:
            words.append(_recorded(page, fact.recorded))
    else:
        words.append(f"{'' if live else 'Not run yet. '}{' '.join(not_recorded(choice))}")
    if live is not None and live.badges:
        words.append(code_in(", ".join(live.badges)))
    if ran:
        words.insert(1, ran)
    if answer and run.n != choice.n and not page.presenting:
        words.append(answer)
    return " · ".join(words)


def _on(measurement: Measurement) -> str:
    """Return the device of an outcome: "on the emulator", "on NVIDIA H200"."""
    device = device_name(measurement)
    return escape(f"on {'the ' if device == 'emulator' else ''}{device}")


def _recorded(page: Page, recorded: Measurement) -> str:
    """Return the outcome of the recorded run, and last its day, which CSS may cut: its time, or how it failed."""
    good = recorded.status == "ok"
    words = escape(sentence_case(STATUS_WORDS[recorded.status]))
    verdict = f"<b class='ok'>✓ {words}</b>" if good else f"<b>{words}</b>"
    said = text_of("time_us", recorded.time_us) if good else code_in(recorded.reason or "")
    return f"{verdict} {_on(recorded)}{_at(page)}: {said} · recorded <time>{date_of(recorded)}</time>"


def _at(page: Page) -> str:
    """Return the N of the times, if the run here has another one."""
    return f" at N = {size_text(page.choice.n)}" if page.run.n != page.choice.n else ""


def _time_of(page: Page, timed: Measurement) -> str:
    """Return the origin of the time, with the clock if it is the host's."""
    by_host = timed.timing is not None and timed.timing.clock == "host" and not timed.cpu
    clock = ", by the host's clock up to the answer on the host" if by_host else ""
    return f"Time: {whole_dates(escape(device_line(timed)))}{_at(page)}{clock}"


def _remark(page: Page, measurement: Measurement, end: str = "") -> str:
    """Return the topic's remark about the answer: as part of a line or, with an `end`, as a sentence."""
    if page.topic.remark is None or measurement.check is None:
        return ""
    words = escape(page.topic.remark(measurement.check.result))
    return f" {sentence_case(words)}{end}" if end else f" · {words}"


def _counters(row: Mapping[str, Any]) -> str:
    """Return the tiles of the counters; their tooltips say why a GPU's counts differ."""
    made = (
        tile(
            tile_title(names),
            "?" if HELD in row else tile_text(row, names),
            tip=row["caveats"] or COLUMNS[names[0]].meaning,
        )
        for names in IN_TILES
    )
    return tiles(made, "counted")

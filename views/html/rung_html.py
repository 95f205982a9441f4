"""The parts of a rung on the screen: text, source, big numbers. HTML, so that type and layout are ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from engine.catalogue import KERNELS, Kernel, Ladder, Rung, Topic
from engine.counters import IN_TABLE
from engine.history.history import Known
from engine.records import Measurement
from engine.tables import COLUMNS
from engine.words import STATUS_WORDS, text_of
from views.html.source import source_html

_LESSONS = ("wrong", "hazard", "deadlock")  # how a rung can fail on purpose; see Kernel.expect
# Ours, the lecture's.
_TILES = (("time_us", "lecture_time_us"), ("rate", "lecture_bandwidth_gb_s"), ("step", "lecture_step"),
          ("cumulative", "lecture_cumulative"), ("percent_of_peak", None))  # fmt: skip


def rung_text(rung: Rung, kernel: Kernel) -> None:
    """The rung's title and lead; what was wrong before it, the idea, what still limits it."""
    header = kernel.header
    lead = f'<p class="lead">{escape(rung.lead)}</p>' if rung.lead and rung.lead != kernel.title else ""
    parts = "".join(
        f"<dt>{label}</dt><dd>{escape(_sentence_case(header[name]))}</dd>"
        for label, name in (("What was wrong", "Fixes"), ("The idea", "Idea"), ("What still limits it", "Limit"))
        if header.get(name)
    )
    st.html(
        f'<section class="rungtext"><h2><span>{escape(rung.label)}</span>{escape(kernel.title)}</h2>{lead}'
        f"<dl>{parts}</dl></section>"
    )


def rung_conditions(rung: Rung, kernel: Kernel, ladder: Ladder) -> None:
    """The small print of a rung: its conditions, lecture and slide."""
    header = kernel.header
    small = [
        ("Requirements", header.get("Conditions", "")),
        ("Lecture", ladder.lecture),
        ("Slide", rung.slide),
        ("Also in", header.get("Lecture", "")),
    ]
    lines = "".join(f"<p><b>{name}</b> {escape(_sentence_case(words))}</p>" for name, words in small if words)
    st.html(f'<div class="smallprint">{lines}</div>')


def _sentence_case(words: str) -> str:
    return words[:1].upper() + words[1:]


def rung_source(ladder: Ladder, position: int, found: tuple[int, ...] = (), fold: bool = False) -> None:
    """The source with the changed lines marked."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    before = KERNELS[ladder.rungs[position - 1].kernel] if position else None
    st.html(
        f'<div class="filename">{escape(kernel.file_name)}</div>'
        + source_html(
            kernel.text, kernel.name, before.text if before else None, before.name if before else None, found, fold
        )
    )


def numbers(row: Mapping[str, Any], fact: Known, topic: Topic, counters: bool) -> None:
    """The big numbers of one rung, each with its unit, its origin, and the lecture's below; then the counters."""
    counted = _counters(row) if counters else ""
    failed = fact.failed
    if fact.live is not None and fact.live.printed:
        with st.expander(f"What the kernel printed: {len(fact.live.printed)} lines"):
            st.code("\n".join(fact.live.printed), language=None)
    if failed is None:
        st.html(_tiles(row, topic) + _sentence(row, fact, topic) + counted)
        return
    expected = KERNELS[row["kernel"]].expect
    lesson = " That is the lesson of this rung." if expected != "ok" and failed.status in _LESSONS else ""
    tiles = _tiles(row, topic) if fact.timed is not None else ""
    time_of = f" · Time: {escape(str(row['origin']))}" if fact.timed is not None else ""
    said = escape(failed.reason or "The run ended without an answer.") + _remark(failed, topic, ".") + lesson + time_of
    st.html(f'{tiles}<div class="outcome bad"><b>{escape(STATUS_WORDS[failed.status])}</b> {said}</div>{counted}')
    if failed.log:
        with st.expander("The whole log", expanded=failed.status == "compile-error"):
            st.code(failed.log, language=None)


def _tiles(row: Mapping[str, Any], topic: Topic) -> str:
    tiles = []
    for ours, paper in _TILES:
        key = topic.metric if ours == "rate" else ours
        column = COLUMNS[key]
        value = text_of(key, row[key])
        unit = f" <small>{column.unit}</small>" if value and ours == "rate" else ""
        theirs = text_of(paper, row[paper]) if paper and not (ours == "rate" and key != "bandwidth_gb_s") else ""
        theirs_unit = " GB/s" if ours == "rate" else ""
        below = f'<span class="paper" title="{escape(str(row["lecture_origin"]))}">{theirs}{theirs_unit}</span>'
        title = column.title.removesuffix(" speedup") if key == "cumulative" else column.title
        tiles.append(
            f'<div class="tile {"none" if not value else ""}"><label>{escape(title)}</label>'
            f"<strong>{escape(value) or '–'}{unit}</strong>{below if theirs else ''}</div>"
        )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def _sentence(row: Mapping[str, Any], fact: Known, topic: Topic) -> str:
    live = fact.live
    words = []
    if live is not None and live.check is not None:
        found = live.check
        exact = found.error_bound == 0
        bound = "" if exact else f", error {found.error:.2g}, allowed {found.error_bound:.2g}"
        words.append(
            f"<b class='ok'>✓ Correct</b> {found.result:,.9g} {'=' if exact else '≈'} {found.expected:,.9g}{bound}"
            f"{_remark(live, topic)}"
        )
    if row["origin"]:
        words.append(f"Time: {escape(str(row['origin']))}")
    elif live is None:
        words.append("Not run yet with these choices.")
    else:
        words.append("No run was recorded for these choices, and an emulator has no times.")
    if live is not None and live.badges:
        words.append(escape(", ".join(live.badges)))
    return f'<div class="outcome">{" · ".join(words)}</div>'


def _remark(measurement: Measurement, topic: Topic, end: str = "") -> str:
    """What the topic adds about the answer: as one more part of a line, or with an `end` as a sentence."""
    if topic.remark is None or measurement.check is None:
        return ""
    words = escape(topic.remark(measurement.check.result))
    return f" {_sentence_case(words)}{end}" if end else f" · {words}"


def _counters(row: Mapping[str, Any]) -> str:
    tiles = "".join(
        f'<div class="tile" title="{escape(COLUMNS[key].meaning)}"><label>{escape(COLUMNS[key].title)}</label>'
        f"<strong>{escape(text_of(key, row[key])) or '–'}</strong></div>"
        for key in IN_TABLE
    )
    return f'<div class="tiles counted">{tiles}</div>'


def under_table(lectures: Sequence[str], environment: Sequence[str], data_note: str) -> str:
    """The small print below the table: whose figures, on what, with which data."""
    lines = []
    if lectures:
        lines.append(f'<span class="paper"></span>published by the lecture for {escape("; ".join(lectures))}')
    lines += [escape(line) for line in environment]
    lines.append(escape(f"Data: {data_note}"))
    return f'<div class="smallprint">{"".join(f"<p>{line}</p>" for line in lines)}</div>'


def presenting_title(ladder: Ladder, position: int) -> None:
    """The top line in the hall."""
    rung = ladder.rungs[position]
    st.html(
        f'<header class="presenting"><h1><span>{escape(rung.label)}</span>{escape(KERNELS[rung.kernel].title)}</h1>'
        f"<p>{escape(ladder.title)} · {position + 1} of {len(ladder.rungs)}</p></header>"
    )


def presenting_text(kernel: Kernel) -> None:
    """The bottom lines in the hall: what this rung fixes, and what still limits it."""
    parts = "".join(
        f"<dt>{label}</dt><dd>{escape(_sentence_case(kernel.header[name]))}</dd>"
        for label, name in (("Fixes", "Fixes"), ("Still limits", "Limit"))
        if kernel.header.get(name)
    )
    st.html(f'<dl class="hall">{parts}</dl>')

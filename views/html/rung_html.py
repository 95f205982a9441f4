"""The parts of a rung on the screen: text, source, big numbers. HTML, so that type and layout are ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from engine.catalogue import KERNELS, Kernel, Ladder, Rung, Topic, topic_of
from engine.columns import COLUMNS
from engine.counters import IN_TABLE
from engine.history.history import Known, device_line, not_recorded
from engine.records import Measurement, Settled
from engine.tables import counted_text
from engine.words import STATUS_WORDS, size_text, text_of
from views.html.code import code_in
from views.html.difference import header_length
from views.html.folds import rows_of
from views.html.source import source_html

ONE_LINE = 40  # characters of a slide's title in large type
LONG_IDEA = 270  # characters: what is longer needs a third line
SHORT = 13  # rows of a source that leaves room for larger words
TWO_LINES = 130  # characters: what is longer is cut off, and unfolds
_LESSONS = ("wrong", "hazard", "deadlock")  # how a rung can fail on purpose; see Kernel.expect
# Ours, the lecture's.
_TILES = (("time_us", "lecture_time_us"), ("rate", "lecture_bandwidth_gb_s"), ("step", "lecture_step"),
          ("cumulative", "lecture_cumulative"), ("percent_of_peak", None))  # fmt: skip


def rung_text(rung: Rung, kernel: Kernel) -> str:
    """The rung's title and lead; what was wrong before it, the idea, what still limits it."""
    lead = f'<p class="lead">{escape(rung.lead)}</p>' if rung.lead and rung.lead != kernel.title else ""
    told = _told(kernel, (("What was wrong", "Fixes"), ("The idea", "Idea"), ("What still limits it", "Limit")))
    return (
        f'<section class="rungtext"><h2><span>{escape(rung.label)}</span>{escape(kernel.title)}</h2>{lead}'
        f"<dl>{told}</dl></section>"
    )


def rung_conditions(rung: Rung, kernel: Kernel, ladder: Ladder) -> str:
    """The small print of a rung: its conditions, lecture and slide."""
    header = kernel.header
    small = [
        ("Requirements", header.get("Conditions", "")),
        ("Ladder", ladder.summary),
        ("Lecture", ladder.lecture),
        ("Slide", rung.slide),
        ("In the lectures", header.get("Lecture", "")),
    ]
    lines = "".join(f"<p><b>{name}</b> {escape(_sentence_case(words))}</p>" for name, words in small if words)
    return f'<div class="smallprint">{lines}</div>'


def _told(kernel: Kernel, parts: Sequence[tuple[str, str]]) -> str:
    """The parts of the kernel's header comment, as terms of a list: what each is called, its name in the header."""
    return "".join(
        f"<dt>{label}</dt><dd>{escape(_sentence_case(kernel.header[name]))}</dd>"
        for label, name in parts
        if kernel.header.get(name)
    )


def _sentence_case(words: str) -> str:
    return words[:1].upper() + words[1:]


def rung_source(ladder: Ladder, position: int, fold: bool = False) -> str:
    """The source, what changed in it marked; `fold`: for a slide."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    before = KERNELS[ladder.rungs[position - 1].kernel] if position else None
    return f'<div class="filename">{escape(kernel.file_name)}</div>' + source_html(
        kernel.text, kernel.name, before.text if before else None, before.name if before else None, fold=fold
    )


def numbers(row: Mapping[str, Any], fact: Known, choice: Settled, run: Settled, ran: str = "", unkept: str = "") -> str:
    """The big numbers of one rung, each with its unit, its origin, and the lecture's below; then the counters.

    The times are of `choice`; Run runs `run`. `ran`: when the run on the page was, if it was now. `unkept`: what the
    rung's words promise and its time does not keep.
    """
    failed, live, topic = fact.failed, fact.live, topic_of(choice.kernel)
    if failed is None:
        tiles, log = _tiles(row, topic), ()
        said = " · ".join(filter(None, (_sentence(fact, choice, run, ran), escape(unkept))))
    else:
        expected = KERNELS[row["kernel"]].expect
        lesson = " That is the lesson of this rung." if expected != "ok" and failed.status in _LESSONS else ""
        tiles = _tiles(row, topic)
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
    return tiles + _outcome(bad, said, log) + (_counters(row) if run.device == "emulator" else "")


def _outcome(kind: str, said: str, more: Sequence[tuple[str, str]]) -> str:
    """What came of it, in two lines; the rest, and what there is `more`, on demand."""
    telling = f'<div class="said">{said}</div>'
    if more or len(re.sub("<[^>]+>", "", said)) > TWO_LINES:
        rest = "".join(f"<h3>{escape(name)}</h3><pre tabindex='0'>{escape(text)}</pre>" for name, text in more)
        telling = f"<details><summary>{telling}</summary>{rest}</details>"
    return f'<div class="outcome {kind}">{telling}</div>'


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


def _sentence(fact: Known, choice: Settled, run: Settled, ran: str) -> str:
    live, topic = fact.live, topic_of(choice.kernel)
    words, answer = [], ""
    if live is not None and live.check is not None:
        found = live.check
        exact = found.error_bound == 0
        bound = "" if exact else f", error {found.error:.2g}, allowed {found.error_bound:.2g}"
        answer = f"{found.result:,.9g} {'=' if exact else '≈'} {found.expected:,.9g}{bound}{_remark(live, topic)}"
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
        words.append(code_in(_sentence_case(told)))
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


def whole_dates(words: str) -> str:
    """The words with dates that no line breaks."""
    return re.sub(r"\d{4}-\d\d-\d\d", r"<time>\g<0></time>", words)


def _remark(measurement: Measurement, topic: Topic, end: str = "") -> str:
    """What the topic adds about the answer: as one more part of a line, or with an `end` as a sentence."""
    if topic.remark is None or measurement.check is None:
        return ""
    words = escape(topic.remark(measurement.check.result))
    return f" {_sentence_case(words)}{end}" if end else f" · {words}"


def _counters(row: Mapping[str, Any]) -> str:
    """Tiles of what was counted; the reason why a GPU counts otherwise is told where one points."""
    tiles = "".join(
        f'<div class="tile" title="{escape(row["caveats"] or COLUMNS[key].meaning)}">'
        f"<label>{escape(COLUMNS[key].title)}</label><strong>{escape(counted_text(row, key)) or '–'}</strong></div>"
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


def presenting_title(ladder: Ladder, position: int) -> str:
    """The top lines in the hall: the rung, and its idea."""
    rung = ladder.rungs[position]
    kernel = KERNELS[rung.kernel]
    idea = kernel.header.get("Idea", "")
    long = ' class="long"' if len(rung.label) + len(kernel.title) > ONE_LINE else ""
    return (
        f'<header class="presenting" data-rung="{position}"><h1{long}><span>{escape(rung.label)}</span>'
        f"{escape(kernel.title)}</h1>"
        f"<p><span>{escape(ladder.title)}</span>&nbsp;· {position + 1} of {len(ladder.rungs)}"
        '<button class="leave" type="button" aria-label="Stop presenting" title="Stop presenting (Esc)">✕</button>'
        "</p></header>"
        f'<p class="idea{" long" if len(idea) > LONG_IDEA else ""}">{escape(_sentence_case(idea))}</p>'
    )


def presenting_source(ladder: Ladder, position: int, n: int, launched: str) -> str:
    """The source in the hall; below it what this rung fixes, what still limits it, and how large what is timed is:
    its N, and how the GPU is asked for it."""
    kernel = KERNELS[ladder.rungs[position].kernel]
    told = _told(kernel, (("Fixes", "Fixes"), ("Still limits", "Limit")))
    told += f"<dt>Size</dt><dd>N = {n:,}{': ' if launched else ''}{escape(launched)}</dd>"
    lines = kernel.text.splitlines()
    short = " short" if rows_of(lines[header_length(lines) :]) <= SHORT else ""
    return f'<div class="slide{short}">{rung_source(ladder, position, fold=True)}<dl class="hall">{told}</dl></div>'

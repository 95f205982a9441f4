"""The parts of a rung on the screen: text, source, big numbers. HTML, so that type and layout are ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from engine.catalogue import KERNELS, Kernel, Ladder, Rung, Topic, topic_of
from engine.history.history import Known, device_line, not_recorded
from engine.history.tables import COLUMNS, counted_text
from engine.records import Measurement, Settled
from engine.records.counters import IN_TABLE
from engine.records.words import STATUS_WORDS, number_text, size_text, text_of
from views.html.code import code_in
from views.html.difference import Difference, difference
from views.html.folds import Room
from views.html.source import source_html
from views.html.tiles import tile, tiles

TWO_LINES = 130  # characters: what is longer is cut off, and unfolds
_LESSONS = ("wrong", "hazard", "deadlock")  # how a rung can fail on purpose; see Kernel.expect
# Ours, the lecture's.
_TILES = (("time_us", "lecture_time_us"), ("rate", "lecture_bandwidth_gb_s"), ("step", "lecture_step"),
          ("cumulative", "lecture_cumulative"), ("percent_of_peak", None))  # fmt: skip


def rung_text(rung: Rung, kernel: Kernel) -> str:
    """The rung's title and lead; what was wrong before it, the idea, what still limits it."""
    lead = f'<p class="lead">{escape(rung.lead)}</p>' if rung.lead and rung.lead != kernel.title else ""
    told = terms(kernel, (("What was wrong", "Fixes"), ("The idea", "Idea"), ("What still limits it", "Limit")))
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
    lines = "".join(f"<p><b>{name}</b> {escape(sentence_case(words))}</p>" for name, words in small if words)
    return f'<div class="smallprint">{lines}</div>'


def terms(kernel: Kernel, parts: Sequence[tuple[str, str]]) -> str:
    """Parts of the kernel's header comment as HTML of a list: what each is called, its name in the header."""
    return "".join(
        f"<dt>{label}</dt><dd>{escape(sentence_case(kernel.header[name]))}</dd>"
        for label, name in parts
        if kernel.header.get(name)
    )


def sentence_case(words: str) -> str:
    """With a capital letter."""
    return words[:1].upper() + words[1:]


def rung_source(ladder: Ladder, position: int, room: Room | None = None) -> str:
    """The source, what changed in it marked; `room`: on a slide."""
    kernel, before = KERNELS[ladder.rungs[position].kernel], _before(ladder, position)
    return f'<div class="filename">{escape(kernel.file_name)}</div>' + source_html(
        kernel.text, kernel.name, before.text if before else None, before.name if before else None, room=room
    )


def since_before(ladder: Ladder, position: int) -> Difference:
    """What changed since the rung before; nothing on the first one."""
    kernel, before = KERNELS[ladder.rungs[position].kernel], _before(ladder, position)
    return difference(kernel.text, kernel.name, before.text, before.name) if before else Difference()


def _before(ladder: Ladder, position: int) -> Kernel | None:
    return KERNELS[ladder.rungs[position - 1].kernel] if position else None


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


def whole_dates(words: str) -> str:
    """The words with dates that no line breaks."""
    return re.sub(r"\d{4}-\d\d-\d\d", r"<time>\g<0></time>", words)


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


def under_table(lectures: Sequence[str], environment: Sequence[str], data_note: str) -> str:
    """The small print below the table: whose figures, on what, with which data."""
    lines = []
    if lectures:
        lines.append(f'<span class="paper"></span>published by the lecture for {escape("; ".join(lectures))}')
    lines += [escape(line) for line in environment]
    lines.append(escape(f"Data: {data_note}"))
    return f'<div class="smallprint">{"".join(f"<p>{line}</p>" for line in lines)}</div>'

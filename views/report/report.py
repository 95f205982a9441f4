"""A report as one HTML file that asks for nothing when it is opened: of a ladder, or of a lecture as it was given.

    python -m views.report.report LADDER -o FILE.html        a ladder as it opens, with its recorded runs
    python -m views.report.report --lecture -o FILE.html     the last lecture: its slides in order, votes and questions

Printed, it is a handout.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from engine.catalogue import KERNELS, LADDERS, Ladder
from engine.figures.look import Look
from engine.history.history import environment_line
from engine.history.tables import COLUMNS, tile_text, tile_title
from engine.records import NotRunnable
from engine.records.counters import IN_TILES
from engine.records.words import STATUS_WORDS, size_text, text_of
from engine.store import asked as questions
from engine.store import presentation as store
from engine.store import votes
from engine.store.votes import Asked
from views.html import source
from views.html.table import cell, code_in, heading, ladder_html, table, tile, tiles
from views.ladder.panels.bars import BARS, TIMES
from views.ladder.resolve import USUAL, page_of
from views.ladder.view import Bars, Facts, Page, facts_of
from views.room import plot
from views.shared import rungs

HERE = Path(__file__).parent
STYLES = (HERE.parent / "html" / "style.css", HERE.parent / "room" / "room.css", HERE / "report.css")
SECTIONS = ("claims", "paper")  # of a ladder's page: they need no choice by a reader
TIMES_SHOWN = ("time_us", "step", "cumulative", "percent_of_peak")


@dataclass(frozen=True)
class Shown:
    """A rung of a lecture. `utc`: when it was first shown; `choices`: of the page's address, when it was last shown."""

    utc: str
    choices: Mapping[str, str]


def page_for(ladder: Ladder, chosen: Mapping[str, str]) -> Page:
    """Return a ladder's page with these choices of an address; the ladder's own for those that are missing.
    NotRunnable."""
    usual = rungs.own_choices(ladder) | USUAL
    words = usual | {name: chosen[name] for name in usual if chosen.get(name)}
    order = chosen.get("schedule") or "lockstep"
    return page_of(ladder.name, 0, tuple(words.items()), order, False, len(ladder.rungs), "", ())


def ladder_report(page: Page) -> str:
    """Return the report of a ladder with the choices of its page."""
    return _document(page.ladder.title, _about(page) + _ladder(page, range(len(page.ladder.rungs)), ()))


def lecture_report(lecture: str) -> str:
    """Return the report of a lecture as it was given. LookupError: nothing is known of it."""
    given = shown_in(lecture)
    if not given:
        raise LookupError("No lecture was given here yet.")
    asked, wondered = votes.all_asked(lecture), questions.all_of(lecture)
    began = datetime.fromisoformat(given[0].utc)
    body = [f"<p>Given on {began:%d %B %Y}, from {began:%H:%M} UTC.</p>", _timeline(given)]
    for name in dict.fromkeys(one.choices["ladder"] for one in given):
        ladder = LADDERS[name]
        own = [one for one in given if one.choices["ladder"] == name]
        page = page_for(ladder, own[-1].choices)
        names = rungs.names(ladder)
        places = list(dict.fromkeys(names.index(one.choices["rung"]) for one in own))
        body.append(f"<h2>{escape(ladder.title)}</h2>{_about(page)}{_ladder(page, places, asked)}")
    if wondered:
        items = "".join(f"<li>{escape(f'{one.slide}: {one.text}')}</li>" for one in wondered)
        body.append(f"<h2>What the hall asked</h2><ul>{items}</ul>")
    return _document("The lecture as it was given", "".join(body))


def shown_in(lecture: str) -> list[Shown]:
    """Return the rungs of a lecture in the order in which they were first shown."""
    found: dict[tuple[str, str], Shown] = {}
    for utc, address in store.steps(lecture):
        choices = dict(parse_qsl(address))
        ladder = LADDERS.get(choices.get("ladder", ""))
        if ladder is not None and choices.get("rung") in rungs.names(ladder):
            key = choices["ladder"], choices["rung"]
            found[key] = Shown(found[key].utc if key in found else utc, choices)
    return list(found.values())


def _timeline(given: Sequence[Shown]) -> str:
    cells = []
    for one in given:
        ladder = LADDERS[one.choices["ladder"]]
        rung = ladder.rungs[rungs.names(ladder).index(one.choices["rung"])]
        cells.append([cell(f"{datetime.fromisoformat(one.utc):%H:%M}", "text"), cell(escape(rung.label), "text"),
                      cell(escape(KERNELS[rung.kernel].title), "text")])  # fmt: skip
    return table([heading(words, "text") for words in ("UTC", "Rung", "What it does")], cells)


def _about(page: Page) -> str:
    """Return the lecture, the sizes and the devices of a ladder's numbers."""
    facts = facts_of(page)
    timed = next((fact.timed for fact in facts.known if fact.timed), None)
    lines = [f"Lecture: {page.ladder.lecture}" if page.ladder.lecture else "", page.ladder.summary,
             f"N = {size_text(page.choice.n)}, {page.topic.block_noun} {page.choice.block_size}, {page.choice.dtype}",
             *facts.sources.values(), environment_line(timed) if timed else ""]  # fmt: skip
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


def _ladder(page: Page, places: Sequence[int], asked: Sequence[Asked]) -> str:
    facts = facts_of(page)
    bars = next((each for each in BARS if each.name == page.plot.name and isinstance(each, Bars)), TIMES)
    counted = any(fact.counted for fact in facts.known)
    sections = "".join(
        f"<h3>{escape(page.sections[name].title)}</h3>{page.sections[name].html(page, facts.known)}"
        for name in SECTIONS
        if name in page.sections
    )
    return (
        f'<div class="scroll">{ladder_html(facts.rows, page.topic.metric, -1, counted, facts.sources)}</div>'
        f'<section class="plot">{plot.drawing(bars.figure(page, facts, Look()), -1)}</section>'
        f"{''.join(_rung(page, facts, place, asked) for place in places)}{sections}{_again(page)}"
    )


def _rung(page: Page, facts: Facts, position: int, asked: Sequence[Asked]) -> str:
    name = rungs.names(page.ladder)[position]
    told = "".join(_votes(one) for one in asked if one.rounds and one.is_of(page.ladder.name, name))
    return (
        f'<article class="rung">{source.rung_text(page.ladder, position)}{_numbers(page, facts.rows[position])}{told}'
        f"{source.rung_source(page.ladder, position)}</article>"
    )


def _numbers(page: Page, row: Mapping[str, Any]) -> str:
    keys = [TIMES_SHOWN[0], page.topic.metric, *TIMES_SHOWN[1:]]
    made = [tile(COLUMNS[key].title, text_of(key, row[key]), unit=_unit(key, row[key])) for key in keys]
    counted = [tile(tile_title(names), tile_text(row, names)) for names in IN_TILES]
    said = [str(row["origin"] or ""), "" if row["status"] in (None, "ok") else STATUS_WORDS[row["status"]],
            str(row["reason"] or "")]  # fmt: skip
    words = " · ".join(code_in(part) for part in said if part)
    return tiles(made) + (tiles(counted, "counted") if any(tile_text(row, names) for names in IN_TILES) else "") + (
        f"<p>{words}</p>" if words else "")  # fmt: skip


def _unit(key: str, value: float | None) -> str:
    return f" <small>{COLUMNS[key].unit}</small>" if value is not None and key in ("bandwidth_gb_s", "gflop_s") else ""


def _votes(one: Asked) -> str:
    """Return a question with the votes of each round, the right answer marked."""
    heads = [heading(words, "text" if not i else "") for i, words in enumerate(
        [one.record["text"], *(f"Round {number}" for number in range(1, len(one.rounds) + 1))])]  # fmt: skip
    cells = [
        [cell(f"{escape(answer)}{' ✓' if place == one.record['right'] else ''}", "text"),
         *(cell(f"{round.counts[place]} of {sum(round.counts)}") for round in one.rounds)]
        for place, answer in enumerate(one.record["choices"])
    ]  # fmt: skip
    return f'<section class="votes">{table(heads, cells)}<p>{escape(one.record["because"])}</p></section>'


def _again(page: Page) -> str:
    """Return the command that measures the ladder's first kernel again."""
    choice = page.choice
    command = (f"python -m engine run {choice.kernel} --n {choice.n} --block-size {choice.block_size} "
               f"--dtype {choice.dtype} --cache {choice.cache}")  # fmt: skip
    return f"<p>Measure one of them again: <code>{escape(command)}</code></p>"


def _document(title: str, body: str) -> str:
    styles = "".join(f"<style>{file.read_text()}</style>" for file in STYLES)
    made = datetime.now(UTC)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{styles}</head>'
        f'<body class="stApp room report"><main><h1>{escape(title)}</h1>{body}'
        f"<footer>Kernel Ladder, {made:%d %B %Y %H:%M} UTC</footer></main></body></html>\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a report to a file."""
    parser = argparse.ArgumentParser(prog="python -m views.report.report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("ladder", nargs="?", choices=list(LADDERS), metavar="LADDER")
    parser.add_argument("--lecture", action="store_true", help="the last lecture that was given here")
    parser.add_argument("--n", default="", help="instead of the ladder's own")
    parser.add_argument("--record", default="", help="the GPU of the recorded runs, such as nvidia-h200")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    if options.lecture == bool(options.ladder):
        parser.error("name a ladder, or ask for --lecture")
    try:
        if options.lecture:
            text = lecture_report(str((store.load("now") or {}).get("lecture", "")))
        else:
            text = ladder_report(page_for(LADDERS[options.ladder], {"n": options.n, "record": options.record}))
    except (LookupError, NotRunnable) as refusal:
        print(refusal, file=sys.stderr)
        return 2
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: {len(text.encode()) / 2**20:.2f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

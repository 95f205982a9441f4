"""Crovella's steps, work and cost beside the measured times, and a test of his claim about elements per thread."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.catalogue import reduction
from engine.figures.complexity import sweep_figure, tree_figure
from engine.figures.look import Figure, Look
from engine.history.history import Known, device_line
from engine.lectures.arithmetic import complexity, elements
from engine.records import NotRunnable
from engine.records.words import time_text
from views.html.table import cell, heading, table
from views.ladder.view import WORK, Facts, Page, Picture, Section
from views.shared import work

CAN_BE_SWEPT = "This rung with 1, 2, 4, … elements per thread; the grid follows from them."
CANNOT = "The grid of this rung follows from N, so its elements per thread cannot be chosen."
FORMULA = "P threads: T = N/P + log₂ P steps, work N − 1, cost P·T."
QUOTE = "On G80, best perf with 64-256 blocks of 128 threads, 1024-4096 elements per thread."


def offered(page: Page) -> bool:
    """Return whether the page shows a reduction."""
    return page.topic.name == reduction.TOPIC.name


def swept(page: Page) -> tuple[elements.Division, ...]:
    """Return the rung with every number of elements per thread, and the known times; empty if its grid is fixed."""
    made = elements.sweep_choices(page.choice)
    return elements.divisions(made, [work.outcome(choice) for _, choice in made])


def run_sweep(page: Page) -> None:
    """Run the rung with every number of elements per thread. For the button."""
    made = elements.sweep_choices(page.choice)
    work.start(WORK, [choice for _, choice in made], [f"{e:,} elements per thread" for e, _ in made])


def controls(page: Page) -> None:
    """Show the button, enabled if the rung can be swept."""
    sweep = elements.sweep_choices(page.choice)
    st.button("Run the sweep", key="sweep elements", on_click=run_sweep, args=(page,), disabled=not sweep,
              icon=":material/query_stats:", help=CAN_BE_SWEPT if sweep else CANNOT)  # fmt: skip


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the figure over the elements per thread, or step by step if the grid is fixed."""
    points = swept(page)
    fact = facts.known[page.position]
    try:
        made = complexity.levels(page.choice)
    except NotRunnable:
        made = ()
    if points and made:
        return sweep_figure(points, _automatic(page, fact, made[0]), look, elements.recorded_blocks(page.choice))
    if not made:
        return {"data": [{"type": "bar", "x": [], "y": []}], "layout": {"height": look.height or 300}}
    timed = fact.timed
    said = f"{time_text(timed.time_us)}: {device_line(timed)}" if timed and timed.time_us else ""
    return tree_figure(made, page.choice.n, said, look)


def _automatic(page: Page, fact: Known, first: complexity.Level) -> elements.Division | None:
    """Return the run on the page, if the kernel chose its grid itself."""
    if page.choice.grid_size is not None or fact.timed is None:
        return None
    n, threads = page.choice.n, first.threads
    return elements.Division(max(1, n // threads), page.choice, threads, complexity.brent_steps(n, threads),
                            complexity.brent_cost(n, threads), fact.timed.time_us, device_line(fact.timed))  # fmt: skip


def words(page: Page, facts: Facts) -> str:
    """Return the claim and its verdict; for a rung with a fixed grid, the legend."""
    points = swept(page)
    if not points:
        return (
            f'<section class="verdict"><p>{FORMULA} Blue: the threads that work in a step. Grey: the threads that '
            "are allotted meanwhile. The work is all the blue, the cost all the grey.</p></section>"
        )
    gpu = next((fact for point in points if (fact := work.outcome(point.choice).timed)), None)
    found = elements.judgement(points, elements.room(gpu.device) if gpu else None)
    kind = {True: "ok", False: "bad", None: "open"}[found.holds]
    said = found.sentence
    if found.holds is None and (others := elements.recorded_blocks(page.choice)):
        said += f" The sweep was recorded with a block size of {' and '.join(map(str, others))}."
    return (
        f'<section class="verdict"><p>{FORMULA}</p><p class="{kind}">{escape(said)}</p>'
        f"<p class='quoted'>“{escape(QUOTE)}” <span>Crovella: {escape(elements.SLIDE)}</span></p></section>"
    )


# ---- the section below the table


def html(page: Page, facts: Sequence[Known]) -> str:
    """Return the lecture's numbers for this N, the launches of this rung, and the emulator's counts."""
    try:
        made = complexity.levels(page.choice)
    except NotRunnable as refused:
        return f'<section class="claims"><p>{escape(str(refused))}</p></section>'
    n = page.choice.n
    lines = "".join(f"<li>{escape(line)}</li>" for line in complexity.lecture_lines(page.choice))
    rows = [_row(number, level) for number, level in enumerate(made, 1)]
    steps, cost = complexity.steps_of(made), complexity.cost_of(made)
    rows.append([cell("all", "rung"), "", "", "", f"<b>{steps:,}</b>", f"<b>{cost:,}</b>", f"{cost / n:.3g}",
                 cell(f"work {complexity.work(n):,}", "text")])  # fmt: skip
    heads = [heading("Launch", "text"), "N", "Blocks × threads", "Elements per thread", "Steps", "Cost P·T",
             "Per element", cell("")]  # fmt: skip
    return (
        f'<section class="claims"><h3>As the slides count: N = {n:,}</h3><ul>{lines}</ul>'
        f"<h3>As this rung is launched</h3>{table(heads, rows, marked=[len(made)])}"
        f"{_counted(page, facts[page.position])}</section>"
    )


def _row(number: int, level: complexity.Level) -> list[str]:
    tail = f" + {level.tail:,}" if level.tail else ""
    return [
        cell(f"{number}", "rung"), f"{level.n:,}", f"{level.blocks:,} × {level.block_size:,}", f"{level.loads:,}",
        f"{level.loads:,} + {level.tree}{tail}", f"{level.cost:,}", f"{level.cost / level.n:.3g}",
        cell(escape(level.tail_by), "text"),
    ]  # fmt: skip


def _counted(page: Page, fact: Known) -> str:
    found = complexity.compared(page.run, fact.counted)
    if not found:
        return ""
    rows = [
        [cell(escape(row.what), "text"), f"{row.computed:,}",
         cell(f"{row.counted:,}", f"status {'ok' if row.computed == row.counted else 'bad'}")]
        for row in found
    ]  # fmt: skip
    return f"<h3>Counted by the emulator</h3>{table([heading('What', 'text'), 'Computed', 'Counted'], rows)}"


PICTURE = Picture("complexity", "Steps and cost", offered, figure, controls, words)
SECTION = Section("complexity", "Steps, work, cost", offered, html)

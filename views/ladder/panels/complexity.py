"""Crovella's steps, work and cost beside the measured times, and his claim about elements per thread, tried."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.catalogue.topics import reduction
from engine.figures.complexity import sweep_figure, tree_figure
from engine.figures.look import Figure, Look
from engine.history.history import Known, device_line
from engine.lectures.arithmetic import complexity, elements
from engine.records import NotRunnable
from engine.records.words import time_text
from views.ladder.view import WORK, Facts, Page, Picture, Section
from views.shared import work

CAN_BE_SWEPT = "This rung with 1, 2, 4, … elements per thread; the grid follows from them."
CANNOT = "The grid of this rung follows from N, so its elements per thread cannot be chosen."
QUOTE = "On G80, best perf with 64-256 blocks of 128 threads, 1024-4096 elements per thread."


def offered(page: Page) -> bool:
    """On the pages of the reductions."""
    return page.topic.name == reduction.TOPIC.name


def swept(page: Page) -> tuple[elements.Division, ...]:
    """The rung with every number of elements per thread, and the times that are known; none where its grid is fixed."""
    made = elements.sweep_choices(page.choice)
    return elements.divisions(made, [work.outcome(choice) for _, choice in made])


def run_sweep(page: Page) -> None:
    """For the button."""
    made = elements.sweep_choices(page.choice)
    work.start(WORK, [choice for _, choice in made], [f"{e:,} elements per thread" for e, _ in made])


def controls(page: Page) -> None:
    """The button, where there is something to sweep."""
    sweep = elements.sweep_choices(page.choice)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run the sweep", key="sweep elements", on_click=run_sweep, args=(page,), disabled=not sweep,
                  icon=":material/query_stats:",
                  help=CAN_BE_SWEPT if sweep else CANNOT)  # fmt: skip
        st.caption("P threads · T = N/P + log₂ P steps · work N − 1 · cost P·T")


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Over the elements per thread where they can be chosen, else step by step."""
    points = swept(page)
    fact = facts.known[page.position]
    try:
        made = complexity.levels(page.choice)
    except NotRunnable:
        made = ()
    if points and made:
        return sweep_figure(points, _automatic(page, fact, made[0]), look)
    if not made:
        return {"data": [{"type": "bar", "x": [], "y": []}], "layout": {"height": look.height or 300}}
    timed = fact.timed
    said = f"{time_text(timed.time_us)}: {device_line(timed)}" if timed and timed.time_us else ""
    return tree_figure(made, page.choice.n, said, look)


def _automatic(page: Page, fact: Known, first: complexity.Level) -> elements.Division | None:
    """The run on the page, where the kernel chose its grid itself."""
    if page.choice.grid_size is not None or fact.timed is None:
        return None
    n, threads = page.choice.n, first.threads
    return elements.Division(max(1, n // threads), page.choice, threads, complexity.brent_steps(n, threads),
                            complexity.brent_cost(n, threads), fact.timed.time_us, device_line(fact.timed))  # fmt: skip


def words(page: Page, facts: Facts) -> str:
    """The claim and what became of it; for a rung with a fixed grid, what the picture shows."""
    points = swept(page)
    if not points:
        return (
            '<section class="verdict"><p>Blue: the threads that work in a step. Grey: the threads that are allotted '
            "meanwhile. The work is all the blue, the cost all the grey.</p></section>"
        )
    gpu = next((fact for point in points if (fact := work.outcome(point.choice).timed)), None)
    found = elements.judgement(points, elements.room(gpu.device) if gpu else None)
    kind = {True: "ok", False: "bad", None: "open"}[found.holds]
    said = found.sentence
    if found.holds is None and (others := elements.recorded_blocks(page.choice)):
        said += f" The sweep was recorded with a block size of {' and '.join(map(str, others))}."
    return (
        f'<section class="verdict"><p class="{kind}">{escape(said)}</p>'
        f"<p class='quoted'>“{escape(QUOTE)}” <span>Crovella: {escape(elements.SLIDE)}</span></p></section>"
    )


# ---- the section below the table


def html(page: Page, facts: Sequence[Known]) -> str:
    """The lecture's numbers for this N, the launches of this rung, and what the emulator counted of them."""
    try:
        made = complexity.levels(page.choice)
    except NotRunnable as refused:
        return f'<section class="claims"><p>{escape(str(refused))}</p></section>'
    n = page.choice.n
    lines = "".join(f"<li>{escape(line)}</li>" for line in complexity.lecture_lines(page.choice))
    rows = "".join(_row(number, level) for number, level in enumerate(made, 1))
    steps, cost = complexity.steps_of(made), complexity.cost_of(made)
    total = (
        f'<tr class="current"><td class="rung">all</td><td></td><td></td><td></td><td><b>{steps:,}</b></td>'
        f'<td><b>{cost:,}</b></td><td>{cost / n:.3g}</td><td class="text">work {complexity.work(n):,}</td></tr>'
    )
    return (
        f'<section class="claims"><h3>As the slides count: N = {n:,}</h3><ul>{lines}</ul>'
        f'<h3>As this rung is launched</h3><div class="scroll"><table class="ladder"><thead><tr>'
        '<th class="text">Launch</th>'
        "<th>N</th><th>Blocks × threads</th><th>Elements per thread</th><th>Steps</th>"
        f"<th>Cost P·T</th><th>Per element</th><td></td></tr></thead><tbody>{rows}{total}</tbody></table></div>"
        f"{_counted(page, facts[page.position])}</section>"
    )


def _row(number: int, level: complexity.Level) -> str:
    tail = f" + {level.tail:,}" if level.tail else ""
    return (
        f'<tr><td class="rung">{number}</td><td>{level.n:,}</td><td>{level.blocks:,} × {level.block_size:,}</td>'
        f"<td>{level.loads:,}</td><td>{level.loads:,} + {level.tree}{tail}</td><td>{level.cost:,}</td>"
        f'<td>{level.cost / level.n:.3g}</td><td class="text">{escape(level.tail_by)}</td></tr>'
    )


def _counted(page: Page, fact: Known) -> str:
    found = complexity.compared(page.run, fact.counted)
    if not found:
        return ""
    rows = "".join(
        f'<tr><td class="text">{escape(row.what)}</td><td>{row.computed:,}</td>'
        f'<td class="status {"ok" if row.computed == row.counted else "bad"}">{row.counted:,}</td></tr>'
        for row in found
    )
    return (
        '<h3>Counted by the emulator</h3><div class="scroll"><table class="ladder"><thead><tr>'
        '<th class="text">What</th><th>Computed</th><th>Counted</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


PICTURE = Picture("complexity", "Steps and cost", offered, figure, controls, words)
SECTION = Section("complexity", "Steps, work, cost", offered, html)

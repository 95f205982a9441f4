"""The plot of a law: the counted effect of a kernel's parameter, beside the lecture's formula and the GPU's time."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.catalogue.plans import value_of_parameter
from engine.figures.law import law_figure
from engine.figures.look import Figure, Look
from engine.history import history
from engine.lectures import laws
from engine.lectures.laws import law_of
from engine.records.words import size_text
from views.ladder.view import WORK, Facts, Page, Picture
from views.shared import work


def offered(page: Page) -> bool:
    """Return whether the rung on the page has a law."""
    return law_of(page.rung.kernel) is not None


def run_sweep(page: Page) -> None:
    """Count the law at every value of the parameter and, on a GPU, time the kernel there too. For callbacks."""
    wanted = list(laws.counting(page.choice))
    if not page.counting:
        wanted += laws.swept(page.choice)
    names = [f"{law_name(page)} {each.n if each.parameter is None else each.parameter:,}" for each in wanted]
    work.start(WORK, wanted, names)


def law_name(page: Page) -> str:
    """Return the name of the swept parameter with a capital letter."""
    law = law_of(page.rung.kernel)
    return law.swept[0].capitalize() if law else ""


def controls(page: Page) -> None:
    """Show the button, with a line on the runs that it starts."""
    law = law_of(page.rung.kernel)
    if law is None:
        return
    count = len(laws.counting(page.choice))
    also = "" if page.counting else f", and times on the GPU at N = {size_text(page.choice.n)}"
    st.button("Run the sweep", key="run_sweep", icon=":material/stacked_line_chart:",
              on_click=run_sweep, args=(page,),
              help=f"Counts on the emulator at {count} {law.swept[1]}{also}.")  # fmt: skip


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the law of the rung on the page, and the times of the ladder's other rungs with the same parameter."""
    law = law_of(page.rung.kernel)
    if law is None:
        return {"data": [], "layout": {}}
    others = {
        rung.label: laws.times(choice, history.look_up)
        for rung, choice in zip(page.ladder.rungs, page.choices[: page.shown], strict=False)
        if rung is not page.rung and same_parameter(rung.kernel, page.rung.kernel)
    }
    own = page.choice.n if law.values else value_of_parameter(page.kernel, page.choice)
    return law_figure(law, page.choice, laws.points(page.choice, history.look_up), others, own, look)


def same_parameter(one: str, other: str) -> bool:
    """Return whether two kernels have the same parameter."""
    mine, theirs = law_of(one), law_of(other)
    return mine is not None and theirs is not None and mine.swept == theirs.swept


def words(page: Page, facts: Facts) -> str:
    """Return the lecture's sentence, and whether it holds."""
    law = law_of(page.rung.kernel)
    if law is None:
        return ""
    found = laws.points(page.choice, history.look_up)
    said, timing = laws.verdict(page.choice, found), laws.timing_sentence(page.choice, found)
    good = any(point.holds for point in found) and all(point.holds in (True, None) for point in found)
    mark = "<b class='ok'>✓</b> " if good else ""
    quoted = f"The lecture: “{law.sentence}” ({law.slide})" if law.sentence and not page.presenting else ""
    lines = [f"{mark}{escape(said)}", "" if page.presenting else escape(timing), escape(quoted)]
    return f'<div class="outcome">{"".join(f"<div>{line}</div>" for line in lines if line)}</div>'


PICTURE = Picture("law", "Law", offered, figure, controls, words)

"""Before and after on a slide: the counter that the rung is meant to change, its time, and both in one line."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import streamlit as st

from engine.catalogue import KERNELS
from engine.figures.change import Pair, change_figure
from engine.figures.look import Figure, Look
from engine.history.history import Known
from engine.history.profiles import Hardware, counters_beside
from engine.history.tables import comparable
from engine.lectures import changes
from engine.records.counters import COUNTERS, IN_PLOTS
from engine.records.words import size_text
from views.html.table import whole_dates
from views.ladder.view import Facts, Page, Picture
from views.shared import work

Counts = Mapping[str, float | None]
NOT_COUNTED = "Not counted yet: R counts."
LONGEST = 9  # letters of a rung's label; longer ones would take the bars' room


def shown(page: Page) -> str:
    """Return the counter in the plot: the requested one, else the one that the rung is meant to change."""
    asked = st.session_state.get("counter")
    return asked if asked in IN_PLOTS else changes.shown_counter(page.ladder, page.position)


def is_default(page: Page) -> bool:
    """Return whether a slide of this rung opens on this plot."""
    return page.presenting and page.ladder.meant(page.position) is not None


def counted_before(page: Page) -> bool:
    """Return whether the emulator has counted the rung before."""
    return _known(page)[0].counted is not None


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the counter and the time of the rung before and of this rung."""
    counter, before = shown(page), page.position - 1
    counts, hardware = counts_of(page)
    n = page.run.n if hardware is None else hardware.n
    old, new = (found.get(counter) for found in counts)
    known = old is not None or new is not None
    title = (COUNTERS[counter].title if hardware else COUNTERS[counter].label) + f", N = {size_text(n)}" * known
    pairs = [Pair(title, counter, old, new, _nothing(page), hardware is not None)]
    timed = [one.timed for one in _known(page)]
    if not page.position or not comparable(KERNELS[page.ladder.rungs[before].kernel], page.kernel):
        timed[0] = None  # another work, or another processor
    if any(timed):
        times = [None if one is None else one.time_us for one in timed]
        recorded = all(one is None or one.origin == "recorded" for one in timed)
        pairs.append(Pair(f"Time, N = {size_text(page.choice.n)}", "time_us", *times, recorded=recorded))
    labels = (page.ladder.rungs[before].label if page.position else "", page.rung.label)
    if max(map(len, labels)) > LONGEST:
        labels = ("before" if page.position else "", "now")
    headline = changes.headline(counter, old, new, facts.rows[page.position]["step"], page.covered)
    return change_figure(labels, pairs, headline, page.covered, look)


def words(page: Page, facts: Facts) -> str:
    """Return the meaning of the counter, and its source if it is known; the words take the same room either way."""
    counter, (counts, hardware) = shown(page), counts_of(page)
    if all(found.get(counter) is None for found in counts):
        source = ""
    elif hardware is None:
        source = f"Counted by the emulator at N = {size_text(page.run.n)}."
    else:
        source = (
            f"Counted by the {hardware.device} itself at N = {size_text(hardware.n)}, "
            f"{page.topic.block_noun} {hardware.block_size}, recorded {hardware.date}."
        )
    said = f"{COUNTERS[counter].meaning} {source}"
    return f'<div class="outcome">{whole_dates(escape(said))}</div>'


def _known(page: Page) -> tuple[Known, Known]:
    """Return the known results of the rung before and of this rung, also if its numbers are held back."""
    before = page.position - 1
    return (
        work.outcome(page.choices[before], page.runs[before]) if page.position else Known(),
        work.outcome(page.choice, page.run),
    )


def counts_of(page: Page) -> tuple[tuple[Counts, Counts], Hardware | None]:
    """Return the counts of the rung before and of this rung, both by the emulator or both by a GPU's profiler."""
    before, here = (changes.values_of(known.counted) for known in _known(page))
    if any(value is not None for found in (before, here) for value in found.values()):
        return (before, here), None
    found = counters_beside(page.choices)
    if not found:
        return (before, here), None
    entries = found[max(page.position - 1, 0) : page.position + 1]
    ours = [entry.counters if entry is not None else {} for entry in entries]
    one = next((entry for entry in entries if entry is not None), None)
    profiled = (ours[0] if page.position else {}, ours[-1])
    return (profiled, one) if _tells(page, profiled) else ((before, here), None)


def _tells(page: Page, counts: tuple[Counts, Counts]) -> bool:
    """Return whether a profiler's counts tell what the rung changes. They do not if one of them is missing, or if the
    compiler has removed the cost that the source has, as the divergent branch of the first reduction."""
    counter, meant = shown(page), page.ladder.meant(page.position)
    old, new = (found.get(counter) for found in counts)
    if page.position and (old is None or new is None):
        return False
    return old != new or meant is None or meant[1] == "stay" or meant[0] != counter


def _nothing(page: Page) -> str:
    """Return the words in place of a counter that is not known."""
    if page.kernel.processor != "gpu":
        return "Nothing is counted on the CPU."
    return NOT_COUNTED if page.counting and page.kernel.emulated else "Not counted: the emulator counts."


PICTURE = Picture("change", "Before / after", lambda page: page.presenting, figure, words=words, covers=False)

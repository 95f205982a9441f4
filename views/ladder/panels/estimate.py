"""The plot of estimated times: what takes the time of each rung, and what would pay, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape

import streamlit as st

from engine.catalogue import KERNELS, emulated_n
from engine.figures.estimate import Mark, parts_figure
from engine.figures.look import Figure, Look
from engine.history import history
from engine.history.history import Known
from engine.history.records import record_of
from engine.model.estimate import Estimate, headline
from engine.model.rungs import known, size_for
from engine.records import NotRunnable, Settled
from engine.records.words import size_text
from engine.service import service
from engine.service.queue import Handle
from views.html.estimate import part_names
from views.ladder.view import WORK, Bars, Facts, Page, all_known
from views.shared import work
from views.shared.work import Work

ESTIMATED = "estimates"  # in the session: (choice, GPU) -> Estimate, or a sentence that says why not
NOTHING = "Not estimated yet: press “Estimate all”."


def offered(page: Page) -> bool:
    """Return whether the ladder has rungs that the emulator runs."""
    return any(KERNELS[choice.kernel].runs_on("emulator") for choice in page.choices)


class EstimateWork(Work):
    """The estimates of the rungs of one browser that are not known yet."""

    def __init__(self, choices: tuple[Settled, ...], labels: tuple[str, ...], on: str, session: str) -> None:
        super().__init__(session)
        kept = _kept()
        for choice, label in zip(choices, labels, strict=True):
            try:
                submit = partial(service.submit_estimate, choice, on, session)
                self._start(f"Estimating {label}", submit, partial(_keep, kept, (choice, on)))
            except NotRunnable as refused:
                kept[choice, on] = str(refused)


def _keep(kept: dict[tuple[Settled, str], Estimate | str], key: tuple[Settled, str], handle: Handle) -> None:
    kept[key] = work.take_estimate(handle)


def _kept() -> dict[tuple[Settled, str], Estimate | str]:
    return st.session_state.setdefault(ESTIMATED, {})


def _found(choice: Settled, on: str) -> Estimate | str | None:
    return _kept().get((choice, on)) or known(choice, on)


def _gpu(page: Page) -> str:
    """Return the GPU of the recorded runs on the page, as its recording names it."""
    record = record_of(page.choice.record)
    return "" if record is None else str(record.recording.device["name"])


def _asked(page: Page) -> tuple[Settled, ...]:
    """Return the choices of the estimates: at the page's N or, if the emulator cannot run that, at a smaller one."""
    n = size_for(page.choices) or emulated_n(page.ladder, page.choice.n)
    return tuple(replace(each, n=n, record=None) for each in page.choices)


def start(page: Page) -> None:
    """Start the estimates that are not known. For the button."""
    on, asked = _gpu(page), _asked(page)
    lacking = [i for i, choice in enumerate(asked) if not isinstance(_found(choice, on), Estimate)]
    choices, labels = tuple(asked[i] for i in lacking), tuple(page.ladder.rungs[i].label for i in lacking)
    work.begin(WORK, lambda session: EstimateWork(choices, labels, on, session))


def controls(page: Page) -> None:
    """Show the button, if an estimate is missing."""
    on = _gpu(page)
    if all(isinstance(_found(choice, on), Estimate) for choice in _asked(page)):
        return
    st.button("Estimate all", key="estimate", on_click=start, args=(page,), icon=":material/query_stats:",
              help="Runs each rung on the emulator, and turns its counts into a time.")  # fmt: skip


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the parts of each rung's estimated time beside its measured or recorded time."""
    on, asked = _gpu(page), _asked(page)
    found = [one if isinstance(one := _found(choice, on), Estimate) else None for choice in asked]
    smaller = next((f" at N = {size_text(each.n)}" for each in asked if each.n != page.choice.n), "")
    marks = [_mark(fact, choice, each) for fact, choice, each in zip(all_known(page), page.choices, asked, strict=True)]
    return parts_figure(facts.rows, found, marks, look, f"estimated time{smaller}, µs · ◇ {_kind(marks)}", NOTHING)


def _mark(fact: Known, choice: Settled, asked: Settled) -> Mark | None:
    """Return the time of a rung at the N of its estimate: that of the page, else the recorded one."""
    run = fact.timed if asked.n == choice.n else history.recorded_for(replace(choice, n=asked.n))
    return Mark(run.time_us, history.device_line(run)) if run and run.time_us else None


def _kind(marks: Sequence[Mark | None]) -> str:
    every = {"recorded" in mark.origin for mark in marks if mark}
    return "recorded" if every == {True} else "measured" if every == {False} else "measured or recorded"


def words(page: Page, facts: Facts) -> str:
    """Return the estimate of the rung on the page: the names of its parts, and its sentences."""
    found = None if page.covered else _found(_asked(page)[page.position], _gpu(page))
    if found is None:
        return '<div class="outcome"></div>'
    if isinstance(found, str) or found.time_us is None:
        return f'<div class="outcome">{escape(found if isinstance(found, str) else found.reason or "")}</div>'
    said = headline(found) if page.presenting else " ".join(found.sentences)
    return f'<div class="outcome"><div class="partnames">{part_names(found)}</div>{escape(said)}</div>'


PICTURE = Bars("estimate", "Estimate", offered, figure, controls, words)

"""Rounding of float sums: repeated runs, errors over N, and each rung beside the worst possible rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape

import streamlit as st

from engine.figures import errors
from engine.figures.floats import answers_bars, repeats_figure
from engine.figures.look import Figure, Look
from engine.history.history import Known, device_line
from engine.history.tables import checked_by
from engine.lectures.arithmetic import recorded_sums
from engine.lectures.arithmetic.float_sums import (
    EMULATOR_N,
    RUNS,
    SIZES,
    Repeats,
    bounds,
    can_repeat,
    repeated_choice,
    rounding,
    sentence,
)
from engine.records import Measurement, NotRunnable, Settled
from engine.service import service
from engine.service.queue import Handle
from views.html.table import cell, heading, table, with_small
from views.ladder.view import WORK, Facts, Page, Picture, Section, run_sizes
from views.shared import menus, work
from views.shared.work import Work

REPEATED = "float sums repeated"  # in the session: choice -> Repeats, or a sentence that says why not
SLIDE = "Crovella, further study: Floating point; Higham 1993; Rump 2012"


def offered(page: Page) -> bool:
    """Return whether the page adds floats."""
    return can_repeat(page.choice)


# ---- repeated runs


class RepeatWork(Work):
    """The repeated run of one browser; its answers, or why there are none, go into the session."""

    def __init__(self, choice: Settled, session: str) -> None:
        super().__init__(session)
        self._choice, self._kept = choice, _kept()
        try:
            repeated = repeated_choice(choice)
            submit = partial(service.submit_repeats, repeated, RUNS[repeated.device], session)
            self._start("Repeating the run", submit, self._take)
        except NotRunnable as refused:
            self._kept[choice] = str(refused)

    def _take(self, handle: Handle) -> None:
        try:
            self._kept[self._choice] = handle.result()
        except Exception as error:  # the page shows any failure
            self._kept[self._choice] = str(error)


def _kept() -> dict[Settled, Repeats | str]:
    return st.session_state.setdefault(REPEATED, {})


def _key(page: Page) -> Settled:
    """Return the choice without its cache state, which changes no answer."""
    return replace(page.choice, cache="cold-clean")


def start(page: Page) -> None:
    """Start the repeated runs. For the button."""
    work.begin(WORK, lambda session: RepeatWork(_key(page), session))


def repeat_controls(page: Page) -> None:
    """Show the button."""
    device = "emulator" if page.counting else "gpu"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(f"Run it {RUNS[device]} times", key="repeat", on_click=start, args=(page,),
                  icon=":material/repeat:", help="The same rung on the same random numbers.")  # fmt: skip
        also = f", at most {EMULATOR_N:,} of them on the emulator" if page.counting else ""
        st.caption(f"Random numbers{also}; only the order of the additions can differ.")


def repeat_figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return how often each answer came out."""
    found = _kept().get(_key(page)) or recorded_sums.repeats(page.choice)
    known = found if isinstance(found, Repeats) else None
    return repeats_figure(known, page.rung.label, look)


def repeat_words(page: Page, facts: Facts) -> str:
    """Return a sentence about the answers."""
    found = _kept().get(_key(page)) or recorded_sums.repeats(page.choice)
    words = sentence(found) if isinstance(found, Repeats) else found
    words = words or "The same kernel, the same numbers: does every run give the same bits?"
    return f'<section class="verdict"><p>{escape(words)}</p></section>'


# ---- the answers


def answers_figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the answer of every rung, and the exact sum."""
    ran = [_answered(choice) if can_repeat(choice) else None for choice in page.choices]
    recorded = [one is not None and one.origin == "recorded" for one in ran]
    checks = [one.check if one is not None else None for one in ran]
    exact = next((check.expected for check in checks[: page.shown] if check is not None), None)
    return answers_bars(facts.rows, [check.result if check else None for check in checks], recorded, exact, look)


def answers_words(page: Page, facts: Facts) -> str:
    """Return the devices that gave the answers."""
    found = {_origin(one) for choice in page.choices if can_repeat(choice) and (one := _answered(choice)) is not None}
    said = f"Answers: {'; '.join(sorted(found))}." if found else ""
    return f'<div class="outcome">{escape(said)}</div>'


# ---- errors over N


def run_every_size(page: Page) -> None:
    """Run every rung at every size that it can run with. For the button."""
    every = [replace(choice, n=n) for n in SIZES for choice in page.choices]
    run_sizes([choice for choice in every if menus.refusal(choice) is None])


def error_controls(page: Page) -> None:
    """Show the button that fills the plot."""
    st.button("Run every N", key="float errors over n", on_click=run_every_size, args=(page,),
              icon=":material/query_stats:",
              help=f"Every rung with {len(SIZES)} sizes up to {SIZES[-1]:,}.")  # fmt: skip


def error_words(page: Page, facts: Facts) -> str:
    """Return the legend."""
    said = "Points: errors of real runs, live or recorded. Lines: the largest possible rounding error."
    return f'<div class="outcome">{said}</div>'


def error_lines(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the error of every rung over N, below the bounds of a serial sum and of a tree."""
    sizes = sorted({*SIZES, page.choice.n})
    series = []
    for position, (rung, choice) in enumerate(zip(page.ladder.rungs, page.choices[: page.shown], strict=False)):
        if not can_repeat(choice):
            continue
        found = [(n, _answered(replace(choice, n=n))) for n in sizes]
        known = [(n, abs(m.check.result - m.check.expected)) for n, m in found
                 if m is not None and m.check is not None]  # fmt: skip
        series.append(errors.Series(rung.label, known, position))
    both = [(n, bounds(replace(page.choice, n=n))) for n in sizes]
    laws = (
        errors.Curve("(n − 1) u Σ|x|", [(n, serial) for n, (serial, _) in both]),
        errors.Curve("⌈log₂ n⌉ u Σ|x|", [(n, tree) for n, (_, tree) in both]),
    )
    return errors.error_lines(series, laws, page.choice.n, look, "Nothing has run yet: press Run every N.")


def _answered(choice: Settled) -> Measurement | None:
    """Return the last live run with an answer, or else the recorded one."""
    live = work.outcome(choice).live
    return live if live is not None and live.check is not None else recorded_sums.answer(choice)


# ---- the section below the table


def html(page: Page, facts: Sequence[Known]) -> str:
    """Return the table of every rung's answer, its error, and the worst possible rounding."""
    serial, tree = bounds(page.choice)
    unit = 24 if page.choice.dtype == "float32" else 53
    rows = [_row(page, position, choice) for position, choice in enumerate(page.choices)]
    heads = [heading("Rung", "text"), "Answer", "Exact", "Error", "Roundings in a row", "Worst case"]
    return (
        '<section class="claims"><h3>Rounding: what these runs lost, and what they could have lost</h3>'
        f"{table(heads, rows, marked=[page.position])}<ul>"
        f"<li>In {page.choice.dtype} u = 2<sup>−{unit}</sup>: an addition is off by at most u times its result. "
        f"N = {page.choice.n:,}.</li>"
        f"<li>Serial: (n − 1) u Σ|x|, here {serial:.3g}. Tree: ⌈log₂ n⌉ u Σ|x|, here {tree:.3g}.</li>"
        "<li>From 2^24 on a float32 sum of ones is rounded down each time, and the errors add up; random numbers are "
        "rounded up as often as down, and their errors stay far below the worst.</li></ul>"
        f"<p class='origin'>{SLIDE}</p></section>"
    )


def _row(page: Page, position: int, choice: Settled) -> list[str]:
    title = cell(escape(page.ladder.rungs[position].label), "rung")
    found = ran = None
    if can_repeat(choice):
        ran = _answered(choice)
        found = rounding(replace(choice, device="gpu"), ran)  # the roundings are the same on every device
    if found is None or ran is None:
        return [title, cell("not run with these choices", "text dim", span=5)]
    result = cell(with_small(f"{found.result:,.10g}", _origin(ran)), "" if ran.status == "ok" else "status bad")
    error = f"{found.error:.3g}" if found.error else "none"
    return [title, result, f"{found.exact:,.10g}", error, f"{found.chain:,}", f"{found.worst:.3g}"]


def _origin(ran: Measurement) -> str:
    """Return the device that gave the answer."""
    return device_line(ran) if ran.origin == "recorded" else checked_by(ran)


ANSWERS = Picture("answers", "Answers", offered, answers_figure, None, answers_words, covers=False)
REPEATS = Picture("repeats", "Run to run", offered, repeat_figure, repeat_controls, repeat_words)
PICTURE = Picture("rounding", "Rounding", offered, error_lines, error_controls, error_words)
SECTION = Section("floats", "Float truths", offered, html)

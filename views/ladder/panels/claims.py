"""The lecture's claims beside what was counted, timed or computed here, and why one does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from engine.catalogue import KERNELS
from engine.history.history import Known, device_line, latest, recorded_for
from engine.lectures.claim import LECTURES, Claim, Computed, Counted, FastestBlock, Status, TimeRatio
from engine.lectures.judge import KINDS, Verdict, claims_of, runs, said, verdict
from engine.records import Measurement, Settled
from engine.records.words import size_text
from views.html.table import cell, heading, table
from views.ladder.view import WORK, Page, Section
from views.shared import menus, work

# The kinds of verdicts in the order of the tally: their sign, and the class of their colour.
_SIGNS = {
    "holds": ("✓", "ok"),
    "answered": ("?", ""),
    "direction": ("≈", ""),
    "changed": ("↻", ""),
    "rules": ("↻", ""),
    "case": ("✗", ""),
    "error": ("✗", "bad"),
    "differs": ("✗", "bad"),
    "close": ("✗", "bad"),
    "untestable": ("–", ""),
}


def found(claim: Claim, record: str | None) -> Verdict | None:
    """Return the verdict by the known runs, live ones first, then those of a record (None: the first one); None if more
    have to run."""

    def recorded(choice: Settled) -> Measurement | None:
        return recorded_for(replace(choice, record=record)) if choice.device == "gpu" else None

    return verdict(claim, latest, recorded)


def missing(page: Page) -> tuple[Settled, ...]:
    """Return the runs that the open verdicts need, each once; runs on a GPU only if there is one."""
    open_ones = [claim for claim in claims_of(page.ladder.name) if found(claim, page.choice.record) is None]
    wanted = dict.fromkeys(choice for claim in open_ones for choice in runs(claim))
    return tuple(choice for choice in wanted if choice.device == "emulator" or menus.has_gpu())


def check(page: Page) -> None:
    """Run the missing runs of the claims, or all of them again if none is missing."""
    every = dict.fromkeys(choice for claim in claims_of(page.ladder.name) for choice in runs(claim))
    able = tuple(choice for choice in every if choice.device == "emulator" or menus.has_gpu())
    asked = missing(page) or able
    work.start(WORK, asked, [f"{KERNELS[choice.kernel].title}, N = {size_text(choice.n)}" for choice in asked])


def controls(page: Page) -> None:
    """Show the button."""
    st.button("Check them", key="check_claims", icon=":material/fact_check:", on_click=check, args=(page,),
              help="Runs what the verdicts need: counts on the emulator, times on a GPU if there is one.")  # fmt: skip


def section(page: Page, facts: Sequence[Known]) -> str:
    """Return the table of claims."""
    claims = claims_of(page.ladder.name)
    verdicts = [found(claim, page.choice.record) for claim in claims]
    rows = [_row(claim, made) for claim, made in zip(claims, verdicts, strict=True)]
    titles = ("Verdict", "The lecture", "What is checked", "By its words", "Here", "Why")
    known = [made for made in verdicts if made is not None]
    counts = {kind: sum(made.kind == kind for made in known) for kind in _SIGNS}
    tally = [f"{sign} {counts[kind]} {KINDS[kind]}" for kind, (sign, _) in _SIGNS.items() if counts[kind]]
    if len(known) < len(claims):
        tally.append(f"{len(claims) - len(known)} not checked yet")
    return (
        f'<section class="claims"><p class="tally">{len(claims)} claims: {"; ".join(tally)}.</p>'
        f"{table([heading(title, 'text') for title in titles], rows)}</section>"
    )


def _row(claim: Claim, made: Verdict | None) -> list[str]:
    if made is None:
        needs = "needs a GPU" if _on_gpu(claim) and not menus.has_gpu() else "not checked"
        mark, here = f'<span class="dim">{needs}</span>', ""
    else:
        sign, colour = _SIGNS[made.kind]
        mark = f'<b class="{colour}">{sign} {KINDS[made.kind]}</b>'
        here = f"<b>{escape(made.found)}</b><small>{escape(_origin(made))}</small>"
    why = escape(claim.why) if made is not None else ""
    slide = f"<small>{LECTURES[claim.lecture]}: {escape(claim.slide)}</small>"
    return [
        cell(mark, "text verdict"), cell(f"“{escape(claim.sentence)}”{slide}", "text said"),
        cell(_what(claim), "text"), cell(escape(said(claim)), "text papernumber"), cell(here, "text here"),
        cell(why, "text because"),
    ]  # fmt: skip


def _on_gpu(claim: Claim) -> bool:
    return any(choice.device == "gpu" for choice in runs(claim))


def _what(claim: Claim) -> str:
    """Return the case and the runs of a claim as HTML."""
    case = f"{escape(claim.case[:1].upper() + claim.case[1:])}" if claim.case else ""
    kernels = [f"<code>{choice.kernel}</code>" for choice in claim.runs]
    match claim.quantity:
        case Counted():
            how = f"{' against '.join(kernels)}, N = {escape(size_text(claim.runs[0].n))}"
        case TimeRatio():
            pairs = zip(kernels[::2], kernels[1::2], strict=False)
            how = ", ".join(f"{fast} against {slow}" if slow != fast else fast for slow, fast in pairs)
            how += f", less {kernels[-1]}" if claim.quantity.beyond else ""
        case FastestBlock():
            how = f"{kernels[0]} with {', '.join(str(choice.block_size) for choice in claim.runs)} threads per block"
        case Status(edit):
            how = f"{kernels[0]}{', its text changed' if edit else ''}"
        case Computed(source=source):
            how = f"computed from {source}"
        case _:
            how = "nothing that runs here"
    question = f"{escape(claim.question)} " if claim.question else ""
    return f"{question}{case}<small>{how}</small>"


def _origin(made: Verdict) -> str:
    if isinstance(made.claim.quantity, Computed):
        return f"computed from {made.claim.quantity.source}"
    return " and ".join(sorted({_how(made, measurement) for measurement in made.measurements}))


def _how(made: Verdict, measurement: Measurement) -> str:
    if measurement.device.get("kind") != "emulator":
        return device_line(measurement)
    if any("on the CPU" in badge for badge in measurement.badges):
        return "run on this machine's CPU"
    return "counted by the emulator" if isinstance(made.claim.quantity, Counted) else "run on the emulator"


SECTION = Section("claims", "Claims checked", lambda page: bool(claims_of(page.ladder.name)), section, controls)

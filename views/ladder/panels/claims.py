"""The lecture's claims beside what was counted, timed or computed here, and why one does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.catalogue import KERNELS
from engine.history.history import Known, device_line, latest, recorded_for
from engine.lectures.claims.kinds import LECTURES, Best, Claim, Computed, Ends, Timed, Untestable
from engine.lectures.claims.verdicts import AnyClaim, Verdict, claims_of, runs, said, verdict
from engine.records import Measurement, Settled
from engine.records.words import size_text
from views.html.table import cell, heading, table
from views.ladder.view import WORK, Page, Section
from views.shared import menus, work

_SIGNS = {
    "holds": ("✓", "holds", "ok"),
    "direction": ("≈", "direction holds, size does not", ""),
    "differs": ("✗", "does not hold", "bad"),
    "close": ("✗", "does not hold: no difference", "bad"),
    "untestable": ("–", "not testable here", ""),
}


def found(claim: AnyClaim) -> Verdict | None:
    """Return the verdict by the known runs, live ones first, then recorded ones; None if more have to run."""
    return verdict(claim, latest, lambda choice: recorded_for(choice) if choice.device == "gpu" else None)


def missing(page: Page) -> tuple[Settled, ...]:
    """Return the runs that the open verdicts need, each once; runs on a GPU only if there is one."""
    open_ones = [claim for claim in claims_of(page.ladder.name) if found(claim) is None]
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
    verdicts = [found(claim) for claim in claims]
    rows = [_row(claim, made) for claim, made in zip(claims, verdicts, strict=True)]
    titles = ("Verdict", "The lecture", "What is checked", "By its words", "Here", "Why")
    known = [made for made in verdicts if made is not None]
    counts = {name: sum(made.outcome == name for made in known) for name in _SIGNS}
    tally = [f"{sign} {counts[name]} {words}" for name, (sign, words, _) in _SIGNS.items() if counts[name]]
    if len(known) < len(claims):
        tally.append(f"{len(claims) - len(known)} not checked yet")
    return (
        f'<section class="claims"><p class="tally">{len(claims)} claims: {", ".join(tally)}.</p>'
        f"{table([heading(title, 'text') for title in titles], rows)}</section>"
    )


def _row(claim: AnyClaim, made: Verdict | None) -> list[str]:
    if made is None:
        needs = "needs a GPU" if _on_gpu(claim) and not menus.has_gpu() else "not checked"
        mark, here = f'<span class="dim">{needs}</span>', ""
    else:
        sign, words, kind = _SIGNS[made.outcome]
        mark = f'<b class="{kind}">{sign} {words}</b>'
        here = f"<b>{escape(made.found)}</b><small>{escape(_origin(made))}</small>"
    why = escape(claim.why) if made is not None else ""
    slide = f"<small>{LECTURES[claim.lecture]}: {escape(claim.slide)}</small>"
    return [
        cell(mark, "text verdict"), cell(f"“{escape(claim.sentence)}”{slide}", "text said"),
        cell(_what(claim), "text"), cell(escape(said(claim)), "text papernumber"), cell(here, "text here"),
        cell(why, "text because"),
    ]  # fmt: skip


def _on_gpu(claim: AnyClaim) -> bool:
    return any(choice.device == "gpu" for choice in runs(claim))


def _what(claim: AnyClaim) -> str:
    """Return the runs of a claim and their conditions."""
    case = f"{escape(claim.case[:1].upper() + claim.case[1:])}" if claim.case else ""
    if isinstance(claim, Claim):
        names = f"<code>{claim.kernel}</code>" + (f" against <code>{claim.against}</code>" if claim.against else "")
        how = f"{names}, N = {escape(size_text(claim.n))}"
    elif isinstance(claim, Timed):
        pairs = [(slow.kernel, fast.kernel) for slow, fast in claim.pairs]
        how = ", ".join(
            f"<code>{fast}</code> against <code>{slow}</code>" if slow != fast else f"<code>{fast}</code>"
            for slow, fast in pairs
        )
    elif isinstance(claim, Best):
        sizes = ", ".join(str(choice.block_size) for choice in claim.tried)
        how = f"<code>{claim.tried[0].kernel}</code> with {sizes} threads per block"
    elif isinstance(claim, Ends):
        how = f"<code>{claim.run.kernel}</code>{', its text changed' if claim.edit else ''}"
    elif isinstance(claim, Untestable):
        how = "nothing that runs here"
    else:
        how = f"computed from {claim.source}"
    return f"{case}<small>{how}</small>"


def _origin(made: Verdict) -> str:
    if isinstance(made.claim, Untestable):
        return ""
    if isinstance(made.claim, Computed):
        return f"computed from {made.claim.source}"
    words = {_how(made, measurement) for measurement in made.measurements}
    return " and ".join(sorted(words))


def _how(made: Verdict, measurement: Measurement) -> str:
    if measurement.device.get("kind") != "emulator":
        return device_line(measurement)
    if any("on the CPU" in badge for badge in measurement.badges):
        return "run on this machine's CPU"
    return "counted by the emulator" if isinstance(made.claim, Claim) else "run on the emulator"


SECTION = Section("claims", "Claims checked", lambda page: bool(claims_of(page.ladder.name)), section, controls)

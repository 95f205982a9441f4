"""The command `claims`: what the lectures say, beside what was counted, timed or computed here."""

from __future__ import annotations

import argparse
import json

from engine.catalogue import LADDERS
from engine.commands.output import SESSION
from engine.history.history import recorded_for
from engine.lectures import judge
from engine.records import NotRunnable, Settled


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `claims`."""
    claims = commands.add_parser("claims", help="a ladder's claims: what holds here, and why the others do not")
    claims.add_argument("ladder")
    claims.add_argument("--json", action="store_true")
    claims.set_defaults(command=_claims)


def _claims(options: argparse.Namespace) -> int:
    from engine.service import service

    if options.ladder not in LADDERS:
        raise NotRunnable(f"There is no ladder {options.ladder!r}: choose {', '.join(LADDERS)}.")
    claims = judge.claims_of(options.ladder)
    emulated: list[Settled] = [run for claim in claims for run in judge.runs(claim) if run.device == "emulator"]
    known = dict(zip(emulated, service.measured(emulated, SESSION), strict=True))
    for claim in claims:
        made = judge.verdict(claim, lambda run: known.get(run) or recorded_for(run))
        row = {"claim": claim.name, "lecture": claim.lecture, "slide": claim.slide, "sentence": claim.sentence,
               "question": claim.question, "case": claim.case, "said": judge.said(claim),
               "found": made.found if made else None, "outcome": made.outcome if made else None,
               "cause": claim.cause if made and made.kind == claim.cause else "", "why": claim.why}  # fmt: skip
        if options.json:
            print(json.dumps(row))
        else:
            words = judge.KINDS[made.kind] if made else "not checked: it needs a GPU"
            reason = f" {claim.why}" if made and not made.holds else ""
            print(
                f"{claim.name}: {words}. {claim.question or claim.sentence} Found: {row['found'] or 'nothing'}.{reason}"
            )
    return 0

"""The command line: kernels, run, sweep, code, emulate, check, sheets, grade, progress, record, warm, host, history,
peers, claims, doctor.

Exit status: 0 ok, 1 wrong, with findings or with something missing, 2 refused or not runnable, 3 the run failed
(crash, deadline), 141 the reader of the output has closed it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from engine.catalogue import LADDERS
from engine.commands import archive, keeping, measure
from engine.commands import lab as lab_parsers
from engine.commands import sheets as sheet_parsers
from engine.commands.measure import lines, rows
from engine.commands.output import READER_GONE, SESSION, ReaderGone, exit_status, printable_streams
from engine.history.history import recorded_for
from engine.history.recordings import NEEDS_GPU
from engine.lectures import judge
from engine.machine.environment import has_gpu
from engine.records import NotRunnable, Settled
from engine.records.words import reason_text, whole_number

EVERY = "all"  # stands for all ladders
_SHOWN = 200  # letters of a file's name in a sentence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    with printable_streams():
        try:
            status = int(options.command(options))
            sys.stdout.flush()
            return status
        except ReaderGone:
            return READER_GONE
        except NotRunnable as refused:
            print(refused, file=sys.stderr)
            return 2
        except OSError as error:
            if error.filename is None:
                raise
            print(f"{str(error.filename)[:_SHOWN]} cannot be used: {reason_text(error)}.", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("Stopped.", file=sys.stderr)
            return 3


def _kernels(options: argparse.Namespace) -> int:
    if options.page:
        from engine.catalogue.kernels_page import PAGE, page

        PAGE.write_text(page(), encoding="utf-8")
        return 0
    print(json.dumps(rows(), indent=1) if options.json else "\n".join(lines()))
    return 0


def _record(options: argparse.Namespace) -> int:
    if options.check is not None:
        return _checked_recording(options.check)
    from engine.commands import record
    from engine.lectures.arithmetic import recorded_sums

    def say(fraction: float, text: str) -> None:
        print(f"{fraction:6.1%} {text}", file=sys.stderr)

    print(record.record(options.quick, say))
    if not options.quick:
        print(recorded_sums.record(progress=say))
    return 0


def _checked_recording(path: Path) -> int:
    from engine.history.trust import judged

    found = judged(path)
    for one in found:
        print(_printable(f"{'ok' if one.good else 'no':4}{one.name:10}{one.sentence}"))
    return 0 if all(one.good for one in found) else 1


def _lab(options: argparse.Namespace) -> int:
    answer = options.answer(options)
    if options.json:
        print(json.dumps(answer.record))
        return exit_status(answer.status)
    if answer.text:
        print(_printable(answer.text))
    if answer.refusal:
        print(_printable(answer.refusal), file=sys.stderr)
    return exit_status(answer.status)


def _printable(text: str) -> str:
    """Return a text without the characters that command a terminal: a foreign file's messages may hold any."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def _warm(options: argparse.Namespace) -> int:
    from engine.history import history
    from engine.service import service
    from engine.service.warm_up import readiness, run_of

    names = [*LADDERS] if options.ladders == [EVERY] else options.ladders
    unknown = [name for name in names if name not in LADDERS]
    if unknown:
        raise NotRunnable(f"There is no ladder {unknown[0]!r}: choose {', '.join(LADDERS)}, or {EVERY}.")
    found = []
    for ladder in (LADDERS[name] for name in names):
        rungs = [run_of(ladder, rung) for rung in ladder.rungs]
        for choice, measurement in zip(rungs, service.measured(rungs, SESSION), strict=True):
            history.remember(choice, measurement)
        found += [{"ladder": ladder.name, **asdict(ready)} for ready in readiness(ladder)]
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        for ready in found:
            print(f"{ready['state']:9} {ready['ladder']:16} {ready['rung']:14} {ready['sentence']}")
    return 3 if any(ready["state"] == "failed" for ready in found) else 0


def _host(options: argparse.Namespace) -> int:
    from engine.service import service

    service.cluster_module("node").run_node(options.scheduler, options.name, options.port)
    return 0


def _peers(options: argparse.Namespace) -> int:
    if not has_gpu():
        raise NotRunnable(NEEDS_GPU.replace("Recording", "A library beside a kernel"))
    from engine.backends.gpu import peer_trial  # CuPy is imported only if a GPU is used

    for refused in peer_trial.build():
        print(refused, file=sys.stderr)
    found = list(peer_trial.try_libraries())
    if options.json:
        print(json.dumps([asdict(each) for each in found]))
    else:
        for each in found:
            print(f"{each.operation} {each.dtype}: {each.peer}: {each.missing or 'ok'}")
    return 0


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


def _doctor(options: argparse.Namespace) -> int:
    from engine.commands.doctor import doctor, server_check

    checks = doctor() if options.server is None else [server_check(options.server)]
    if options.json:
        print(json.dumps([asdict(check) for check in checks]))
    else:
        for check in checks:
            print(
                f"{'ok     ' if check.ok else 'without' if check.optional else 'missing'} {check.name}: {check.detail}"
            )
            if not check.ok and check.fix:
                print(f"        {check.fix}")
    return 0 if all(check.ok or check.optional for check in checks) else 1


def _whole_number(text: str) -> int:
    try:
        return whole_number(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine", description="Run, check and time the kernels.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    kernels = commands.add_parser("kernels", help="the catalogue")
    kernels.add_argument("--page", action="store_true", help="write the catalogue's page, docs/kernels.md")
    kernels.set_defaults(command=_kernels)

    measure.add_parsers(commands, _whole_number)
    lab_parsers.add_parsers(commands, _whole_number, _lab)
    sheet_parsers.add_parsers(commands, _lab)
    record = commands.add_parser("record", help="the whole catalogue on this GPU -> a recorded-run file")
    record.add_argument("--quick", action="store_true", help="two minutes: the ladders as they open, and a few sizes")
    record.add_argument("--check", type=Path, metavar="FILE", help="judge a recording that somebody sent, and measure "
                        "nothing: whole, private, right, steady, possible for its GPU")  # fmt: skip
    record.set_defaults(command=_record)

    warm = commands.add_parser("warm", help="before a lecture: every rung of these ladders run once, and what is ready")
    warm.add_argument("ladders", nargs="+", metavar="LADDER", help=f"its name, or {EVERY}")
    warm.set_defaults(command=_warm)

    host = commands.add_parser("host", help="let this computer serve a cluster's dashboard, until Ctrl-C")
    host.add_argument("scheduler", metavar="ADDRESS", help="of Dask's scheduler: tls://10.0.0.1:8786")
    host.add_argument("--name", help="what users call this computer; its own name, if nothing else is said")
    host.add_argument("--port", type=int, default=0, help="where it listens to the scheduler; any, if nothing is said")
    host.set_defaults(command=_host)

    archive.add_parsers(commands, _whole_number)
    keeping.add_parsers(commands)
    peers = commands.add_parser("peers", help="the libraries that the kernels are measured against: built, and tried")
    peers.set_defaults(command=_peers)

    claims = commands.add_parser("claims", help="a ladder's claims: what holds here, and why the others do not")
    claims.add_argument("ladder")
    claims.set_defaults(command=_claims)

    doctor = commands.add_parser("doctor", help="what works on this machine, and one fix a line")
    doctor.add_argument("--server", metavar="URL", help="ask a running dashboard instead: http://127.0.0.1:8501")
    doctor.set_defaults(command=_doctor)
    for command in (kernels, warm, peers, claims, doctor):
        command.add_argument("--json", action="store_true")
    return parser

"""The command line: kernels, run, sweep, code, emulate, check, sheets, grade, progress, record, warm, host, history,
peers, doctor.

Exit status: 0 ok, 1 wrong or with findings, 2 refused or not runnable, 3 the run failed (crash, deadline).
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from engine import archive, libraries
from engine.catalogue import LADDERS, default_choice
from engine.choices import settle
from engine.compile.encodings import read_file
from engine.history.contract import flat
from engine.lab.parsers import add_parsers
from engine.listing import lines, rows
from engine.measuring.measure import failed
from engine.records import C_TYPES, CACHE_STATES, COMBINES, DEVICES, Choice, CompileError, Measurement, NotRunnable
from engine.sheets import parsers as sheet_parsers
from engine.terminal import text
from engine.words import whole_number

EVERY = "all"  # ladders, in the place of their names
EXIT_STATUS = {"ok": 0, "wrong": 1, "hazard": 1, "refused": 2, "compile-error": 2}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except NotRunnable as refused:
        print(refused, file=sys.stderr)
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


def _run(options: argparse.Namespace) -> int:
    try:
        choice = _choice(options, options.kernel, options.n, options.block_size, options.grid_size, options.parameter)
        measurement = _measured([choice])[0]
    except NotRunnable as refused:
        if not options.json:
            raise
        asked = Choice(options.kernel, options.n, options.block_size, options.grid_size, options.dtype, options.cache,
                       parameter=options.parameter)  # fmt: skip
        measurement = failed(asked, refused)
    if options.json:
        print(json.dumps(flat(measurement)))
    else:
        print(text(measurement))
    return EXIT_STATUS.get(measurement.status, 3)


def _sweep(options: argparse.Namespace) -> int:
    choices = [
        _choice(options, kernel, n, block_size, grid_size, parameter)
        for kernel in options.kernels
        for n in options.n or [None]
        for block_size in options.block_sizes or [None]
        for grid_size in options.grid_size or [None]
        for parameter in options.parameter or [None]
    ]
    measurements = _measured(choices)
    if options.csv:
        from engine.tables import csv_of

        Path(options.csv).write_text(csv_of(measurements), encoding="utf-8")
    if options.json:
        print(json.dumps([flat(measurement) for measurement in measurements]))
    elif not options.csv:
        for measurement in measurements:
            print(text(measurement))
    return max(EXIT_STATUS.get(measurement.status, 3) for measurement in measurements)


def _code(options: argparse.Namespace) -> int:
    from engine.lectures.reasons import record, sentences  # heavy: the compiler

    choice = _choice(options, options.kernel, options.n, options.block_size, options.grid_size, options.parameter)
    asked = settle(choice)
    try:
        print(json.dumps(record(asked)) if options.json else "\n".join(sentences(asked)))
    except CompileError as error:
        raise NotRunnable(str(error)) from None
    return 0


def _record(options: argparse.Namespace) -> int:
    from engine.recording import float_sums, recorder

    def say(fraction: float, text: str) -> None:
        print(f"{fraction:6.1%} {text}", file=sys.stderr)

    print(recorder.record(options.quick, say))
    if not options.quick:
        print(float_sums.record(progress=say))
    return 0


def _lab(options: argparse.Namespace) -> int:
    answer = options.answer(options)
    print(json.dumps(answer.record) if options.json else answer.text)
    return EXIT_STATUS.get(answer.status, 3)


def _warm(options: argparse.Namespace) -> int:
    from engine.history import history
    from engine.service.warm_up import readiness, run_of

    names = [*LADDERS] if options.ladders == [EVERY] else options.ladders
    unknown = [name for name in names if name not in LADDERS]
    if unknown:
        raise NotRunnable(f"There is no ladder {unknown[0]!r}: choose {', '.join(LADDERS)}, or {EVERY}.")
    found = []
    for ladder in (LADDERS[name] for name in names):
        runs = [run_of(ladder, rung) for rung in ladder.rungs]
        for choice, measurement in zip(runs, _measured(runs), strict=True):
            history.remember(choice, measurement)
        found += [{"ladder": ladder.name, **asdict(ready)} for ready in readiness(ladder)]
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        for ready in found:
            print(f"{ready['state']:9} {ready['ladder']:16} {ready['rung']:14} {ready['sentence']}")
    return 3 if any(ready["state"] == "failed" for ready in found) else 0


def _host(options: argparse.Namespace) -> int:
    try:
        module = importlib.import_module("engine.service.host")
    except ImportError as error:
        raise NotRunnable(f"{error}: pip install -r requirements-cluster.txt -c constraints.txt") from None
    module.run_host(options.scheduler, options.name, options.port)
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from engine.doctor import doctor, server_check

    checks = doctor() if options.server is None else [server_check(options.server)]
    if options.json:
        print(json.dumps([asdict(check) for check in checks]))
    else:
        for check in checks:
            print(f"{'ok     ' if check.ok else 'missing'} {check.name}: {check.detail}")
            if not check.ok and check.fix:
                print(f"        {check.fix}")
    return 0


def _choice(
    options: argparse.Namespace,
    kernel: str,
    n: int | None,
    block_size: int | None,
    grid_size: int | None,
    parameter: int | None,
) -> Choice:
    choice = default_choice(kernel)
    source = source_name = None
    if getattr(options, "source", None):
        source_name = str(options.source)
        source = _read(options.source)
    return replace(
        choice,
        n=choice.n if n is None else n,
        block_size=choice.block_size if block_size is None else block_size,
        grid_size=grid_size,
        dtype=options.dtype or choice.dtype,
        cache=options.cache,
        device=options.device,
        combine=options.combine,
        parameter=parameter,
        schedule=options.schedule,
        source=source,
        source_name=source_name,
    )


def _read(path: Path) -> str:
    text, said = read_file(path)
    if said:
        print(said, file=sys.stderr)
    return text


def _measured(choices: Sequence[Choice]) -> list[Measurement]:
    """Each choice through an isolated worker: a crash or an endless kernel costs one sentence. The workers end with
    this process."""
    from engine.service import service

    return service.measured(choices, "command line")


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

    run = commands.add_parser("run", help="one kernel: its answer checked, then its time or its counters")
    code = commands.add_parser(
        "code", help="why a kernel is fast: registers, occupancy, its hottest loop, the roofline"
    )
    for one, answer in ((run, _run), (code, _code)):
        one.add_argument("kernel", metavar="KERNEL")
        one.add_argument("--n", type=_whole_number, help="elements, or matrix width; 2^22 and 4M work too")
        one.add_argument("--block-size", type=_whole_number)
        one.add_argument("--grid-size", type=_whole_number, help="blocks, of a kernel that strides over the grid")
        one.add_argument("--parameter", type=_whole_number, metavar="V", help="the kernel's own knob, where it has one")
        one.add_argument("--source", type=Path, metavar="FILE.cu", help="this file's kernel of the same name instead")
        one.set_defaults(command=answer)
    code.set_defaults(device="gpu", schedule=None)

    sweep = commands.add_parser("sweep", help="every combination of kernels, sizes, block sizes, grids and knob values")
    sweep.add_argument("kernels", nargs="+", metavar="KERNEL")
    sweep.add_argument("--n", type=_whole_number, nargs="+")
    sweep.add_argument("--block-sizes", type=_whole_number, nargs="+")
    sweep.add_argument("--grid-sizes", "--grid-size", dest="grid_size", type=_whole_number, nargs="+", metavar="G",
                       help="blocks, of kernels that stride over the grid")  # fmt: skip
    sweep.add_argument(
        "--parameter", type=_whole_number, nargs="+", metavar="V", help="values of the kernels' own knob"
    )
    sweep.add_argument("--csv", metavar="FILE")
    sweep.set_defaults(command=_sweep)

    for command in (run, sweep):
        command.add_argument("--device", default="auto", metavar="{" + ",".join(DEVICES) + ",gpu:MODEL}")
        command.add_argument("--schedule", metavar="{lockstep,independent:SEED,waves:BLOCKS}",
                             help="the order in which the emulator runs lanes and blocks")  # fmt: skip
    for command in (run, sweep, code):
        command.add_argument("--dtype", metavar="{" + ",".join(C_TYPES) + "}")
        command.add_argument("--cache", default=CACHE_STATES[0], metavar="{" + ",".join(CACHE_STATES) + "}")
        command.add_argument("--combine", metavar="{" + ",".join(COMBINES) + "}", help="how block sums become one sum")

    add_parsers(commands, _whole_number, _lab)
    sheet_parsers.add_parsers(commands, _lab)
    record = commands.add_parser("record", help="the whole catalogue on this GPU -> a recorded-run file")
    record.add_argument("--quick", action="store_true", help="one block size and four sizes a kernel")
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
    libraries.add_parser(commands)
    doctor = commands.add_parser("doctor", help="what works on this machine, and one fix a line")
    doctor.add_argument("--server", metavar="URL", help="ask a running dashboard instead: http://127.0.0.1:8501")
    doctor.set_defaults(command=_doctor)
    for command in (kernels, run, sweep, code, warm, doctor):
        command.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())

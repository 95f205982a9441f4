"""The commands `run`, `sweep`, `code` and `kernels`, which work on kernels of the catalogue."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from engine.backends.measure import failed
from engine.catalogue import KERNELS, Kernel, default_choice
from engine.commands.output import SESSION, exit_status, text, write_file
from engine.compile.limits import read_file
from engine.history.contract import flat
from engine.plan import settle, strides
from engine.records import (
    C_TYPES,
    CACHE_STATES,
    COMBINES,
    DEVICES,
    SCHEDULES,
    Choice,
    CompileError,
    Measurement,
    NotRunnable,
)


def add_parsers(commands: Any, number: Callable[[str], int]) -> None:
    """Add `run`, `sweep` and `code`. `number` parses a number."""
    run = commands.add_parser("run", help="one kernel: its answer checked, then its time or its counters")
    code = commands.add_parser(
        "code", help="why a kernel is fast: registers, occupancy, its hottest loop, the roofline"
    )
    for one, answer in ((run, _run), (code, _code)):
        one.add_argument("kernel", metavar="KERNEL")
        one.add_argument("--n", type=number, help="elements, or matrix width; 2^22 and 4M work too")
        one.add_argument("--block-size", type=number)
        one.add_argument("--grid-size", type=number, help="blocks, of a kernel that strides over the grid")
        one.add_argument("--parameter", type=number, metavar="V", help="the kernel's own parameter, such as a stride")
        one.add_argument("--source", type=Path, metavar="FILE.cu", help="this file's kernel of the same name instead")
        one.set_defaults(command=answer)
    code.set_defaults(device="gpu", schedule=None)

    sweep = commands.add_parser("sweep", help="every combination of kernels, sizes, block sizes, grids and parameters")
    sweep.add_argument("kernels", nargs="+", metavar="KERNEL")
    sweep.add_argument("--n", type=number, nargs="+")
    sweep.add_argument("--block-sizes", type=number, nargs="+")
    sweep.add_argument("--grid-sizes", "--grid-size", dest="grid_size", type=number, nargs="+", metavar="G",
                       help="blocks, of kernels that stride over the grid")  # fmt: skip
    sweep.add_argument("--parameter", type=number, nargs="+", metavar="V", help="values of the kernels' own parameter")
    sweep.add_argument("--csv", metavar="FILE")
    sweep.set_defaults(command=_sweep)

    for command in (run, sweep):
        command.add_argument("--device", default="auto", metavar="{" + ",".join(DEVICES) + ",gpu:MODEL}")
        command.add_argument("--schedule", metavar="{" + ",".join(SCHEDULES) + "}",
                             help="the order in which the emulator runs lanes and blocks")  # fmt: skip
    for command in (run, sweep, code):
        command.add_argument("--dtype", metavar="{" + ",".join(C_TYPES) + "}")
        command.add_argument("--cache", default=CACHE_STATES[0], metavar="{" + ",".join(CACHE_STATES) + "}")
        command.add_argument("--combine", metavar="{" + ",".join(COMBINES) + "}", help="how block sums become one sum")
        command.add_argument("--json", action="store_true")


def _run(options: argparse.Namespace) -> int:
    try:
        choice = _choice(options, options.kernel, options.n, options.block_size, options.grid_size, options.parameter)
        measurement = _measured([choice])[0] if choice.source is None else _measured_file(choice)
    except NotRunnable as refused:
        if not options.json:
            raise
        asked = Choice(options.kernel, options.n, options.block_size, options.grid_size, options.dtype, options.cache,
                       parameter=options.parameter)  # fmt: skip
        measurement = failed(asked, refused)
    if options.json:
        print(json.dumps(flat(measurement)))
    else:
        print(text(measurement), file=sys.stderr if measurement.status == "refused" else sys.stdout)
    return exit_status(measurement.status)


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
        from engine.history.tables import csv_of

        try:
            write_file(Path(options.csv), csv_of(measurements))
        except NotRunnable:
            print("\n".join(map(text, measurements)))  # they took long
            raise
        print(f"Rows in {options.csv}: {len(measurements):,}", file=sys.stderr)
    if options.json:
        print(json.dumps([flat(measurement) for measurement in measurements]))
    elif not options.csv:
        for measurement in measurements:
            print(text(measurement))
    return max(exit_status(measurement.status) for measurement in measurements)


def _code(options: argparse.Namespace) -> int:
    from engine.lectures.reasons import record, sentences  # heavy: the compiler

    choice = _choice(options, options.kernel, options.n, options.block_size, options.grid_size, options.parameter)
    asked = settle(choice)
    try:
        print(json.dumps(record(asked)) if options.json else "\n".join(sentences(asked)))
    except CompileError as error:
        raise NotRunnable(str(error)) from None
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
    """Run each choice in an isolated worker, so a crash or an endless kernel costs one sentence. The workers end with
    this process."""
    from engine.service import service

    return service.measured(choices, SESSION)


def _measured_file(choice: Choice) -> Measurement:
    """Run a file in the place of a kernel. If no order was asked for, a right answer on the emulator is tried in other
    orders and at other sizes, too; one that is wrong there is returned, and its reason says so."""
    from engine.lab.own_launch import Checked
    from engine.service import service

    settled = settle(choice)
    if settled.device != "emulator" or choice.schedule is not None:
        return _measured([choice])[0]
    try:
        found: Checked = service.submit_rung(settled, SESSION).result()
    except Exception as error:
        return service.failure_of(choice, error)
    reason = " ".join(filter(None, (found.remark, found.measurement.reason)))
    return replace(found.measurement, reason=reason or None)


def rows() -> list[dict[str, Any]]:
    """Return one flat row per kernel, as `python -m engine kernels --json` prints it."""
    return [
        {
            "kernel": kernel.name,
            "topic": kernel.topic,
            "title": kernel.title,
            "dtypes": kernel.dtypes,
            "block_sizes": kernel.offered_block_sizes,
            "combine": kernel.combines,
            "grid_free": strides(kernel),
            "parameter": None if kernel.parameter is None else asdict(kernel.parameter),
            "expect": kernel.expect,
            "file": kernel.file_name,
        }
        for kernel in KERNELS.values()
    ]


def lines() -> list[str]:
    """Return one line per kernel: its name, its title, and its parameter if it has one."""
    return [f"{kernel.name:28} {kernel.title}{_macro(kernel)}" for kernel in KERNELS.values()]


def _macro(kernel: Kernel) -> str:
    own = kernel.parameter
    return f"  [--parameter: {own.label}, {_range(own.values)}, else {own.default:,}]" if own else ""


def _range(values: Sequence[int]) -> str:
    """Return "1 to 32" for consecutive values, else the values."""
    if len(values) > 1 and list(values) == list(range(values[0], values[-1] + 1)):
        return f"{values[0]:,} to {values[-1]:,}"
    return " ".join(map(str, values))

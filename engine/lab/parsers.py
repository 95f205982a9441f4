"""What the lab's commands take on a command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.compile.process import start
from engine.records import SCHEDULES

if TYPE_CHECKING:
    from engine.lab.commands import Answer


def add_parsers(commands: Any, number: Callable[[str], int], command: Callable[[argparse.Namespace], int]) -> None:
    """`emulate` and `check`: `command` is handed options whose `answer(options)` is an Answer. `number` reads one."""
    emulate = commands.add_parser("emulate", help="any kernel of any .cu file, on the emulator")
    emulate.add_argument("--grid", type=number, nargs="+", default=[1], metavar="G", help="blocks, in x y z")
    emulate.add_argument("--block", type=number, nargs="+", default=[256], metavar="B", help="threads, in x y z")
    emulate.add_argument("--arg", action="append", default=[], metavar="VALUE", help="an argument, once for each: a "
                         "number, float32[4096], float32[4096]=range (zeros, ones, random, 7), or x.npy")  # fmt: skip
    emulate.add_argument("--shared", type=number, default=0, metavar="N", help="bytes of dynamic shared memory a block")
    emulate.add_argument("--cooperative", action="store_true", help="all blocks at once, for grid.sync()")
    emulate.add_argument("--schedule", metavar="{" + ",".join(SCHEDULES) + "}")
    emulate.set_defaults(command=command, answer=_emulated)

    check = commands.add_parser("check", help="whether the kernels of a .cu file compile and can be emulated")
    check.set_defaults(command=command, answer=_checked)
    for each in (emulate, check):
        each.add_argument("file", type=Path, metavar="FILE.cu")
        each.add_argument(
            "--kernel", metavar="NAME", help='of a template "sum<float, 128>"; not needed for a single one'
        )
        each.add_argument("--json", action="store_true")


def _emulated(options: argparse.Namespace) -> Answer:
    start()  # it warms up while this process imports
    from engine.lab.commands import emulate  # heavy: the emulator

    return emulate(
        options.file, options.kernel, options.grid, options.block, options.arg, shared=options.shared,
        cooperative=options.cooperative, schedule=options.schedule,
    )  # fmt: skip


def _checked(options: argparse.Namespace) -> Answer:
    start()
    from engine.lab.commands import check  # heavy: the emulator

    return check(options.file, options.kernel)

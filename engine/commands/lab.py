"""The commands `emulate` and `check`: any kernel of any file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.syntax import InvalidPtx, PtxError
from engine.compile.process import start
from engine.lab.arguments import FILLS, argument_of
from engine.lab.debugger import State
from engine.lab.kernels import KernelRun, OwnKernel, kernel, kernels
from engine.records import SCHEDULES, Array, CompileError, NotRunnable, RunFailed, status_of
from engine.records.counters import COUNTERS, IN_TABLE

_NEED_AT = "--thread and --in-block say whose variables to print: add --at LINE or --moment M."
_LISTED = 8  # kernels that a refusal names
_FIRST = 8  # elements of an array that are printed


@dataclass(frozen=True)
class Answer:
    """`status` as of a Measurement; `record` for --json; `text` for a terminal; `refusal` for its standard error."""

    status: str
    record: Mapping[str, Any]
    text: str
    refusal: str = ""


def refused(why: object, record: Mapping[str, Any] | None = None, text: str = "") -> Answer:
    """Return the answer of a command that refuses. `record` and `text`: what it did before."""
    return Answer("refused", {**(record or {}), "status": "refused", "reason": str(why)}, text, str(why))


@dataclass(frozen=True)
class Stop:
    """Where the variables of a thread are told: before `line` for the last time, or at a moment."""

    line: int | None
    thread: int
    block: int
    moment: int | None


def emulate(
    file: Path, name: str | None, grid: Sequence[int], block: Sequence[int], words: Sequence[str], *, shared: int,
    cooperative: bool, schedule: str | None, estimate: bool = False, stop: Stop | None = None,
) -> Answer:  # fmt: skip
    """Launch a kernel of `file` on the emulator; `words`: its arguments. `estimate`: estimate its time on a GPU, too;
    `stop`: tell the variables of a thread there. An error is part of the answer."""
    asked = {"file": str(file), "kernel": name, "grid": list(grid), "block": list(block)}
    try:
        arguments = [argument_of(word, place) for place, word in enumerate(words)]
        run = kernel(file, name).run(grid, block, arguments, shared=shared, cooperative=cooperative, schedule=schedule)
        estimated = run.estimate if estimate else None
        state = run.at(stop.line, stop.thread, block=stop.block, time=stop.moment) if stop else None
    except (NotRunnable, CompileError, RunFailed) as error:
        return _failed(asked, error)
    status = "ok" if run.ok else "hazard"
    record: dict[str, Any] = {
        **asked, "kernel": run.kernel, "status": status, "reason": None,
        "arrays": {each: _first(array) for each, array in run.arrays.items()},
        "symbols": {each: _first(array) for each, array in run.symbols.items()},
        "counters": run.counters,
        "lines": [{"line": line.line, "text": line.text, **line.counters} for line in run.lines],
        "findings": [asdict(finding) for finding in run.findings],
        "printed": list(run.printed), "warnings": list(run.warnings),
    }  # fmt: skip
    lines = _describe_run(run, status)
    if estimated is not None:
        record["estimate"] = asdict(estimated)
        lines += [f"  {sentence}" for sentence in estimated.sentences]
    if stop is not None and state is not None:
        record["state"] = {"moment": state.moment, "line": state.line, "thread": state.thread, "block": stop.block,
                           "variables": dict(state)}  # fmt: skip
        lines += _describe_state(state, stop)
    return Answer(status, record, "\n".join(lines))


def _describe_state(state: State, stop: Stop) -> list[str]:
    known = state.variables
    return [
        f"Thread {state.thread} of block {stop.block} before line {state.line}, moment {state.moment}:",
        *(f"  {one.type} {one.name} = {one.note or (one.value if one.parts else one.text)}" for one in known),
    ]


def _describe_run(run: KernelRun, status: str) -> list[str]:
    shown = [f"  {COUNTERS[name].title}: {run.counters[name]:,.10g}" for name in IN_TABLE if run.counters.get(name)]
    arrays = {**run.arrays, **run.symbols}.items()
    return [
        f"{run.kernel}: {status}",
        *(f"  {finding.message}" for finding in run.findings),
        *(f"  Warning: {warning}" for warning in run.warnings),
        *(
            f"  {name}: {array.dtype}{list(array.shape)}: {array.reshape(-1)[:_FIRST].tolist()}"
            for name, array in arrays
        ),
        *shown,
        *run.printed,
    ]


def check(file: Path, name: str | None) -> Answer:
    """Compile a file's kernels, all or `name`: their parameters, the compiler's warnings, unsupported instructions.

    A template is compiled with the arguments that `name` or the file gives.
    """
    asked: dict[str, Any] = {"file": str(file)}
    try:
        found = (kernel(file, name),) if name else kernels(file)
        unknown = {one.name: _unknown(one) for one in found}
    except PtxError as error:
        return _failed(asked, NotRunnable(error.sentence(file.name)))
    except (NotRunnable, CompileError, RunFailed) as error:
        return _failed(asked, error)
    rows = [
        {
            "kernel": one.name,
            "parameters": [{"name": each.name, "kind": each.kind, "size": each.size} for each in one.parameters],
            "not_emulated": [f"line {line}: {what}" for what, line in unknown[one.name]],
        }
        for one in found
    ]
    left_out, refused = found[0].made.left_out, found[0].made.refused
    rows += [{"kernel": one, "parameters": [], "not_emulated": [why]} for one, why in refused]
    warnings = tuple(dict.fromkeys(warning for one in found for warning in one.warnings))
    status = "refused" if refused or any(unknown.values()) else "ok"
    reason = refused[0][1] if refused else "The emulator lacks instructions that a kernel needs."
    record = {**asked, "status": status, "reason": reason if status == "refused" else None, "kernels": rows,
              "left_out": len(left_out),
              "warnings": list(warnings)}  # fmt: skip
    said = [
        f"{one.name}({', '.join(each.name for each in one.parameters)}): " + _whether(unknown[one.name])
        for one in found
    ]
    said += [f"{one}: {why}" for one, why in refused]
    said += [f"{len(left_out)} more, {_list_names(left_out)}: name it to check it."] if left_out else []
    return Answer(status, record, "\n".join([*said, *(f"  Warning: {warning}" for warning in warnings)]))


def _list_names(names: Sequence[str]) -> str:
    return ", ".join([*names[:_LISTED], *(["…"] if len(names) > _LISTED else [])])


def _unknown(one: OwnKernel) -> list[tuple[str, int | None]]:
    """Return the instructions of a kernel that the emulator lacks, each with its line. InvalidPtx: the PTX is not
    valid."""
    try:
        return [(item.opcode, item.line) for item in not_emulated(load(one.source, one.symbol))]
    except InvalidPtx:
        raise
    except PtxError as error:
        return [(str(error).removesuffix(" is not emulated"), error.line)]


def _whether(unknown: Sequence[tuple[str, int | None]]) -> str:
    listed = ", ".join(f"{what} (line {line})" for what, line in unknown)
    return f"not emulated: {listed}" if listed else "ok"


def _failed(asked: Mapping[str, Any], error: NotRunnable | CompileError | RunFailed) -> Answer:
    status = status_of(error)
    log = error.log if isinstance(error, CompileError) and error.log != str(error) else None
    record = {**asked, "status": status, "reason": str(error), "log": log}
    if status == "refused":
        return Answer(status, record, "", str(error))
    return Answer(status, record, "\n".join([str(error), *([log] if log else [])]))


def _first(array: Array) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape), "first": array.reshape(-1)[:_FIRST].tolist()}


def add_parsers(commands: Any, number: Callable[[str], int], command: Callable[[argparse.Namespace], int]) -> None:
    """Add `emulate` and `check`. `command` gets options whose `answer(options)` is an Answer. `number` parses a
    number."""
    emulate = commands.add_parser("emulate", help="any kernel of any .cu file, on the emulator")
    emulate.add_argument("--grid", type=number, nargs="+", default=[1], metavar="G", help="blocks, in x y z")
    emulate.add_argument("--block", type=number, nargs="+", default=[256], metavar="B", help="threads, in x y z")
    emulate.add_argument("--arg", action="append", default=[], metavar="VALUE", help="an argument, once for each: a "
                         f"number, float32[4096], float32[4096]=range ({', '.join(FILLS)}, 7), or x.npy")  # fmt: skip
    emulate.add_argument("--shared", type=number, default=0, metavar="N", help="bytes of dynamic shared memory a block")
    emulate.add_argument("--cooperative", action="store_true", help="all blocks at once, for grid.sync()")
    emulate.add_argument("--schedule", metavar="{" + ",".join(SCHEDULES) + "}")
    emulate.add_argument("--estimate", action="store_true", help="estimate its time on a GPU: a model, not measured")
    emulate.add_argument("--at", type=number, metavar="LINE", help="tell the variables of a thread before this line")
    emulate.add_argument("--thread", type=number, metavar="T", help="for --at: the thread in its block")
    emulate.add_argument("--in-block", type=number, metavar="B", help="for --at: the number of the block")
    emulate.add_argument("--moment", type=number, metavar="M", help="instead of --at: a moment as the debugger counts")
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
    stop = None
    if options.at is not None or options.moment is not None:
        stop = Stop(options.at, options.thread or 0, options.in_block or 0, options.moment)
    if stop is None and (options.thread is not None or options.in_block is not None):
        return _failed({"file": str(options.file)}, NotRunnable(_NEED_AT))
    if (options.moment or 0) < 0:
        return _failed(
            {"file": str(options.file)}, NotRunnable(f"There is no moment {options.moment}: the first is 0.")
        )
    start()  # the server warms up while this process imports
    return emulate(
        options.file, options.kernel, options.grid, options.block, options.arg, shared=options.shared,
        cooperative=options.cooperative, schedule=options.schedule, estimate=options.estimate, stop=stop,
    )  # fmt: skip


def _checked(options: argparse.Namespace) -> Answer:
    start()

    return check(options.file, options.kernel)

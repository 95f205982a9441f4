"""The lab's commands: `emulate` launches a kernel of any file, `check` says whether a file's kernels can run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.syntax import InvalidPtx, PtxError
from engine.counters import COUNTERS, IN_TABLE
from engine.lab.argument_words import argument_of
from engine.lab.kernel_run import KernelRun
from engine.lab.kernels import Kernel, kernel, kernels
from engine.records import Array, CompileError, NotRunnable, RunFailed, status_of

_LISTED = 8  # kernels that are named
_FIRST = 8  # elements of an array that are shown


@dataclass(frozen=True)
class Answer:
    """`status` as of a Measurement; `record` for --json; `text` for a terminal."""

    status: str
    record: Mapping[str, Any]
    text: str


def emulate(
    file: Path, name: str | None, grid: Sequence[int], block: Sequence[int], words: Sequence[str], *, shared: int,
    cooperative: bool, schedule: str | None,
) -> Answer:  # fmt: skip
    """Launch a kernel of `file` on the emulator; `words`: its arguments. What goes wrong is in the answer."""
    asked = {"file": str(file), "kernel": name, "grid": list(grid), "block": list(block)}
    try:
        arguments = [argument_of(word) for word in words]
        run = kernel(file, name).run(grid, block, arguments, shared=shared, cooperative=cooperative, schedule=schedule)
    except (NotRunnable, CompileError, RunFailed) as error:
        return _failed(asked, error)
    status = "ok" if run.ok else "hazard"
    record = {
        **asked, "kernel": run.kernel, "status": status, "reason": None,
        "arrays": {each: _first(array) for each, array in run.arrays.items()},
        "symbols": {each: _first(array) for each, array in run.symbols.items()},
        "counters": run.counters,
        "lines": [{"line": line.line, "text": line.text, **line.counters} for line in run.lines],
        "findings": [asdict(finding) for finding in run.findings],
        "printed": list(run.printed), "warnings": list(run.warnings),
    }  # fmt: skip
    return Answer(status, record, "\n".join(_told(run, status)))


def _told(run: KernelRun, status: str) -> list[str]:
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
    """Compile a file's kernels, all or `name`: their parameters, the compiler's warnings, what is not emulated.

    A template is compiled with the arguments that `name` gives, or the file itself."""
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
            "parameters": [asdict(each) for each in one.parameters],
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
    said += [f"{len(left_out)} more, {_listed(left_out)}: name it to check it."] if left_out else []
    return Answer(status, record, "\n".join([*said, *(f"  Warning: {warning}" for warning in warnings)]))


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_LISTED], *(["…"] if len(names) > _LISTED else [])])


def _unknown(one: Kernel) -> list[tuple[str, int | None]]:
    """What the emulator lacks of a kernel, each with its line. InvalidPtx: nobody takes the file."""
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
    return Answer(status, record, "\n".join([str(error), *([log] if log else [])]))


def _first(array: Array) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape), "first": array.reshape(-1)[:_FIRST].tolist()}

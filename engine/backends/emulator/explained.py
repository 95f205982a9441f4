"""What a launch that cannot go on says: one sentence, whatever went wrong, the emulator's own faults included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from engine.backends.emulator.ptx.syntax import Instruction, PtxError
from engine.backends.emulator.running.code import Code
from engine.records import CompileError, NotRunnable, RunFailed


@contextmanager
def told(name: str) -> Iterator[None]:
    """Turn what goes wrong inside into RunFailed. `name`: what the .cu file is called.

    A fault of the emulator keeps its cause, for whoever mends it; the sentence says that it is no fault of the kernel.
    """
    try:
        yield
    except (RunFailed, CompileError, NotRunnable):
        raise
    except PtxError as error:
        raise RunFailed("crashed", error.sentence(name), error.line) from None
    except MemoryError:
        raise RunFailed("crashed", f"{name}: the emulator has not enough memory for this launch.") from None
    except Exception as error:
        line = _line(error.__traceback__)
        place = f"{name}, line {line}" if line else name
        sentence = (
            f"{place}: this is a fault of the emulator, not of your kernel; please report it together with the kernel "
            f"({type(error).__name__})."
        )
        raise RunFailed("crashed", sentence, line) from error


def _line(trace: TracebackType | None) -> int | None:
    """The .cu line that the emulator was at: the innermost frame that holds an instruction or a block knows it."""
    found = None
    while trace is not None:
        names = trace.tb_frame.f_locals
        item, code = names.get("item"), names.get("code")
        if isinstance(item, Instruction):
            found = item.line or found
        elif isinstance(code, Code):
            found = _line_in(code, names.get("step")) or found
        trace = trace.tb_next
    return found


def _line_in(code: Code, step: object) -> int:
    """The line of the instruction that `step` executes, or where its block ends."""
    body = code.block.body
    if len(body) == len(code.steps) and step in code.steps:
        return next(item.line for item, one in zip(body, code.steps, strict=True) if one is step)
    return code.block.line

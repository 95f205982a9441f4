"""Where the emulator was when it went wrong itself."""

from __future__ import annotations

from engine.backends.emulator.ptx.syntax import PtxError
from engine.records import CompileError, NotRunnable, RunFailed


class EmulatorFault(Exception):
    """An exception that nobody foresaw, which is the cause. `line`: the .cu line that was executed, 0 where unknown."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


# What a launch may end with.
FORESEEN = (RunFailed, CompileError, NotRunnable, PtxError, MemoryError, EmulatorFault)

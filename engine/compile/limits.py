"""The limits of a student's text and of its compilation."""

from __future__ import annotations

import signal

from engine.records import CompileError, NotRunnable

SOURCE_BYTES = 256 << 10
CPU_S = 5  # seconds of one core, so that load on the computer fails no honest text
HURRIED_S = 2  # seconds for a second try that optimises less
WALL_S = 15.0
MEMORY_BYTES = 2 << 30
PTX_BYTES = 2 << 20  # twenty times the largest of the catalogue; the emulator parses a megabyte in a second
ASSEMBLED_BYTES = (
    512 << 10
)  # of PTX; a longer text takes the assembler several seconds, and the emulator counts by the PTX
LOG_BYTES = 64 << 10
SENTENCE = 400  # characters of the compiler's message in a sentence


class StoppedCompilation(Exception):
    """A compilation that was stopped. `status`: its exit status, negative for a signal; None if it ran out of
    memory."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status

    @property
    def too_long(self) -> bool:
        """Return whether it used up its CPU time."""
        return self.status in (-signal.SIGXCPU, -signal.SIGKILL)

    @property
    def reason(self) -> str:
        """The reason, as the rest of a sentence after "line 3: "."""
        if self.too_long or self.status == -signal.SIGALRM:
            return f"it takes longer than the {CPU_S} s allowed for a compilation"
        if self.status is None:
            return f"it takes more than the {MEMORY_BYTES >> 30} GB of memory allowed for a compilation"
        return "the compiler crashed, as it does on code that is nested too deep or takes too much memory"


class TookTooLong(CompileError):
    """A compilation that used up its CPU time."""


def check_text(name: str, text: str) -> None:
    """Raise NotRunnable for a text that is too long or not readable by a compiler."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise NotRunnable(f"{name} is not text in UTF-8.") from None
    if size > SOURCE_BYTES:
        raise NotRunnable(f"{name} has {size >> 10:,} kB; a source may have {SOURCE_BYTES >> 10}.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise NotRunnable(f"{name} holds a NUL character in line {line}.", line)

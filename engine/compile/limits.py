"""A student's text: its encoding, its limits, and those of its compilation."""

from __future__ import annotations

import codecs
import signal
from pathlib import Path

from engine.records import CompileError, NotRunnable
from engine.records.words import reason_text

SOURCE_BYTES = 256 << 10
_MOST_READ = 4 * SOURCE_BYTES  # of a file, whatever its encoding and line ends
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


_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


def decode(name: str, raw: bytes) -> tuple[str, str | None]:
    """Return the text of the file `name` with "\n" line ends, and a sentence on its encoding (None for plain UTF-8).

    NotRunnable: the file is not text in UTF-8, UTF-16 with its mark, or Windows-1252.
    """
    mark, encoding, called = next((each for each in _MARKS if raw.startswith(each[0])), (b"", "utf-8", ""))
    body = raw[len(mark) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        called = "Windows-1252"
        text = "" if mark else body.decode("cp1252", errors="ignore")
        if text.encode("cp1252") != body:  # a mark without text, or bytes that Windows-1252 lacks
            raise NotRunnable(f"{name} is not text in UTF-8, UTF-16 or Windows-1252.") from None
    said = f"{name} was read as {called}; save it as UTF-8, which every program reads." if called else None
    return text.replace("\r\n", "\n").replace("\r", "\n"), said


def read_file(path: Path) -> tuple[str, str | None]:
    """Read and decode a file. NotRunnable, also if the file does not exist or cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_READ + 1)  # a device or a pipe may have no end
    except FileNotFoundError:
        raise NotRunnable(f"There is no file {path}.") from None
    except OSError as error:
        raise NotRunnable(f"{path} cannot be read: {reason_text(error)}.") from None
    if len(raw) > _MOST_READ:
        raise NotRunnable(f"{path} has more than {_MOST_READ >> 10:,} kB; a source may have {SOURCE_BYTES >> 10}.")
    return decode(path.name, raw)

"""How a command prints a measurement, and its exit status."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

from engine.records import Measurement, NotRunnable
from engine.records.files import written_whole

SESSION = "command line"  # the session of a command's runs
_FAILED = 3  # a crash or a deadline
_EXIT_STATUS = {"ok": 0, "wrong": 1, "hazard": 1, "refused": 2, "compile-error": 2}


def exit_status(status: str) -> int:
    """Return the exit status: 0 ok, 1 wrong or with findings, 2 refused, 3 the run failed."""
    return _EXIT_STATUS.get(status, _FAILED)


def text(measurement: Measurement) -> str:
    """Return the measurement's line, then the kernel's printf output and the compiler's log."""
    log = measurement.log if measurement.log != measurement.reason else None
    return "\n".join([sentence(measurement), *measurement.printed, *([log] if log else [])])


def sentence(m: Measurement) -> str:
    """Return the choice and its outcome: the reason, or the time and rates, or the result."""
    asks = m.choice
    device = m.device.get("name") or m.device["kind"]
    asked = [f"n {asks.n:,}", f"block {asks.block_size}"]
    asked += [] if asks.grid_size is None else [f"grid {asks.grid_size:,}"]
    asked += [] if asks.parameter is None else [f"parameter {asks.parameter:,}"]
    head = f"{'  '.join([asks.kernel, *asked, asks.dtype, device])}: {m.status}"
    if m.reason:
        return f"{head}. {m.reason}"
    if m.time_us is not None:
        rates = ((m.rates.bandwidth_gb_s, "GB/s"), (m.rates.gflop_s, "GFLOP/s"))
        said = (f"{rate:,.1f} {unit}" for rate, unit in rates if rate is not None)
        beside = (f"{peer.ratio:.2f} x {name}" for name, peer in m.peers.items() if peer.ratio is not None)
        return ", ".join([f"{head}, {m.time_us:,.2f} us", *said, *beside, asks.cache])
    return f"{head}, result {m.check.result:,}" if m.check else head


# Controls other than a new line and a tab, marks without width or of the direction of writing, and halves of letters.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """Return the text with each control character as its escape, because a terminal would obey it: `\\x1b`."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text.replace("\r\n", "\n"))


@contextmanager
def printable_streams() -> Iterator[None]:
    """Escape the control characters of everything printed meanwhile: sentences may quote a submission, a file or a
    compiler."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:  # in the place of a stream that the shell closed
        out, errors = (cast("TextIO", _Printable(stream or nowhere)) for stream in (sys.stdout, sys.stderr))
        with redirect_stdout(out), redirect_stderr(errors):
            yield


def write_file(path: Path, content: str) -> None:
    """Write a text whole or not at all. NotRunnable: it cannot be written."""
    try:
        with written_whole(path) as file:
            file.write(content.encode())
    except OSError as error:
        raise NotRunnable(f"{path} cannot be written: {error.strerror}.") from None


class ReaderGone(Exception):
    """The reader of the output has closed it, as `head` does after its last line."""


READER_GONE = 128 + 13  # the exit status of a program that ends by the signal SIGPIPE


class _Printable:
    """A text stream that writes printable text. ReaderGone; NotRunnable, if it cannot write for another reason."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with self._reader():
            self._stream.write(printable(text))
        return len(text)

    def flush(self) -> None:
        with self._reader():
            self._stream.flush()

    @contextmanager
    def _reader(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())  # Python writes the rest when it ends
            if isinstance(error, BrokenPipeError):
                raise ReaderGone from error
            raise NotRunnable(f"The output cannot be written: {error.strerror}.") from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

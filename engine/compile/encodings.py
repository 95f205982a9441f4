"""Decode a source file: UTF-8, UTF-16 with a byte order mark, or Windows-1252."""

from __future__ import annotations

import codecs
from pathlib import Path

from engine.records import NotRunnable

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
        return decode(path.name, path.read_bytes())
    except FileNotFoundError:
        raise NotRunnable(f"There is no file {path}.") from None
    except OSError as error:
        raise NotRunnable(f"{path} cannot be read: {error}.") from None

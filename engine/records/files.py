"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` when the block ends. A full disk, or a process that is killed, leaves
    what was there. OSError.

    `mode`: who may read and write it. A pipe, or a file in a folder that is read-only, is written in place.
    """
    target = path.resolve()
    if path.exists() and not (path.is_file() and os.access(target.parent, os.W_OK)):
        with path.open("wb") as file:
            yield file
        return
    beside = target.with_name(f".{target.name[:60]}.{os.getpid()}")
    try:
        with os.fdopen(_made(beside, path, mode), "wb") as file:
            yield file
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _made(beside: Path, path: Path, mode: int) -> int:
    try:
        return os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    except OSError as error:
        error.filename = str(path)  # the name that the caller knows
        raise

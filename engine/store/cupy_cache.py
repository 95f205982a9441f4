"""CuPy's folder for compiled kernels: CuPy cannot be imported if this folder cannot be made."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from engine.store.database import can_be_written

VARIABLE = "CUPY_CACHE_DIR"


def settle_cache() -> None:
    """Choose a temporary folder, for this process and its children, if CuPy's own folder cannot be written."""
    if cache_trouble() is not None and VARIABLE not in os.environ:
        with suppress(OSError):  # cache_trouble reports it
            os.environ[VARIABLE] = made = tempfile.mkdtemp(prefix="kernel-ladder-cupy-")
            atexit.register(_remove, made, os.getpid())


def cache_trouble() -> str | None:
    """Return a sentence if CuPy's folder cannot be written."""
    folder = Path(os.environ.get(VARIABLE) or Path("~/.cupy/kernel_cache").expanduser())
    if can_be_written(folder):
        return None
    return f"CuPy cannot write {folder}, and nothing compiles without it."


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)

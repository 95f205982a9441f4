"""Compiled kernels of the catalogue and of tests, kept on disk: the processes of a test run compile each text once.

They lie in pytest's own cache, so the thorough run finds what the quick run compiled. `pytest --cache-clear` removes
them. A program that a test starts compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from engine.compile import nvrtc
from engine.compile.nvrtc import Compiled
from engine.records import Source

PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-curand", "cupy-cuda13x")
KEPT_S = 86400.0 * 3


def pytest_configure(config: pytest.Config) -> None:
    """Let the compiler of this process look into the folder first."""
    if not hasattr(config, "cache"):  # -p no:cacheprovider
        return
    folder, toolchain, compile_anew = config.cache.mkdir("compiled"), _toolchain(), nvrtc._compiled.__wrapped__
    if not hasattr(config, "workerinput"):
        for file in folder.iterdir():
            if file.stat().st_mtime < time.time() - KEPT_S:
                file.unlink(missing_ok=True)

    @lru_cache(maxsize=nvrtc._KEPT)
    def compiled(source: Source, architecture: str) -> Compiled:
        file = folder / hashlib.sha256(repr((source, architecture, toolchain)).encode()).hexdigest()
        try:
            return pickle.loads(file.read_bytes())  # type: ignore[no-any-return]
        except FileNotFoundError:
            made = compile_anew(source, architecture)
        own = file.with_suffix(f".{os.getpid()}")
        own.write_bytes(pickle.dumps(made))
        own.replace(file)
        return made

    nvrtc._compiled = compiled


def _toolchain() -> str:
    """Return a digest of the other inputs of a compilation: the packages' versions, our headers and our options."""
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    ours = [Path(nvrtc.__file__), *sorted(file for file in nvrtc.STANDARD_HEADERS.rglob("*") if file.is_file())]
    return hashlib.sha256(b"".join(file.read_bytes() for file in ours) + repr(versions).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"

"""Shared libraries that nvcc builds once and keeps: CUDA C++ that NVRTC cannot compile, such as CUB's device calls."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.records import NotRunnable

OPTIONS = ("-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC")
LIMIT_S = 300.0


def library(source: Path, macros: Mapping[str, str], architecture: str) -> Path:
    """Return the shared library of `source` with these macros for "sm_90"; build it if it is not kept yet.

    NotRunnable: there is no nvcc, or it refuses the source.
    """
    kept = path_of(source, macros, architecture)
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept.parent) as folder:
        made = Path(folder) / kept.name
        defined = [f"-D{name}={value}" for name, value in macros.items()]
        command = [_nvcc(), *OPTIONS, f"-arch={architecture}", *defined, "-o", str(made), str(source)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if ran.returncode:
            said = next((line for line in ran.stderr.splitlines() if "error" in line), ran.stderr.strip()[-200:])
            raise NotRunnable(f"nvcc does not build {source.name}: {said}")
        made.replace(kept)  # an atomic rename, because another process may build it at the same time
    return kept


def path_of(source: Path, macros: Mapping[str, str], architecture: str) -> Path:
    """Return the path of the library of that text, macros, architecture and nvcc. NotRunnable without nvcc."""
    text = f"{source.read_text(encoding='utf-8')}{sorted(macros.items())}{architecture}{OPTIONS}{_version()}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return _folder() / f"{'-'.join([source.stem, *macros.values()])}-{architecture}-{digest}.so"


def _folder() -> Path:
    """Return this program's cache folder (XDG rules)."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "kernel-ladder"


def _nvcc() -> str:
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if found is None:
        raise NotRunnable("There is no nvcc on this computer; the CUDA Toolkit brings it.")
    return found


@lru_cache(maxsize=1)
def _version() -> str:
    return subprocess.run([_nvcc(), "--version"], capture_output=True, text=True, timeout=60, check=True).stdout

"""The checks of this computer, with one fix per line. Every check gives an answer; none raises."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from engine.compile.confinement import FIX, missing_confinement
from engine.machine.environment import DRIVERS, REQUIREMENTS, cuda_major, driver_state, has_gpu
from engine.records import NotRunnable, Source
from engine.records.words import many, reason_text
from engine.service import service
from engine.service.health import compiler_trouble, server_readiness
from engine.service.queue import hosts_text
from engine.store import database, measurements
from engine.store.cupy_cache import VARIABLE, cache_trouble

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# A laptop without these runs everything on the emulator.
OPTIONAL = ("NVIDIA driver", "GPU", "cuBLAS", "browser")
REINSTALL = "pip install -r {} -c {}".format(*REQUIREMENTS[cuda_major()])


@dataclass(frozen=True)
class DoctorCheck:
    """One line: the name of a check, whether it works, the finding, and the fix if it does not work. `optional`: the
    program works without it."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None
    optional: bool = False


class _Missing(Exception):
    """A missing part, and its fix."""


def doctor() -> list[DoctorCheck]:
    """Return all checks, each after those that it depends on."""
    asked = {"cluster": _cluster} if os.environ.get(service.CLUSTER) else {}
    return [replace(_checked(name, look), optional=name in OPTIONAL) for name, look in (_CHECKS | asked).items()]


def server_check(address: str) -> DoctorCheck:
    """Check whether a dashboard that runs at `address` can work."""
    ok, detail = server_readiness(address)
    return DoctorCheck("server", ok, detail, None if ok else "Look into the server's log, or start it again.")


def _checked(name: str, look: Callable[[], str]) -> DoctorCheck:
    try:
        return DoctorCheck(name, True, look())
    except _Missing as missing:
        detail, fix = missing.args
        return DoctorCheck(name, False, detail, fix)
    except OSError as error:
        fix = f"Give this user the right to use {error.filename}." if error.filename else REINSTALL
        return DoctorCheck(name, False, reason_text(error), fix)
    except Exception as error:  # a check that crashes is an answer too
        first = next(iter(str(error).splitlines()), "")
        return DoctorCheck(name, False, f"{type(error).__name__}: {first}", REINSTALL)


def _python() -> str:
    return sys.version.split()[0]  # a Python older than 3.11 does not reach this line


@contextmanager
def _imported(fix: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise _Missing(str(error).splitlines()[0], fix) from None


def _nvrtc() -> str:
    trouble = cache_trouble()
    if trouble:
        raise _Missing(trouble, f"Set {VARIABLE} to a folder that can be written.")
    with _imported(REINSTALL):
        from cupy_backends.cuda.libs import nvrtc

        from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source

        compile_source(
            Source("doctor.cu", 'extern "C" __global__ void k(T *out) { *out = 1; }', "int32"), EMULATED_ARCHITECTURE
        )
    trouble = compiler_trouble()  # in the process that compiles students' texts
    if trouble:
        raise _Missing(trouble, "Start it as a user with a home folder, or see the message above.")
    return "{}.{} compiles".format(*nvrtc.getVersion())


def _confinement() -> str:
    missing = missing_confinement()
    if missing:
        raise _Missing(missing.removesuffix(f" {FIX}"), FIX)
    return "Landlock lets the compiler open its headers only"


def _headers() -> str:
    with _imported(REINSTALL):
        from engine.compile.nvrtc import include_folders

        folders = [Path(folder) for folder in include_folders()]
    for header in ("cooperative_groups.h", "cuda/std/cstdint"):
        if not any((folder / header).is_file() for folder in folders):
            raise _Missing(f"{header} is not installed", REINSTALL)
    return "cooperative_groups.h and cuda/std"


def _driver() -> str:
    state = driver_state()
    if state != "ok":
        raise _Missing(
            state, f"For times on this computer: an NVIDIA GPU, and driver {DRIVERS[cuda_major()]} or newer."
        )
    import cupy

    known = cupy.cuda.runtime.driverGetVersion()
    return f"knows CUDA {known // 1000}.{known % 1000 // 10}"


def _gpu() -> str:
    if not has_gpu():
        raise _Missing(
            "none", "For times on this computer: see the driver's line. Until then they come from recorded runs."
        )
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    free, total = cupy.cuda.runtime.memGetInfo()
    return f"{properties['name'].decode()}, {free / 1e9:.1f} of {total / 1e9:.1f} GB free"


def _cublas() -> str:
    try:
        from cupy_backends.cuda.libs import cublas
    except ImportError:
        install = "pip install -r requirements-gpu.txt -c constraints.txt"
        fix = f"{install} (only to compare matrix kernels with cuBLAS on a GPU)"
        raise _Missing("the library is not installed", fix) from None
    return f"{cublas.__name__.rpartition('.')[2]} loads"


def _browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        raise _Missing("no Chromium", "apt-get install chromium (only for the tests of the pages)")
    return found


def _cluster() -> str:
    try:
        found = service.connect().state().serving
        if service.troubles() or not found:
            start = ".venv/bin/python -m engine host ADDRESS on each computer that is to serve"
            raise _Missing("; ".join(service.troubles()) or "the scheduler answers, and no host serves", start)
        return hosts_text(found)
    except NotRunnable as refused:
        raise _Missing(str(refused), "See docs/cluster.md.") from None
    finally:
        service.disconnect()


def _store() -> str:
    kept = measurements.count()  # this opens it
    trouble = database.trouble()
    if trouble:
        if not database.can_be_written(database.folder()):
            raise _Missing(trouble, "Let this user write there, or set XDG_DATA_HOME to a folder of this user's.")
        raise _Missing(f"{database.folder() / database.FILE} cannot be used", trouble)
    damage = database.read("PRAGMA quick_check(1)")
    if damage and damage[0][0] != "ok":
        moved = "Move the file away before the next start; what can be read of it, sqlite3's .recover reads."
        raise _Missing(f"{database.folder() / database.FILE} is damaged: {damage[0][0]}", moved)
    return f"{many(kept, 'measurement')} in {database.folder() / database.FILE}"


_CHECKS: dict[str, Callable[[], str]] = {
    "Python": _python,
    "NVRTC": _nvrtc,
    "CUDA headers": _headers,
    "confinement": _confinement,
    "NVIDIA driver": _driver,
    "GPU": _gpu,
    "cuBLAS": _cublas,
    "history": _store,
    "browser": _browser,
}

"""The state in which a number was measured: versions, clocks, temperature, other processes on the GPU. Read-only."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine.records.shipped import ROOT, shipped

# The packages of the compiler, by CUDA's major version: one of them is installed. The driver must know that version.
NVRTC_PACKAGES = {13: "nvidia-cuda-nvrtc", 12: "nvidia-cuda-nvrtc-cu12"}
DRIVERS = {13: 580, 12: 525}  # the first driver of each version
OLDEST = {13: 75, 12: 60}  # the oldest compute capability that each compiles the catalogue for
REQUIREMENTS = {13: ("requirements.txt", "constraints.txt"), 12: ("requirements-cuda12.txt", "constraints-cuda12.txt")}
# NVML's reasons for a clock below its maximum, and whether each slows a kernel down.
THROTTLE_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "temperature (software)",
    0x40: "temperature (hardware)",
    0x80: "power brake",
}


@lru_cache(maxsize=1)
def cuda_major() -> int:
    """Return the major version of the installed CUDA; 13 if none is."""
    return next((major for major, package in NVRTC_PACKAGES.items() if _version(package)), 13)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def has_gpu() -> bool:
    """Return whether the installed CUDA can use a GPU here. It asks the driver, so a page need not load CuPy."""
    return driver_state() == "ok"


@lru_cache(maxsize=1)
def driver_state() -> str:
    """Return "ok", or one sentence that says what is missing."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "There is no NVIDIA driver on this machine (libcuda.so.1 is not found)."
    known = ctypes.c_int()
    needed = cuda_major()
    if cuda.cuDriverGetVersion(ctypes.byref(known)) != 0 or known.value < 1000 * needed:
        older = known.value // 1000
        fitting = f" {REQUIREMENTS[older][0]} fits it." if older in REQUIREMENTS else ""
        return (
            f"The NVIDIA driver knows CUDA {older}.{known.value % 1000 // 10}; {needed}.0 is installed here.{fitting}"
        )
    count = ctypes.c_int()
    status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status != 0 or count.value == 0:
        return f"The NVIDIA driver finds no GPU (CUDA error {status})." if status else "There is no GPU to be seen."
    capability = max(_capability(cuda, place) for place in range(count.value))
    return too_old(capability, needed) or "ok"


def _capability(cuda: ctypes.CDLL, place: int) -> int:
    """Return the compute capability of a GPU: 90 for 9.0."""
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), place)
    for value, attribute in ((major, 75), (minor, 76)):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
    return 10 * major.value + minor.value


def too_old(capability: int, major: int) -> str | None:
    """Return a sentence if this CUDA has no code for a GPU of this compute capability; it names one that has."""
    if capability >= OLDEST[major]:
        return None
    fitting = [f" {REQUIREMENTS[each][0]} has." for each in OLDEST if each != major and capability >= OLDEST[each]]
    told = f"The GPU has compute capability {capability // 10}.{capability % 10}, and CUDA {major} has no code for it"
    return f"{told}:{fitting[0]}" if fitting else f"{told}."


def environment() -> dict[str, Any]:
    """Return versions and, with a GPU, its current clocks, temperature, power and throttle reasons."""
    return {**_versions(), **_gpu_state(), "utc": datetime.now(UTC).isoformat(timespec="seconds")}


@lru_cache(maxsize=1)
def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": platform.python_version(), "commit": _commit()}
    major, nvrtc = cuda_major(), NVRTC_PACKAGES[cuda_major()]
    packages = {"cupy": f"cupy-cuda{major}x", "nvrtc": nvrtc, "cuda": nvrtc.replace("nvrtc", "runtime")}
    return found | {name: _version(package) for name, package in packages.items()}


def _commit() -> str | None:
    if not (ROOT / ".git").exists():  # or git would name the commit of a repository around an installed program
        return os.environ.get("KERNEL_LADDER_COMMIT")
    try:
        asked = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("KERNEL_LADDER_COMMIT")  # if the program runs outside its repository
    return asked.stdout.strip() or None


def _gpu_state() -> dict[str, Any]:
    names = ("driver", "sm_clock_now_mhz", "memory_clock_now_mhz", "temperature_c", "power_w", "throttle_reasons")
    state: dict[str, Any] = dict.fromkeys(names)
    handle = _nvml_handle()
    if handle is None:
        return state
    import pynvml

    asked = {
        "driver": pynvml.nvmlSystemGetDriverVersion,
        "sm_clock_now_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
        "memory_clock_now_mhz": lambda: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
        "temperature_c": lambda: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        "power_w": lambda: round(pynvml.nvmlDeviceGetPowerUsage(handle) / 1e3, 1),
        "throttle_reasons": lambda: _reasons(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
    }
    for name, ask in asked.items():
        try:
            state[name] = ask()
        except (pynvml.NVMLError, AttributeError):
            continue  # some GPUs and most containers answer only part of this
    return state


def _reasons(bits: int) -> list[str]:
    return [word for bit, word in THROTTLE_REASONS.items() if bits & bit]


def foreign_processes() -> list[int]:
    """Return the ids of other users' processes that compute on this GPU now. Workers of this program do not count."""
    handle = _nvml_handle()
    if handle is None:
        return []
    import pynvml

    try:
        pids = [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    except pynvml.NVMLError:
        return []
    if os.getpid() not in pids:
        # In a container these ids are the host's, and one of them is this process.
        return pids[1:]
    return [pid for pid in pids if pid not in (os.getpid(), os.getppid()) and _parent(pid) != os.getppid()]


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


@lru_cache(maxsize=1)
def _nvml_handle() -> Any:
    """Return NVML's handle of the GPU that this process uses; None without a driver."""
    if not has_gpu():
        return None
    try:
        import pynvml
        from cupy_backends.cuda.api import runtime

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByPciBusId(runtime.deviceGetPCIBusId(runtime.getDevice()))
    except Exception:  # NVML is optional: a number is valid without it
        return None


ENGINE, KERNELS = "engine/**/*.py", "cuda/**/*.cu"


@lru_cache(maxsize=2)
def program_version(*files: str) -> str:
    """Return a digest of the text of these files. Two programs with equal ENGINE and KERNELS run a choice alike."""
    found = hashlib.sha256()
    for pattern in sorted(files):
        root = ROOT if pattern == ENGINE else shipped("cuda").parent
        for path in sorted(root.glob(pattern)):
            found.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return found.hexdigest()[:16]

"""On what a number was measured: the device, its limits, and the state it was in. Reads; changes nothing."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

CLOCK_RATE_KHZ, MEMORY_CLOCK_KHZ, BUS_WIDTH_BITS = 13, 36, 37  # cudaDeviceAttr
CUDA_NEEDED = 13000  # the driver must know CUDA 13
# FP32 multiply-adds per multiprocessor and cycle, by compute capability (CUDA programming guide, "Throughput of
# native arithmetic instructions"); 128 where it is not listed.
FP32_LANES = {"70": 64, "72": 64, "75": 64, "80": 64}
# What NVML calls a reason why the clock is below its maximum, and whether that slows a kernel down.
THROTTLE_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "temperature (software)",
    0x40: "temperature (hardware)",
    0x80: "power brake",
}


@lru_cache(maxsize=1)
def has_gpu() -> bool:
    """Whether CUDA 13 can use a GPU here. Asks the driver itself, so that a page need not load CuPy."""
    return driver_state() == "ok"


@lru_cache(maxsize=1)
def driver_state() -> str:
    """ "ok", or one sentence on what is missing."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "There is no NVIDIA driver on this machine (libcuda.so.1 is not found)."
    known = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(known)) != 0 or known.value < CUDA_NEEDED:
        return f"The NVIDIA driver knows CUDA {known.value // 1000}.{known.value % 1000 // 10}; 13.0 is needed."
    count = ctypes.c_int()
    status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status != 0 or count.value == 0:
        return f"The NVIDIA driver finds no GPU (CUDA error {status})." if status else "There is no GPU to be seen."
    return "ok"


@lru_cache(maxsize=2)
def device(kind: str) -> dict[str, Any]:
    """What ran: {kind, name, ...}; for a GPU its limits, with the source of each peak. Asked once a process."""
    if kind == "emulator":
        return {"kind": "emulator", "name": "SIMT emulator (PTX)"}
    import cupy
    from cupy_backends.cuda.api import runtime

    from engine.measuring import probes

    number = runtime.getDevice()
    properties = runtime.getDeviceProperties(number)
    capability = cupy.cuda.Device(number).compute_capability
    sms, clock = properties["multiProcessorCount"], probes.max_megahertz()
    lanes = FP32_LANES.get(capability, 128)
    peak, source = _peak_bandwidth(number)
    return {
        "kind": "gpu",
        "name": properties["name"].decode(),
        "compute_capability": capability,
        "multiprocessors": sms,
        "l2_bytes": probes.attribute(probes.L2_BYTES),
        "memory_bytes": properties["totalGlobalMem"],
        "clock_max_mhz": clock,
        "peak_bandwidth_gb_s": peak,
        "peak_bandwidth_source": source,
        "read_ceiling_gb_s": round(probes.read_ceiling_gb_s(), 1),
        "peak_gflop_s": sms * lanes * 2 * clock / 1e3,
        "peak_gflop_source": f"{sms} multiprocessors x {lanes} FP32 multiply-adds x {clock:.0f} MHz",
    }


def _peak_bandwidth(number: int) -> tuple[float | None, str | None]:
    """Bytes that the memory bus can carry: two transfers per memory clock."""
    from cupy_backends.cuda.api import runtime

    clock_khz = runtime.deviceGetAttribute(MEMORY_CLOCK_KHZ, number)
    bits = runtime.deviceGetAttribute(BUS_WIDTH_BITS, number)
    if not clock_khz or not bits:
        return None, None
    return 2 * clock_khz * bits / 8 / 1e6, f"2 x {clock_khz / 1e3:.0f} MHz x {bits} bits / 8 (device attributes)"


def environment() -> dict[str, Any]:
    """Versions and, with a GPU, its state at this moment: clocks, temperature, power, why it is slowed down."""
    return {**_versions(), **_gpu_state(), "utc": datetime.now(UTC).isoformat(timespec="seconds")}


@lru_cache(maxsize=1)
def _versions() -> dict[str, Any]:
    found: dict[str, Any] = {"python": platform.python_version(), "commit": _commit()}
    for name, package in (("cupy", "cupy-cuda13x"), ("nvrtc", "nvidia-cuda-nvrtc"), ("cuda", "nvidia-cuda-runtime")):
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            found[name] = None
    return found


def _commit() -> str | None:
    folder = Path(__file__).parents[2]
    try:
        asked = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("KERNEL_LADDER_COMMIT")  # where the program runs without its repository
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
            continue  # not every GPU, and no container, answers everything
    return state


def _reasons(bits: int) -> list[str]:
    return [word for bit, word in THROTTLE_REASONS.items() if bits & bit]


def foreign_processes() -> list[int]:
    """Processes of others that compute on this GPU now: their ids. Our own workers (same parent) do not count."""
    handle = _nvml_handle()
    if handle is None:
        return []
    import pynvml

    try:
        pids = [process.pid for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    except pynvml.NVMLError:
        return []
    if os.getpid() not in pids:
        # In a container the ids are the host's, and one of them is ours.
        return pids[1:]
    return [pid for pid in pids if pid not in (os.getpid(), os.getppid()) and _parent(pid) != os.getppid()]


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


@lru_cache(maxsize=1)
def _nvml_handle() -> Any:
    """NVML's handle of the GPU that this process computes on; None without a driver."""
    if not has_gpu():
        return None
    try:
        import pynvml
        from cupy_backends.cuda.api import runtime

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByPciBusId(runtime.deviceGetPCIBusId(runtime.getDevice()))
    except Exception:  # NVML is a courtesy: whatever it lacks, the numbers stand without it
        return None

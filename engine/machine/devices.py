"""The GPUs and processors of this computer."""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engine.machine.environment import cuda_major
from engine.machine.rates import fp32_lanes


@dataclass(frozen=True)
class HostGpu:
    """One GPU. `uuid`: its name in CUDA_VISIBLE_DEVICES, in any order. `capability`: its compute capability, as "90".

    `capability` is "" and `multiprocessors` is 0 if the driver does not report them.
    """

    name: str
    uuid: str
    driver: str
    capability: str = ""
    multiprocessors: int = 0


_told: tuple[HostGpu, ...] | None = None


def set_gpus(found: tuple[HostGpu, ...] | None) -> None:
    """Set the GPUs of this process to those of other computers that serve it; None: this computer's own GPUs again."""
    global _told
    _told = found


def gpus() -> tuple[HostGpu, ...]:
    """Return the GPUs that this process may use."""
    return own_gpus() if _told is None else _told


@lru_cache(maxsize=1)
def own_gpus() -> tuple[HostGpu, ...]:
    """Return this computer's GPUs under CUDA_VISIBLE_DEVICES; empty without a suitable driver. The driver is asked
    once."""
    return visible_gpus(_all_gpus(), os.environ.get("CUDA_VISIBLE_DEVICES"))


def device_summary() -> str:
    """Describe the GPUs for the environment line: "2 x NVIDIA H200, driver 580.65.06" or "no GPU"."""
    found = gpus()
    if not found:
        return "no GPU"
    names = [gpu.name for gpu in found]
    counted = [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    return f"{', '.join(counted)}, driver {found[0].driver}"


def visible_gpus(found: tuple[HostGpu, ...], setting: str | None) -> tuple[HostGpu, ...]:
    """Return the GPUs of `found` that CUDA would see with this CUDA_VISIBLE_DEVICES (indices, or prefixes of UUIDs).

    As in CUDA, the first entry that names no GPU hides itself and all entries after it.
    """
    if setting is None:
        return found
    chosen: list[HostGpu] = []
    for entry in (entry.strip() for entry in setting.split(",")):
        if entry.isdecimal():
            named = found[int(entry) : int(entry) + 1]
        else:
            named = tuple(gpu for gpu in found if entry and gpu.uuid.startswith(entry))
        if len(named) != 1 or named[0] in chosen:
            break
        chosen.append(named[0])
    return tuple(chosen)


def _size(nvml: Any, handle: Any) -> tuple[str, int]:
    """Return compute capability and number of multiprocessors (the library reports FP32 lanes); ("", 0) if unknown."""
    try:
        capability = "".join(map(str, nvml.nvmlDeviceGetCudaComputeCapability(handle)))
        return capability, nvml.nvmlDeviceGetNumGpuCores(handle) // fp32_lanes(capability)
    except (nvml.NVMLError, AttributeError):
        return "", 0


def _all_gpus() -> tuple[HostGpu, ...]:
    try:
        nvml: Any = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # not installed, no driver or no permission: there is no usable GPU
        return ()
    try:
        if nvml.nvmlSystemGetCudaDriverVersion() < 1000 * cuda_major():
            return ()
        driver = str(nvml.nvmlSystemGetDriverVersion())
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        return tuple(
            HostGpu(
                str(nvml.nvmlDeviceGetName(handle)), str(nvml.nvmlDeviceGetUUID(handle)), driver, *_size(nvml, handle)
            )
            for handle in handles
        )
    except nvml.NVMLError:  # for example, a GPU that fell off the bus
        return ()
    finally:
        nvml.nvmlShutdown()


def cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """Return the memory of this computer in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

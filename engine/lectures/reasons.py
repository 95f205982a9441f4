"""Why a rung is as fast as it is: what its machine code needs and does, and how near it comes to the roofline.

reasons(choice) -> Reasons, from the machine code and the plan    point(reasons, measurement) -> Point, from a time
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from engine.catalogue.gpu_models import GPU
from engine.catalogue.occupancy import Occupancy, occupancy
from engine.compile.cubin import Resources, code_of, resources_of
from engine.compile.machine_code import MachineCode, machine_code, sought
from engine.compile.nvrtc import compile_source
from engine.host.rates import peak_of
from engine.plan import plan
from engine.records import Launch, Measurement, NotRunnable, Settled

_TENSOR_CORES = {"HMMA", "HGMMA"}


@dataclass(frozen=True)
class KernelReasons:
    """One kernel of a plan, in blocks of `threads`, as it was compiled for GPU: what it needs, what a multiprocessor
    holds of it, what its machine code does. `dynamic_shared_bytes`: of a block, beside those in `resources`.

    `multiply_add_share`: of the instructions of its hottest loop, those that multiply and add in the topic's type; None
    where it has no loop. `bytes_in_flight`: of loads from global memory, of all threads that a multiprocessor holds, at
    most; None where one thread's are not known.
    """

    kernel: str
    threads: int
    dynamic_shared_bytes: int
    resources: Resources
    occupancy: Occupancy
    code: MachineCode
    multiply_add_share: float | None
    bytes_in_flight: int | None


@dataclass(frozen=True)
class Reasons:
    """The kernels of a plan in the order of their launches, each once; and the lecture's counts: operations, bytes, and
    their ratio, None where no bytes are counted."""

    architecture: str
    kernels: tuple[KernelReasons, ...]
    flops: int
    bytes_moved: int
    flop_per_byte: float | None


@dataclass(frozen=True)
class Point:
    """Where a measured time lies under the roofline. `bound_us`: the least time that the device's peaks allow, and
    `bound_by` which of them sets it, "memory" or "arithmetic"; `percent`: that time of the measured one."""

    bound_us: float
    bound_by: str
    percent: float


@lru_cache(maxsize=256)
def reasons(choice: Settled) -> Reasons:
    """Compile what `choice` launches for GPU, and read it. NotRunnable: nothing is launched, or it cannot run there;
    CompileError."""
    made = plan(replace(choice, device="gpu"))
    launches = {(step.kernel, step.block, step.shared_bytes): step for step in made.steps if isinstance(step, Launch)}
    if not launches:
        raise NotRunnable(f"{choice.kernel} runs on the CPU: it has no machine code of a GPU.")
    floats = not choice.dtype.startswith(("int", "uint"))
    kernels = tuple(_kernel(step, floats) for step in launches.values())
    ratio = made.flops / made.bytes_moved if made.bytes_moved else None
    return Reasons(GPU.architecture, kernels, made.flops, made.bytes_moved, ratio)


def point(found: Reasons, measurement: Measurement | None) -> Point | None:
    """Where this time of the choice lies; None without a time, or where the device's peaks are not known: no peak of
    integers is, nor is one for floats that are multiplied on tensor cores, in parts."""
    if measurement is None or measurement.time_us is None:
        return None
    device, dtype = measurement.device, measurement.choice.dtype
    bandwidth = device.get("read_ceiling_gb_s") or device.get("peak_bandwidth_gb_s")
    peak = peak_of(device, "gflop_s", dtype or "")
    if not bandwidth or (dtype == "float32" and _on_tensor_cores(found.kernels)):
        return None
    memory_us = found.bytes_moved / bandwidth / 1e3
    arithmetic_us = found.flops / peak / 1e3 if peak else 0.0
    bound_us = max(memory_us, arithmetic_us)
    bound_by = "memory" if memory_us >= arithmetic_us else "arithmetic"
    return Point(bound_us, bound_by, 100 * bound_us / measurement.time_us)


def _kernel(step: Launch, floats: bool) -> KernelReasons:
    threads = prod(step.block)
    needed = resources_of(step.source, step.kernel, GPU.architecture)
    held = occupancy(GPU, threads, needed.registers, needed.shared_bytes + step.shared_bytes)
    code = machine_code(code_of(compile_source(step.source, GPU.architecture), step.kernel), floats)
    share = sought(code.loop, floats) / code.loop.instructions if code.loop else None
    flying = None if code.bytes_in_flight is None else code.bytes_in_flight * threads * held.blocks
    return KernelReasons(step.kernel, threads, step.shared_bytes, needed, held, code, share, flying)


def _on_tensor_cores(kernels: Sequence[KernelReasons]) -> bool:
    return any(_TENSOR_CORES & kernel.code.whole.multiply_adds.keys() for kernel in kernels)

"""Why a rung is as fast as it is: its machine code, its resources, and its distance from the roofline.

reasons(choice) -> Reasons, from the machine code and the plan
point(reasons, measurement) -> RooflinePoint, from a time
record(choice) -> dict, ready for json.dumps    sentences(choice) -> the same in words
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

from engine.backends.backend import backend_named, quiet
from engine.catalogue import topic_of
from engine.catalogue.gpu_models import GPU, Occupancy, occupancy
from engine.compile.cubin import Resources, code_of, resources_of
from engine.compile.machine_code import Issue, MachineCode, Mix, machine_code, sought
from engine.compile.nvrtc import compile_source
from engine.history import profiles
from engine.history.history import device_line, look_up
from engine.machine.rates import peak_of
from engine.plan import plan
from engine.records import Launch, Measurement, NotRunnable, RunFailed, Settled
from engine.records.counters import with_derived
from engine.records.words import count_text, many, size_text, three_digits, time_text

_TENSOR_CORES = {"HMMA", "HGMMA"}


@dataclass(frozen=True)
class KernelReasons:
    """One kernel of a plan, in blocks of `threads`, compiled for GPU: its resources, its occupancy of a multiprocessor,
    and the analysis of its machine code. `dynamic_shared_bytes`: of a block, beside those in `resources`.

    `multiply_add_share`: the part of the hottest loop's instructions that multiply and add in the topic's type; None
    without a loop. `bytes_in_flight`: the most bytes of loads from global memory in flight, for all resident threads of
    a multiprocessor; None if one thread's are unknown.
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
    their ratio, None if no bytes are counted."""

    architecture: str
    kernels: tuple[KernelReasons, ...]
    flops: int
    bytes_moved: int
    flop_per_byte: float | None


@dataclass(frozen=True)
class RooflinePoint:
    """A measured time under the roofline. `bound_us`: the least time that the device's peaks allow; `bound_by`: the
    peak that sets it, "memory" or "arithmetic"; `percent`: the bound over the measured time."""

    bound_us: float
    bound_by: str
    percent: float


@lru_cache(maxsize=256)
def reasons(choice: Settled) -> Reasons:
    """Compile the kernels that `choice` launches for GPU, and analyse them. NotRunnable: nothing is launched, or it
    cannot run there; CompileError."""
    made = plan(replace(choice, device="gpu"), GPU)
    launches = {(step.kernel, step.block, step.shared_bytes): step for step in made.steps if isinstance(step, Launch)}
    if not launches:
        raise NotRunnable(f"{choice.kernel} runs on the CPU: it has no machine code of a GPU.")
    floats = not choice.dtype.startswith(("int", "uint"))
    kernels = tuple(_kernel(step, floats) for step in launches.values())
    ratio = made.flops / made.bytes_moved if made.bytes_moved else None
    return Reasons(GPU.architecture, kernels, made.flops, made.bytes_moved, ratio)


def point(found: Reasons, measurement: Measurement | None) -> RooflinePoint | None:
    """Return this time's place under the roofline; None without a time or a known peak: there is none for integers, and
    none for floats that tensor cores multiply in parts."""
    if measurement is None or measurement.time_us is None:
        return None
    device, dtype = measurement.device, measurement.choice.dtype
    bandwidth = device.get("peak_bandwidth_gb_s")
    peak = peak_of(device, "gflop_s", dtype or "")
    if not bandwidth or (dtype == "float32" and _on_tensor_cores(found.kernels)):
        return None
    memory_us = found.bytes_moved / bandwidth / 1e3
    arithmetic_us = found.flops / peak / 1e3 if peak else 0.0
    bound_us = max(memory_us, arithmetic_us)
    bound_by = "memory" if memory_us >= arithmetic_us else "arithmetic"
    return RooflinePoint(bound_us, bound_by, 100 * bound_us / measurement.time_us)


def record(choice: Settled) -> dict[str, Any]:
    """Return the reasons, the place of the known time, the emulator's counts at the topic's smallest size, and the
    counts of a GPU's profiler at the nearest recorded size; null for anything unknown. NotRunnable, CompileError."""
    found, timed, counted = reasons(choice), look_up(choice).timed, profiles.nearest_counters(choice)
    small, counters = emulated(choice)
    at = point(found, timed)
    asked = {name: getattr(choice, name) for name in ("kernel", "n", "block_size", "dtype", "parameter")}
    return {
        **asked,
        **asdict(found),
        "time_us": timed.time_us if timed else None,
        "time_origin": device_line(timed) if timed else None,
        "roofline": asdict(at) if at else None,
        "emulated": {"n": small.n, "counters": counters} if counters else None,
        "profiled": asdict(counted) if counted else None,
    }


def sentences(choice: Settled) -> tuple[str, ...]:
    """Return the reasons in words, one line each. NotRunnable, CompileError."""
    found = reasons(choice)
    lines = [line for kernel in found.kernels for line in _told(kernel)]
    small, counters = emulated(choice)
    profiled = profiles.nearest_counters(choice)
    lines += [_counted(f"Emulated at N = {size_text(small.n)}", counters)] if counters else []
    if profiled is not None:
        where = f"Profiled on an {profiled.device} at N = {size_text(profiled.n)}, block {profiled.block_size}"
        lines.append(_counted(where, profiled.counters))
    return (*lines, *roofline_lines(choice, found, look_up(choice).timed))


def emulated(choice: Settled) -> tuple[Settled, Mapping[str, float]]:
    """Return the choice at the smallest size of its topic, and the emulator's counts there; nothing if it cannot
    run."""
    small = replace(choice, device="emulator", n=min(choice.n, topic_of(choice.kernel).sizes[0]))
    try:
        run = backend_named("emulator").run(plan(small), quiet)
    except (NotRunnable, RunFailed):
        return small, {}
    return small, {} if run.counts is None else with_derived(run.counts.counters)


def _counted(where: str, counters: Mapping[str, float]) -> str:
    """Return the counts of a whole run that show conflicting or scattered accesses."""
    shared, far = counters.get("wavefronts"), counters.get("sectors_per_request")
    said = []
    if shared:
        said.append(f"{count_text(int(counters['bank_conflicts']))} of {count_text(int(shared))} shared wavefronts "
                    "are bank conflicts")  # fmt: skip
    if far:
        said.append(f"{three_digits(far)} sectors per request to global memory")
    return f"{where}: {', '.join(said) or 'no access of shared or global memory'}"


def roofline_lines(choice: Settled, found: Reasons, timed: Measurement | None) -> tuple[str, ...]:
    """Return the lecture's counts and the time's place under the roofline; nothing if no bytes are counted."""
    if found.flop_per_byte is None:
        return ()
    said = f"N = {size_text(choice.n)}: {three_digits(found.flop_per_byte)} operations a byte by the lecture's count"
    at = point(found, timed)
    if at is None or timed is None or timed.time_us is None:
        return (f"{said}.",)
    took = f"{time_text(timed.time_us)} were measured ({device_line(timed)})"
    bound = f"Roofline: {at.bound_by} alone takes {time_text(at.bound_us)}, and {took}"
    caches = "; caches serve reads that the count sends to memory" if at.percent > 100 else ""
    return (f"{said}. {bound}: {three_digits(at.percent)}% of the roof{caches}.",)


def kinds_text(mix: Mix) -> str:
    """Return "FFMA 1,024, IMAD 1"; "" without multiply-adds."""
    return ", ".join(f"{kind} {count:,}" for kind, count in mix.multiply_adds.items())


def issue_text(issue: Issue) -> str:
    """Return "at least 1,130 cycles a warp without its 14 waits; 52 FFMA fetch two operands from one bank of
    registers"."""
    said = f"at least {issue.cycles:,} cycles a warp without its {many(issue.waits, 'wait')}"
    if issue.bank_conflicts is None:
        return said
    return f"{said}; {issue.bank_conflicts:,} FFMA fetch two operands from one bank of registers"


def _told(one: KernelReasons) -> tuple[str, ...]:
    needed, held, code, loop = one.resources, one.occupancy, one.code, one.code.loop
    shared = needed.shared_bytes + one.dynamic_shared_bytes
    loads = "Loads nothing from global memory"
    if code.widest_load is not None:
        loads = f"Loads from global memory: {many(code.widest_load, 'byte')} at most in one instruction"
    if code.copy_engine:
        loads = "The copy engine loads: bytes in flight are not known"
    elif code.bytes_in_flight is not None and one.bytes_in_flight is not None:
        loads += f", in flight {code.bytes_in_flight:,} a thread, {one.bytes_in_flight:,} an SM"
    hottest = "No loop"
    if loop is not None and one.multiply_add_share is not None:
        hottest = f"Hottest loop: {loop.instructions:,} instructions, {one.multiply_add_share:.1%} multiply-adds"
        hottest += f" ({kinds_text(loop)})" if loop.multiply_adds else ""
    held_back = () if code.issue is None else (f"  A pass of that loop, estimated: {issue_text(code.issue)}",)
    return (
        f"{one.kernel}, machine code for {GPU.architecture}: {needed.registers} registers and {needed.local_bytes:,} "
        f"bytes of local memory a thread, {shared:,} bytes of shared memory a block of {one.threads:,} threads",
        f"  {many(held.blocks, 'block')}, {many(held.warps, 'warp')} an SM of an {GPU.name}: occupancy "
        f"{held.fraction:.0%}, limited by {' and '.join(held.limited_by)}",
        f"  {hottest}; the kernel has {code.whole.instructions:,}",
        *held_back,
        f"  {loads}",
    )


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

"""How many blocks of a kernel a multiprocessor ("SM") holds at once, and which of its resources sets the limit."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from engine.catalogue.gpu_models import WARP, GpuModel
from engine.records import NotRunnable

_REGISTER_UNIT = 256  # registers are given to a warp in pieces of this size ...
_WARP_UNIT = 4  # ... and to warps in groups of this size, one for each scheduler of an SM
_SHARED_UNIT = 128  # bytes


@dataclass(frozen=True)
class Occupancy:
    """How many blocks one SM holds: `limits` says how many each resource allows, `limited_by` which allow fewest."""

    blocks: int
    warps: int
    fraction: float
    limits: dict[str, int]
    limited_by: tuple[str, ...]


def occupancy(gpu: GpuModel, threads: int, registers: int, shared: int) -> Occupancy:
    """The blocks of `threads` threads that one SM holds. `registers` a thread, `shared` bytes a block; 0: none.

    NotRunnable where not even one block fits.
    """
    warps = ceil(threads / WARP)
    limits = {"threads": gpu.threads // WARP // warps, "blocks": gpu.blocks}
    if registers:
        warp_registers = ceil(registers * WARP / _REGISTER_UNIT) * _REGISTER_UNIT
        limits["registers"] = gpu.registers // warp_registers // _WARP_UNIT * _WARP_UNIT // warps
    block_bytes = shared + (1024 if gpu.reserved else 0)
    if block_bytes:
        limits["shared memory"] = gpu.shared_bytes // (ceil(block_bytes / _SHARED_UNIT) * _SHARED_UNIT)
    blocks = min(limits.values())
    limited_by = tuple(name for name, limit in limits.items() if limit == blocks)
    if blocks == 0:
        raise NotRunnable(f"An SM of {gpu.name} has no room for one block of {threads:,} threads: {limited_by[0]}.")
    return Occupancy(blocks, blocks * warps, blocks * warps * WARP / gpu.threads, limits, limited_by)

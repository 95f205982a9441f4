"""The limits of a launch, for every GPU and for the emulated one."""

from __future__ import annotations

import math
import re
from functools import lru_cache

from engine.catalogue.entries import MAX_BLOCK
from engine.catalogue.gpu_models import GPU, MULTIPROCESSORS, GpuModel, occupancy
from engine.compile.cubin import resources_of
from engine.compile.names import readable
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import Launch, NotRunnable, Source

# CUDA programming guide, "Technical specifications per compute capability": equal for all since 3.0.
_LARGEST_BLOCK = (1024, 1024, 64)
_LARGEST_GRID = (2**31 - 1, 65_535, 65_535)
_OLDEST = 75  # the oldest compute capability for which NVRTC makes machine code


def check_sizes(step: Launch) -> None:
    """Raise NotRunnable for a block or grid that is empty or too large."""
    for what, unit, sizes, largest in (
        ("blocks", "threads", step.block, _LARGEST_BLOCK),
        ("a grid", "blocks", step.grid, _LARGEST_GRID),
    ):
        for axis, size, most in zip("xyz", sizes, largest, strict=True):
            if not 1 <= size <= most:
                asked = f"{what} of {size:,} {unit} in {axis}"
                raise NotRunnable(f"{readable(step.kernel)} is launched with {asked}; 1 to {most:,} are possible.")
    if step.shared_bytes < 0:
        raise NotRunnable(f"{readable(step.kernel)} is launched with {step.shared_bytes:,} bytes of shared memory.")
    if _product(step.block) > MAX_BLOCK:
        raise NotRunnable(
            f"{readable(step.kernel)} is launched with blocks of {_product(step.block):,} threads; a block can have "
            f"{MAX_BLOCK:,}: choose a smaller block."
        )


def check_bound(step: Launch) -> None:
    """Raise NotRunnable for more threads a block than the kernel's `__launch_bounds__`."""
    bound = _bound_of(step.source, step.kernel)
    if bound is not None and _product(step.block) > bound:
        raise NotRunnable(
            f"{readable(step.kernel)} is launched with blocks of {_product(step.block):,} threads; its "
            f"__launch_bounds__ allow {bound:,}: choose a smaller block or a larger bound."
        )


@lru_cache(maxsize=256)
def _bound_of(source: Source, kernel: str) -> int | None:
    """Return how many threads a block of the kernel may have by its own text; None: it has no bound. The PTX gives the
    bound by axis, but only its product counts."""
    ptx = compile_source(source, EMULATED_ARCHITECTURE).decode()
    found = re.search(rf"\.entry {re.escape(kernel)}\([^)]*\)[^{{;]*\.maxntid ([\d, ]+)", ptx)
    return math.prod(map(int, found[1].split(","))) if found else None


def check_fits(step: Launch, gpu: GpuModel) -> None:
    """Raise NotRunnable if a multiprocessor of `gpu` has no room for one block, or a block's shared memory is too
    large."""
    check_sizes(step)
    oldest = f"sm_{max(int(gpu.architecture[3:]), _OLDEST)}"  # registers of the oldest known
    needed = resources_of(step.source, step.kernel, oldest)
    shared = needed.shared_bytes + step.shared_bytes
    if shared > gpu.block_shared_bytes:
        raise NotRunnable(
            f"{readable(step.kernel)} takes {shared:,} bytes of shared memory a block; {gpu.name} has "
            f"{gpu.block_shared_bytes:,}."
        )
    occupancy(gpu, _product(step.block), needed.registers, shared)


def check_residency(step: Launch) -> None:
    """Raise NotRunnable for a cooperative launch with more blocks than the GPU holds at once.

    With at most one block a multiprocessor the check needs no machine code.
    """
    blocks, threads = _product(step.grid), _product(step.block)
    if not step.cooperative or blocks <= MULTIPROCESSORS:
        return
    needed = resources_of(step.source, step.kernel, GPU.architecture)
    held = occupancy(GPU, threads, needed.registers, needed.shared_bytes + step.shared_bytes)
    fits = MULTIPROCESSORS * held.blocks
    if blocks > fits:
        raise NotRunnable(
            f"{readable(step.kernel)} waits for all its blocks, so all must be on the GPU at once: {fits:,} blocks of "
            f"{threads} threads fit, {blocks:,} were asked for; choose a smaller grid."
        )


def _product(sizes: tuple[int, int, int]) -> int:
    return math.prod(sizes)

"""What a rung is meant to show where that depends on the rung before it; everywhere else its kernel says it.

A counter of engine.records.counters, which falls; "+counter": it rises, as the rung brings something in or shows a
cost; "=counter": it stays, and that is the point.
"""

from __future__ import annotations

from engine.catalogue.entries import Kernel

# (the kernel before, the kernel) -> what is to be looked at
AGAINST: dict[tuple[str, str], str] = {
    ("reduce_atomic", "reduce_grid_stride_host"): "atomics",
    ("reduce_atomic_cas", "reduce_grid_stride_atomic"): "atomics",
    ("reduce_sequential", "reduce_grid_stride_atomic"): "launches",
    ("reduce_warp_shuffle", "reduce_cooperative"): "+global_load_requests",
    ("reduce_atomic", "reduce_atomic_cas"): "atomic_max_contention",
    ("reduce_atomic_cas", "reduce_interleaved"): "atomics",
    ("atomic_add_cas", "atomic_sub"): "atomics",
    ("matrix_padded", "copy_offset"): "barriers",
    ("filter_aggregated", "warp_broadcast"): "atomics",
    ("filter_specialized", "warp_broadcast"): "atomics",
    ("floats_atomic", "floats_tree"): "atomics",
    ("reduce_unroll_volatile", "reduce_unroll_guarded"): "+branches",
    ("reduce_complete_volatile", "reduce_complete_guarded"): "+branches",
    ("reduce_unroll_guarded", "reduce_unroll_volatile"): "branches",
    ("reduce_unroll_syncwarp", "reduce_complete_unroll"): "branches",
    ("reduce_scalar", "reduce_sequential"): "",  # on the CPU nothing is counted
}


def told(before: Kernel | None, kernel: Kernel) -> str:
    """What `kernel` shows against `before`; "" where no counter tells them apart, or nothing came before."""
    if before is None:
        return ""
    return AGAINST.get((before.name, kernel.name), kernel.shows)

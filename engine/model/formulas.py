"""The formulas of the model: from the costs of launches to the cycles of each term, and to a time.

Every function takes arrays with one number a launch, so one launch and ten thousand are the same code. A launch takes

    T = start + chain + (sum of term^q)^(1/q)

`start`: what it costs to launch. `chain`: what the slowest warp of a block waits for, once; it hides behind nothing.
The terms are what the busiest SM, the L2 cache and DRAM need for all their work, and the chains of all waves of blocks
but the first. They overlap: with a large q the longest alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from engine.catalogue.gpu_models import GpuModel, occupancy
from engine.model.costs import LaunchCosts
from engine.records import Array

SECTOR_BYTES, SECTORS_OF_LINE = 32, 4
SCHEDULERS = 4  # of an SM: each issues an instruction a cycle
KINDS = ("alu", "fp64", "special", "divide", "load", "store", "shared", "shared_atomic", "atomic", "shuffle", "barrier",
         "control", "free", "local", "constant", "matrix")  # fmt: skip
WAITS = ("issue", "alu", "control", "fp64", "special", "divide", "shared", "shared_passes", "shared_atomic", "shuffle",
         "barrier", "local", "constant", "atomic", "dram_load", "far_load", "near_load", "load_lines")  # fmt: skip
COUNTS = (
    "shared_load_wavefronts", "shared_store_wavefronts", "shared_atomic_wavefronts", "shared_load_conflicts",
    "shared_store_conflicts", "shared_atomic_conflicts", "shuffles", "barriers", "constant_passes",
    "global_load_requests", "global_load_sectors", "load_lines", "load_bytes", "l2_load_sectors", "new_load_sectors",
    "global_store_requests", "global_store_sectors", "store_lines", "store_bytes", "new_store_sectors",
    "global_atom_sectors", "global_red_sectors", "atomic_operations", "float_atomics", "swap_sectors",
    "most_in_one_region",
)  # fmt: skip
TERMS = ("issue", "fp64", "special", "shared", "l1", "l2", "dram", "atomics", "blocks", "waves")


@dataclass(frozen=True)
class Launches:
    """Launches as columns. `count`: a column for each of COUNTS; `issued`, `path`: one for each of KINDS, WAITS.

    `blocks`, `warps` of a block; `resident`: blocks that fit on an SM; `busiest`: blocks of the SM that gets most;
    `batch`: loads of one thread in flight in the machine code, for each one of the PTX. `run`: the run of each launch.
    """

    count: Mapping[str, Array]
    issued: Mapping[str, Array]
    path: Mapping[str, Array]
    blocks: Array
    warps: Array
    resident: Array
    busiest: Array
    batch: Array
    run: Array

    def of_runs(self, kept: Array, number: Array) -> Launches:
        """Return the launches of the runs for which `kept` is true; `number`: the new number of each run."""
        own = kept[self.run]

        def parts(found: Mapping[str, Array]) -> dict[str, Array]:
            return {name: values[own] for name, values in found.items()}

        return Launches(parts(self.count), parts(self.issued), parts(self.path), self.blocks[own], self.warps[own],
                        self.resident[own], self.busiest[own], self.batch[own], number[self.run[own]])  # fmt: skip

    def with_counts(self, **changed: Array) -> Launches:
        """Return the launches with other counts."""
        return replace(self, count={**self.count, **changed})


def columns(runs: Sequence[Sequence[LaunchCosts]], gpu: GpuModel) -> Launches:
    """Return the launches of some runs as columns."""
    every = [(number, one) for number, launches in enumerate(runs) for one in launches]
    one = [costs for _, costs in every]

    def column(values: Sequence[float]) -> Array:
        return np.array(values, float)

    return Launches(
        count={name: column([each.memory.get(name, 0) for each in one]) for name in COUNTS},
        issued={name: column([each.issued.get(name, 0) for each in one]) for name in KINDS},
        path={name: column([each.path.get(name, 0) for each in one]) for name in WAITS},
        blocks=column([each.blocks for each in one]),
        warps=column([-(-each.threads // 32) for each in one]),
        resident=column([occupancy(gpu, each.threads, each.registers, each.shared_bytes).blocks for each in one]),
        busiest=column([ceil(each.blocks / gpu.multiprocessors) for each in one]),
        batch=column([max(1.0, (each.machine_in_flight or 0) / (each.in_flight or 1e9)) for each in one]),
        run=np.array([number for number, _ in every]),
    )


Constants = Mapping[str, float]


def waits(one: Launches, c: Constants, cold: bool = True) -> dict[str, Array]:
    """Return the cycles that the slowest warp of a block waits, by what it waits for."""
    path = one.path
    plain = ("issue", "alu", "control", "fp64", "special", "divide", "shared", "shared_atomic", "shuffle", "local",
             "constant", "atomic")  # fmt: skip
    found = {name: path[name] * c[f"{name}_latency"] for name in plain}
    found["barrier"] = path["barrier"] * (c["barrier_latency"] + one.warps * c["barrier_warp"])
    found["shared_passes"] = np.maximum(path["shared_passes"] - path["shared"], 0) * c["wavefront_cycles"]
    # Loads of one thread that are in flight together share one latency.
    apart = one.batch ** -c["batching"]
    found["dram_load"] = path["dram_load"] * (c["dram_latency"] if cold else c["l2_latency"]) * apart
    found["far_load"] = path["far_load"] * c["l2_latency"] * apart
    found["near_load"] = path["near_load"] * c["l1_latency"] * apart
    loads = path["dram_load"] + path["far_load"] + path["near_load"]
    found["load_lines"] = np.maximum(path["load_lines"] - loads, 0) * c["line_cycles"]
    return found


def chain(one: Launches, c: Constants, cold: bool = True) -> Array:
    """Return the cycles that the slowest warp of a block waits, once."""
    return sum(waits(one, c, cold).values(), np.zeros_like(one.blocks))


def terms(one: Launches, c: Constants, gpu: GpuModel, cold: bool = True) -> dict[str, Array]:
    """Return the cycles of each of TERMS, and of the chain."""
    share = one.busiest / one.blocks  # of the launch's work, on the busiest SM
    count, issued = one.count, one.issued
    slots = sum(issued[kind] * c.get(f"{kind}_slots", 1.0) for kind in KINDS)
    wavefronts = sum(count[f"shared_{kind}_wavefronts"] for kind in ("load", "store", "atomic")) + count["shuffles"]
    stored = count["global_store_sectors"]
    filled = np.where(stored > 0, np.minimum(count["store_bytes"] / np.maximum(SECTOR_BYTES * stored, 1), 1), 1)
    scattered = np.maximum(count["store_lines"] - stored / SECTORS_OF_LINE, 0)
    moved = (
        count["l2_load_sectors"]
        + scattered * c["scattered_weight"]
        + stored * (filled * c["store_weight"] + (1 - filled) * c["part_store_weight"])
    )
    floats = count["float_atomics"] / np.maximum(count["atomic_operations"], 1)
    turn = c["atomic_cycles"] + floats * (c["float_atomic_cycles"] - c["atomic_cycles"])
    swaps = count["swap_sectors"]
    anywhere = (
        count["global_red_sectors"] * c["red_sector_cycles"]
        + (count["global_atom_sectors"] - swaps) * c["atom_sector_cycles"]
        + swaps * c["swap_sector_cycles"]
    )
    waited = chain(one, c, cold)
    return {
        "chain": waited,
        "issue": slots * share * c["slots"] / SCHEDULERS,
        "fp64": issued["fp64"] * share * c["fp64_cycles"],
        "special": (issued["special"] + issued["divide"]) * share * c["special_cycles"],
        "shared": wavefronts * share * c["wavefront_cycles"],
        "l1": (count["load_lines"] + count["store_lines"]) * share * c["line_cycles"]
        + count["constant_passes"] * share * c["constant_pass_cycles"],
        "l2": np.maximum(moved * share * SECTOR_BYTES / c["l2_bytes_sm"], moved * SECTOR_BYTES / c["l2_bytes"]),
        "dram": count["new_load_sectors"] * SECTOR_BYTES / c["dram_bytes"] if cold else np.zeros_like(one.blocks),
        "atomics": np.maximum(count["most_in_one_region"] * turn, anywhere),
        "blocks": one.busiest * (c["block_cycles"] + one.warps * c["warp_cycles"]),
        "waves": (np.ceil(one.busiest / one.resident) - 1) * waited,
    }


def start(c: Constants, cold: bool = True) -> float:
    """Return the cycles to fetch a kernel's code and arguments: from DRAM, or from the L2 cache if it has the data."""
    return c["start_cycles"] * (1.0 if cold else c["l2_latency"] / c["dram_latency"])


def cycles(one: Launches, c: Constants, gpu: GpuModel, cold: bool = True) -> Array:
    """Return the cycles of each launch, without what it costs to launch."""
    found = terms(one, c, gpu, cold)
    q = c["overlap"]
    return start(c, cold) + found["chain"] + sum(found[name] ** q for name in TERMS) ** (1 / q)


def time_us(one: Launches, zeros: Array, floor_us: Array, c: Constants, gpu: GpuModel, cold: bool = True) -> Array:
    """Return the time of each run in microseconds. `zeros`: buffers cleared, `floor_us`: of an empty launch, a run."""
    runs = zeros.size
    launches = np.bincount(one.run, minlength=runs)
    spent = np.bincount(one.run, cycles(one, c, gpu, cold), minlength=runs) / c["clock_mhz"]
    found: Array = floor_us + c["launch_us"] * (launches - 1) + c["zero_us"] * zeros + spent
    return found


def coalesced(one: Launches) -> Launches:
    """Return the launches as if the lanes of every request were neighbours: one line and four sectors a request.

    The bytes from DRAM stay. Where one request brought 32 new sectors for the next seven, each brings four of its own:
    so more loads of the slowest warp go that far.
    """
    count, path = one.count, one.path
    sectors = np.maximum(count["global_load_sectors"], 1)
    share = np.minimum(sectors, SECTORS_OF_LINE * count["global_load_requests"]) / sectors
    share = np.where(count["global_load_sectors"] > 0, share, 1)
    loads = path["dram_load"] + path["far_load"] + path["near_load"]
    dram = np.minimum(loads, path["dram_load"] / np.maximum(share, 1 / 8))
    far = np.minimum(loads - dram, path["far_load"])
    counts = one.with_counts(
        load_lines=np.minimum(count["load_lines"], count["global_load_requests"]),
        store_lines=np.minimum(count["store_lines"], count["global_store_requests"]),
        l2_load_sectors=np.maximum(count["l2_load_sectors"] * share, np.minimum(count["new_load_sectors"],
                                   count["l2_load_sectors"])),
        global_store_sectors=np.minimum(count["global_store_sectors"],
                                        SECTORS_OF_LINE * count["global_store_requests"]),
    )  # fmt: skip
    lines = np.minimum(path["load_lines"], loads)
    return replace(counts, path={**path, "dram_load": dram, "far_load": far, "near_load": loads - dram - far,
                                 "load_lines": lines})  # fmt: skip


def without_conflicts(one: Launches) -> Launches:
    """Return the launches without bank conflicts."""
    names = [f"shared_{kind}" for kind in ("load", "store", "atomic")]
    gone = {f"{name}_wavefronts": one.count[f"{name}_wavefronts"] - one.count[f"{name}_conflicts"] for name in names}
    passes = np.minimum(one.path["shared_passes"], one.path["shared"])
    return replace(one.with_counts(**gone), path={**one.path, "shared_passes": passes})


CHANGES: Mapping[str, Callable[[Launches], Launches]] = {
    "conflicts": without_conflicts,
    "coalesced": coalesced,
    "occupancy": lambda one: replace(one, resident=one.resident * 2),
    "barriers": lambda one: replace(one, path={**one.path, "barrier": one.path["barrier"] / 2}),
}  # what if: the name of estimate.WHAT_IFS -> the launches with this cost gone


@dataclass(frozen=True)
class Constant:
    """A constant of the formulas. `first`: the value from which a fit starts, or the measured one; `source`: FITTED,
    MEASURED by a microbenchmark, or from the DATA_SHEET."""

    first: float
    unit: str
    meaning: str
    source: str


FITTED, MEASURED, DATA_SHEET = "fitted", "microbenchmark", "data sheet"
CONSTANTS: dict[str, Constant] = {
    "clock_mhz": Constant(1980, "MHz", "the clock of the SMs", DATA_SHEET),
    "launch_us": Constant(0.6, "us", "from one launch to the next in a graph", FITTED),
    "zero_us": Constant(1.2, "us", "clearing a small buffer", MEASURED),
    "start_cycles": Constant(600, "cycles", "to fetch a kernel's code and arguments", FITTED),
    "slots": Constant(0.8, "", "instructions of the machine code for one of the PTX", FITTED),
    "free_slots": Constant(0.2, "", "the same for a move or a conversion of integers", FITTED),
    "fp64_slots": Constant(1.0, "", "the same for an operation in double precision", FITTED),
    "special_slots": Constant(3.0, "", "the same for a root, a sine or a conversion", FITTED),
    "divide_slots": Constant(27.0, "", "the same for a division of integers", MEASURED),
    "fp64_cycles": Constant(0.52, "cycles", "of an SM for a warp's operation in double precision", MEASURED),
    "special_cycles": Constant(2.0, "cycles", "of an SM for a warp's root, sine or conversion", MEASURED),
    "wavefront_cycles": Constant(1.0, "cycles", "of an SM for a wavefront of shared memory or a shuffle", MEASURED),
    "line_cycles": Constant(0.7, "cycles", "of an SM for a line of 128 bytes of a request", FITTED),
    "constant_pass_cycles": Constant(2.6, "cycles", "of an SM for a different word of constant memory", MEASURED),
    "store_weight": Constant(1.4, "", "a stored sector, in loaded ones", MEASURED),
    "part_store_weight": Constant(3.0, "", "the same for a sector that a warp fills in part", MEASURED),
    "scattered_weight": Constant(2.9, "", "a line of a store beyond those of neighbours, in loaded sectors", MEASURED),
    "l2_bytes_sm": Constant(62.9, "bytes", "from the L2 cache to an SM in a cycle", MEASURED),
    "l2_bytes": Constant(4110, "bytes", "from the L2 cache to all SMs in a cycle", MEASURED),
    "dram_bytes": Constant(2298, "bytes", "from DRAM in a cycle", MEASURED),
    "atomic_cycles": Constant(1.45, "cycles", "for a turn of atomics in the 256 bytes that get most", MEASURED),
    "float_atomic_cycles": Constant(3.49, "cycles", "the same for an addition of floats", MEASURED),
    "red_sector_cycles": Constant(0.016, "cycles", "for an atomic of a sector anywhere", MEASURED),
    "atom_sector_cycles": Constant(0.032, "cycles", "the same, if its result is used", MEASURED),
    "swap_sector_cycles": Constant(0.055, "cycles", "the same for a compare-and-swap", MEASURED),
    "block_cycles": Constant(100.0, "cycles", "of an SM to start a block", FITTED),
    "warp_cycles": Constant(5.0, "cycles", "of an SM to start a warp", FITTED),
    "overlap": Constant(2.5, "", "how well the terms hide behind each other", FITTED),
    "batching": Constant(0.9, "", "how much of a load's latency the next one in flight hides", FITTED),
    "issue_latency": Constant(0.8, "cycles", "from an instruction to the next one of its warp", FITTED),
    "alu_latency": Constant(4.25, "cycles", "from an operation to one that uses its result", MEASURED),
    "control_latency": Constant(13.0, "cycles", "of a branch", FITTED),
    "fp64_latency": Constant(8.4, "cycles", "of an operation in double precision", MEASURED),
    "special_latency": Constant(17.0, "cycles", "of a root, a sine or a conversion", MEASURED),
    "divide_latency": Constant(130.0, "cycles", "of a division of integers", MEASURED),
    "shuffle_latency": Constant(24.1, "cycles", "of a shuffle", MEASURED),
    "shared_latency": Constant(29.1, "cycles", "of a load from shared memory", MEASURED),
    "shared_atomic_latency": Constant(32.2, "cycles", "of an atomic of shared memory", MEASURED),
    "constant_latency": Constant(34.2, "cycles", "of a load from constant memory", MEASURED),
    "local_latency": Constant(39.9, "cycles", "of a load from local memory", MEASURED),
    "barrier_latency": Constant(12.4, "cycles", "of a barrier, and", MEASURED),
    "barrier_warp": Constant(2.0, "cycles", "more for each warp of the block", MEASURED),
    "l1_latency": Constant(39.9, "cycles", "of a load from the L1 cache", MEASURED),
    "l2_latency": Constant(280.6, "cycles", "of a load from the L2 cache", MEASURED),
    "dram_latency": Constant(641.0, "cycles", "of a load from DRAM", MEASURED),
    "atomic_latency": Constant(310.0, "cycles", "of an atomic of global memory whose result is used", MEASURED),
}  # fmt: skip

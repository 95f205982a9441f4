"""The table of counters: name, title, meaning, places of display, and derivation.

A new counter is one row here and one observer of the emulator that counts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LAUNCHES, FINDINGS = "launches", "findings"


@dataclass(frozen=True)
class Counter:
    """One counter. `meaning`: a sentence for a student.

    `json`: its place in --json; None: it is not in --json. A counter without a place is derived: the sum of `parts`,
    divided by the sum of `per` if that is given. `whole_run`: it is known for the whole run only, not by line.
    `in_ptx`: it counts PTX instructions, which the GPU translates into others; `assembled`: it counts instructions of
    the GPU's machine code. `lines`: offered as heat of the source's lines; `plots`: in plots, sweeps and files;
    `table`: a column of tables. `full`: the best value, if more is better; otherwise less is better. `beside`: the
    counter whose tile and whose column of a ladder's table it shares. `short`: the title on a tile, if its label takes
    more than two lines.
    """

    name: str
    title: str
    meaning: str
    json: int | None = None
    parts: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    in_ptx: bool = False
    assembled: bool = False
    whole_run: bool = False
    lines: bool = True
    plots: bool = False
    table: bool = False
    full: int | None = None
    beside: str = ""
    short: str = ""

    @property
    def label(self) -> str:
        """Return the title with the code that it counts in: "Branches (PTX)"."""
        return f"{self.title} (PTX)" if self.in_ptx else self.title


_SECTOR = "A sector is a piece of 32 bytes: what global memory moves at least, however little of it is asked for."
_WHOLE = (
    "To load or store 32 neighbouring words a warp needs 4 sectors of 32 bytes; to reach 32 words far apart it needs "
    "32."
)
_WAVEFRONT = "A wavefront is one pass through shared memory: at best one for a load or store of a warp."

# In the order of menus and tables.
COUNTERS: dict[str, Counter] = {
    row.name: row
    for row in (
        Counter("warp_instructions", "Warp instructions",
                "An instruction counts once for a warp, however many of its 32 lanes take part.",
                json=1, in_ptx=True, plots=True, table=True, short="Warp instr. (PTX)"),
        Counter("thread_instructions", "Thread instructions", "An instruction counts once for every lane in it.",
                json=2, in_ptx=True, lines=False),
        Counter("branches", "Branches", "A branch counts once for a warp that comes to it.", json=4, in_ptx=True),
        Counter("divergent_branches", "Divergent branches",
                "A branch diverges if lanes of one warp go both ways: the warp then runs the two ways one after the "
                "other.", json=5, in_ptx=True, plots=True, table=True),
        Counter("active_lanes_per_instruction", "Active lanes",
                "How many of a warp's 32 lanes take part in an instruction, on average.",
                json=3, parts=("thread_instructions",), per=("warp_instructions",), in_ptx=True, plots=True, full=32),
        Counter("bank_conflicts", "Bank conflicts",
                "A conflict is a further pass through shared memory, because lanes of one warp need different words of "
                "one bank.", json=14, parts=("shared_load_conflicts", "shared_store_conflicts"), assembled=True,
                plots=True, table=True),
        Counter("wavefronts", "Shared wavefronts", _WAVEFRONT,
                parts=("shared_load_wavefronts", "shared_store_wavefronts"), assembled=True, plots=True),
        Counter("shared_load_requests", "Shared load requests",
                "A request is one load from shared memory by one warp.", json=10, assembled=True),
        Counter("shared_load_wavefronts", "Shared load wavefronts", _WAVEFRONT, json=11, assembled=True, lines=False),
        Counter("shared_store_requests", "Shared store requests",
                "A request is one store to shared memory by one warp.", json=12, assembled=True, lines=False),
        Counter("shared_store_wavefronts", "Shared store wavefronts", _WAVEFRONT, json=13, assembled=True, lines=False),
        Counter("sectors", "Global sectors", _SECTOR, parts=("global_load_sectors", "global_store_sectors"),
                plots=True),
        Counter("sectors_per_request", "Sectors per request", _WHOLE,
                parts=("global_load_sectors", "global_store_sectors"),
                per=("global_load_requests", "global_store_requests"), lines=False),
        Counter("sectors_per_load", "Sectors per load", _WHOLE, parts=("global_load_sectors",),
                per=("global_load_requests",), plots=True, table=True),
        Counter("sectors_per_store", "Sectors per store", _WHOLE, parts=("global_store_sectors",),
                per=("global_store_requests",), plots=True, table=True, beside="sectors_per_load"),
        Counter("global_load_sectors", "Global load sectors", _SECTOR, json=7),
        Counter("global_load_requests", "Global load requests",
                "A request is one load from global memory by one warp.", json=6),
        Counter("busiest_warp_loads", "Loads of the busiest warp",
                "The most loads from global memory that one warp makes. If one warp loads for all others, they wait "
                "for it.", json=23, lines=False),
        Counter("busiest_warp_instructions", "Instructions of the busiest warp",
                "The most instructions that one warp gets. If one warp works for all others, they wait for it.",
                json=24, in_ptx=True, lines=False),
        Counter("global_store_sectors", "Global store sectors", _SECTOR, json=9, lines=False),
        Counter("global_store_requests", "Global store requests",
                "A request is one store to global memory by one warp.", json=8),
        Counter("constant_requests", "Constant requests",
                "A request is one load from constant memory by one warp.", json=19),
        Counter("constant_passes", "Constant passes",
                "A request to constant memory is served once for each different word in it: one pass if all lanes "
                "read the same word.", json=20, plots=True),
        Counter("barriers", "Barriers",
                "A barrier counts once for a warp that arrives there and waits for the others of its block.",
                json=15, plots=True, table=True),
        Counter("atomics", "Atomics",
                "An atomic counts once for a warp; its lanes at one address are served one after the other.",
                json=16, parts=("global_red_requests", "global_atom_requests", "shared_atomic_requests"), plots=True),
        Counter("global_atomics", "Atomics of global memory", "An atomic of global memory counts once for a warp.",
                json=22, parts=("global_red_requests", "global_atom_requests"), lines=False),
        Counter("atomic_max_contention", "Lanes at one address",
                "The most lanes of one warp that meet at one address in one atomic; they take turns.", json=17),
        Counter("shuffles", "Shuffles",
                "A shuffle hands registers from lane to lane, without memory and without a barrier.",
                json=18, plots=True),
        Counter("warp_syncs", "Warp synchronisations",
                "An instruction at which the lanes of a warp wait for each other: __syncwarp(), a shuffle, a vote.",
                json=21),
        Counter("waits", "Waits of warps",
                "A barrier of the block, or an instruction at which the lanes of a warp wait for each other.",
                parts=("barriers", "warp_syncs"), lines=False),
        Counter("busiest_warp_share", "Share of the busiest warp",
                "The instructions of the busiest warp, divided by those of all warps. All warps have the same share if "
                "they share the work.",
                parts=("busiest_warp_instructions",), per=("warp_instructions",), in_ptx=True, lines=False),
        Counter("lane_exchanges", "Exchanges between lanes",
                "A load from shared memory or a shuffle: a lane gets the number of another one. It counts once for a "
                "warp.", parts=("shared_load_requests", "shuffles"), lines=False),
        Counter(LAUNCHES, "Kernel launches", "Each launch waits until the one before has ended.", whole_run=True),
        Counter(FINDINGS, "Hazards found", "A hazard is a place where the answer depends on the order of the threads."),
    )
}  # fmt: skip

IN_JSON: tuple[str, ...] = tuple(sorted((name for name, row in COUNTERS.items() if row.json is not None),
                                        key=lambda name: COUNTERS[name].json or 0))  # fmt: skip
ON_LINES: tuple[str, ...] = tuple(name for name, row in COUNTERS.items() if row.lines)
IN_PLOTS: tuple[str, ...] = tuple(name for name, row in COUNTERS.items() if row.plots)
IN_TABLE: tuple[str, ...] = tuple(name for name, row in COUNTERS.items() if row.table)
# Each entry: the counters of one tile, and of one column of a ladder's table.
IN_TILES: tuple[tuple[str, ...], ...] = tuple(
    (name, *(other for other in IN_TABLE if COUNTERS[other].beside == name))
    for name in IN_TABLE
    if not COUNTERS[name].beside
)


def with_derived(counts: Mapping[str, float]) -> dict[str, float]:
    """Return `counts` with every derived counter. A counter that lacks a part, or divides by zero, is left out."""
    found = dict(counts)
    for row in COUNTERS.values():
        if row.name in counts or not row.parts or not counts.keys() >= {*row.parts, *row.per}:
            continue
        whole, of = sum(counts[name] for name in row.parts), sum(counts[name] for name in row.per)
        if of or not row.per:
            found[row.name] = whole / of if row.per else whole
    return found


def plotted(counts: Mapping[str, float] | None) -> dict[str, float | None]:
    """Return the counters of plots, sweeps and files; None if nothing was counted."""
    found = with_derived(counts or {})
    return {name: found.get(name) for name in IN_PLOTS}

"""Measurements -> DataFrame. The names and units of columns live here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import pandas as pd

from engine.catalogue import KERNELS, Ladder, Published, Rung, Topic
from engine.elements import strides
from engine.history.history import Known, device_line
from engine.records import COUNTERS, Choice, Measurement

MEASURED, LECTURE, COUNTED = "Measured", "The lecture", "Counted by the emulator"


@dataclass(frozen=True)
class Column:
    """One column: `key` in the DataFrame, its title and unit on the screen, the group it stands under."""

    key: str
    title: str
    unit: str = ""
    group: str = ""
    meaning: str = ""

    @property
    def heading(self) -> str:
        """Title and unit: "Bandwidth (GB/s)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("rung", "Rung"),
        Column("title", "What it does"),
        Column("kernel", "Kernel"),
        Column("n", "N"),
        Column("block_size", "Block size"),
        Column("parameter", "Parameter", meaning="The kernel's own knob, where it has one, such as a stride."),
        Column("grid_size", "Blocks"),
        Column("grid_asked", "Blocks asked for", meaning="Empty: the kernel's own rule."),
        Column("elements", "Elements per thread", meaning="Of a kernel that strides over the grid."),
        Column("dtype", "Type"),
        Column("cache", "L2 cache"),
        Column("combine", "Combined by"),
        Column("status", "Correct?", meaning="Every answer is compared with a reference before it is timed."),
        Column("reason", "Why"),
        Column("checked", "Checked"),
        Column("time_us", "Time", "µs", MEASURED, "Median of the samples; all levels of the reduction included."),
        Column("low_us", "Time from", "µs", MEASURED, "Lower end of the median's 95% confidence interval."),
        Column("high_us", "Time to", "µs", MEASURED, "Upper end of the median's 95% confidence interval."),
        Column("bandwidth_gb_s", "Bandwidth", "GB/s", MEASURED, "Bytes by the lecture's count, divided by the time."),
        Column("gflop_s", "Throughput", "GFLOP/s", MEASURED, "Additions and multiplications, divided by the time."),
        Column("step", "Step speedup", "", MEASURED, "Against the rung before."),
        Column("cumulative", "Cumulative speedup", "", MEASURED, "Against the first rung that is right."),
        Column("percent_of_peak", "Of peak", "%", MEASURED, "Of the GPU's peak, computed from its clock and width."),
        Column("origin", "Origin", "", MEASURED),
        Column("lecture_time_us", "Time", "µs", LECTURE),
        Column("lecture_bandwidth_gb_s", "Bandwidth", "GB/s", LECTURE),
        Column("lecture_step", "Step speedup", "", LECTURE),
        Column("lecture_cumulative", "Cumulative speedup", "", LECTURE),
        Column("lecture_origin", "Published for", "", LECTURE),
        Column("warp_instructions", "Warp instructions", "", COUNTED, "PTX instructions, one per warp that runs it."),
        Column("divergent_branches", "Divergent branches", "", COUNTED,
               "Branches that split a warp in the PTX. A GPU may predicate them away."),
        Column("active_lanes_per_instruction", "Active lanes", "of 32", COUNTED, "Mean over all warp instructions."),
        Column("bank_conflicts", "Bank conflicts", "", COUNTED,
               "Passes of shared memory beyond the one that each request needs."),
        Column("wavefronts", "Shared wavefronts", "", COUNTED, "Passes of shared memory, loads and stores."),
        Column("sectors", "Global sectors", "", COUNTED, "32-byte pieces of global memory, loads and stores."),
        Column("sectors_per_request", "Sectors per request", "", COUNTED,
               "4 is perfect for 4-byte elements, 32 is the worst."),
        Column("barriers", "Barriers", "", COUNTED, "__syncthreads, counted once per warp."),
        Column("atomics", "Atomics", "", COUNTED),
        Column("shuffles", "Shuffles", "", COUNTED),
        Column("note", "Note"),
    )
}  # fmt: skip

# What the ladder's table shows of the counters, and what a plot without times can show.
LADDER_COUNTERS = ("warp_instructions", "divergent_branches", "active_lanes_per_instruction", "bank_conflicts",
                   "wavefronts", "sectors", "sectors_per_request", "barriers", "atomics", "shuffles")  # fmt: skip

STATUS_WORDS = {
    "ok": "correct",
    "wrong": "wrong",
    "hazard": "hazard",
    "refused": "refused",
    "compile-error": "does not compile",
    "out-of-bounds": "out of bounds",
    "deadlock": "deadlock",
    "timeout": "timeout",
    "crashed": "crashed",
}


def ladder_table(ladder: Ladder, choices: Sequence[Choice], facts: Sequence[Known]) -> pd.DataFrame:
    """One row a rung, in the ladder's order; `choices` and `facts` stand beside its rungs.

    Times in us, bandwidth in GB/s, throughput in GFLOP/s. None where nothing was measured, or where the run failed.
    `step` is the time of the rung before over this one, `cumulative` the time of the ladder's baseline over this one;
    both only between times of one device.
    """
    timed = [fact.timed for fact in facts]
    first = baseline_of(ladder)
    rows = [
        _ladder_row(rung, choice, fact, _speedup(timed, i - 1, i), _speedup(timed, first, i))
        for i, (rung, choice, fact) in enumerate(zip(ladder.rungs, choices, facts, strict=True))
    ]
    # dtype object: a missing number stays None, and a whole number stays whole.
    return pd.DataFrame(rows, dtype=object)


def baseline_of(ladder: Ladder) -> int:
    """The rung that cumulative speedups count from: the ladder's own, or the next that can be right."""
    can_be_right = (i for i, rung in enumerate(ladder.rungs) if KERNELS[rung.kernel].expect != "wrong")
    return next((i for i in can_be_right if i >= ladder.baseline), ladder.baseline)


def _ladder_row(
    rung: Rung, choice: Choice, fact: Known, step: float | None, cumulative: float | None
) -> dict[str, object]:
    kernel = KERNELS[rung.kernel]
    timed, shown = fact.timed, fact.failed or fact.live or fact.recorded
    paper = published_for(rung, choice)
    return {
        "rung": rung.label,
        "title": kernel.title,
        "kernel": rung.kernel,
        "status": shown.status if shown else None,
        "reason": shown.reason if shown else None,
        "checked": checked_by(shown) if shown else None,
        **_numbers(timed),
        "step": step,
        "cumulative": cumulative,
        "origin": device_line(timed) if timed else None,
        "lecture_time_us": paper.time_ms * 1e3 if paper and paper.time_ms is not None else None,
        "lecture_bandwidth_gb_s": paper.bandwidth_gb_s if paper else None,
        "lecture_step": paper.step_speedup if paper else None,
        "lecture_cumulative": paper.cumulative_speedup if paper else None,
        "lecture_origin": published_line(paper) if paper else None,
        **counter_values(fact.counted),
    }


def checked_by(measurement: Measurement) -> str:
    """Where an answer was checked: "live", "emulated" or "recorded"."""
    if measurement.origin == "recorded":
        return "recorded"
    return "live" if measurement.device.get("kind") == "gpu" else "emulated"


def _numbers(timed: Measurement | None) -> dict[str, float | None]:
    names = ("time_us", "low_us", "high_us", "bandwidth_gb_s", "gflop_s", "percent_of_peak")
    return {name: getattr(timed, name) if timed else None for name in names}


def _speedup(timed: Sequence[Measurement | None], before: int, now: int) -> float | None:
    if before < 0 or before > now:
        return None
    old, new = timed[before], timed[now]
    if old is None or new is None or old.time_us is None or new.time_us is None:
        return None
    if old.device.get("name") != new.device.get("name"):
        return None
    return old.time_us / new.time_us


def published_for(rung: Rung, choice: Choice) -> Published | None:
    """The lecture's figure for this rung whose conditions are nearest to the choice's; None if it printed none."""

    def distance(figure: Published) -> tuple[bool, bool, bool]:
        same_block = figure.block_size in (None, choice.block_size)
        return (figure.n != choice.n, not same_block, figure.dtype != choice.dtype)

    return min(rung.published, key=distance, default=None)


def published_line(figure: Published) -> str:
    """The conditions of a published figure: "G80, N = 2^22, 128 threads, int32"."""
    words = [figure.gpu or "GPU not named", f"N = {size_text(figure.n)}"]
    if figure.block_size is not None:
        words.append(f"{figure.block_size} threads")
    return ", ".join([*words, figure.dtype])


def counter_values(counted: Measurement | None) -> dict[str, float | None]:
    """The counters a page shows, derived from the contract's; all None where nothing was counted."""
    raw: Mapping[str, float] = (counted.counters or {}) if counted else {}

    def total(*names: str) -> float | None:
        values = [raw.get(name) for name in names]
        return None if any(value is None for value in values) else sum(v for v in values if v is not None)

    requests = total("global_load_requests", "global_store_requests")
    sectors = total("global_load_sectors", "global_store_sectors")
    wavefronts = total("shared_load_wavefronts", "shared_store_wavefronts")
    return {
        **{name: raw.get(name) for name in LADDER_COUNTERS if name in COUNTERS},
        "wavefronts": wavefronts,
        "sectors": sectors,
        "sectors_per_request": sectors / requests if requests and sectors is not None else None,
    }


def measurement_table(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """One row a measurement, for a file or a sweep: what was asked, how it ended, every number with its origin."""
    rows = [
        {
            "kernel": m.kernel,
            "n": m.n,
            "block_size": m.block_size,
            "parameter": m.parameter,
            "grid_size": m.grid_size,
            "grid_asked": m.grid_asked,
            "elements": elements_of(m),
            "dtype": m.dtype,
            "cache": m.cache,
            "combine": m.combine,
            "status": m.status,
            "reason": m.reason,
            **_numbers(m if m.status in ("ok", "hazard") else None),
            "origin": device_line(m),
            **counter_values(m),
        }
        for m in measurements
    ]
    return pd.DataFrame(rows, dtype=object)


def elements_of(measurement: Measurement) -> float | None:
    """n over the threads of the grid, for a kernel that strides over it; None for others and where nothing ran."""
    kernel, blocks = KERNELS.get(measurement.kernel), measurement.grid_size
    if kernel is None or not strides(kernel) or not blocks:
        return None
    each = measurement.n / (blocks * measurement.block_size)
    return int(each) if each == int(each) else round(each, 3)


def csv_of(measurements: Sequence[Measurement]) -> str:
    """The measurements as CSV, headings with units; an empty field was not measured."""
    return frame_csv(measurement_table(measurements))


def frame_csv(frame: pd.DataFrame) -> str:
    """A DataFrame of this module as CSV, headings with units; groups that share a title are told apart."""
    names = {}
    for key in frame.columns:
        column = COLUMNS[str(key)]
        names[key] = f"Lecture: {column.heading}" if column.group == LECTURE else column.heading
    return str(frame.rename(columns=names).to_csv(index=False))


def heat_table(
    kernels: Sequence[str], block_sizes: Sequence[int], cells: Mapping[tuple[str, int], float | None], smallest: bool
) -> pd.DataFrame:
    """Variants x block sizes, with the lecture's two last columns: the best block size and the best value.

    `cells` holds the value of (kernel, block size), None where there is none; `smallest`: the least value is the best.
    Columns: "kernel", one per block size, "best_block_size", "best_value".
    """
    rows = []
    for kernel in kernels:
        values = {size: cells.get((kernel, size)) for size in block_sizes}
        known = {size: value for size, value in values.items() if value is not None}
        best = (min if smallest else max)(known, key=lambda size: known[size], default=None)
        columns: list[tuple[str | int, object]] = [("kernel", kernel), *values.items(), ("best_block_size", best)]
        rows.append(dict([*columns, ("best_value", None if best is None else known[best])]))
    return pd.DataFrame(rows, dtype=object)


def marks(topic: Topic, facts: Sequence[Known]) -> dict[str, float]:
    """The lines of a plot of the topic's metric: name -> value. The peak of the GPU, and each peer at its median.

    Only where all times come from one GPU: a line of one machine says nothing about another's bars.
    """
    timed = [fact.timed for fact in facts if fact.timed is not None]
    if not timed or len({m.device.get("name") for m in timed}) != 1:
        return {}
    device = timed[0].device
    found: dict[str, float] = {}
    peak = device.get("peak_bandwidth_gb_s" if topic.metric == "bandwidth_gb_s" else "peak_gflop_s")
    if peak:
        found["Peak"] = float(peak)
    for peer in topic.peers:
        rates = [
            rate * m.time_us / float(m.peers[peer]["time_us"])
            for m in timed
            if m.peers.get(peer, {}).get("time_us") and m.time_us and (rate := getattr(m, topic.metric))
        ]
        if rates:
            found[peer] = median(rates)
    return found


def text_of(key: str, value: object) -> str:
    """A cell as a reader wants it: "12.3 µs", "1,203", "2.33×"; "" for what was not measured."""
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return ""
    if not isinstance(value, int | float):
        return STATUS_WORDS.get(str(value), str(value)) if key == "status" else str(value)
    if key in ("time_us", "low_us", "high_us", "lecture_time_us"):
        return time_text(value)
    if key in ("step", "cumulative", "lecture_step", "lecture_cumulative"):
        return f"{_three_digits(value)}×"
    if key == "percent_of_peak":
        return f"{_three_digits(value)}%"
    if key == "n":
        return f"{value:,}"
    if key in LADDER_COUNTERS and value == int(value):
        return count_text(int(value))
    return _three_digits(value)


def time_text(us: float) -> str:
    """A time with the unit that suits it: "8.05 ms", "12.3 µs"."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if us >= size:
            return f"{_three_digits(us / size)} {unit}"
    return f"{_three_digits(us)} µs"


def count_text(count: int) -> str:
    """A count that can be read from afar: "1,234", "12.3 M"."""
    for size, unit in ((10**9, "G"), (10**6, "M")):
        if count >= size:
            return f"{_three_digits(count / size)} {unit}"
    return f"{count:,}"


def size_text(n: int) -> str:
    """N as the lectures write it: "2^22", "1,000"."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else f"{n:,}"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:,.0f}"
    if 0 < value < 0.095:
        return f"{value:.2g}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"

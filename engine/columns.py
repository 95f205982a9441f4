"""The columns of every table: their keys, titles, units and groups, once."""

from __future__ import annotations

from dataclasses import dataclass

from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE
from engine.counters import COUNTERS, IN_PLOTS, Counter

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


ASSEMBLED = f"as {ASSEMBLED_ARCHITECTURE}'s assembler makes it"


def _counted(counter: Counter) -> Column:
    unit = f"of {counter.full}" if counter.full else ""
    code = "in the PTX" if counter.in_ptx else ASSEMBLED if counter.assembled else ""
    return Column(counter.name, counter.title, unit, COUNTED, counter.meaning + (f" Counted {code}." if code else ""))


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
        Column("answer", "Answer"),
        Column("time_us", "Time", "µs", MEASURED, "Median of the samples; all levels of the reduction included."),
        Column("low_us", "Time from", "µs", MEASURED, "Lower end of the median's 95% confidence interval."),
        Column("high_us", "Time to", "µs", MEASURED, "Upper end of the median's 95% confidence interval."),
        Column("bandwidth_gb_s", "Bandwidth", "GB/s", MEASURED, "Bytes by the lecture's count, divided by the time."),
        Column("gflop_s", "Throughput", "GFLOP/s", MEASURED, "Additions and multiplications, divided by the time."),
        Column(
            "step",
            "Step speedup",
            "",
            MEASURED,
            "Against the rung before, where it does the same work on the same kind of processor.",
        ),
        Column(
            "cumulative",
            "Cumulative speedup",
            "",
            MEASURED,
            "Against the first right rung that does the same work on the same kind of processor.",
        ),
        Column("percent_of_peak", "Of peak", "%", MEASURED, "Of the GPU's peak, computed from its clock and width."),
        Column(
            "ratio",
            "Of library",
            "",
            MEASURED,
            "The time of the fastest library beside it over its own, taken in turn: above 1 it is faster.",
        ),
        Column("library", "Library", "", MEASURED, "The fastest library that was timed beside it."),
        Column(
            "same_bits",
            "Same bits",
            "",
            "",
            "Whether every run gives the same bits. Sums of floats that are added "
            "in the order of who comes first are rounded differently each time; all of them are right.",
        ),
        Column("origin", "Origin", "", MEASURED),
        Column("lecture_time_us", "Time", "µs", LECTURE),
        Column("lecture_bandwidth_gb_s", "Bandwidth", "GB/s", LECTURE),
        Column("lecture_step", "Step speedup", "", LECTURE),
        Column("lecture_cumulative", "Cumulative speedup", "", LECTURE),
        Column("lecture_origin", "Published for", "", LECTURE),
        Column("note", "Note"),
        Column("caveats", "Counted otherwise by a GPU", "", COUNTED),
        *(_counted(COUNTERS[name]) for name in IN_PLOTS),
    )
}

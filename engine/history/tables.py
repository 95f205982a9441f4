"""Measurements as tables: their columns, a ladder's table, and CSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import pandas as pd

from engine.catalogue import KERNELS, Kernel, Ladder, Published, Rung, Topic
from engine.catalogue.entries import same_bits
from engine.catalogue.gpu_models import GPU
from engine.history.history import Known, device_line
from engine.machine.rates import peak_of
from engine.plan import strides
from engine.records import Choice, Measurement, Rates, Settled, dtype_of
from engine.records.counters import COUNTERS, IN_PLOTS, Counter, plotted
from engine.records.words import size_text, text_of

MEASURED, LECTURE, COUNTED = "Measured", "The lecture", "Counted by the emulator"


@dataclass(frozen=True)
class Column:
    """One column: `key` in the DataFrame, its title and unit on the screen, its group."""

    key: str
    title: str
    unit: str = ""
    group: str = ""
    meaning: str = ""

    @property
    def heading(self) -> str:
        """The title with the unit: "Bandwidth (GB/s)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


ASSEMBLED = f"as {GPU.architecture}'s assembler makes it"


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
        Column("parameter", "Parameter", meaning="The kernel's own parameter, such as a stride."),
        Column("grid_size", "Blocks"),
        Column("grid_asked", "Blocks asked for", meaning="Empty: the kernel's own rule."),
        Column("elements", "Elements per thread", meaning="Of a kernel that strides over the grid."),
        Column("dtype", "Type"),
        Column("cache", "L2 cache"),
        Column("combine", "Combined by"),
        Column("status", "Correct?", meaning="Every answer is compared with a reference before it is timed."),
        Column("reason", "Why"),
        Column("checked", "Checked"),
        Column("recorded_status", "Recorded answer", meaning="Beside a run here, if one of the two failed."),
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
            "Against the rung before, if it does the same work on the same kind of processor.",
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
            "The fastest library's time over the kernel's, sampled in turn by the same clock: above 1 the kernel is "
            "faster. The host's clock also counts the way of the answer to the host.",
        ),
        Column(
            "library",
            "Library",
            "",
            MEASURED,
            "The fastest library that was timed beside it. CUB: the calls that "
            "CuPy has built; CUB by nvcc: the device-wide calls compiled with nvcc.",
        ),
        Column(
            "same_bits",
            "Same bits",
            "",
            "",
            "Whether every run gives the same bits. Sums of floats that are added "
            "in the order of the threads' arrival are rounded differently each time; all of them are right.",
        ),
        Column("gpu", "GPU", "", MEASURED, "Of the time."),
        Column("origin", "Origin", "", MEASURED),
        Column("lecture_time_us", "Time", "µs", LECTURE),
        Column("lecture_bandwidth_gb_s", "Bandwidth", "GB/s", LECTURE),
        Column("lecture_step", "Step speedup", "", LECTURE),
        Column("lecture_cumulative", "Cumulative speedup", "", LECTURE),
        Column("lecture_origin", "Published for", "", LECTURE),
        Column("note", "Note"),
        Column("caveats", "Where a GPU's counts differ", "", COUNTED),
        *(_counted(COUNTERS[name]) for name in IN_PLOTS),
    )
}


SAME_LINE = 0.03  # lines of a plot that are nearer to each other are drawn as one


def ladder_table(ladder: Ladder, choices: Sequence[Settled], facts: Sequence[Known]) -> pd.DataFrame:
    """Return one row per rung, in the ladder's order; `choices` and `facts` are in the same order.

    Times in us, bandwidth in GB/s, throughput in GFLOP/s; None if not measured or if the run failed. `step` is the time
    of the rung before over this one, `cumulative` the time of the first comparable rung over this one; both only
    between kernels that do the same work on the same kind of processor, and between times of one device.
    """
    rows = [
        _ladder_row(rung, choice, fact, _speedup(ladder, facts, i - 1, i),
                    _speedup(ladder, facts, baseline_of(ladder, facts, i), i))
        for i, (rung, choice, fact) in enumerate(zip(ladder.rungs, choices, facts, strict=True))
    ]  # fmt: skip
    # dtype object keeps None for a missing number, and keeps integers
    return pd.DataFrame(rows, dtype=object)


def baseline_of(ladder: Ladder, facts: Sequence[Known], position: int) -> int | None:
    """Return the rung that the cumulative speedup at `position` counts from: the first comparable right rung from the
    baseline on.

    None if there is no other such rung.
    """
    kernels = [KERNELS[rung.kernel] for rung in ladder.rungs]
    alike = [
        i
        for i, (kernel, fact) in enumerate(zip(kernels, facts, strict=True))
        if i >= ladder.baseline and kernel.expect != "wrong" and comparable(kernel, kernels[position])
        and (fact.timed is not None or fact.shown is None or fact.shown.status == "ok")
    ]  # fmt: skip
    return alike[0] if alike and alike != [position] else None


def comparable(one: Kernel, other: Kernel) -> bool:
    """Return whether one time over the other is a speedup: both do the same work on the same kind of processor."""
    return (one.topic, one.work, one.processor) == (other.topic, other.work, other.processor)


def _ladder_row(
    rung: Rung, choice: Settled, fact: Known, step: float | None, cumulative: float | None
) -> dict[str, object]:
    kernel = KERNELS[rung.kernel]
    timed, shown = fact.timed, fact.shown
    paper = published_for(rung, choice)
    return {
        "rung": rung.label,
        "title": kernel.title,
        "kernel": rung.kernel,
        "status": shown.status if shown else None,
        "reason": shown.reason if shown else None,
        "checked": checked_by(shown) if shown else None,
        "recorded_status": fact.beside.status if fact.beside else None,
        **_numbers(timed),
        "step": step,
        "cumulative": cumulative,
        **_beside(timed),
        "same_bits": _same_bits(kernel, choice),
        "gpu": gpu_of(timed),
        "origin": device_line(timed) if timed else None,
        "lecture_time_us": paper.time_ms * 1e3 if paper and paper.time_ms is not None else None,
        "lecture_bandwidth_gb_s": paper.bandwidth_gb_s if paper else None,
        "lecture_step": paper.step_speedup if paper else None,
        "lecture_cumulative": paper.cumulative_speedup if paper else None,
        "lecture_origin": published_line(paper) if paper else None,
        "caveats": " ".join(caveat.message for caveat in fact.counted.caveats) or None if fact.counted else None,
        **plotted(fact.counted.counters if fact.counted else None),
    }


def gpu_of(measurement: Measurement | None) -> str | None:
    """Return the name of the GPU that a measurement was made on; None for the emulator."""
    if measurement is None or measurement.device.get("kind") != "gpu":
        return None
    return measurement.device.get("name")


def counted_text(row: Mapping[str, Any], key: str) -> str:
    """Return the text of a counter in a ladder's row, with "≈" if a GPU's count differs; "" if nothing was counted."""
    text = text_of(key, row[key])
    return f"≈ {text}" if row[key] and row["caveats"] else text


def tile_title(counters: Sequence[str]) -> str:
    """Return the title of the counters of one tile: "Sectors per load / store"."""
    first, *others = (COUNTERS[name].short or COUNTERS[name].label for name in counters)
    return " / ".join([first, *(title.rpartition(" ")[2] for title in others)])


def tile_text(row: Mapping[str, Any], counters: Sequence[str]) -> str:
    """Return the text of the counters of one tile: "32 / 4", with "–" for one that a run has none of."""
    if all(row[name] is None for name in counters):
        return ""
    texts = " / ".join(text_of(name, row[name]) or "–" for name in counters)
    return f"≈ {texts}" if row["caveats"] and any(row[name] for name in counters) else texts


def checked_by(measurement: Measurement) -> str:
    """Return the origin of an answer's check: "live", "emulated" or "recorded"."""
    if measurement.origin == "recorded":
        return "recorded"
    return "live" if measurement.device.get("kind") == "gpu" else "emulated"


def _numbers(timed: Measurement | None) -> dict[str, float | None]:
    timing, rates = (timed.timing, timed.rates) if timed else (None, Rates())
    times = {name: getattr(timing, name) if timing else None for name in ("time_us", "low_us", "high_us")}
    return times | asdict(rates)


def _beside(timed: Measurement | None) -> dict[str, object]:
    """Return the fastest library that was timed beside the run, with the clock if it is the host's, and its time over
    the run's."""
    ratios = {name: peer.ratio for name, peer in timed.peers.items() if peer.ratio} if timed else {}
    library = min(ratios, key=lambda name: ratios[name], default=None)
    by_host = timed is not None and timed.timing is not None and timed.timing.clock == "host"
    named = f"{library}, host's clock" if library and by_host else library
    return {"ratio": ratios[library] if library else None, "library": named}


def _same_bits(kernel: Kernel, choice: Settled) -> str | None:
    same = same_bits(kernel, choice.dtype, choice.combine)
    return None if same is None else "yes" if same else "no"


def value_of(measurement: Measurement, key: str) -> float | None:
    """Return the value of a column that is a time, a rate or a counter; None if it was not measured."""
    return plotted(measurement.counters).get(key) if key in COUNTERS else _numbers(measurement)[key]


def _speedup(ladder: Ladder, facts: Sequence[Known], before: int | None, now: int) -> float | None:
    if before is None or not 0 <= before <= now:
        return None
    if not comparable(KERNELS[ladder.rungs[before].kernel], KERNELS[ladder.rungs[now].kernel]):
        return None
    old, new = facts[before].timed, facts[now].timed
    if old is None or new is None or old.time_us is None or new.time_us is None:
        return None
    if old.device.get("name") != new.device.get("name"):
        return None
    return old.time_us / new.time_us


def published_for(rung: Rung, choice: Settled) -> Published | None:
    """Return the lecture's figure for this rung at the choice's N, type and block size; None if it printed none.

    A figure whose block size the lecture does not name matches every block size.
    """
    return next(
        (
            figure
            for figure in rung.published
            if (figure.n, figure.dtype) == (choice.n, choice.dtype) and figure.block_size in (None, choice.block_size)
        ),
        None,
    )


def published_line(figure: Published) -> str:
    """Return the conditions of a published figure: "G80, N = 2^22, 128 threads, int32"."""
    words = [figure.gpu or "GPU not named", f"N = {size_text(figure.n)}"]
    if figure.block_size is not None:
        words.append(f"{figure.block_size} threads")
    return ", ".join([*words, figure.dtype])


def measurement_table(measurements: Sequence[Measurement]) -> pd.DataFrame:
    """Return one row per measurement, for a file or a sweep: the choice, its outcome, every number with its origin."""
    rows = [
        {
            **_asked(m.choice, m),
            "status": m.status,
            "reason": m.reason,
            **_numbers(m if m.status in ("ok", "hazard") else None),
            "gpu": gpu_of(m),
            "origin": device_line(m),
            **plotted(m.counters),
        }
        for m in measurements
    ]
    return pd.DataFrame(rows, dtype=object)


def sweep_rows(cells: Sequence[tuple[Settled, Known]]) -> pd.DataFrame:
    """Return one row per cell of a sweep: its outcome, its time with origin, and what was counted here."""
    rows = [
        {
            **_asked(choice, fact.shown),
            "status": fact.shown.status if fact.shown else None,
            "reason": fact.shown.reason if fact.shown else None,
            "checked": checked_by(fact.shown) if fact.shown else None,
            **_numbers(fact.timed),
            "gpu": gpu_of(fact.timed),
            "origin": device_line(fact.timed) if fact.timed else None,
            **plotted(fact.counted.counters if fact.counted else None),
        }
        for choice, fact in cells
    ]
    return pd.DataFrame(rows, dtype=object)


def _asked(choice: Choice, ran: Measurement | None) -> dict[str, object]:
    return {
        "kernel": choice.kernel,
        "n": choice.n,
        "block_size": choice.block_size,
        "parameter": choice.parameter,
        "grid_size": ran.grid_size if ran else None,
        "grid_asked": choice.grid_size,
        "elements": elements_of(ran) if ran else None,
        "dtype": choice.dtype,
        "cache": choice.cache,
        "combine": choice.combine,
    }


def elements_of(measurement: Measurement) -> float | None:
    """Return n over the threads of the grid for a grid-stride kernel; None for others, and if nothing ran."""
    kernel, blocks = KERNELS.get(measurement.kernel), measurement.grid_size
    if kernel is None or not strides(kernel) or not blocks:
        return None
    each = measurement.choice.n / (blocks * measurement.choice.block_size)
    return int(each) if each == int(each) else round(each, 3)


def csv_of(measurements: Sequence[Measurement]) -> str:
    """Return the measurements as CSV; headings have units, and an empty field was not measured."""
    return frame_csv(measurement_table(measurements))


def frame_csv(frame: pd.DataFrame) -> str:
    """Return a table of this module as CSV; headings have units, and the group if two groups share a title."""
    names = {}
    for key in frame.columns:
        column = COLUMNS[str(key)]
        names[key] = f"Lecture: {column.heading}" if column.group == LECTURE else column.heading
    return str(frame.rename(columns=names).to_csv(index=False))


def sweep_table(
    kernels: Sequence[str], block_sizes: Sequence[int], cells: Mapping[tuple[str, int], float | None], smallest: bool
) -> pd.DataFrame:
    """Return variants x block sizes, with the lecture's two last columns: the best block size and the best value.

    `cells` holds the value of (kernel, block size), None if there is none; `smallest`: the least value is the best.
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
    """Return the reference lines of a plot of the topic's metric: name -> value, the GPU's peak and each library's
    median by the GPU's clock, if a rung was timed by it.

    Of libraries closer than a line's width only the first is kept. Empty unless all times come from one GPU, because
    one computer's line says nothing about another's bars.
    """
    timed = [fact.timed for fact in facts if fact.timed is not None]
    if not timed or len({m.device.get("name") for m in timed}) != 1:
        return {}
    device = timed[0].device
    found: dict[str, float] = {}
    dtype = timed[0].choice.dtype
    if peak := peak_of(device, topic.metric, dtype):
        name = "Memory peak" if topic.metric == "bandwidth_gb_s" else f"FP{8 * dtype_of(dtype).itemsize} peak"
        found[name] = float(peak)
    by_gpu = [m for m in timed if m.timing is not None and m.timing.clock == "event"]
    timed = by_gpu or timed
    beside = dict.fromkeys(name for m in timed for name in m.peers)
    for peer in beside:
        rates = [
            rate * m.timing.time_us / m.peers[peer].time_us
            for m in timed
            if m.timing and peer in m.peers and (rate := getattr(m.rates, topic.metric))
        ]
        others = [value for name, value in found.items() if name in beside]
        if rates and all(abs(median(rates) - value) > SAME_LINE * value for value in others):
            found[peer] = median(rates)
    return found


def sources(known: Sequence[Known], n: int, counted_n: int) -> dict[str, str]:
    """Return the sources of the times and the counters; with their N, if they differ in it."""
    times = sorted({device_line(fact.timed) for fact in known if fact.timed})
    found = {
        "times": f"Times: {' and '.join(times)}" if times else "Times: none measured or recorded for these choices",
        "counters": "Counted by the emulator, live",
    }
    if counted_n != n:
        found["times"] += f", N = {size_text(n)}"
        found["counters"] += f", N = {size_text(counted_n)}"
    return found

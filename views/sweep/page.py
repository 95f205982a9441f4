"""The sweep page: variants x block sizes as Heidelberg's table; N, a parameter or elements per thread as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from engine.catalogue import KERNELS, LADDERS
from engine.figures.look import Figure, Look
from engine.figures.sweep import size_lines
from engine.history import tables
from engine.history.history import Known, device_line
from engine.history.tables import COLUMNS, COUNTED
from engine.lectures.arithmetic.elements import CLAIM, judged_variants
from engine.records import Measurement, NotRunnable
from engine.records.words import size_text, text_of
from views.chart.component import Chart
from views.html import table
from views.server.navigation import toolbar
from views.shared import address, keyboard, menus, messages, work
from views.shared.slots import NOTHING, Slot
from views.sweep.menus import controls
from views.sweep.sweep import LISTS, Cell, Sweep

WORK = "sweep work"
ABOVE_LINES, LEAST, LARGEST = 360, 340, 640  # pixels of the window above the lines; of their height


def main() -> None:
    """Read the choice, run the sweep on request, show the table or the lines."""
    bar = toolbar()
    try:
        sweep = controls()
        for cell in sweep.cells:
            sweep.choice(cell)  # refuses an unknown device or type
    except NotRunnable as refused:
        keyboard.on_key({})
        messages.error(str(refused))
        return
    here = st.session_state
    stands = {"n": sweep.over != "sizes", "block": sweep.over != "blocks"}
    address.publish(
        sweep.topic.name,
        {"topic": sweep.topic.name, "sweep": sweep.over, "knob": sweep.parameter.name if sweep.parameter else None,
         "kernels": sweep.kernels, LISTS[sweep.over]: here[LISTS[sweep.over]],
         **{name: here[name] for name, so in stands.items() if so},
         "dtype": sweep.base.dtype, "cache": sweep.base.cache, "device": sweep.base.device, "record": sweep.base.record,
         "value": sweep.key}
    )  # fmt: skip
    keyboard.on_key({"run": lambda: run(sweep)} if sweep.cells else {})
    if not sweep.cells:
        messages.info("Choose at least one variant and one value to sweep over.")
        return
    bar.button(f"Run {len(sweep.cells)} cells", key="run", type="primary", icon=":material/play_arrow:",
               on_click=run, args=(sweep,), help="Every cell, one after the other (R)")  # fmt: skip
    shown = SweepResults(sweep)

    def draw() -> None:
        with work.RENDER:
            shown.show()

    work.follow(WORK, draw)
    draw()


def run(sweep: Sweep) -> None:
    """Run every cell, and show a value that the runs have: the emulator's runs have counters and no times."""
    if COLUMNS[sweep.key].group != COUNTED and sweep.choice(sweep.cells[0]).device == "emulator":
        st.session_state["value"] = sweep.topic.ladders[0].counter
    names = [f"{KERNELS[kernel].title}, {value:,}" for kernel, value in sweep.cells]
    work.start(WORK, [sweep.choice(cell) for cell in sweep.cells], names)


class SweepResults:
    """The containers of the title, the lines, the table and the notes; `show` draws the known values."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._title = Slot("sweeptitle")
        self._height = min(max(keyboard.window()[1] - ABOVE_LINES, LEAST), LARGEST)
        # The lines have their container before the first result, so nothing moves when it arrives.
        self._chart = None
        if sweep.over != "blocks":
            self._chart = Chart(st.container(key="sweepplot", height=self._height, border=False), "lines")
        self._verdict, self._table = Slot("sweepverdict"), Slot("sweeptable")
        st.download_button("CSV", lambda: csv(sweep, facts_of(sweep)), f"sweep-{sweep.topic.name}.csv", "text/csv",
                           on_click="ignore", icon=":material/download:", key="csv")  # fmt: skip
        self._lecture, self._reasons = Slot("sweeplecture"), Slot("sweepreasons")

    def show(self) -> None:
        """Show the known numbers, their sources, and why a cell has none."""
        sweep, facts = self._sweep, facts_of(self._sweep)
        column = COLUMNS[sweep.key]
        counted = column.group == COUNTED
        values = {cell: value_of(fact, sweep.key) for cell, fact in facts.items()}
        sources = sorted({device_line(m) for fact in facts.values() if (m := fact.counted if counted else fact.timed)})
        missing = "run the sweep" if counted or menus.has_gpu() else "no run was recorded for these choices"
        origin = ", ".join(sources) or missing
        said = escape(origin)
        self._title.html(f'<h2 class="sweeptitle" title="{said}">{column.heading}<small>{said}</small></h2>')
        self._lines(facts, values, origin)
        if sweep.over == "elements" and any(values.values()) and not counted:
            variants = {KERNELS[kernel].title: known_of(kernel, values) for kernel in sweep.kernels}
            judged = judged_variants(variants, sweep.values, sweep.smallest, " and ".join(sources))
            self._verdict.html(f'<p class="verdict">{escape(judged)}</p>')
        self._table.html(table_html(sweep, facts, values))
        self._lecture.html((sweep.over == "blocks" and lecture_html(sweep)) or NOTHING)
        self._reasons.html(reasons_of(facts))

    def _lines(self, facts: dict[Cell, Known], values: dict[Cell, float | None], origin: str) -> None:
        figure = lines(self._sweep, facts, values, self._height) if self._chart is not None else None
        if self._chart is not None and figure is not None:
            alt = f"{COLUMNS[self._sweep.key].heading} over {self._sweep.label}"
            self._chart.draw(figure, alt=alt, origin=origin)


def facts_of(sweep: Sweep) -> dict[Cell, Known]:
    """Return the known measurements of each cell."""
    return {cell: work.outcome(sweep.choice(cell)) for cell in sweep.cells}


def csv(sweep: Sweep, facts: dict[Cell, Known]) -> str:
    """Return the file, made at a click."""
    return tables.frame_csv(tables.sweep_rows([(sweep.choice(cell), fact) for cell, fact in facts.items()]))


def used_of(fact: Known, key: str) -> Measurement | None:
    """Return the measurement that a value of `key` comes from."""
    return fact.counted if COLUMNS[key].group == COUNTED else fact.timed


def value_of(fact: Known, key: str) -> float | None:
    """Return the value of one cell; None without a measurement, or after a failed run."""
    used = used_of(fact, key)
    if used is None or used.status not in ("ok", "hazard"):
        return None
    value = tables.value_of(used, key)
    return None if value is None else float(value)


def known_of(kernel: str, values: dict[Cell, float | None]) -> dict[int, float]:
    """Return the known values of one kernel by swept value."""
    return {at: value for (name, at), value in values.items() if name == kernel and value}


def lines(sweep: Sweep, facts: dict[Cell, Known], values: dict[Cell, float | None], height: int) -> Figure | None:
    """Return the numbers as lines over the swept parameter; None if there are none."""
    used = [(cell, m) for cell in sweep.cells if values[cell] is not None and (m := used_of(facts[cell], sweep.key))]
    if not used:
        return None
    frame = tables.measurement_table([m for _, m in used])
    frame["swept"] = [value for (_, value), _ in used]
    names = {kernel: KERNELS[kernel].title for kernel in sweep.kernels}
    judged = sweep.over == "elements" and COLUMNS[sweep.key].group != COUNTED
    band = (*CLAIM, "best, says Crovella") if judged else None
    over = ("swept", "N" if sweep.over == "sizes" else sweep.label)
    return size_lines(frame, sweep.key, names, Look(height=height), over, band)


def best_of(
    sweep: Sweep, kernels: Sequence[str], values: Mapping[Cell, float | None], smallest: bool
) -> dict[str, tuple[int, str]]:
    """Return the best value of each kernel as text, and where it is."""
    rows = tables.sweep_table(kernels, sweep.values, values, smallest).to_dict("records")
    return {row["kernel"]: (row["best_block_size"], text_of(sweep.key, row["best_value"]))
            for row in rows if row["best_block_size"] is not None}  # fmt: skip


def table_html(sweep: Sweep, facts: dict[Cell, Known], values: dict[Cell, float | None]) -> str:
    """Return the coloured table."""
    cells = {}
    for cell, value in values.items():
        failed = facts[cell].failed
        text = text_of(sweep.key, value) if failed is None or value is not None else text_of("status", failed.status)
        cells[cell] = (value, text, (failed.reason or "") if failed else "")
    rows = [(kernel, KERNELS[kernel].title) for kernel in sweep.kernels]
    best = best_of(sweep, sweep.kernels, values, sweep.smallest)
    return table.sweep_html(rows, sweep.values, sweep.titles, cells, best, sweep.headings)


def lecture_html(sweep: Sweep) -> str:
    """Return the lectures' printed tables for the variants on the page and for those that they replace."""
    shown, printed = set(sweep.kernels), []
    if sweep.key != "bandwidth_gb_s":
        return ""
    for ladder in LADDERS.values():
        cells = {
            (rung.kernel, figure.block_size): figure
            for rung in ladder.rungs
            for figure in rung.published
            if figure.block_size in sweep.values and figure.bandwidth_gb_s is not None
            if shown & {rung.kernel, rung.timed}
        }
        if len({size for _, size in cells}) < 2:
            continue
        figure = next(iter(cells.values()))
        kernels = list(dict.fromkeys(kernel for kernel, _ in cells))
        values = {cell: f.bandwidth_gb_s for cell, f in cells.items()}
        texts = {cell: (value, text_of(sweep.key, value), "") for cell, value in values.items()}
        best = best_of(sweep, kernels, values, False)
        printed.append(
            f'<h2 class="sweeptitle">As the lecture published it (GB/s)<small>{ladder.title}. '
            f"{figure.gpu or 'GPU not named'}, N = {size_text(figure.n)}, {figure.dtype}</small></h2>"
        )
        titles = [str(v) for v in sweep.values]
        headings = (sweep.topic.block_label, "Best block size", "Highest bandwidth")
        rows = [(kernel, KERNELS[kernel].title) for kernel in kernels]
        printed.append(table.sweep_html(rows, sweep.values, titles, texts, best, headings))
    return "".join(printed)


def reasons_of(facts: dict[Cell, Known]) -> str:
    """Return one sentence for each reason why a cell has no number, with its cells."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for (kernel, value), fact in facts.items():
        if fact.failed is not None:
            said = (text_of("status", fact.failed.status), fact.failed.reason or "")
            reasons.setdefault(said, []).append(f"{KERNELS[kernel].title} at {size_text(value)}")
    return table.reasons_html([(status, reason, cells) for (status, reason), cells in reasons.items()])


main()

"""The sweep page: variants x block sizes as Heidelberg's table, or over N as lines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from engine import figures, tables
from engine.catalogue import KERNELS, LADDERS, TOPICS, Topic
from engine.history import Known, device_line
from engine.records import Choice, Measurement, NotRunnable
from engine.tables import COLUMNS, COUNTED, size_text, text_of
from views import choices, grid, keyboard, state, work

WORK = "sweep work"
OVER = {"blocks": "Block sizes", "sizes": "N"}
COUNTERS = ("warp_instructions", "divergent_branches", "bank_conflicts", "wavefronts", "sectors", "barriers")

Cell = tuple[str, int]  # kernel and the swept value


@dataclass(frozen=True)
class Sweep:
    """What is swept in this run of the script: `over` is "blocks" or "sizes", `values` what it goes through."""

    topic: Topic
    over: str
    kernels: tuple[str, ...]
    values: tuple[int, ...]
    base: Choice
    key: str

    def choice(self, cell: Cell) -> Choice:
        """The choice of one cell."""
        kernel, value = cell
        changed = replace(self.base, kernel=kernel)
        return replace(changed, block_size=value) if self.over == "blocks" else replace(changed, n=value)

    @property
    def cells(self) -> list[Cell]:
        """Every cell, row by row."""
        return [(kernel, value) for kernel in self.kernels for value in self.values]


def several(label: str, name: str, options: list[str], default: list[str], words: dict[str, str]) -> list[str]:
    """Several of the options; what the address names and the catalogue has not is said, and left out."""
    asked = st.session_state.get(name)
    if not asked:
        st.session_state[name] = asked = default
    unknown = [value for value in asked if value not in options]
    if unknown:
        st.error(f"{label}: {', '.join(map(repr, unknown))} is not on offer here, so it is left out.")
        st.session_state[name] = [value for value in asked if value in options] or default
    now = st.session_state[name]
    chosen = st.pills(
        label, options, default=now, key=name, selection_mode="multi", format_func=lambda text: words[text]
    )
    return list(chosen or [])


def default_kernels(topic: Topic) -> list[str]:
    """The rungs of the topic's first ladder that has a table by block size, else of its first ladder."""
    ladders = [ladder for ladder in LADDERS.values() if ladder.topic == topic.name]
    tabled = [ladder for ladder in ladders if len({f.block_size for rung in ladder.rungs for f in rung.published}) > 2]
    rungs = (tabled or ladders)[0].rungs
    wanted = [rung.kernel for rung in rungs if len(rung.published) > 2] or [rung.kernel for rung in rungs]
    return list(dict.fromkeys(wanted))


def take_topic() -> None:
    """Another topic: its own kernels, sizes and blocks."""
    state.forget("kernels", "blocks", "sizes", "value")


def controls() -> tuple[Sweep, st.delta_generator.DeltaGenerator]:
    """The menus, and the place of the Run button. NotRunnable where a number is none."""
    if st.session_state.get("topic") not in TOPICS:
        named = [KERNELS[name].topic for name in st.session_state.get("kernels") or [] if name in KERNELS]
        ladder = LADDERS.get(st.session_state.get("ladder", ""))
        st.session_state["topic"] = (named or [ladder.topic if ladder else next(iter(TOPICS))])[0]
    if st.session_state.get("sweep") not in OVER:
        st.session_state["sweep"] = "blocks"
    with st.container(horizontal=True, key="sweepwhat", vertical_alignment="bottom"):
        st.segmented_control("Topic", list(TOPICS), default=st.session_state["topic"], key="topic",
                             format_func=lambda name: TOPICS[name].title,
                             required=True, on_change=take_topic)  # fmt: skip
        st.segmented_control("Sweep over", list(OVER), default=st.session_state["sweep"], key="sweep",
                             format_func=OVER.get, required=True)  # fmt: skip
        topic = TOPICS[st.session_state["topic"]]
        over = st.session_state["sweep"]
        own = {"n": topic.default_n, "block": topic.default_block_size, "dtype": topic.kernels[0].dtypes[0]}
        state.recall_for(topic.name, {name: str(value) for name, value in own.items()})
        with st.popover("Variants", icon=":material/checklist:", width="content"):
            kernels = several("Variants", "kernels", [kernel.name for kernel in topic.kernels], default_kernels(topic),
                              {kernel.name: kernel.title for kernel in topic.kernels})  # fmt: skip
        every = sorted({size for kernel in topic.kernels for size in kernel.block_sizes})
        if over == "blocks":
            values = several(topic.block_label, "blocks", [str(b) for b in every], [str(b) for b in every],
                             {str(b): str(b) for b in every})  # fmt: skip
        else:
            values = several(topic.size_label, "sizes", [str(n) for n in topic.sizes], default_sizes(topic),
                             {str(n): size_text(n) for n in topic.sizes})  # fmt: skip
    columns = st.columns([1.3, 1, 1, 1.2, 1.6, 1.4], vertical_alignment="bottom")
    with columns[0]:
        fixed = choices.size(topic) if over == "blocks" else choices.block_size(topic)
    with columns[1]:
        dtype = choices.element_type(topic)
    with columns[2]:
        cache = choices.cache_state()
    with columns[3]:
        device = choices.device()
    keys = [topic.metric, "time_us", "percent_of_peak", *COUNTERS]
    words = {key: f"{COLUMNS[key].title}{', counted' if COLUMNS[key].group == COUNTED else ''}" for key in keys}
    with columns[4]:
        key = choices.select("Shown", "value", keys, topic.metric, words)
    place = columns[5].empty()
    base = Choice(
        kernel=topic.kernels[0].name,
        n=choices.whole_number(fixed, "N") if over == "blocks" else topic.default_n,
        block_size=topic.default_block_size if over == "blocks" else choices.whole_number(fixed, "The block size"),
        dtype=dtype,
        cache=cache,
        device=device,
    )
    order = [kernel.name for kernel in topic.kernels if kernel.name in kernels]
    shown = key if key in keys else topic.metric
    return Sweep(topic, over, tuple(order), tuple(sorted(map(int, values))), base, shown), place


def default_sizes(topic: Topic) -> list[str]:
    """The sizes that this machine can run: all with a GPU, those of the emulator without."""
    largest = topic.max_n if choices.has_gpu() else topic.emulator_max_n
    return [str(n) for n in topic.sizes if n <= largest]


def main() -> None:
    """Read the choice, run what was asked for, show the table or the lines."""
    try:
        sweep, button = controls()
    except NotRunnable as refused:
        keyboard.on_key({})
        st.error(str(refused), icon=":material/block:")
        return
    here = st.session_state
    state.publish(
        sweep.topic.name,
        {"topic": sweep.topic.name, "sweep": sweep.over, "kernels": sweep.kernels, sweep.over: sweep.values,
         "n" if sweep.over == "blocks" else "block": here["n" if sweep.over == "blocks" else "block"],
         "dtype": sweep.base.dtype, "cache": sweep.base.cache, "device": sweep.base.device, "value": sweep.key}
    )  # fmt: skip
    keyboard.on_key({"run": lambda: run(sweep)} if sweep.cells else {})
    if not sweep.cells:
        st.info("Choose at least one variant and one value to sweep over.")
        return
    button.button(f"Run {len(sweep.cells)} cells", key="run", type="primary", icon=":material/play_arrow:",
                  on_click=run, args=(sweep,), width="stretch", help="Every cell, one after the other (R)")  # fmt: skip
    shown = st.empty()
    drawn = 0

    def draw() -> None:
        nonlocal drawn
        drawn += 1
        with work.RENDER, shown.container():
            show_sweep(sweep, drawn)

    work.follow(WORK, draw)
    draw()


def run(sweep: Sweep) -> None:
    """Run every cell."""
    names = [f"{KERNELS[kernel].title}, {value:,}" for kernel, value in sweep.cells]
    work.start(WORK, [sweep.choice(cell) for cell in sweep.cells], names)


def show_sweep(sweep: Sweep, drawn: int) -> None:
    """The numbers that are known, where they come from, and why a cell has none."""
    facts = {cell: work.outcome(sweep.choice(cell)) for cell in sweep.cells}
    column = COLUMNS[sweep.key]
    counted = column.group == COUNTED
    values = {cell: value_of(fact, sweep.key) for cell, fact in facts.items()}
    sources = sorted({device_line(m) for fact in facts.values() if (m := fact.counted if counted else fact.timed)})
    missing = "run the sweep" if counted or choices.has_gpu() else "no run was recorded for these choices"
    st.html(f'<h2 class="sweeptitle">{column.heading}<small>{", ".join(sources) or missing}</small></h2>')
    smallest = counted or sweep.key == "time_us"
    if sweep.over == "blocks":
        st.html(heat(sweep, facts, values, smallest))
        lecture(sweep)
    else:
        used = [m for cell in sweep.cells if values[cell] is not None and (m := used_of(facts[cell], sweep.key))]
        frame = tables.measurement_table(used)
        names = {kernel: KERNELS[kernel].title for kernel in sweep.kernels}
        if used:
            st.plotly_chart(figures.size_lines(frame, sweep.key, names), key=f"lines {drawn}", config=figures.CONFIG)
        st.html(heat(sweep, facts, values, smallest))
    why_not(facts)
    every = [m for fact in facts.values() if (m := fact.failed or fact.live or fact.recorded)]
    timed = [fact.timed for fact in facts.values() if fact.timed and fact.timed not in every]
    st.download_button("CSV", tables.csv_of([*every, *timed]), f"sweep-{sweep.topic.name}.csv", "text/csv",
                       on_click="ignore", icon=":material/download:", key=f"csv {drawn}")  # fmt: skip


def used_of(fact: Known, key: str) -> Measurement | None:
    """The measurement that a value of `key` comes from."""
    return fact.counted if COLUMNS[key].group == COUNTED else fact.timed


def value_of(fact: Known, key: str) -> float | None:
    """The value of one cell; None where it was not measured, and where the run did not end well."""
    used = used_of(fact, key)
    if used is None or (fact.failed is not None and fact.failed.status != "hazard"):
        return None
    value = tables.counter_values(used).get(key) if COLUMNS[key].group == COUNTED else getattr(used, key)
    return None if value is None else float(value)


def heat(sweep: Sweep, facts: dict[Cell, Known], values: dict[Cell, float | None], smallest: bool) -> str:
    """The coloured table."""
    cells = {}
    for cell, value in values.items():
        failed = facts[cell].failed
        text = text_of(sweep.key, value) if failed is None or value is not None else text_of("status", failed.status)
        cells[cell] = (value, text, (failed.reason or "") if failed else "")
    best = {}
    for row in tables.heat_table(sweep.kernels, sweep.values, values, smallest).to_dict("records"):
        if row["best_block_size"] is not None:
            best[row["kernel"]] = (row["best_block_size"], text_of(sweep.key, row["best_value"]))
    rows = [(kernel, KERNELS[kernel].title) for kernel in sweep.kernels]
    word = {"bandwidth_gb_s": "BW", "gflop_s": "GFLOP/s", "time_us": "time"}.get(sweep.key, "value")
    headings = (
        sweep.topic.block_label if sweep.over == "blocks" else sweep.topic.size_label,
        ("minThr" if smallest else "maxThr") if sweep.over == "blocks" else "best N",
        f"{'min' if smallest else 'max'}{word}" if sweep.over == "blocks" else "best",
    )
    titles = [str(v) if sweep.over == "blocks" else size_text(v) for v in sweep.values]
    return grid.heat_html(rows, sweep.values, titles, cells, best, smallest, headings)


def lecture(sweep: Sweep) -> None:
    """The table that a lecture printed, for the variants on the page."""
    if sweep.key != "bandwidth_gb_s":
        return
    for ladder in LADDERS.values():
        cells = {
            (rung.kernel, figure.block_size): figure
            for rung in ladder.rungs
            for figure in rung.published
            if figure.block_size in sweep.values and figure.bandwidth_gb_s is not None and rung.kernel in sweep.kernels
        }
        if len({size for _, size in cells}) < 2:
            continue
        figure = next(iter(cells.values()))
        kernels = [kernel for kernel in sweep.kernels if any(kernel == k for k, _ in cells)]
        values = {cell: f.bandwidth_gb_s for cell, f in cells.items()}
        texts = {cell: (value, text_of(sweep.key, value), "") for cell, value in values.items()}
        best = {
            row["kernel"]: (row["best_block_size"], text_of(sweep.key, row["best_value"]))
            for row in tables.heat_table(kernels, sweep.values, values, False).to_dict("records")
        }
        st.html(
            f'<h2 class="sweeptitle">As the lecture published it (GB/s)<small>{ladder.title}. '
            f"{figure.gpu or 'GPU not named'}, N = {size_text(figure.n)}, {figure.dtype}</small></h2>"
        )
        titles = [str(v) for v in sweep.values]
        headings = (sweep.topic.block_label, "maxThr", "maxBW")
        rows = [(kernel, KERNELS[kernel].title) for kernel in kernels]
        st.html(grid.heat_html(rows, sweep.values, titles, texts, best, False, headings))


def why_not(facts: dict[Cell, Known]) -> None:
    """One sentence for each reason why a cell has no number, with the cells it concerns."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for (kernel, value), fact in facts.items():
        if fact.failed is not None:
            said = (text_of("status", fact.failed.status), fact.failed.reason or "")
            reasons.setdefault(said, []).append(f"{KERNELS[kernel].title} at {size_text(value)}")
    st.html(grid.reasons_html([(status, reason, cells) for (status, reason), cells in reasons.items()]))


main()

"""Why the rung is as fast as it is: its machine code, its distance from the roofline, and its counters."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from html import escape

import streamlit as st

from engine.history import profiles
from engine.history.history import Known
from engine.lectures.reasons import KernelReasons, Reasons, kinds_text, reasons, roofline_lines
from engine.records import CompileError, NotRunnable
from engine.records.counters import COUNTERS, with_derived
from engine.records.words import many, size_text, text_of
from views.html.table import cell, heading, table, unit_headings, with_small
from views.ladder.view import Page, Section

HEADINGS = (("Kernel", ""), ("Registers", "per thread"), ("Local memory", "per thread"), ("Shared memory", "per block"),
            ("Blocks per SM", "limited by"), ("Occupancy", "of the SM's warps"), ("Instructions", "of the kernel"),
            ("Hottest loop", "instructions"), ("Multiply-adds", "of that loop"), ("Cycles", "of its pass, at least"),
            ("Register conflicts", "of its FFMA"), ("Widest load", "from global memory"),
            ("Bytes in flight", "per SM, at most"))  # fmt: skip
COUNTED = ("warp_instructions", "active_lanes_per_instruction", "sectors", "sectors_per_load",
           "sectors_per_store", "bank_conflicts", "divergent_branches")  # fmt: skip
NOTHING = "–"
_COMPILING = threading.Lock()  # browsers that ask for the same rung at once wait for the first


def offered(page: Page) -> bool:
    """Return whether the ladder has rungs."""
    return bool(page.ladder.rungs)


def prepare(page: Page) -> None:
    """Compile the rung and the previous one before the page is drawn, so drawing blocks nobody."""
    with st.spinner("The rung is compiled"), _COMPILING:
        for position in _positions(page):
            _read(page, position)


def html(page: Page, facts: Sequence[Known]) -> str:
    """Return a table of this rung's and the previous rung's kernels, and this rung's counters of the whole run."""
    kernels = [(position, row) for position in _positions(page) for row in _rows(page, position)]
    marked = [i for i, (position, _) in enumerate(kernels) if position == page.position]
    said = "".join(f"<div>{escape(line)}</div>" for line in _lines(page, facts[page.position]))
    return (
        table(unit_headings(HEADINGS), [row for _, row in kernels], marked=marked)
        + f'<div class="smallprint">{said}</div>{_counted(page, facts)}'
        f'<div class="smallprint"><p>{escape(_small())}</p></div>'
    )


def _positions(page: Page) -> range:
    return range(max(0, page.position - 1), page.position + 1)


def _read(page: Page, position: int) -> Reasons | str:
    """Return the reasons read from the machine code, or why there are none."""
    try:
        return reasons(page.choices[position])
    except (NotRunnable, CompileError) as refused:
        return str(refused)


def _rows(page: Page, position: int) -> list[list[str]]:
    label = page.ladder.rungs[position].label
    found = _read(page, position)
    if isinstance(found, str):
        return [[cell(escape(label), "rung width"), cell(escape(found), "why", span=len(HEADINGS) - 1)]]
    return [[cell(with_small(label, one.kernel), "rung width"), *_cells(one)] for one in found.kernels]


def _cells(one: KernelReasons) -> list[str]:
    needed, code, loop = one.resources, one.code, one.code.loop
    conflicts = code.issue.bank_conflicts if code.issue else None
    kinds = kinds_text(loop) if loop else ""
    dynamic = f"{one.dynamic_shared_bytes:,} of them dynamic" if one.dynamic_shared_bytes else ""
    own = "" if code.bytes_in_flight is None else f"{code.bytes_in_flight:,} a thread"
    cells = (
        (f"{needed.registers}", ""),
        (f"{needed.local_bytes:,} bytes", ""),
        (f"{needed.shared_bytes + one.dynamic_shared_bytes:,} bytes", dynamic),
        (f"{one.occupancy.blocks}", ", ".join(one.occupancy.limited_by)),
        (f"{one.occupancy.fraction:.0%}", many(one.occupancy.warps, "warp")),
        (f"{code.whole.instructions:,}", ""),
        (f"{loop.instructions:,}" if loop else NOTHING, "" if loop else "no loop"),
        (NOTHING if one.multiply_add_share is None else f"{one.multiply_add_share:.1%}", kinds),
        (f"{code.issue.cycles:,}", f"and {many(code.issue.waits, 'wait')}") if code.issue else (NOTHING, ""),
        (NOTHING if conflicts is None else f"{conflicts:,}", ""),
        (NOTHING if code.widest_load is None else many(code.widest_load, "byte"),
         "the copy engine loads" if code.copy_engine else ""),
        (NOTHING if one.bytes_in_flight is None else f"{one.bytes_in_flight:,}", own),
    )  # fmt: skip
    return [with_small(text, small) for text, small in cells]


def _lines(page: Page, known: Known) -> tuple[str, ...]:
    found = _read(page, page.position)
    return () if isinstance(found, str) else roofline_lines(page.choice, found, known.timed)


def _counted(page: Page, facts: Sequence[Known]) -> str:
    """Return the emulator's counters of the rung, and the profiler's at the nearest recorded size."""
    rows = []
    counted = facts[page.position].counted
    if counted is not None and counted.counters:
        rows.append(("Emulated", f"N = {size_text(counted.choice.n or 0)}", with_derived(counted.counters)))
    entry = profiles.nearest_counters(page.choice)
    if entry is not None:
        where = f"N = {size_text(entry.n)}, {page.topic.block_noun} {entry.block_size}, {entry.date}"
        rows.append((f"Profiled on an {entry.device}", where, entry.counters))
    if not rows:
        return ""
    heads = [heading("Whole run", "text"), *(COUNTERS[name].title for name in COUNTED)]
    body = [
        [cell(f"<b>{escape(title)}</b><small>{escape(where)}</small>", "text"),
         *(escape(text_of(name, values.get(name))) or NOTHING for name in COUNTED)]
        for title, where, values in rows
    ]  # fmt: skip
    return table(heads, body)


def _small() -> str:
    """Return the sources of the numbers."""
    return (
        "Upper table: read from the machine code for sm_90, without a GPU; blocks and warps as an SM of an H200 holds "
        "them. Local memory: spilled registers and arrays. Hottest loop: the one with the most multiply-adds, without "
        "loops inside it; IMAD also computes addresses. Cycles: an estimate for one warp, from the delay that each "
        "instruction names; its waits, for loads say, come on top, and other warps fill them. Register conflicts: "
        "multiply-adds that fetch two operands from one of two banks, by a model fitted to a profiler. Bytes in "
        "flight: loads under way before something waits for them. Bank conflicts below are those of shared memory. "
        "The emulator counts instructions of the PTX, the profiler those of the machine code."
    )


SECTION = Section("reasons", "Machine code", offered, html, prepare)

"""The lecture's arithmetic of matrix multiplication for the chosen n, tile width and GPU, beside the measurement; the
roofline of the matrix ladders, with the rungs below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from engine.catalogue import matmul
from engine.catalogue.gpu_models import GPU_MODELS, GpuModel
from engine.figures.look import Figure, Look
from engine.figures.roofline import roofline_figure
from engine.history.history import Known, device_line
from engine.lectures.arithmetic import roofline
from engine.lectures.arithmetic.matmul import (
    ADDRESS_FREE_OPERATIONS,
    FLOAT_BYTES,
    LECTURE_OPERATIONS,
    LectureNumbers,
    lecture_numbers,
    naive_reads,
    sentences,
)
from engine.records import CompileError, Measurement, NotRunnable, Settled
from engine.records.words import count_text
from views.html.table import cell, table, unit_headings, with_small
from views.ladder.view import Facts, Page, Picture, Section
from views.shared import menus, work

GPU, DEFAULT = "gpu", "h200"
WIDTHS = tuple(sorted({width for kernel in matmul.KERNELS for width in kernel.block_sizes}))
HEADINGS = (("Tile width", "m"), ("Reads", "from global memory"), ("CGMA", "operations per read"),
            ("Memory allows", "GFLOP/s"), ("Threads", "per block"), ("Registers", "per thread"),
            ("Shared memory", "per block"), ("Blocks per SM", "limited by"), ("Occupancy", "of the SM's warps"),
            ("Measured", "GFLOP/s"))  # fmt: skip


def offered(page: Page) -> bool:
    """Return whether the page is about matrix multiplication."""
    return page.topic.name == matmul.TOPIC.name


def controls(page: Page) -> None:
    """Show the menu of the GPUs for the arithmetic."""
    words = {key: gpu.name for key, gpu in GPU_MODELS.items()}
    with st.columns([1, 2])[0]:
        menus.select("On an SM of", GPU, list(GPU_MODELS), DEFAULT, words,
                       help="Whose registers, shared memory and bandwidth the arithmetic is done with.")  # fmt: skip


def html(page: Page, facts: Sequence[Known]) -> str:
    """Return the lecture's table over the tile widths, and its statements for the rung on the page.

    Nothing here needs a run, so a matrix may be too large for the emulator.
    """
    gpu = gpu_chosen()
    if gpu is None:
        return no_such_gpu()
    choice = replace(page.choice, device="gpu")
    rows = [row(replace(page.choice, block_size=width), gpu) for width in WIDTHS]
    marked = [i for i, width in enumerate(WIDTHS) if width == page.choice.block_size]
    try:
        said = statements(lecture_numbers(choice, gpu), facts[page.position].timed)
    except (NotRunnable, CompileError) as refused:
        said = (str(refused),)
    lines = "".join(f"<li>{escape(line)}</li>" for line in said)
    return (
        f'<section class="papers">{table(unit_headings(HEADINGS), rows, marked=marked)}<h3>This rung</h3>'
        f"<ul>{lines}</ul>{small_print(page, gpu)}</section>"
    )


def gpu_chosen() -> GpuModel | None:
    """Return the GPU of the menu or of the address; None for an unknown name."""
    return GPU_MODELS.get(str(st.session_state.get(GPU) or DEFAULT))


def no_such_gpu() -> str:
    """Return the message for an unknown GPU in the address."""
    return f'<div class="outcome">There is no such GPU here: choose {escape(", ".join(GPU_MODELS))}.</div>'


def statements(numbers: LectureNumbers, timed: Measurement | None) -> tuple[str, ...]:
    """Return the lecture's sentences, the limits of each resource, and the measured throughput."""
    limits = ", ".join(f"{name} {count}" for name, count in numbers.occupancy.limits.items())
    said = (*sentences(numbers), f"Blocks that an SM has room for, by resource: {limits}.")
    if timed is None or timed.rates.gflop_s is None:
        return said
    share = f", {timed.rates.percent_of_peak:.3g}% of its FP32 peak" if timed.rates.percent_of_peak is not None else ""
    return (*said, f"Measured: {timed.rates.gflop_s:,.0f} GFLOP/s{share} ({device_line(timed)}).")


def row(choice: Settled, gpu: GpuModel) -> list[str]:
    """Return the cells of one tile width."""
    first = cell(f"{choice.block_size}", "rung width")
    try:
        numbers = lecture_numbers(replace(choice, device="gpu"), gpu)
    except (NotRunnable, CompileError) as refused:
        return [first, cell(escape(str(refused)), "why", span=len(HEADINGS) - 1)]
    found, spilled = numbers.occupancy, numbers.resources.local_bytes
    fewer = numbers.naive_reads / numbers.reads
    cells = (
        (count_text(numbers.reads), "as the naive kernel" if fewer == 1 else f"{fewer:.3g} times fewer than naive"),
        (f"{numbers.cgma:.3g}", ""),
        (f"{numbers.intensity * gpu.bandwidth_gb_s:,.0f}", f"{numbers.bound_gflop_s:,.0f} by the lecture's count"),
        (f"{numbers.threads:,}", ""),
        (f"{numbers.resources.registers}", f"{spilled:,} bytes spilled" if spilled else ""),
        (f"{numbers.resources.shared_bytes:,} bytes", ""),
        (f"{found.blocks}", ", ".join(found.limited_by)),
        (f"{found.fraction:.0%}", f"{found.warps} warps"),
        measured(work.outcome(choice).timed),
    )
    return [first, *(with_small(text, small) for text, small in cells)]


def measured(timed: Measurement | None) -> tuple[str, str]:
    """Return the throughput and its share of the peak; "–" without a measurement."""
    if timed is None or timed.rates.gflop_s is None:
        return "–", ""
    return (
        f"{timed.rates.gflop_s:,.0f}",
        f"{timed.rates.percent_of_peak:.3g}% of peak" if timed.rates.percent_of_peak is not None else "",
    )


def small_print(page: Page, gpu: GpuModel) -> str:
    """Return how the numbers are computed."""
    naive = naive_reads(page.choice.n)
    rows, columns = matmul.block_shape(page.kernel, page.choice.n, page.choice.block_size, gpu)
    timed = [work.outcome(replace(page.choice, block_size=width)).timed for width in WIDTHS]
    origins = sorted({device_line(m) for m in timed if m is not None})
    lines = [
        f"n = {page.choice.n:,}. The naive kernel reads 2n³ = {naive:,} floats, tiles of width m 2n³/m; a block of "
        f"this kernel computes {rows} x {columns} elements of P with tiles of {page.choice.block_size}. CGMA: compute "
        f"to global memory access ratio, by the lecture's {LECTURE_OPERATIONS} operations for a product (+ and * of "
        f"the numbers and of both addresses); GFLOP/s counts {ADDRESS_FREE_OPERATIONS}.",
        f"Memory allows: {gpu.bandwidth_gb_s:,.0f} GB/s / {FLOAT_BYTES} bytes x the operations per read, if every read "
        f"went to memory. Registers and shared memory: this kernel's, compiled for {gpu.architecture}. An SM has room "
        f"for {gpu.threads:,} threads, {gpu.blocks} blocks, {gpu.registers:,} registers and {gpu.shared_bytes >> 10} "
        "KB of shared memory.",
    ]
    if origins:
        lines.append(f"Measured: {' and '.join(origins)}.")
    return f'<div class="smallprint">{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>'


SECTION = Section("arithmetic", "The lecture's arithmetic", offered, html, controls)


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return every timed rung under the roofs of its GPU."""
    return roofline_figure(_found(page, facts), page.position, look)


def words(page: Page, facts: Facts) -> str:
    """Return sentences on the rung and the roofs, on the sources of the numbers, and on the rungs that are not
    drawn."""
    found = _found(page, facts)
    lines = [roofline.sentence(found, page.position)]
    if page.presenting:  # otherwise the big numbers above name their source
        return f'<div class="outcome">{escape(lines[0])}</div>'
    if origins := sorted({spot.origin for spot in found.spots if spot.origin}):
        lines.append(f"Times: {' and '.join(origins)}. Filled: live; open: recorded.")
    if (left_out := roofline.missing(found)) and found.roofs is not None:
        lines.append(f"Not drawn: {left_out}.")
    return f'<div class="outcome">{"".join(f"<div>{escape(line)}</div>" for line in lines)}</div>'


def _found(page: Page, facts: Facts) -> roofline.Roofline:
    return roofline.roofline(page.ladder, page.choices, facts.known, page.position)


PICTURE = Picture("roofline", "Roofline", offered, figure, words=words)

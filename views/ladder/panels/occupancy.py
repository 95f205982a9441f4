"""How many blocks of the rung an SM holds for every block size, and what limits it, beside the measured times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

from engine.catalogue.gpu_models import GpuModel
from engine.history.history import Known, device_line
from engine.lectures.arithmetic.matmul import residency
from engine.records import CompileError, NotRunnable, Settled
from engine.records.words import time_text
from views.ladder.panels.arithmetic import cell, controls, gpu_chosen, headings, no_such_gpu
from views.ladder.view import Page, Section
from views.shared import work

TOPICS = ("reduction", "trapezoid", "aggregate")  # whose lectures choose the block size
HEADINGS = (("Block size", "threads"), ("Registers", "per thread"), ("Shared memory", "per block"),
            ("Blocks per SM", "limited by"), ("Occupancy", "of the SM's warps"), ("Time", "measured"))  # fmt: skip


def offered(page: Page) -> bool:
    """Whether the rung's block size is a choice of the lecture's."""
    return page.topic.name in TOPICS and not page.ladder.name.startswith("all-")


def html(page: Page, facts: Sequence[Known]) -> str:
    """A row a block size."""
    gpu = gpu_chosen()
    if gpu is None:
        return no_such_gpu()
    sizes = sorted({*page.kernel.block_sizes, page.choice.block_size})
    rows = "".join(row(replace(page.choice, block_size=size, grid_size=None), gpu, page) for size in sizes)
    heads = headings(HEADINGS)
    timed = [work.outcome(replace(page.choice, block_size=size, grid_size=None)).timed for size in sizes]
    origins = sorted({device_line(m) for m in timed if m is not None})
    small = (
        f"Registers and shared memory: this kernel's, compiled for {gpu.architecture}, {page.choice.dtype}. An SM of "
        f"{gpu.name} has room for {gpu.threads:,} threads, {gpu.blocks} blocks, {gpu.registers:,} registers and "
        f"{gpu.shared_bytes >> 10} KB of shared memory. N = {page.choice.n:,}."
        + (f" Times: {' and '.join(origins)}." if origins else "")
    )
    return (
        f'<div class="scroll"><table class="ladder"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<div class="smallprint"><p>{escape(small)}</p></div>'
    )


def row(choice: Settled, gpu: GpuModel, page: Page) -> str:
    """One block size."""
    here = ' class="current"' if choice.block_size == page.choice.block_size else ""
    first = f'<td class="rung width">{choice.block_size:,}</td>'
    try:
        _, needed, held = residency(choice, gpu)
    except (NotRunnable, CompileError) as refused:
        return f'<tr{here}>{first}<td class="why" colspan="{len(HEADINGS) - 1}">{escape(str(refused))}</td></tr>'
    timed = work.outcome(choice).timed
    cells = (
        (f"{needed.registers}", ""),
        (f"{needed.shared_bytes:,} bytes", ""),
        (f"{held.blocks}", ", ".join(held.limited_by)),
        (f"{held.fraction:.0%}", f"{held.warps} warps"),
        ("–" if timed is None or timed.time_us is None else time_text(timed.time_us), ""),
    )
    return f"<tr{here}>{first}{''.join(cell(text, small) for text, small in cells)}</tr>"


SECTION = Section("occupancy", "Blocks per SM", offered, html, controls)

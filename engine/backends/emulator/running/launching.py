"""A launch, chunk by chunk: as many blocks at a time as fit, in the order of blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.backends.emulator.ptx.program import Program, polls
from engine.backends.emulator.running.chunk import Chunk
from engine.backends.emulator.running.code import Codes
from engine.backends.emulator.state.machine import Machine
from engine.catalogue.gpu_models import GPU, MULTIPROCESSORS
from engine.records import Progress

LANES_PER_CHUNK = 1 << 17
_RESIDENT_LANES = MULTIPROCESSORS * GPU.threads  # blocks may wait for others that the GPU holds at the same time
_SHARED_BYTES_PER_CHUNK = 1 << 26
_LOCAL_BYTES_PER_CHUNK = 1 << 28
_STATIC_SHARED = 48 << 10  # bytes that a block may declare
_MOST_SHARED = 227 << 10  # bytes that a block may have altogether, on sm_90
_MOST_LOCAL = 512 << 10


def run(machine: Machine, progress: Progress | None = None) -> None:
    """Execute all blocks of a launch. RunFailed or PtxError when it cannot be finished."""
    _refuse(machine)
    codes = Codes(machine)
    with np.errstate(all="ignore"):
        for first, count in _chunks(machine):
            resident = machine.admit(first, count)
            for started in machine.hooks.on_chunk:
                started(resident.info)
            chunk = Chunk(machine, codes)
            try:
                chunk.run()
            finally:
                chunk.close()
            for ended in machine.hooks.on_chunk_end:
                ended()
            if progress is not None:
                done = first + count
                progress(done / machine.blocks, f"{machine.program.name}: {done} of {machine.blocks} blocks")


def _refuse(machine: Machine) -> None:
    """What no GPU runs is not emulated either."""
    name, shared, local = machine.program.name, machine.shared_size, machine.local_size
    static = shared - machine.dynamic_shared
    if static > _STATIC_SHARED or shared > _MOST_SHARED:
        size, limit = (static, _STATIC_SHARED) if static > _STATIC_SHARED else (shared, _MOST_SHARED)
        clause = f"{name} uses {size:,} bytes of shared memory; a block can have {limit:,}"
        raise machine.failure("crashed", clause, 0)
    if local > _MOST_LOCAL:
        clause = f"{name} uses {local:,} bytes of local memory; a thread can have {_MOST_LOCAL:,}"
        raise machine.failure("crashed", clause, 0)


def _chunks(machine: Machine) -> Iterator[tuple[int, int]]:
    """(first block, number of blocks). The last block of a row of blocks may be ragged: a chunk of its own."""
    blocks, schedule = machine.blocks, machine.schedule
    if machine.cooperative:
        yield 0, blocks
        return
    if schedule.kind == "waves" and schedule.blocks_per_wave:
        size = schedule.blocks_per_wave
        yield from ((first, min(size, blocks - first)) for first in range(0, blocks, size))
        return
    waiting = any(polls(machine.program, block) for block in machine.program.blocks)
    lanes = machine.options.lanes or (_RESIDENT_LANES if waiting else _lanes_for(machine.program))
    size = max(1, lanes // machine.rows)
    size = min(size, max(1, _SHARED_BYTES_PER_CHUNK // max(1, machine.shared_size)))
    size = min(size, max(1, _LOCAL_BYTES_PER_CHUNK // max(1, machine.local_size * machine.rows)))
    # Of a grid with rows and columns a whole side may be ragged; and blocks that wait for each other stay together.
    apart = blocks == machine.grid[0] > 1 and not waiting
    whole = blocks - apart
    yield from ((first, min(size, whole - first)) for first in range(0, whole, size))
    if apart:
        yield whole, 1


def _lanes_for(program: Program) -> int:
    """Lanes per chunk: fewer where most work is in double precision, whose registers would leave the cache, and where
    calls nest, each with registers of its own."""
    if program.deepest is None:
        return LANES_PER_CHUNK >> 4
    items = [item.opcode for block in program.blocks for item in block.body]
    doubles = sum(opcode.endswith(".f64") for opcode in items)
    return LANES_PER_CHUNK >> 2 if doubles > 40 and doubles > len(items) / 3 else LANES_PER_CHUNK

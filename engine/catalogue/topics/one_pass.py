"""Plans of kernels of the topic "atomics" that go through their numbers once: by looking back, or by a grid stride."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from engine.catalogue.entries import Kernel
from engine.catalogue.gpu_models import WARP, GpuModel
from engine.catalogue.plans import (
    PIECE_LANES,
    PIECE_LOADS,
    PIECE_THREADS,
    check_grid,
    elements,
    filling_lanes,
    knob,
    launch_of,
    plan_with,
    slots,
)
from engine.records import Buffer, Launch, Plan, Scalar, Settled, Step, Zero, dtype_of

LOOK_BACK_BYTES = 128  # that a thread takes of a kernel whose blocks look back
LOADED_BYTES = 16  # with one load of a thread
FEWEST_PIECES = 16  # of add_without_atomics, if it has so many addresses
BLOCKS_IN_FLIGHT = 4  # of max_vectorized on each multiprocessor: measured, more only hand over more numbers


def looking_back(kernel: Kernel, choice: Settled, kept: int, gpu: GpuModel) -> Plan:
    """One launch; its ticket and the states of its tiles are zero before: 8 bytes for a count, or for every four of a
    sum. A tile has a block; or blocks that stay draw it, of which one warp does not load. `kept`: by a filter."""
    n, block_size = choice.n, choice.block_size
    scans, stays = kernel.name.startswith("prefix_sum"), kernel.name.endswith("_specialized")
    size = dtype_of(choice.dtype).itemsize
    count = n if scans else kept
    loading = block_size - WARP if stays else block_size
    tiles = ceil(n / (loading * LOOK_BACK_BYTES // size))
    blocks = min(tiles, gpu.filling_blocks(block_size) // 2) if stays else tiles  # a thread has 64 registers
    words = size // 4 if scans else 1
    more = ("states",) if scans else ("kept", "states")
    buffers = [Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, max(1, count), "poison")]
    buffers += [Buffer("kept", "uint32", 1, "poison")] * (not scans)
    return plan_with(
        choice,
        (*buffers, Buffer("states", "uint32", 2 * (1 + tiles * words), "zero")),
        (
            Zero("states"),
            launch_of(kernel, choice, ("in", "out", elements(choice), *more), blocks * block_size),
        ),
        result_count=max(1, count),
        moved=n + count,
        flops=n,
        # In a thread, a warp, its rounds and a block; then from tile to tile, if each waits for the one below.
        additions=3 + 5 + LOOK_BACK_BYTES // 16 + 5 + 2 * tiles,
    )


def largest(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """A grid-stride launch; then one block for the numbers of the blocks, or an atomic per block, or a hand-over."""
    check_grid(choice)
    n, block_size = choice.n, choice.block_size
    elements_each = max(1, kernel.bytes_per_thread // dtype_of(choice.dtype).itemsize)
    most = gpu.filling_blocks(block_size)
    if elements_each > 1:
        most = min(most, BLOCKS_IN_FLIGHT * gpu.multiprocessors)
    blocks = choice.grid_size or min(ceil(n / (block_size * elements_each)), most)
    hands_over = kernel.combines == ("hand-over",)
    more = ("slots",) if hands_over else ()
    first = launch_of(kernel, choice, ("in", "out", elements(choice), *more), blocks * block_size)
    buffers = [Buffer("in", choice.dtype, n, "input")]
    steps: list[Step] = [first]
    result = "out"
    if kernel.combines == ("atomic",):
        start = Launch("first_number", first.source, (1, 1, 1), (1, 1, 1), ("in", "out"))
        buffers.append(Buffer("out", choice.dtype, 1, "poison"))
        steps = [start, first]
    elif hands_over:
        buffers += [Buffer("out", choice.dtype, 1, "poison"), slots(choice.dtype, blocks)]
    else:
        buffers.append(Buffer("out", choice.dtype, blocks, "poison"))
        if blocks > 1:
            result = "out2"
            buffers.append(Buffer("out2", choice.dtype, 1, "poison"))
            steps.append(launch_of(kernel, choice, ("out", "out2", Scalar("uint32", blocks)), block_size))
    return plan_with(choice, tuple(buffers), tuple(steps), result=result, result_count=1, moved=n, flops=n - 1,
                   additions=1, grid_size=blocks)  # fmt: skip


def aggregated(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """A launch whose threads add up what belongs to one address: a round of the grid is a multiple of the addresses,
    unless one round is all there is."""
    n, block_size, addresses = choice.n, choice.block_size, knob(kernel, choice)
    tile = block_size * LOADED_BYTES // dtype_of(choice.dtype).itemsize
    tiles, blocks_together = ceil(n / tile), max(1, addresses // tile)
    blocks = max(1, gpu.filling_blocks(block_size) // 2 // blocks_together) * blocks_together
    blocks = min(blocks, tiles)
    return plan_with(
        choice,
        (Buffer("in", choice.dtype, n, "input"), Buffer("out", choice.dtype, addresses, "zero")),
        (Zero("out"), launch_of(kernel, choice, ("in", "out", elements(choice)), blocks * block_size)),
        result_count=addresses,
        moved=n,
        flops=n,
        additions=ceil(n / addresses),
    )


def apart(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """One launch whose blocks have pieces of the addresses, as columns of a matrix, to themselves; where these do not
    fill the GPU, blocks share them by strips of rows."""
    n, threads, addresses = choice.n, choice.block_size, knob(kernel, choice)
    each = LOADED_BYTES // dtype_of(choice.dtype).itemsize
    vectors = max(addresses // each, PIECE_LANES[-1])
    rows, strips = ceil(n / (vectors * each)), 1
    lanes = next((lanes for lanes in filling_lanes(rows, vectors, threads, gpu) if lanes <= vectors), 0)
    if lanes:
        widest = min(threads // each, vectors // FEWEST_PIECES, PIECE_LOADS * threads // rows)
        while 2 * lanes <= widest:
            lanes *= 2
    else:
        lanes = next((lanes for lanes in PIECE_LANES if vectors // lanes >= FEWEST_PIECES), PIECE_LANES[-1])
        filling = gpu.multiprocessors * PIECE_THREADS * lanes // (vectors * threads)
        strips = max(1, min(filling, rows * lanes // (PIECE_LOADS * threads)))
    launch = launch_of(kernel, choice, ("in", "out", elements(choice), "slots"), threads, macros={"LANES": lanes})
    return plan_with(
        choice,
        (
            Buffer("in", choice.dtype, n, "input"),
            Buffer("out", choice.dtype, addresses, "poison"),
            slots(choice.dtype, (strips - 1) * addresses + 1),
        ),
        (replace(launch, grid=(vectors // lanes, strips, 1)),),
        result_count=addresses,
        moved=n,
        flops=n,
        additions=ceil(n / addresses),
        grid_size=vectors // lanes * strips,
    )

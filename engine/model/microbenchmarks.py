"""Measure constants of the model on this computer's GPU, each with a kernel of its own (`microbenchmarks.cu`).

python -m engine.model.microbenchmarks > microbenchmarks.json
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from engine.machine.environment import environment

SOURCE = Path(__file__).with_name("microbenchmarks.cu")
_REPEATS = 7
_PASSES = 256  # of a loop with eight operations


class Bench:
    """The kernels, and buffers that they share."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.module = cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"), options=("--std=c++17",))
        self.cycles = cupy.zeros(4096, cupy.int64)
        self.out = cupy.zeros(1 << 22, cupy.uint32)

    def clocked(self, name: str, block: int, *args: Any, grid: int = 1) -> float:
        """Return the cycles of a launch: the median of some runs, of the slowest block."""
        kernel = self.module.get_function(name)
        found = []
        for _ in range(_REPEATS):
            kernel((grid,), (block,), (self.cycles, self.out, *args))
            found.append(int(self.cycles[:grid].max()))
        return median(found)

    def captured(self, launch: Callable[[], None], count: int) -> Callable[[], None]:
        """Return a function that launches `count` times as one graph, so the CPU's time does not count."""
        stream = self.cupy.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for _ in range(count):
                launch()
            graph = stream.end_capture()
        return lambda: graph.launch(self.cupy.cuda.get_current_stream())

    def timed(self, launch: Callable[[], None]) -> float:
        """Return the microseconds of the GPU between two events around some launches: the median of some runs."""
        stream = self.cupy.cuda.get_current_stream()
        found = []
        for _ in range(_REPEATS + 2):
            start, stop = self.cupy.cuda.Event(), self.cupy.cuda.Event()
            start.record(stream)
            launch()
            stop.record(stream)
            stop.synchronize()
            found.append(1e3 * self.cupy.cuda.get_elapsed_time(start, stop))
        return float(median(found[2:]))


def chain(bench: Bench, name: str, block: int = 32) -> float:
    """Return the cycles of one step of a chain."""
    return bench.clocked(name, block, np.uint32(3), np.int32(_PASSES)) / (8 * _PASSES)


def chase(bench: Bench, size: int, stride: int, level: int, steps: int) -> float:
    """Return the cycles of a load in a chase through `size` words, in a random order of places `stride` words apart.

    Each repetition goes on where the one before has ended, so a long chase never finds a sector in the L2 cache.
    """
    order = np.random.default_rng(1).permutation(size // stride)
    following = np.empty(order.size, np.uint32)
    following[order] = np.roll(order, -1) * stride
    data = bench.cupy.zeros(size, bench.cupy.uint32)
    data[::stride] = bench.cupy.asarray(following)
    kernel, found = bench.module.get_function("chase"), []
    for i in range(_REPEATS):
        start = np.uint32(order[i * steps % order.size] * stride)
        kernel((1,), (1,), (bench.cycles, bench.out, data, start, np.int32(steps), np.int32(level)))
        found.append(int(bench.cycles[0]) / steps)
    return median(found)


def rate(bench: Bench, name: str, argument: int = 3) -> float:
    """Return the cycles of an SM for one operation of a warp, with 32 warps."""
    return bench.clocked(name, 1024, np.uint32(argument), np.int32(_PASSES)) / (8 * _PASSES * 32)


def measure() -> dict[str, float]:
    """Return the constants by name, in cycles of the SM clock unless the name says otherwise."""
    bench = Bench()
    cupy = bench.cupy
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    clock, multiprocessors = properties["clockRate"] / 1e3, properties["multiProcessorCount"]
    words = np.zeros(2048, np.uint32)
    words[:] = np.arange(2048) % 32
    pointer = bench.module.get_global("table_of_words")
    cupy.cuda.runtime.memcpy(pointer.ptr, words.ctypes.data, words.nbytes, 1)

    names = ("alu", "fp64", "special", "divide", "shuffle", "shared", "shared_atomic", "constant", "loop")
    found = {f"{name}_latency": chain(bench, f"chain_{name}") for name in names}
    for block in (32, 128, 256, 512, 1024):
        found[f"barrier_latency_{block}"] = chain(bench, "chain_barrier", block)
    found["l1_latency"] = chase(bench, 2048, 32, 1, 512)
    found["l2_latency"] = chase(bench, 1 << 20, 64, 2, 4096)
    found["dram_latency"] = chase(bench, 1 << 27, 64, 2, 4096)
    counts = cupy.zeros(1 << 22, cupy.uint32)
    found["atomic_latency"] = bench.clocked("chain_atomic", 1, counts, np.int32(2048)) / 2048

    for name in ("alu", "fp64", "special", "divide", "shuffle"):
        found[f"{name}_cycles"] = rate(bench, f"rate_{name}")
    for stride in (1, 2, 8, 32):
        found[f"shared_cycles_{stride}"] = rate(bench, "rate_shared", stride)
    for mask in (0, 31, 1023):
        found[f"shared_atomic_cycles_{mask}"] = rate(bench, "rate_shared_atomic", mask)
    found["constant_pass_cycles"] = rate(bench, "passes_constant") / 32
    data = cupy.zeros(1 << 24, cupy.uint32)
    for stride in (1, 32):
        lines = bench.clocked("rate_lines", 1024, data, np.uint32(stride), np.int32(_PASSES)) / (8 * _PASSES * 32)
        found[f"request_cycles_{stride}"] = lines
    for grid, name in ((1, "l2_bytes_sm"), (2 * multiprocessors, "l2_bytes")):
        cycles = bench.clocked("rate_l2", 1024, data, np.uint32(1 << 22), np.int32(64), grid=grid)
        found[name] = grid * 1024 * 4 * 8 * 64 / cycles

    store = bench.module.get_function("rate_store")
    for stride in (1, 8, 32):
        target = cupy.zeros(264 * 1024 * stride, cupy.uint32)
        few, many = (bench.timed(partial(store, (264,), (1024,), (target, np.uint32(stride), np.int32(n))))
                     for n in (16, 80))  # fmt: skip
        sectors = 64 * 264 * 1024 * min(stride, 8) / 8
        found[f"store_sector_cycles_{stride}"] = (many - few) * clock / sectors
    atomic = bench.module.get_function("rate_atomic")
    floats = cupy.zeros(16, cupy.float32)
    for mode, name in enumerate(("warp", "exchange", "float", "region", "spread", "spread_exchange", "spread_swap")):

        def launch(n: int, mode: int = mode) -> Callable[[], None]:
            return lambda: atomic((264,), (1024,), (counts, floats, np.int32(n), np.int32(mode)))

        few, many = bench.timed(launch(8)), bench.timed(launch(40))
        operations = 32 * 264 * (32 if mode == 0 else 1024)
        found[f"atomic_cycles_{name}"] = (many - few) * clock / operations

    empty = bench.module.get_function("empty")
    for block in (32, 256, 1024):
        few, many = (bench.timed(partial(empty, (multiprocessors * blocks,), (block,), (np.int32(0),)))
                     for blocks in (64, 1088))  # fmt: skip
        found[f"block_cycles_{block}"] = (many - few) * clock / 1024
    for name, count in (("floor_us", 1), ("launches_us", 33)):
        found[name] = bench.timed(bench.captured(lambda: empty((1,), (32,), (np.int32(0),)), count))
    found["launch_us"] = (found.pop("launches_us") - found["floor_us"]) / 32
    small = cupy.zeros(256, cupy.uint32)
    found["zero_us"] = (
        bench.timed(bench.captured(lambda: small.data.memset_async(0, 1024), 33)) - found["floor_us"]
    ) / 32
    found["clock_mhz"] = clock
    return found


def main() -> None:
    """Print the constants and the environment as JSON."""
    found = measure()
    print(json.dumps({"environment": environment(), "constants": found}, indent=1, default=str))


if __name__ == "__main__":
    main()

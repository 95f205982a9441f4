"""The timing helpers that run on the GPU: L2 flushes, a delay, clock stamps, the empty kernel, the read ceiling.

Each is built once per process, so timing another rung costs only its samples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cupy
import numpy as np
from cupy_backends.cuda.api import runtime

from engine.backends.gpu.launches import MULTIPROCESSORS, launcher
from engine.backends.gpu.memory import stream
from engine.backends.timing.statistics import median
from engine.records import Launch, Scalar, Source

CLOCK_RATE_KHZ, L2_BYTES = 13, 38  # cudaDevAttrClockRate, cudaDevAttrL2CacheSize
FLUSH_FILL = 0xA5
READ_THREADS = 256
CEILING_BYTES = 4 << 30  # much larger than L2; reading it takes about a millisecond

Enqueue = Callable[[], object]

SOURCE = Source(
    "engine/probes.py",
    r"""
__device__ unsigned long long nanoseconds() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
extern "C" __global__ void empty() {}

// Keeps the GPU busy for a time of the GPU's own clock: unlike a flag set by the host, it cannot deadlock.
extern "C" __global__ void delay(unsigned int duration) {
    unsigned long long start = nanoseconds();
    while (nanoseconds() - start < duration) {}
}
// One multiprocessor's cycle counter beside the wall clock: two stamps give the clock rate in between.
extern "C" __global__ void stamp(unsigned int *out) {
    unsigned int multiprocessor;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
    if (multiprocessor != 0) return;
    unsigned long long now[2] = {nanoseconds(), (unsigned long long)clock64()};
    for (int i = 0; i < 2; i++) {
        out[2 * i] = (unsigned int)now[i];
        out[2 * i + 1] = (unsigned int)(now[i] >> 32);
    }
}
// Reads all of the buffer, four 16-byte loads in flight per thread. The sum keeps the loads alive; it is never stored.
extern "C" __global__ void read_all(const int4 *in, unsigned int count, int *sink) {
    unsigned int stride = gridDim.x * blockDim.x;
    int sum = 0;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * (unsigned long long)stride < count; i += 4 * stride) {
        int4 a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
        sum ^= a.x ^ a.y ^ a.z ^ a.w ^ b.x ^ b.y ^ b.z ^ b.w ^ c.x ^ c.y ^ c.z ^ c.w ^ d.x ^ d.y ^ d.z ^ d.w;
    }
    for (; i < count; i += stride) sum ^= in[i].x ^ in[i].y ^ in[i].z ^ in[i].w;
    if (sum == 0x13579bdf) *sink = sum;
}
""",
    "int32",
)


def _probe(kernel: str, grid: int, block: int, *arguments: Any) -> Enqueue:
    """Prepare a launch of a probe; arrays and scalars in the kernel's order."""
    arrays = {f"a{i}": argument for i, argument in enumerate(arguments) if not isinstance(argument, Scalar)}
    names = tuple(argument if isinstance(argument, Scalar) else f"a{i}" for i, argument in enumerate(arguments))
    launch, kept = launcher(Launch(kernel, SOURCE, (grid, 1, 1), (block, 1, 1), names), arrays)

    def enqueue(alive: object = (kept, arrays)) -> None:
        launch()

    return enqueue


@lru_cache
def attribute(number: int) -> int:
    """Return a cudaDeviceAttr of the process's device. Some take the driver 0.2 ms."""
    return int(runtime.deviceGetAttribute(number, runtime.getDevice()))


@lru_cache(maxsize=1)
def empty() -> Enqueue:
    """Return a launch of the empty kernel: one block of 32 threads."""
    return _probe("empty", 1, 32)


@lru_cache(maxsize=1)
def empty_graph() -> Enqueue:
    """Return a graph of the empty kernel."""
    launch = empty()
    stream().begin_capture()
    launch()
    graph = stream().end_capture()
    graph.upload(stream())
    return lambda: graph.launch(stream())


@lru_cache(maxsize=64)
def delay(nanoseconds: int) -> Enqueue:
    """Return a kernel that blocks the stream for `nanoseconds` of device time."""
    return _probe("delay", 1, 1, Scalar("uint32", nanoseconds))


@lru_cache(maxsize=1)
def _flush_buffer() -> Any:
    """Return a buffer of twice the L2, filled with nonzero values."""
    array = cupy.empty(2 * attribute(L2_BYTES), np.uint8)
    runtime.memsetAsync(array.data.ptr, FLUSH_FILL, array.nbytes, stream().ptr)
    return array


@lru_cache(maxsize=3)
def flush(cache: str) -> Enqueue | None:
    """Return a launch that brings the L2 into the named state; None for "hot", which runs the timed work itself first.

    "cold-clean" reads twice the L2, so it holds none of our data and nothing to write back. "cold-dirty" writes as many
    bytes as the L2 has, so the timed kernel pays for writing them back, as after any kernel that wrote.
    """
    if cache == "hot":
        return None
    buffer = _flush_buffer()
    if cache == "cold-clean":
        return reader(buffer, 8)
    size = attribute(L2_BYTES)
    return lambda: runtime.memsetAsync(buffer.data.ptr, FLUSH_FILL, size, stream().ptr)


def reader(buffer: Any, blocks_per_multiprocessor: int) -> Enqueue:
    """Return a kernel that reads all of `buffer` (a multiple of 16 bytes)."""
    grid = blocks_per_multiprocessor * attribute(MULTIPROCESSORS)
    return _probe("read_all", grid, READ_THREADS, buffer, Scalar("uint32", buffer.nbytes // 16), _sink())


@lru_cache(maxsize=1)
def _sink() -> Any:
    return cupy.empty(1, np.int32)


class Clock:
    """The clock rate of the multiprocessors over stretches of the stream, from time stamps around each."""

    def __init__(self) -> None:
        self._stamps = cupy.empty((2, 2), np.uint64)
        self._enqueue = [_probe("stamp", attribute(MULTIPROCESSORS), 1, self._stamps[i]) for i in range(2)]
        self._nanoseconds = self._cycles = 0

    def start(self) -> None:
        """Put a stamp before the stretch."""
        self._enqueue[0]()

    def stop(self) -> None:
        """Put a stamp after the stretch; call `read` once the stream is done."""
        self._enqueue[1]()

    def read(self) -> None:
        """Add the finished stretch."""
        (begin, begin_cycles), (end, end_cycles) = self._stamps.get(stream=stream()).tolist()
        if end > begin and end_cycles > begin_cycles:
            self._nanoseconds += end - begin
            self._cycles += end_cycles - begin_cycles

    def megahertz(self) -> float | None:
        """Return the mean clock rate of the stretches; None below half a millisecond, which the coarse timer cannot
        resolve."""
        return 1e3 * self._cycles / self._nanoseconds if self._nanoseconds > 500_000 else None


def max_megahertz() -> float:
    """Return the highest clock rate of the multiprocessors that the device reports."""
    return attribute(CLOCK_RATE_KHZ) / 1e3


def wake() -> None:
    """Keep the GPU busy until its clock is at full speed (an idle GPU starts at a sixth of it), at most 50 ms."""
    for _ in range(50):
        clock = Clock()
        clock.start()
        delay(1_000_000)()
        clock.stop()
        clock.read()
        if (clock.megahertz() or 0) >= 0.96 * max_megahertz():
            return


def elapsed_us(work: Enqueue, samples: int) -> float:
    """Return the median time of `work` between two events in microseconds, with a delay that hides the host."""
    times = []
    for _ in range(samples):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        delay(50_000)()
        begin.record(stream())
        work()
        end.record(stream())
        end.synchronize()
        times.append(1e3 * cupy.cuda.get_elapsed_time(begin, end))
    return median(times)


@lru_cache(maxsize=1)
def read_ceiling_gb_s() -> float:
    """Return the fastest rate at which this GPU reads its memory in GB/s: the best of a few grid sizes on a large
    buffer."""
    size = min(CEILING_BYTES, runtime.memGetInfo()[0] // 4 // 16 * 16)
    with stream():
        # Allocated outside the pool, so the memory is free again at once.
        memory = cupy.cuda.MemoryPointer(cupy.cuda.memory.Memory(size), 0)
        buffer = cupy.ndarray((size,), np.uint8, memptr=memory)
        runtime.memsetAsync(memory.ptr, FLUSH_FILL, size, stream().ptr)
        wake()
        best = min(elapsed_us(reader(buffer, blocks), 9) for blocks in (2, 4, 8, 16))
    return float(size / best / 1e3)

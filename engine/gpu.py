"""Plan -> Run with CuPy: compile, feed, launch, read back. One process drives one GPU, on one stream.

Everything that a launch needs is built once in `prepare`, so that timing only hands prebuilt pointers to the driver.
An illegal address poisons the process's CUDA context: after RunFailed the process must be replaced.
"""

from __future__ import annotations

import ctypes
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda.function import Module
from cupy_backends.cuda.api import driver, runtime

from engine.compile import compile_source
from engine.records import (
    Array,
    Buffer,
    CompileError,
    HostSum,
    Launch,
    NotRunnable,
    Plan,
    Progress,
    Run,
    RunFailed,
    Scalar,
    Source,
    Status,
    Zero,
    dtype_of,
)

Recipe = Mapping[str, tuple[Array, int]]  # buffer -> (the numbers, repeated to so many elements)

GUARD_BYTES = 4096  # behind every buffer that a kernel may write
GUARD_BYTE = 0xA5
ALIGNMENT = 512
RESERVE_BYTES = 512 << 20  # left to the context, the flush buffers and the libraries measured alongside
MAX_THREADS_PER_BLOCK = 0  # CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount


@dataclass(frozen=True)
class Prepared:
    """A plan with its memory, functions and arguments in place.

    `enqueue()` puts the plan's device steps on `stream()` and returns at once. `fetch()` waits and returns the answer,
    with the host's share of the work (a HostSum) done. `keep` holds what the raw pointers point to.
    """

    plan: Plan
    arrays: Mapping[str, Any]
    enqueue: Callable[[], None]
    fetch: Callable[[], Array]
    path: str
    keep: tuple[Any, ...]


def run(plan: Plan, recipe: Recipe, progress: Progress | None = None) -> Run:
    """One checked-from-outside execution: result buffers poisoned, one pass, the answer on the host.

    Raises NotRunnable (memory, launch limits), CompileError, RunFailed (illegal address, a write past a buffer).
    """
    say = progress or (lambda fraction, text: None)
    say(0.0, "Compiling and filling the GPU's memory")
    prepared = prepare(plan, recipe)
    say(0.2, "Running on the GPU")
    return execute(prepared)


def execute(prepared: Prepared) -> Run:
    """One pass over freshly poisoned buffers, with the guard zones checked."""
    with explained(prepared.plan), stream():
        fill(prepared)
        prepared.enqueue()
        output = prepared.fetch()
        _check_guards(prepared)
    return Run(output=output)


def fill(prepared: Prepared) -> None:
    """Poison and zero the buffers as the plan says; enqueued on `stream()`."""
    for buffer in prepared.plan.buffers:
        if buffer.fill != "input":
            array = prepared.arrays[buffer.name]
            # 0xFF.. is NaN: a float that nobody wrote cannot pass as a small error.
            poison = 0xFF if array.dtype.kind == "f" else 0xA5
            value = 0 if buffer.fill == "zero" else poison
            runtime.memsetAsync(array.data.ptr, value, array.nbytes, stream().ptr)
            runtime.memsetAsync(array.data.ptr + array.nbytes, GUARD_BYTE, GUARD_BYTES, stream().ptr)


def prepare(plan: Plan, recipe: Recipe) -> Prepared:
    """The plan's buffers (inputs filled), functions and arguments. NotRunnable, CompileError as in `run`."""
    with explained(plan), stream():
        arrays = _arrays(plan, recipe)
        steps: list[Callable[[], None]] = []
        keep: list[Any] = []
        for step in plan.steps:
            if isinstance(step, Launch):
                launch, kept = launcher(step, arrays)
                steps.append(launch)
                keep += kept
            elif isinstance(step, Zero):
                zeroed = arrays[step.buffer]
                steps.append(partial(runtime.memsetAsync, zeroed.data.ptr, 0, zeroed.nbytes, stream().ptr))
        enqueue, path = _as_one(steps, keep)
        return Prepared(plan, arrays, enqueue, _fetcher(plan, arrays), path, tuple(keep))


def _as_one(steps: list[Callable[[], None]], keep: list[Any]) -> tuple[Callable[[], None], str]:
    """All steps as one call. Several become a graph: 2 us of host time a replay against 5 us for each launch."""
    if len(steps) == 1:
        return steps[0], "launch"
    with stream() as capturing:
        capturing.begin_capture()
        try:
            for step in steps:
                step()
        finally:
            graph = capturing.end_capture()
        graph.upload(capturing)
    keep.append(graph)
    return partial(graph.launch, stream()), "graph"


def launcher(launch: Launch, arrays: Mapping[str, Any]) -> tuple[Callable[[], None], list[Any]]:
    """A launch as a call without arguments, and what must outlive it."""
    module, function = _function(launch.source, launch.kernel)
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    allowed = driver.funcGetAttribute(MAX_THREADS_PER_BLOCK, function)
    if threads > allowed:
        raise NotRunnable(
            f"{launch.kernel} uses so many registers that a block of it can have {allowed} threads, not {threads}; "
            "choose a smaller block."
        )
    values = [_argument(argument, arrays) for argument in launch.args]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    where = (function, *launch.grid, *launch.block, 0, stream().ptr, ctypes.addressof(pointers))
    kept = [module, values, pointers]
    if not launch.cooperative:
        return partial(driver.launchKernel, *where, 0), kept
    _check_residency(launch, function, threads)
    return partial(driver.launchCooperativeKernel, *where), kept


def _check_residency(launch: Launch, function: int, threads: int) -> None:
    per_multiprocessor = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0)
    fits = per_multiprocessor * runtime.deviceGetAttribute(MULTIPROCESSORS, runtime.getDevice())
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if blocks > fits:
        raise NotRunnable(
            f"{launch.kernel} waits for all its blocks, so all must be on the GPU at once: {fits:,} blocks of {threads} "
            f"threads fit, {blocks:,} were asked for; choose a smaller grid."
        )


def _argument(argument: str | Scalar, arrays: Mapping[str, Any]) -> Any:
    if isinstance(argument, str):
        return ctypes.c_uint64(arrays[argument].data.ptr)
    return np.ctypeslib.as_ctypes_type(dtype_of(argument.dtype))(argument.value)


@lru_cache(maxsize=1)
def stream() -> Any:
    """The process's one stream. Non-blocking: nothing waits for the legacy stream."""
    return cupy.cuda.Stream(non_blocking=True)


@lru_cache(maxsize=1)
def architecture() -> str:
    """What NVRTC compiles for: "sm_90"."""
    return f"sm_{cupy.cuda.Device().compute_capability}"


@lru_cache(maxsize=256)
def _function(source: Source, kernel: str) -> tuple[Any, int]:
    module = Module()
    module.load(compile_source(source, architecture()))
    try:
        return module, driver.moduleGetFunction(module.ptr, kernel)
    except driver.CUDADriverError as error:
        if "NOT_FOUND" not in str(error):
            raise
        sentence = f'{source.name} has no kernel `extern "C" __global__ void {kernel}(...)`.'
        raise CompileError(sentence, sentence) from None


# Memory


def _arrays(plan: Plan, recipe: Recipe) -> dict[str, Any]:
    """Inputs from the cache or filled; all other buffers in one piece of memory, a guard zone behind each."""
    inputs = {buffer.name: (buffer, *recipe[buffer.name]) for buffer in plan.buffers if buffer.fill == "input"}
    for buffer, _, count in inputs.values():
        if count != buffer.count:
            raise ValueError(f"The recipe of {buffer.name} has {count} elements, the plan {buffer.count}.")
    others = [buffer for buffer in plan.buffers if buffer.fill != "input"]
    keys = {name: _input_key(numbers, count) for name, (_, numbers, count) in inputs.items()}
    missing = sum(_bytes(buffer) for name, (buffer, _, _) in inputs.items() if keys[name] not in _inputs)
    sizes = [_aligned(_bytes(buffer) + GUARD_BYTES) for buffer in others]
    _make_room(plan, missing + sum(sizes), keep=set(keys.values()))
    arrays = {}
    for name, (_, numbers, count) in inputs.items():
        # A source of the user's own may write its input: it gets fresh memory that nobody else will see.
        arrays[name] = _repeated(numbers, count) if plan.choice.source else _cached_input(keys[name], numbers, count)
    slab = cupy.cuda.alloc(sum(sizes)) if others else None
    offset = 0
    for buffer, size in zip(others, sizes, strict=True):
        arrays[buffer.name] = cupy.ndarray((buffer.count,), dtype_of(buffer.dtype), memptr=slab + offset)
        offset += size
    return arrays


def _bytes(buffer: Buffer) -> int:
    return buffer.count * dtype_of(buffer.dtype).itemsize


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


_inputs: OrderedDict[tuple[str, int, int], Any] = (
    OrderedDict()
)  # the last inputs: a ladder runs rung after rung on them


def _input_key(numbers: Array, count: int) -> tuple[str, int, int]:
    return str(numbers.dtype), zlib.crc32(np.ascontiguousarray(numbers)), count


def _cached_input(key: tuple[str, int, int], numbers: Array, count: int) -> Any:
    if key not in _inputs:
        _inputs[key] = _repeated(numbers, count)
        budget = runtime.memGetInfo()[1] // 4
        while len(_inputs) > 2 and sum(array.nbytes for array in _inputs.values()) > budget:
            _inputs.popitem(last=False)
    _inputs.move_to_end(key)
    return _inputs[key]


def _repeated(numbers: Array, count: int) -> Any:
    """`numbers` repeated to `count` elements, on the device: one period travels, then the filled part is doubled."""
    array = cupy.empty(count, numbers.dtype)
    filled = min(len(numbers), count)
    array[:filled].set(np.ascontiguousarray(numbers[:filled]), stream=stream())
    while filled < count:
        more = min(filled, count - filled)
        size = array.itemsize
        target = array.data.ptr + filled * size
        runtime.memcpyAsync(target, array.data.ptr, more * size, runtime.memcpyDeviceToDevice, stream().ptr)
        filled += more
    return array


def _make_room(plan: Plan, needed: int, keep: set[tuple[str, int, int]]) -> None:
    """Give up cached inputs if `needed` bytes are not free; NotRunnable if even that is not enough."""
    pool = cupy.get_default_memory_pool()
    free, total = runtime.memGetInfo()
    available = free + pool.free_bytes() - RESERVE_BYTES
    if needed <= available:
        return
    evictable = [key for key in _inputs if key not in keep]
    available += sum(_inputs[key].nbytes for key in evictable)
    if needed > available:
        raise NotRunnable(
            f"N = {plan.choice.n:,} needs {needed / 1e9:.1f} GB more on the GPU, and {max(available, 0) / 1e9:.1f} GB "
            f"of its {total / 1e9:.1f} GB are free; choose a smaller N."
        )
    for key in evictable:
        del _inputs[key]
    stream().synchronize()
    pool.free_all_blocks()


# Answers and failures


def _fetcher(plan: Plan, arrays: Mapping[str, Any]) -> Callable[[], Array]:
    """Copy the answer to pinned memory, wait, and add on the host where the plan says so, in the element type."""
    last = plan.steps[-1]
    name, count = (last.buffer, last.count) if isinstance(last, HostSum) else (plan.result, plan.result_count)
    array = arrays[name]
    landing = _pinned(array.dtype, count)
    copy = partial(runtime.memcpyAsync, landing.ctypes.data, array.data.ptr, landing.nbytes,
                   runtime.memcpyDeviceToHost, stream().ptr)  # fmt: skip

    def fetch() -> Array:
        copy()
        stream().synchronize()
        if isinstance(last, HostSum):
            return np.add.reduce(landing, dtype=landing.dtype, keepdims=True)
        return landing.copy()

    return fetch


def _pinned(dtype: np.dtype[Any], count: int) -> Array:
    memory = cupy.cuda.alloc_pinned_memory(max(1, count * dtype.itemsize))
    return np.frombuffer(memory, dtype, count)


def _check_guards(prepared: Prepared) -> None:
    for buffer in prepared.plan.buffers:
        if buffer.fill == "input":
            continue
        array = prepared.arrays[buffer.name]
        guard = np.empty(GUARD_BYTES, np.uint8)
        runtime.memcpy(guard.ctypes.data, array.data.ptr + array.nbytes, GUARD_BYTES, runtime.memcpyDeviceToHost)
        if (guard != GUARD_BYTE).any():
            raise RunFailed(
                "out-of-bounds",
                f"{prepared.plan.choice.kernel} wrote past the end of `{buffer.name}`, which has {buffer.count:,} "
                "elements; run it on the emulator to see the line.",
            )


# What the driver says -> the contract's status and a student's sentence.
_FAILURES: tuple[tuple[tuple[str, ...], Status, str], ...] = (
    (("IllegalAddress", "ILLEGAL_ADDRESS"), "out-of-bounds",
     "{kernel} read or wrote outside its buffers (an illegal address), and the GPU stopped it without saying where; "
     "run it on the emulator to see the line."),
    (("MisalignedAddress", "MISALIGNED_ADDRESS"), "crashed",
     "{kernel} used an address that is not a multiple of the size it reads or writes there (misaligned), and the GPU "
     "stopped it; run it on the emulator to see the line."),
    (("LaunchTimeout", "LAUNCH_TIMEOUT"), "timeout", "{kernel} ran longer than this GPU allows, and was stopped."),
    (("Assert", "ASSERT"), "crashed", "An assert() in {kernel} did not hold."),
)  # fmt: skip


@contextmanager
def explained(plan: Plan) -> Iterator[None]:
    """Turn what CUDA raises into NotRunnable or RunFailed with one sentence."""
    kernel = plan.choice.kernel
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError:
        _inputs.clear()
        cupy.get_default_memory_pool().free_all_blocks()
        raise NotRunnable(
            f"The GPU's memory is full: N = {plan.choice.n:,} does not fit; choose a smaller N."
        ) from None
    except (driver.CUDADriverError, runtime.CUDARuntimeError) as error:
        text = str(error)
        if "OUT_OF_RESOURCES" in text or "OutOfResources" in text:
            raise NotRunnable(f"{kernel} needs more registers or shared memory than a block of that size may have; "
                              "choose a smaller block.") from None  # fmt: skip
        for words, status, sentence in _FAILURES:
            if any(word in text for word in words):
                raise RunFailed(status, sentence.format(kernel=kernel)) from None
        raise RunFailed("crashed", f"{kernel} failed on the GPU: {text.partition(': ')[2] or text}.") from None

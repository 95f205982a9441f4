"""Plan -> Run with CuPy: compile, feed, launch, read back. One process drives one GPU, on one stream.

`prepare` builds everything that a launch needs, so that timing only passes prebuilt pointers to the driver. An illegal
address poisons the process's CUDA context: after RunFailed the process must be replaced.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda.function import Module
from cupy_backends.cuda.api import driver, runtime

from engine.backends.cuda_failures import cuda_failure
from engine.backends.gpu.memory import Arrays, Recipe, arrays_of, check_guards, fill, forget_inputs, stream
from engine.backends.launch_limits import check_bound, check_sizes
from engine.backends.restored import not_restored
from engine.compile.nvrtc import TENSOR_MAP_BYTES, compile_launch, compile_source
from engine.records import (
    Array,
    HostRun,
    HostSum,
    Launch,
    NotRunnable,
    Plan,
    Progress,
    Run,
    Scalar,
    Source,
    TensorMap,
    Zero,
    dtype_of,
)

MAX_THREADS_PER_BLOCK = 0  # CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
MAX_DYNAMIC_SHARED_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount


@dataclass(frozen=True)
class Prepared:
    """A plan with its memory, functions and arguments in place.

    `enqueue()` puts the plan's device steps on `stream()` and returns at once. `fetch()` waits and returns the answer,
    with the host's part of the work (a HostSum) done. `keep` holds the objects behind the raw pointers.
    """

    plan: Plan
    arrays: Arrays
    enqueue: Callable[[], None]
    fetch: Callable[[], Array]
    path: str
    keep: tuple[Any, ...]


def run(plan: Plan, recipe: Recipe, progress: Progress | None = None) -> Run:
    """Execute the plan once with poisoned result buffers and copy the answer to the host. The caller checks it.

    NotRunnable (memory, launch limits), CompileError, RunFailed (illegal address, a write past a buffer).
    """
    say = progress or (lambda fraction, text: None)
    say(0.0, "Compiling and filling the GPU's memory")
    prepared = prepare(plan, recipe)
    say(0.2, "Running on the GPU")
    return execute(prepared)


def execute(prepared: Prepared) -> Run:
    """Execute the plan once over freshly poisoned buffers, and check the guard zones."""
    with explain_errors(prepared.plan), stream():
        fill(prepared.plan, prepared.arrays)
        prepared.enqueue()
        output = prepared.fetch()
        check_guards(prepared.plan, prepared.arrays)
        findings = not_restored(prepared.plan, lambda name, count: cupy.asnumpy(prepared.arrays[name][:count]))
    return Run(output=output, findings=findings)


def prepare(plan: Plan, recipe: Recipe) -> Prepared:
    """Prepare the plan's buffers (inputs filled), functions and arguments. NotRunnable, CompileError as in `run`."""
    with explain_errors(plan), stream():
        arrays = arrays_of(plan, recipe)
        steps: list[Callable[[], None]] = []
        keep: list[Any] = []
        for step in plan.steps:
            if isinstance(step, Launch):
                check_sizes(step)  # before the driver's own limit, which depends on the kernel's registers
                if "__launch_bounds__" in step.source.text:
                    check_bound(step)
                launch, kept = (_shared_launcher if step.shared_bytes else launcher)(step, arrays)
                steps.append(launch)
                keep += kept
            elif isinstance(step, Zero):
                zeroed = arrays[step.buffer]
                steps.append(partial(runtime.memsetAsync, zeroed.data.ptr, 0, zeroed.nbytes, stream().ptr))
            elif isinstance(step, HostRun):
                raise NotRunnable(f"{plan.choice.kernel} runs on the CPU, not on a GPU.")
        enqueue, path = _as_one(steps, keep)
        return Prepared(plan, arrays, enqueue, _fetcher(plan, arrays), path, tuple(keep))


def _as_one(steps: list[Callable[[], None]], keep: list[Any]) -> tuple[Callable[[], None], str]:
    """Return all steps as one call. Several become a graph: 2 us of host time per replay against 5 us per launch."""
    if len(steps) == 1:
        return steps[0], "launch"
    stream().begin_capture()
    try:
        for step in steps:
            step()
    finally:
        graph = stream().end_capture()
    graph.upload(stream())
    keep.append(graph)
    return partial(graph.launch, stream()), "graph"


def launcher(launch: Launch, arrays: Arrays) -> tuple[Callable[[], None], list[Any]]:
    """Return a launch as a call without arguments, and the objects that must outlive it."""
    compile_launch(launch, architecture())
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


def _shared_launcher(launch: Launch, arrays: Arrays) -> tuple[Callable[[], None], list[Any]]:
    """Return a launch with dynamic shared memory, which must be allowed first."""
    compile_launch(launch, architecture())
    module, function = _function(launch.source, launch.kernel)
    driver.funcSetAttribute(function, MAX_DYNAMIC_SHARED_BYTES, launch.shared_bytes)
    values = [_argument(argument, arrays) for argument in launch.args]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    where = (*launch.grid, *launch.block, launch.shared_bytes, stream().ptr, ctypes.addressof(pointers), 0)
    return partial(driver.launchKernel, function, *where), [module, values, pointers]


def _check_residency(launch: Launch, function: int, threads: int) -> None:
    per_multiprocessor = driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, 0)
    fits = per_multiprocessor * runtime.deviceGetAttribute(MULTIPROCESSORS, runtime.getDevice())
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if blocks > fits:
        raise NotRunnable(
            f"{launch.kernel} waits for all its blocks, so all must be on the GPU at once: {fits:,} blocks of "
            f"{threads} threads fit, {blocks:,} were asked for; choose a smaller grid."
        )


def _argument(argument: str | Scalar | TensorMap, arrays: Arrays) -> Any:
    if isinstance(argument, TensorMap):
        return encode_map(argument, arrays[argument.buffer].data.ptr)
    if isinstance(argument, str):
        return ctypes.c_uint64(arrays[argument].data.ptr)
    return np.ctypeslib.as_ctypes_type(dtype_of(argument.dtype))(argument.value)


@lru_cache(maxsize=1)
def architecture() -> str:
    """Return NVRTC's target: "sm_90"."""
    return f"sm_{cupy.cuda.Device().compute_capability}"


@lru_cache(maxsize=256)
def _function(source: Source, kernel: str) -> tuple[Any, int]:
    module = Module()
    module.load(compile_source(source, architecture()))
    return module, driver.moduleGetFunction(module.ptr, kernel)


def _fetcher(plan: Plan, arrays: Arrays) -> Callable[[], Array]:
    """Return a function that copies the answer to pinned memory, waits, and adds on the host if the plan says so."""
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


@contextmanager
def explain_errors(plan: Plan) -> Iterator[None]:
    """Turn a CUDA error into NotRunnable or RunFailed with one sentence."""
    try:
        yield
    except Exception as error:
        failure = cuda_failure(error, plan.choice.kernel, f"N = {plan.choice.n:,}")
        if failure is None:
            raise
        if isinstance(error, cupy.cuda.memory.OutOfMemoryError):
            forget_inputs()
        raise failure from None


# CUtensorMapDataType, -Interleave, -Swizzle, -L2promotion, -FloatOOBfill of cuda.h
_BFLOAT16, _NOT_INTERLEAVED, _PROMOTE_128, _ZEROS = 9, 0, 2, 0
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # by the bytes of a row
_ALIGNMENT = 64


def encode_map(asked: TensorMap, pointer: int) -> Any:
    """Return the map of the matrices at `pointer` as ctypes bytes. NotRunnable: this driver makes none."""
    room = ctypes.create_string_buffer(TENSOR_MAP_BYTES + _ALIGNMENT)
    start = -ctypes.addressof(room) % _ALIGNMENT
    status = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.byref(room, start), _BFLOAT16, 2, ctypes.c_void_p(pointer),
        (ctypes.c_uint64 * 2)(*asked.extent), (ctypes.c_uint64 * 1)(asked.row_bytes),
        (ctypes.c_uint32 * 2)(asked.columns, asked.rows), (ctypes.c_uint32 * 2)(1, 1),
        _NOT_INTERLEAVED, _SWIZZLES[asked.swizzle], _PROMOTE_128, _ZEROS,
    )  # fmt: skip
    if status:
        raise NotRunnable(f"The driver makes no map of {asked.buffer} for the copy engine (CUDA error {status}).")
    return (ctypes.c_char * TENSOR_MAP_BYTES).from_buffer_copy(room, start)

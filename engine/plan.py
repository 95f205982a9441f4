"""Choice -> Settled -> Plan: fill in what the user left open, then work out launches, buffers, bytes and operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from math import ceil
from typing import Any

from engine.catalogue import KERNELS, Kernel, Topic, kernel_named, topic_of
from engine.catalogue.entries import MAX_BLOCK
from engine.catalogue.gpu_models import GPU, GpuModel, model_named, model_of
from engine.compile.nvrtc import check_capability
from engine.machine.devices import device_summary, gpus
from engine.records import C_TYPES, CACHE_STATES, COMBINES, DEVICES, Choice, Launch, NotRunnable, Plan, Settled

Key = tuple[Any, ...]


def settle(choice: Choice) -> Settled:
    """Fill in the device, the combine and the parameter that the choice leaves open.

    "auto" is a GPU if this computer has one. "gpu" stays even without a GPU: recorded runs can be looked up, and only a
    run is refused. NotRunnable: unknown kernel or device, or a schedule for a GPU.
    """
    device, _, model = choice.device.partition(":")
    if device not in DEVICES or (model and device != "gpu"):
        raise NotRunnable(f"There is no device {choice.device!r}: choose {', '.join(DEVICES)}, or gpu:MODEL.")
    device = own_device() if device == "auto" else device
    if choice.schedule is not None and device != "emulator":
        raise NotRunnable("A GPU chooses the order of its lanes and blocks itself; choose the emulator for a schedule.")
    kernel = kernel_named(choice.kernel)
    values = {field.name: getattr(choice, field.name) for field in fields(Choice)}
    parameter = kernel.value_of_parameter(choice.parameter)
    named = {"device": device, "model": _model_of(model) or choice.model}
    return Settled(**values | named | {"combine": choice.combine or kernel.combines[0], "parameter": parameter})


def gpu_of(choice: Settled) -> GpuModel:
    """Return the GPU that a choice is planned for: the one that will run it; on the emulator, the GPU of the recorded
    runs."""
    return gpu_here(choice.model) if choice.device == "gpu" else GPU


def gpu_here(model: str | None = None) -> GpuModel:
    """Return this computer's GPU, or its first GPU of that name; else the known model; else the GPU of the recorded
    runs."""
    found = next((gpu for gpu in gpus() if model in (None, gpu.name)), None)
    if found is not None and found.multiprocessors:
        return model_of(found.name, found.capability, found.multiprocessors)
    named = model_named(model) if model else None
    return named if named is not None and named.multiprocessors else GPU


def check_here(choice: Settled) -> None:
    """Raise NotRunnable if this computer lacks a device or compiler that the choice needs."""
    if choice.device == "gpu":
        check_gpu()
        if choice.model not in (None, *(gpu.name for gpu in gpus())):
            raise NotRunnable(f"There is no {choice.model} to run on: this machine has {device_summary()}.")


def check_gpu() -> None:
    """Raise NotRunnable if this computer has no GPU."""
    if not gpus():
        raise NotRunnable("This machine has no GPU that CUDA can use: choose the emulator, or ask `doctor`.")


def _model_of(words: str) -> str | None:
    """Return the GPU model that the words name, begin or are part of ("h200"); the words themselves if none matches."""
    names = dict.fromkeys(gpu.name for gpu in gpus() if words.lower() in gpu.name.lower())
    return next(iter(names), words) if words else None


def own_device() -> str:
    """Return the meaning of "auto" on this computer: "gpu" or "emulator"."""
    return "gpu" if gpus() else "emulator"


def key(choice: Settled) -> Key:
    """Return the identity of a run without its device: (kernel, combine, parameter, n, block size, type, cache, grid
    size).

    These are the key columns of a recording, in its order. An edited source is not part of it; history adds its digest.
    """
    return (choice.kernel, choice.combine, choice.parameter, choice.n, choice.block_size, choice.dtype, choice.cache,
            choice.grid_size)  # fmt: skip


MAX_GRID = 2**31 - 1
ELEMENTS: tuple[int, ...] = tuple(2**power for power in range(15))  # per thread


def plan(choice: Settled, gpu: GpuModel | None = None) -> Plan:
    """Work out the launches, buffers, bytes and flops of `choice` on `gpu`, or on the GPU that will run it.

    NotRunnable: the choice cannot run as asked.
    """
    gpu = gpu or gpu_of(choice)
    kernel = kernel_named(choice.kernel)
    topic = topic_of(kernel)
    _check_words(choice)
    if not kernel.runs_on(choice.device):
        raise NotRunnable(f"{kernel.name} runs only on a GPU: the emulator would take too long.")
    _check_size(topic, choice)
    _check_kernel(kernel, topic, choice)
    check_capability(kernel.capability, gpu.capability, kernel.name, gpu.name)
    made = topic.plan(kernel, choice, gpu)
    _check_shared(made, gpu)
    return made


def _check_shared(made: Plan, gpu: GpuModel) -> None:
    asked = max((step.shared_bytes for step in made.steps if isinstance(step, Launch)), default=0)
    if asked > gpu.block_shared_bytes:
        raise NotRunnable(
            f"{made.choice.kernel} needs {asked:,} bytes of shared memory for a block; a block of {gpu.name} can have "
            f"{gpu.block_shared_bytes:,}."
        )


def grid_for(n: int, block_size: int, elements: int) -> int:
    """Return the number of blocks with which each thread takes about `elements` of the n numbers, at least 1."""
    return max(1, ceil(n / (block_size * elements)))


def offered_elements(n: int, block_size: int) -> tuple[int, ...]:
    """Return the members of ELEMENTS that fit: from one element a thread up to all numbers in one block."""
    return tuple(elements for elements in ELEMENTS if elements == 1 or grid_for(n, block_size, elements // 2) > 1)


def describe_launches(choice: Settled) -> str:
    """Describe the launches of `choice`: "32,768 blocks of 128 threads, then 256 blocks, then 2, then 1".

    "" if nothing is launched or the choice cannot run.
    """
    try:
        steps = plan(replace(choice, device="gpu")).steps
    except NotRunnable:
        return ""
    said, before = [], None
    for step in steps:
        if isinstance(step, Launch):
            grid, block = ([size for size in sizes if size > 1] or [1] for sizes in (step.grid, step.block))
            words = _by(grid)
            if block != before or len(said) == 1:
                words += f" block{'' if grid == [1] else 's'}"
            if block != before:
                words += f" of {_by(block)} thread{'' if block == [1] else 's'}"
            said.append(words)
            before = block
    return ", then ".join(said)


def _by(sizes: Sequence[int]) -> str:
    return " x ".join(f"{size:,}" for size in sizes)


def strides(kernel: Kernel) -> bool:
    """Return whether the kernel has a grid-stride loop, so its elements per thread can be chosen."""
    return kernel.coverage is None


def _check_words(choice: Settled) -> None:
    for what, value, allowed in (
        ("element type", choice.dtype, tuple(C_TYPES)),
        ("cache state", choice.cache, CACHE_STATES),
    ):
        if value not in allowed:
            raise NotRunnable(f"There is no {what} {value!r}; choose {_either(allowed)}.")
    if choice.combine is not None and choice.combine not in COMBINES:
        raise NotRunnable(f"Blocks cannot be combined by {choice.combine!r}; choose {_either(tuple(COMBINES))}.")


def _check_size(topic: Topic, choice: Settled) -> None:
    if choice.n < 1:
        raise NotRunnable(f"N must be at least {topic.min_n}, not {choice.n:,}.")
    if choice.n < topic.min_n:
        raise NotRunnable(f"N must be at least {topic.min_n}, not {choice.n:,}: {topic.min_n_reason}.")
    if choice.n > topic.max_n:
        raise NotRunnable(
            f"N = {choice.n:,} is too large: {topic.title.lower()} takes N from {topic.min_n} to {topic.max_n:,}."
        )
    if choice.device == "emulator" and choice.n > topic.emulator_max_n:
        raise NotRunnable(
            f"N = {choice.n:,} is too large for the emulator, which takes up to {topic.emulator_max_n:,} here; "
            "choose a smaller N, or a GPU."
        )


def _check_kernel(kernel: Kernel, topic: Topic, choice: Settled) -> None:
    if choice.dtype not in kernel.dtypes:
        why = kernel.refuses.get(choice.dtype, f"choose {_either(kernel.dtypes)}.")
        raise NotRunnable(f"{kernel.name} does not run with {choice.dtype}: {why}")
    if not kernel.runs_with(choice.block_size):
        raise NotRunnable(
            f"{kernel.name} does not run with a {topic.block_noun} of {choice.block_size:,}: "
            f"{_why_not(kernel, choice.block_size)}"
        )
    if choice.grid_size is not None:
        if kernel.coverage is not None:
            raise NotRunnable(
                f"The grid size of {kernel.name} follows from N and the block size, so it cannot be chosen; "
                f"rungs that stride over the grid let you: {_either(_free_grids(topic))}."
            )
        if not 1 <= choice.grid_size <= MAX_GRID:
            raise NotRunnable(f"The grid size must be from 1 to {MAX_GRID:,} blocks, not {choice.grid_size:,}.")
    if choice.parameter is not None:
        if kernel.parameter is None:
            raise NotRunnable(f"{kernel.name} has no parameter to choose.")
        if choice.parameter not in kernel.parameter.values:
            allowed = _either(tuple(map(str, kernel.parameter.values)))
            raise NotRunnable(
                f"{kernel.parameter.label} of {kernel.name} cannot be {choice.parameter}: choose {allowed}."
            )
    if choice.combine is not None and choice.combine not in kernel.combines:
        raise NotRunnable(
            f"The blocks of {kernel.name} cannot be combined by {choice.combine!r}: choose {_either(kernel.combines)}."
        )


def _why_not(kernel: Kernel, block_size: int) -> str:
    """Return the kernel's own reason against a block size, or the block sizes to choose from."""
    if str(block_size) in kernel.refuses:
        return kernel.refuses[str(block_size)]
    if kernel.needs is None:
        return f"choose {_either(tuple(map(str, kernel.block_sizes)))}."
    if not 1 <= block_size <= MAX_BLOCK:
        return f"a block has from 1 to {MAX_BLOCK:,} threads."
    return kernel.needs.reason


def _free_grids(topic: Topic) -> tuple[str, ...]:
    return tuple(kernel.name for kernel in KERNELS.values() if kernel.topic == topic.name and kernel.coverage is None)


def _either(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

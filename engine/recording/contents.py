"""What a recording holds, the most missed first: what the pages open on, what their menus offer next, then the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, Ladder, Topic
from engine.catalogue.libraries import operation_of
from engine.lectures import judge, published
from engine.plan import grid_for, offered_elements, settle, strides
from engine.records import C_TYPES, CACHE_STATES, Choice, Settled

COLD, COLD_AND_HOT = CACHE_STATES[:1], (CACHE_STATES[0], CACHE_STATES[-1])
POWERS = tuple(2**power for power in range(10, 31))
ELEMENT_SIZES = tuple(2**power for power in range(20, 29, 2))
ELEMENT_BLOCK = 256
LARGE_SIZES, LARGE_OPERATIONS = (2**26, 2**28), ("prefix sum", "selection", "maximum")
LARGER = 2  # sizes beyond the ladder's own at which a knob is turned


@dataclass(frozen=True)
class Item:
    """A choice to be timed in these states of the cache; left out where one run is predicted to take longer than
    `limit_s`. `part`: what it belongs to, in words. `every_peer`: beside all libraries and not the first alone."""

    choice: Settled
    part: str
    caches: tuple[str, ...] = CACHE_STATES
    limit_s: float = 0.4
    every_peer: bool = False


def contents(quick: bool = False) -> Iterator[Item]:
    """Every choice of a recording, in the order in which it is made; a choice may come twice. `quick`: few of them."""
    if quick:
        for topic in TOPICS.values():
            yield from _sweep(topic, topic.kernels[0].dtypes[:1], topic.sizes[1::3], COLD, (topic.default_block_size,))
        return
    reduction = TOPICS["reduction"]
    yield from _rungs()
    yield from _lectures()
    yield from _knobs()
    harris = LADDERS["harris"]  # whose page asks how many elements a thread should take
    yield from _elements(reduction, (harris.n,), harris.block_size)
    yield from _elements(reduction, ELEMENT_SIZES, ELEMENT_BLOCK)
    yield from _types()
    yield from _sweep(reduction, ("int32",), POWERS)
    for topic in TOPICS.values():
        if topic is not reduction:
            yield from _sweep(topic, tuple(C_TYPES), topic.sizes, every_combine=True, limit_s=1.5)
            yield from _elements(topic, (topic.default_n,), topic.default_block_size)
    yield from _large()
    yield from _sweep(reduction, ("int32",), reduction.sizes, every_combine=True)
    yield from _sweep(reduction, ("float32", "float64"), reduction.sizes, COLD)


def _sizes_of(ladder: Ladder) -> tuple[int, ...]:
    return (ladder.n,) if ladder.emulator_n is None else (ladder.n, ladder.emulator_n)


def _ladders_of(kernel: Kernel) -> list[Ladder]:
    return [ladder for ladder in LADDERS.values() if any(rung.kernel == kernel.name for rung in ladder.rungs)]


def _rungs() -> Iterator[Item]:
    """What every ladder opens on."""
    for ladder in LADDERS.values():
        for n in _sizes_of(ladder):
            for rung in ladder.rungs:
                kernel = KERNELS[rung.kernel]
                if ladder.block_size in kernel.block_sizes and ladder.dtype in kernel.dtypes:
                    choice = _on_gpu(kernel.name, n, ladder.block_size, dtype=ladder.dtype, combine=rung.combine)
                    yield Item(choice, "the ladders", limit_s=1.5, every_peer=True)


def _lectures() -> Iterator[Item]:
    """The conditions of every figure that a lecture prints, and the runs that decide what it claims to be faster."""
    for name in published.published_ladders():
        for choice, _ in published.choices(LADDERS[name], "gpu"):
            yield Item(choice, "published figures", limit_s=1.5)
    for claim in judge.CLAIMS:
        for choice in judge.runs(claim):
            if choice.device == "gpu":
                yield Item(choice, "claims", COLD, 1.5)


def _knobs() -> Iterator[Item]:
    """Every value of every knob, at the size of the kernel's first ladder and at a few larger ones."""
    for kernel in KERNELS.values():
        if kernel.parameter is None:
            continue
        topic, ladder = TOPICS[kernel.topic], _ladders_of(kernel)[0]
        larger = tuple(n for n in topic.sizes if n > ladder.n)[:LARGER]
        dtype = ladder.dtype if ladder.dtype in kernel.dtypes else kernel.dtypes[0]
        for n in (ladder.n, *larger):
            for value in kernel.parameter.values:
                choice = _on_gpu(kernel.name, n, ladder.block_size, dtype=dtype, parameter=value)
                yield Item(choice, "knobs", COLD_AND_HOT)


def _elements(topic: Topic, sizes: tuple[int, ...], block_size: int) -> Iterator[Item]:
    """Every number of elements per thread, of the kernels that stride over the grid."""
    for n in sizes:
        for kernel in topic.kernels:
            if strides(kernel) and block_size in kernel.block_sizes:
                for each in offered_elements(n, block_size):
                    blocks = grid_for(n, block_size, each)
                    choice = _on_gpu(kernel.name, n, block_size, blocks, dtype=kernel.dtypes[0])
                    yield Item(choice, "elements per thread", COLD_AND_HOT)


def _types() -> Iterator[Item]:
    """Every element type of every kernel, where its ladders open."""
    for kernel in KERNELS.values():
        for dtype in kernel.dtypes:
            for ladder in _ladders_of(kernel):
                for n in _sizes_of(ladder):
                    if ladder.block_size in kernel.block_sizes:
                        choice = _on_gpu(kernel.name, n, ladder.block_size, dtype=dtype)
                        yield Item(choice, "element types", COLD, 1.5)


def _large() -> Iterator[Item]:
    """Beyond the sizes of menus: where nothing but the memory's speed is left, beside the libraries."""
    for topic in TOPICS.values():
        for kernel in topic.kernels:
            if operation_of(kernel.name) in LARGE_OPERATIONS:
                for n in LARGE_SIZES:
                    if max(topic.sizes) < n <= topic.max_n:
                        for dtype in kernel.dtypes:
                            choice = _on_gpu(kernel.name, n, topic.default_block_size, dtype=dtype)
                            yield Item(choice, "large n", COLD, 1.5)


def _sweep(
    topic: Topic,
    dtypes: tuple[str, ...],
    sizes: tuple[int, ...],
    caches: tuple[str, ...] = CACHE_STATES,
    block_sizes: tuple[int, ...] | None = None,
    every_combine: bool = False,
    limit_s: float = 0.4,
) -> Iterator[Item]:
    """Every size and block size of a topic."""
    for dtype in dtypes:
        for n in sizes:
            for kernel in topic.kernels:
                for combine in kernel.combines if every_combine else kernel.combines[:1]:
                    for block_size in kernel.block_sizes:
                        if dtype in kernel.dtypes and (block_sizes is None or block_size in block_sizes):
                            choice = _on_gpu(kernel.name, n, block_size, dtype=dtype, combine=combine)
                            yield Item(choice, f"{topic.title.lower()} in {dtype}", caches, limit_s)


def _on_gpu(kernel: str, n: int, block_size: int, grid_size: int | None = None, **chosen: Any) -> Settled:
    return settle(Choice(kernel, n, block_size, grid_size, device="gpu", **chosen))

"""The only list of kernels, topics and ladders. Menus, tests, tables, docs and `--json` grow from here.

A topic is its `.cu` files, its module with kernels, plan, check and ladders, and its line in the list below. A kernel
variant is one `.cu` file and one entry in its topic's module. A ladder is data: an order of rungs, the lecture it comes
from, and the sentence that leads from one rung to the next.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from itertools import pairwise

from engine.catalogue import (
    aggregate,
    atomics,
    data,
    floats,
    matmul,
    matrix_sums,
    memory,
    reduction,
    tensor,
    transpose,
    trapezoid,
    volta,
)
from engine.catalogue.entries import Kernel, Ladder, Published, Rung, Topic
from engine.records import Array, Choice, NotRunnable

__all__ = ["KERNELS", "LADDERS", "TOPICS", "Kernel", "Ladder", "Published", "Rung", "Topic", "default_choice",
           "emulated_n", "inputs_of", "kernel_named", "recipe_of", "topic_of"]  # fmt: skip

_TOPICS = (
    reduction.TOPIC,
    matmul.TOPIC,
    tensor.TOPIC,
    trapezoid.TOPIC,
    memory.TOPIC,
    matrix_sums.TOPIC,
    transpose.TOPIC,
    atomics.TOPIC,
    volta.TOPIC,
    aggregate.TOPIC,
    floats.TOPIC,
)
# The lectures' ladders in the order of menus, if that differs from the topics' order; ladders that are not named here
# follow.
_FIRST = (
    "harris", "crovella", "heidelberg", "hekun", "one-launch", "cs121-tiling", "cooper", "beyond-tiling",
    "tensor-cores",
    "heidelberg-operators", "argmax", "heidelberg-histogram", "float-truths", "cs121-latency", "cs121-bandwidth",
    "cs121-constant", "cs121-coalescing", "cs121-one-matrix", "cs121-access", "cs121-banks", "cs121-divergence",
    "cs121-barriers", "transpose", "crovella-atomics", "crovella-order", "crovella-warps",
    "crovella-max", "crovella-matrix-sums", "heidelberg-volta", "heidelberg-exercise",
)  # fmt: skip


def _all_rungs(topic: Topic) -> Ladder:
    names = [kernel.name for kernel in topic.kernels]
    shown = [topic.shows.get(now, _shown(before, now)) for before, now in zip(["", *names], names, strict=False)]
    return Ladder(
        name=f"all-{topic.name}",
        title=f"{topic.title}: all rungs",
        lecture="All ladders of the topic",
        summary="Every kernel of the topic, in the order of the catalogue.",
        rungs=tuple(
            Rung(kernel.name, name, f"{kernel.title}.", shows=counter)
            for (kernel, name), counter in zip(_short_names(topic), shown, strict=True)
        ),
        n=topic.default_n,
        block_size=topic.default_block_size,
        dtype=topic.kernels[0].dtypes[0],
        emulator_n=min((ladder.emulator_n for ladder in topic.ladders if ladder.emulator_n), default=None),
        picture="time",
        today=(
            "These are the rungs of all lectures of the topic; each lecture's own ladder says why the shape differs.",
        ),
    )


def _shown(before: str, kernel: str) -> str:
    """Return what a kernel shows after `before`: by a ladder with the two in this order, else by any ladder."""
    rungs = [ladder.rungs for topic in _TOPICS for ladder in topic.ladders]
    first = [("", each[0]) for each in rungs]
    later = [(old.kernel, new) for each in rungs for old, new in pairwise(each)]
    found = [(old, new.shows) for old, new in (*first, *later) if new.kernel == kernel]
    return next((shows for old, shows in found if old == before), found[0][1] if found else "")


def _short_names(topic: Topic) -> list[tuple[Kernel, str]]:
    """Return the kernels' labels, without the word that all their names begin with: "reduce_first_add" is "first
    add"."""
    words = [(kernel, kernel.name.split("_")) for kernel in topic.kernels]
    same = len({first for _, (first, *_) in words}) == 1
    return [(kernel, " ".join(parts[same:])) for kernel, parts in words]


def _place(ladder: Ladder) -> tuple[bool, int]:
    """Return the place of a ladder in menus; the ladders of all rungs of a topic come last."""
    return ladder.name.startswith("all-"), _FIRST.index(ladder.name) if ladder.name in _FIRST else len(_FIRST)


def _in_catalogue(ladder: Ladder, topic: Topic) -> Ladder:
    """Return the ladder with its topic; its rungs get the faults that their kernels' headers state of the rungs
    before."""
    before = ("", *(rung.kernel for rung in ladder.rungs))
    rungs = (
        replace(rung, fixes=rung.fixes or KERNELS[rung.kernel].fault_of(one))
        for one, rung in zip(before, ladder.rungs, strict=False)
    )
    return replace(ladder, topic=topic.name, rungs=tuple(rungs))


TOPICS: dict[str, Topic] = {topic.name: topic for topic in _TOPICS}
KERNELS: dict[str, Kernel] = {kernel.name: kernel for topic in _TOPICS for kernel in topic.kernels}
_LADDERS = [_in_catalogue(ladder, topic) for topic in _TOPICS for ladder in (*topic.ladders, _all_rungs(topic))]
LADDERS: dict[str, Ladder] = {ladder.name: ladder for ladder in sorted(_LADDERS, key=_place)}


def kernel_named(name: str) -> Kernel:
    """Return the catalogue entry of that name. NotRunnable, with the nearest names, if there is none."""
    if name in KERNELS:
        return KERNELS[name]
    near = get_close_matches(name, KERNELS, n=3) or list(KERNELS)[:3]
    raise NotRunnable(f"There is no kernel named {name!r}. Did you mean {', '.join(near)}?")


def topic_of(kernel: Kernel | str) -> Topic:
    """Return the topic a kernel belongs to."""
    return TOPICS[(kernel if isinstance(kernel, Kernel) else kernel_named(kernel)).topic]


def emulated_n(ladder: Ladder, n: int, most: int | None = None) -> int:
    """Return the n at which the emulator counts a ladder whose times are those of `n`: `n` itself, if it can.

    `most`: the largest, else the topic's. An n that the topic never takes is returned, and refused later.
    """
    topic = TOPICS[ladder.topic]
    most = most or topic.emulator_max_n
    if n <= (ladder.emulator_n or most) or n > topic.max_n:
        return n
    return ladder.emulator_n or min(ladder.n, most)


def default_choice(kernel: str) -> Choice:
    """Return the choice for a kernel's name alone."""
    entry = kernel_named(kernel)
    topic = topic_of(entry)
    block_size = topic.default_block_size if topic.default_block_size in entry.block_sizes else entry.block_sizes[-1]
    return Choice(kernel=kernel, n=topic.default_n, block_size=block_size, dtype=entry.dtypes[0])


def recipe_of(choice: Choice) -> dict[str, tuple[Array, int]]:
    """Return the input buffers of a choice, each as a period and a count: a GPU repeats the period itself."""
    return topic_of(choice.kernel).input_recipe(choice)


def inputs_of(choice: Choice) -> dict[str, Array]:
    """Return the whole input buffers of a choice on the host."""
    return {name: data.repeated(numbers, count) for name, (numbers, count) in recipe_of(choice).items()}

"""The only list of kernels, topics and ladders. Menus, tests, tables, docs and `--json` grow from here.

A kernel variant is one `.cu` file and one entry in its topic's module. A ladder is data: an order of rungs, the
lecture it comes from, and the sentence that leads from one rung to the next.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue import ladders
from engine.catalogue.entries import Kernel, Ladder, Published, Rung, Topic
from engine.catalogue.ladders import lecture_ladders, more_ladders, today
from engine.catalogue.topics import (
    aggregate as other_reductions,
)
from engine.catalogue.topics import (
    atomics,
    floats,
    matmul,
    matrix_sums,
    memory,
    reduction,
    trapezoid,
    volta,
)
from engine.records import Choice, NotRunnable

__all__ = ["KERNELS", "LADDERS", "TOPICS", "Kernel", "Ladder", "Published", "Rung", "Topic", "default_choice",
           "kernel_named", "spelled_out", "topic_of"]  # fmt: skip

_TOPICS = (
    reduction.TOPIC,
    matmul.TOPIC,
    trapezoid.TOPIC,
    memory.TOPIC,
    matrix_sums.TOPIC,
    atomics.TOPIC,
    volta.TOPIC,
    other_reductions.TOPIC,
    floats.TOPIC,
)
TOPICS: dict[str, Topic] = {topic.name: topic for topic in _TOPICS}
KERNELS: dict[str, Kernel] = {kernel.name: kernel for topic in TOPICS.values() for kernel in topic.kernels}
# The lectures' ladders first, in their order; those of all rungs of a topic last.
_LADDERS = (
    *ladders.all_ladders(TOPICS),
    *more_ladders.more_ladders(TOPICS),
    *lecture_ladders.lecture_ladders(TOPICS),
)
LADDERS: dict[str, Ladder] = {
    ladder.name: replace(ladder, today=ladder.today or today.paragraph(ladder.name))
    for ladder in sorted(_LADDERS, key=lambda ladder: ladder.name.startswith("all-"))
}


def kernel_named(name: str) -> Kernel:
    """The catalogue entry of that name. NotRunnable, with the nearest names, if there is none."""
    if name in KERNELS:
        return KERNELS[name]
    from difflib import get_close_matches

    near = get_close_matches(name, KERNELS, n=3) or list(KERNELS)[:3]
    raise NotRunnable(f"There is no kernel named {name!r}. Did you mean {', '.join(near)}?")


def topic_of(kernel: Kernel | str) -> Topic:
    """The topic a kernel belongs to."""
    return TOPICS[(kernel if isinstance(kernel, Kernel) else kernel_named(kernel)).topic]


def default_choice(kernel: str) -> Choice:
    """What runs when a user only names the kernel."""
    entry = kernel_named(kernel)
    topic = topic_of(entry)
    block_size = topic.default_block_size if topic.default_block_size in entry.block_sizes else entry.block_sizes[-1]
    return Choice(kernel=kernel, n=topic.default_n, block_size=block_size, dtype=entry.dtypes[0])


def spelled_out(choice: Choice) -> Choice:
    """The choice with the kernel's own way to combine and its own knob named: equal choices then run the same."""
    kernel = KERNELS.get(choice.kernel)
    if kernel is None:
        return choice
    knob = kernel.parameter.default if choice.parameter is None and kernel.parameter else choice.parameter
    return replace(choice, combine=choice.combine or kernel.combines[0], parameter=knob)

"""The ladders: an order of rungs, the lecture it comes from, and the sentence from one rung to the next."""

from __future__ import annotations

from collections.abc import Mapping

from engine.catalogue.entries import Ladder, Rung, Topic


def all_ladders(topics: Mapping[str, Topic]) -> tuple[Ladder, ...]:
    """Every ladder of every topic."""
    return tuple(
        Ladder(
            name=f"all-{topic.name}",
            title=f"{topic.title}: all rungs",
            topic=topic.name,
            lecture="All lectures of the topic",
            summary="Every kernel of the topic, in the order of the catalogue.",
            rungs=tuple(Rung(kernel.name, str(i), kernel.title) for i, kernel in enumerate(topic.kernels, 1)),
            n=topic.default_n,
            block_size=topic.default_block_size,
            dtype=topic.kernels[0].dtypes[0],
        )
        for topic in topics.values()
    )

"""The numbers that a plan is fed with."""

from __future__ import annotations

from engine.catalogue import data, topic_of
from engine.records import Array, Choice

Recipe = dict[str, tuple[Array, int]]  # buffer -> (the numbers, repeated to so many elements)


def recipe_of(choice: Choice) -> Recipe:
    """The input buffers of a choice, each as a period and a count: a GPU repeats the period itself."""
    return topic_of(choice.kernel).input_recipe(choice)


def inputs_of(choice: Choice) -> dict[str, Array]:
    """The input buffers of a choice on the host, whole."""
    return {name: data.repeated(numbers, count) for name, (numbers, count) in recipe_of(choice).items()}

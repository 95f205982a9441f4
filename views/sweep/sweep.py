"""A sweep: over block sizes, N, a kernel's own parameter, or elements per thread."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.catalogue import Kernel, Topic
from engine.catalogue.entries import Parameter
from engine.plan import ELEMENTS, grid_for, offered_elements, settle, strides
from engine.records import Choice, Settled
from engine.records.counters import COUNTERS
from engine.records.words import size_text

OVER = {"blocks": "Block sizes", "sizes": "N", "knob": "Parameter", "elements": "Elements per thread"}
# the name in the address of the swept values
LISTS = {"blocks": "blocks", "sizes": "sizes", "knob": "values", "elements": "elements"}

Cell = tuple[str, int]  # kernel and the swept value


@dataclass(frozen=True)
class Sweep:
    """The sweep of this run of the script: `over` is one of OVER, `values` the swept ones."""

    topic: Topic
    over: str
    kernels: tuple[str, ...]
    values: tuple[int, ...]
    base: Choice
    key: str
    parameter: Parameter | None = None

    def choice(self, cell: Cell) -> Settled:
        """Return the choice of one cell."""
        kernel, value = cell
        changed = replace(self.base, kernel=kernel)
        match self.over:
            case "blocks":
                changed = replace(changed, block_size=value)
            case "sizes":
                changed = replace(changed, n=value)
            case "knob":
                changed = replace(changed, parameter=value)
            case _:
                changed = replace(changed, grid_size=grid_for(changed.n, changed.block_size, value))
        return settle(changed)

    @property
    def cells(self) -> list[Cell]:
        """Return every cell, row by row."""
        return [(kernel, value) for kernel in self.kernels for value in self.values]

    @property
    def label(self) -> str:
        """Return the heading over the swept columns."""
        if self.over == "knob" and self.parameter is not None:
            return self.parameter.label
        return {"blocks": self.topic.block_label, "sizes": self.topic.size_label}.get(self.over, OVER[self.over])

    @property
    def titles(self) -> list[str]:
        """Return the titles of the swept columns."""
        return [str(value) if self.over == "blocks" else size_text(value) for value in self.values]

    @property
    def headings(self) -> tuple[str, str, str]:
        """Return the headings over the swept columns, the best one, and its number: Heidelberg's maxThr and maxBW in
        words."""
        at = {"blocks": f"Best {self.label.partition(' (')[0].lower()}", "sizes": "Best N"}.get(self.over, "Best at")
        words = {"time_us": "Shortest time", "bandwidth_gb_s": "Highest bandwidth", "gflop_s": "Highest throughput"}
        return (self.label, at, words.get(self.key, "Least" if self.smallest else "Most"))

    @property
    def smallest(self) -> bool:
        """Return whether the least number is the best."""
        return COUNTERS[self.key].full is None if self.key in COUNTERS else self.key == "time_us"


def parameters_of(topic: Topic) -> dict[str, Parameter]:
    """Return the parameters of the topic's kernels by name; one that several kernels have offers the values of all."""
    found: dict[str, Parameter] = {}
    for own in (kernel.parameter for kernel in topic.kernels):
        if own is not None:
            before = found.get(own.name, own)
            found[own.name] = replace(before, values=tuple(sorted({*before.values, *own.values})))
    return found


def ways_of(topic: Topic) -> list[str]:
    """Return the sweeps that the topic's kernels allow."""
    ways = ["blocks", "sizes"]
    if parameters_of(topic):
        ways.append("knob")
    if any(strides(kernel) for kernel in topic.kernels):
        ways.append("elements")
    return ways


def kernels_of(topic: Topic, over: str, parameter: str | None) -> list[Kernel]:
    """Return the kernels that allow this sweep."""
    if over == "knob":
        return [
            kernel for kernel in topic.kernels if kernel.parameter is not None and kernel.parameter.name == parameter
        ]
    return [kernel for kernel in topic.kernels if over != "elements" or strides(kernel)]


def fitting(over: str, values: list[int], n: int, block_size: int) -> list[int]:
    """Return the values without those of elements per thread that would need less than one block."""
    return [
        value
        for value in values
        if over != "elements" or value not in ELEMENTS or value in offered_elements(n, block_size)
    ]

"""Counting by .cu line: what every counter shares, and the list of those that an ordinary run has.

    @counts
    class Shuffles(LineCounter):
        names = ("shuffles",)

        def on_warp_sync(self, line, opcode, mask, members): ...
            self.count(line, "shuffles", mask.warps)

Title, meaning and place of a counter stand in its row of `engine.records.counters`. Ratios of counters stand there
too.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.observer import Observer


class LineCounter(Observer):
    """Counts over all launches of a run. `names`: what it counts. Lines add up to their sum; of `highest` names to
    the largest."""

    names: ClassVar[tuple[str, ...]] = ()
    highest: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.at = {name: at for at, name in enumerate(self.names)}
        self._lines: dict[tuple[str, int], list[int]] = {}
        self._rows: dict[int, list[int]] = {}  # those of the launch's file
        self._file = ""

    def on_launch(self, machine: Machine) -> None:
        """Lines from now on belong to this launch's file."""
        self.settle()
        self._file, self._rows = machine.file_name, {}

    def row(self, line: int) -> list[int]:
        """The counts of a line of the launch's file; the place of a name in it is `at[name]`."""
        row = self._rows.get(line)
        if row is None:
            row = self._rows[line] = self._lines.setdefault((self._file, line), [0] * len(self.names))
        return row

    def count(self, line: int, name: str, amount: int) -> None:
        """So many more at this line."""
        self.row(line)[self.at[name]] += amount

    def settle(self) -> None:
        """What was put off is counted now: a launch has ended."""

    def totals(self) -> dict[str, float]:
        """Over all lines and files."""
        self.settle()
        columns = zip(*self._lines.values(), strict=True) if self._lines else [(0,)] * len(self.names)
        return {
            name: max(column) if name in self.highest else sum(column)
            for name, column in zip(self.names, columns, strict=True)
        }

    def by_line(self, file_name: str) -> dict[int, dict[str, float]]:
        """In the order of lines."""
        self.settle()
        return {
            line: dict(zip(self.names, row, strict=True))
            for (name, line), row in sorted(self._lines.items())
            if name == file_name and line
        }


EVERY: list[type[LineCounter]] = []  # those of an ordinary run
Kind = TypeVar("Kind", bound=type[LineCounter])


def counts(kind: Kind) -> Kind:
    """Register a class: every ordinary run has one of it. Asserts that nothing is counted twice."""
    known = {name for other in EVERY for name in other.names}
    assert not known & set(kind.names), f"{kind.names} are counted twice"
    EVERY.append(kind)
    return kind

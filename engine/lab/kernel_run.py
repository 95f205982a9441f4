"""What came of a launch: the arrays afterwards, the counts, the findings; in a notebook the source with its counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from engine.counters import COUNTERS, with_derived
from engine.records import Array, Finding, LineCounters

_BESIDE_LINES = ("warp_instructions", "sectors", "bank_conflicts", "divergent_branches")


@dataclass(frozen=True)
class KernelRun:
    """One launch on the emulator.

    `arrays`: by name, in the shape and type in which they were passed; the caller's own are not changed. `symbols`: the
    module's `__device__` and `__constant__` variables, of the type that was passed for them, else their bytes.
    `counters`, `lines`: over the launch and by line of the file; `printed`: lines of printf; `warnings`: the
    compiler's.
    """

    kernel: str
    file_name: str
    source: str
    arrays: Mapping[str, Array]
    symbols: Mapping[str, Array]
    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...]
    findings: tuple[Finding, ...]
    printed: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found; whether the answer is right, its caller knows."""
        return not self.findings

    def _repr_html_(self) -> str:
        """What Jupyter shows: findings, then the source, with the counts of each line the darker the larger."""
        counted = {line.line: with_derived(line.counters) for line in self.lines}
        most = {name: max((line.get(name, 0) for line in counted.values()), default=0) for name in _BESIDE_LINES}
        head = "".join(f"<th>{escape(COUNTERS[name].title)}</th>" for name in _BESIDE_LINES)
        rows = "".join(
            f"<tr><td style='color:#888'>{number}</td>"
            f"<td style='text-align:left'><code style='white-space:pre'>{escape(text)}</code></td>"
            + "".join(_cell(counted.get(number, {}).get(name, 0), most[name]) for name in _BESIDE_LINES)
            + "</tr>"
            for number, text in enumerate(self.source.splitlines(), start=1)
        )
        told = "".join(f"<li>{escape(finding.message)}</li>" for finding in self.findings)
        return f"<ul>{told}</ul><table><tr><th></th><th>{escape(self.file_name)}</th>{head}</tr>{rows}</table>"


def _cell(count: float, most: float) -> str:
    if not count:
        return "<td></td>"
    return f"<td style='background:rgba(228,112,37,{0.05 + 0.4 * count / most:.2f})'>{count:,.0f}</td>"

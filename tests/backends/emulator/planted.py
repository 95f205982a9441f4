"""The planted bugs: small kernels, each with one mistake or none, whose headers name the expected findings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "planted_bugs"


@dataclass(frozen=True)
class Planted:
    """One file.

    `expect`: kinds of findings, of which the first is required and the others are allowed; or "deadlock", or "ok".
    `tool`: the tool of compute-sanitizer that should see it; "none (why)" if none can.
    """

    name: str
    text: str
    bug: str
    expect: tuple[str, ...]
    tool: str
    grid: int
    block: int
    n: int

    @property
    def correct(self) -> bool:
        return self.expect == ("ok",)


def planted() -> list[Planted]:
    """Return all files, by name. Each kernel is NAME(const T *in, T *out, unsigned int n) with n elements in both
    arrays."""
    return [_read(path) for path in sorted(FOLDER.glob("*.cu"))]


def _read(path: Path) -> Planted:
    text = path.read_text(encoding="utf-8")
    label = dict(re.findall(r"^// (Bug|Expect|Tool|Launch): (.*)$", text, re.MULTILINE))
    grid, block, n = map(int, label["Launch"].split())
    return Planted(path.stem, text, label["Bug"], tuple(label["Expect"].split(", ")), label["Tool"], grid, block, n)

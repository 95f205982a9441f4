"""Loops that the assembler unrolls.

Of a loop that counts its turns ptxas may make three pieces: four turns at once while more than three are left, then two
turns if two are left, then one. The threads of a warp wait for each other behind each piece, so a warp whose threads
take 8 and 7 turns executes 8 + 2 + 1. In front of the pieces ptxas puts a turn more if its test of the bound does not
hold before the first turn, as in a loop that tests behind its body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from engine.compile.assembly import code_with_lines
from engine.compile.machine_code import loops_of

_ACCESSES = (0x181, 0x184, 0x186, 0x188)  # LDG, LDS, STG, STS
_AT_ONCE, _COPIES, _WITH_ONE_AHEAD = 4, 7, 8  # 4 + 2 + 1, and one in front of them


def unrolled_lines(cubin: bytes, ptx: str, kernel: str) -> dict[int, bool]:
    """Return the PTX lines of loads and stores in such loops of `kernel`, and whether a turn is in front: four copies
    of each are in one loop, the others are not."""
    for code, lines, is_kernel in code_with_lines(cubin, ptx, kernel) or ():
        if is_kernel:
            return dict(_unrolled(code, lines))
    return {}


def _unrolled(code: Sequence[int], lines: Sequence[int]) -> Iterator[tuple[int, bool]]:
    found: dict[int, list[int]] = defaultdict(list)
    for at, one in enumerate(code):
        if one & 0x1FF in _ACCESSES:
            found[lines[at]].append(at)
    several = {line: copies for line, copies in found.items() if len(copies) in (_COPIES, _WITH_ONE_AHEAD)}
    loops = loops_of(code) if several else []
    for line, copies in several.items():
        if any(sum(first <= at <= last for at in copies) == _AT_ONCE for first, last in loops):
            yield line, len(copies) == _WITH_ONE_AHEAD

"""The longest chain of dependent instructions of one block, found with a scoreboard of its warps.

An instruction waits until its operands are ready; a load, a shuffle or a barrier makes others wait. Basic blocks follow
each other in order. The path is kept as counts by kind and not as cycles, so other latencies need no new run. The
latencies here only choose between two ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import WIDTHS, Instruction
from engine.backends.emulator.ptx.traits import reads, traits_of, writes

# Cycles from an instruction to one that uses its result: rough values of today's GPUs, to compare two ways.
LATENCY = {
    "issue": 1, "alu": 4, "fp64": 8, "special": 20, "divide": 40, "shared": 30, "load": 500, "atomic": 700,
    "shared_atomic": 60, "shuffle": 24, "barrier": 30, "local": 40, "constant": 30, "matrix": 30, "control": 10,
}  # fmt: skip
_MEMORY_SPACES = {"shared": "shared", "local": "local", "param": "free", "const": "constant"}
_HEAVY = ("sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh")
_FREE = ("mov", "cvta", "nop", "pragma")


def kind_of(item: Instruction) -> str:
    """Return the kind of an instruction: a key of LATENCY, or "store", "free" (the assembler needs none)."""
    words, traits = item.words, traits_of(item.opcode)
    if traits.memory in ("load", "copy"):
        return _MEMORY_SPACES.get(item.space, "load")
    if traits.memory == "atomic":
        return "shared_atomic" if item.space == "shared" else "atomic"
    if traits.memory == "store":
        return "store"
    if words[0] == "shfl" or (traits.converges and words[0] in ("vote", "match", "redux")):
        return "shuffle"
    if words[0] in ("mma", "wgmma", "wmma", "ldmatrix"):
        return "matrix"
    if traits.control == "barrier":
        return "barrier"
    if traits.control or words[0] in ("bar", "membar", "fence"):
        return "control"
    if words[0] in _FREE or (words[0] == "cvt" and words[-1][0] in "usb" and words[-2][0] in "usb"):
        return "free"
    if words[0] in ("div", "rem"):
        return "divide"
    if "f64" in words:
        return "fp64"
    if words[0] in _HEAVY or words[0] == "cvt":
        return "special"
    return "alu"


_NO_RESULT, _FREE_STEP = -1, -2  # nothing waits for a store or a branch; the assembler needs no instruction


@dataclass(frozen=True)
class _Step:
    """An instruction for the scoreboard: registers read and written, and the place of its latency in a path. `stores`:
    it changes memory; `ordered`: it stays behind such instructions. `bytes`: a thread loads from global memory."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    kind: int
    bytes: int
    stores: bool
    ordered: bool


Path = tuple[int, ...]  # how often each kind is waited for, in the order of `Scoreboard.kinds`
State = tuple[tuple[int, Path, int], ...]  # registers that are not ready: (register, path until it is, bytes loaded)


@dataclass
class Scoreboard:
    """The scoreboard of a program. `kinds`: the names of a path's counts; loads of global and of shared memory have one
    for each line, as ("load", line). `most_in_flight`: the most bytes a thread waits for at once."""

    program: Program
    kinds: list[str | tuple[str, int]] = field(default_factory=lambda: [*LATENCY])
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self._steps: dict[int, tuple[_Step, ...]] = {}
        for block in self.program.blocks:
            self._steps[block.index] = tuple(map(self._step, block.issued))
        self._weights = tuple(LATENCY[kind if isinstance(kind, str) else kind[0]] for kind in self.kinds)
        self._known: dict[tuple[int, State], tuple[Path, State]] = {}
        self._nothing: Path = (0,) * len(self.kinds)

    def _step(self, item: Instruction) -> _Step:
        kind: str | tuple[str, int] = kind_of(item)
        size = 0
        if kind in ("load", "shared"):
            size = _bytes_of(item) if kind == "load" else 0
            kind = (kind, item.line)
            if kind not in self.kinds:
                self.kinds.append(kind)
        carry = self.program.carry
        place = self.kinds.index(kind) if kind in self.kinds else _FREE_STEP if kind == "free" else _NO_RESULT
        memory = traits_of(item.opcode).memory
        return _Step(
            tuple(reads(item, carry)), tuple(writes(item, carry)), place, size,
            stores=memory in ("store", "atomic"), ordered=bool(memory) and item.space not in ("param", "const"),
        )  # fmt: skip

    def cycles(self, path: Path) -> int:
        """Return the length of a path in the rough cycles of LATENCY."""
        return sum(count * weight for count, weight in zip(path, self._weights, strict=True) if count)

    def segments(self, trace: Iterable[int]) -> list[Path]:
        """Return the paths of a warp between its barriers. `trace`: the basic blocks that it executes, in order."""
        state: State = ()
        made, now = [], [0] * len(self.kinds)
        for index in trace:
            key = (index, state)
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._run(index, state)
            path, state = found
            for at, count in enumerate(path):
                if count:
                    now[at] += count
            end = self.program.blocks[index].terminator
            if end is not None and traits_of(end.opcode).control == "barrier":
                made.append(tuple(now))
                now = [0] * len(self.kinds)
        return [*made, tuple(now)]

    def _run(self, index: int, state: State) -> tuple[Path, State]:
        """Execute one basic block; the state holds paths relative to its first instruction.

        The assembler reorders a basic block, so its instructions wait for their operands only; loads stay behind the
        stores and atomics before them. The block ends when its last instruction could start, and not before each of
        its instructions has had a slot.
        """
        ready = {register: (self.cycles(path), path, size) for register, path, size in state}
        start: tuple[int, Path, int] = (0, self._nothing, 0)
        fence = last = start
        for step in self._steps[index]:
            begin = max((ready[each] for each in step.reads if each in ready), default=start)
            if step.ordered:
                begin = max(begin, fence)
            if step.kind >= 0 and not step.writes:  # a barrier or a branch stays behind all others
                begin = max(begin, last)
            if step.kind == _FREE_STEP:
                done = begin
            else:
                last = max(last, begin)
                done = begin if step.kind == _NO_RESULT else self._after(begin, step)
            if step.kind >= 0 and not step.writes:
                last = max(last, done)
            if step.stores:
                fence = max(fence, begin)
            for register in step.writes:
                ready[register] = done
            if step.bytes:
                flying = sum({id(one): one[2] for one in ready.values() if one[0] > begin[0]}.values())
                self.most_in_flight = max(self.most_in_flight, flying)
        slots = sum(step.kind != _FREE_STEP for step in self._steps[index])
        now = last[1] if last[0] > slots else (slots, *self._nothing[1:])
        time = max(last[0], slots)
        left = tuple(
            (register, tuple(a - b for a, b in zip(path, now, strict=True)), size)
            for register, (when, path, size) in sorted(ready.items())
            if when > time
        )
        return now, left

    def _after(self, begin: tuple[int, Path, int], step: _Step) -> tuple[int, Path, int]:
        path = list(begin[1])
        path[step.kind] += 1
        return begin[0] + self._weights[step.kind], tuple(path), step.bytes


def longest(board: Scoreboard, traces: Iterable[Sequence[int]]) -> Path:
    """Return the path of a block from the traces of its warps: between two barriers the slowest warp counts."""
    every = [board.segments(trace) for trace in {tuple(trace) for trace in traces if trace}]
    if not every:
        return (0,) * len(board.kinds)
    if len({len(segments) for segments in every}) == 1:
        slowest = [max(column, key=board.cycles) for column in zip(*every, strict=True)]
        return _sum(slowest)
    return max((_sum(segments) for segments in every), key=board.cycles)


def _sum(paths: Sequence[Path]) -> Path:
    return tuple(map(sum, zip(*paths, strict=True)))


def _bytes_of(item: Instruction) -> int:
    return item.count * WIDTHS.get(item.words[-1], 32) // 8


__all__ = ["LATENCY", "Path", "Scoreboard", "kind_of", "longest"]

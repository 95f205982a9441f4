"""Check that all threads of a block reach the same barriers of the block.

CUDA allows a barrier in conditional code only if the condition is the same for the whole block. Threads that have ended
no longer count. So a finding needs proof: threads that wait at two different barriers, or threads that execute what
follows a barrier while others of their block wait at it. Barriers for a number of threads belong to any of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from engine.backends.emulator.ptx.block_order import Edges, places_behind, postdominators, reached_blocks
from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, Register
from engine.backends.emulator.ptx.traits import reads, traits_of, writes
from engine.backends.emulator.registers.masks import WARP, Mask
from engine.backends.emulator.registers.operands import numbers_of
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.warp_checks import in_words
from engine.compile.names import readable
from engine.records import Array, Source

_RULE = "all threads of a block must reach the same {}, else the result is undefined."
_USUAL = "__syncthreads()"
_VOTES = {"popc": "__syncthreads_count()", "and": "__syncthreads_and()", "or": "__syncthreads_or()"}


class BlockBarriers:
    """The threads of a chunk that wait at barriers of their blocks."""

    def __init__(self, machine: Machine, findings: Findings) -> None:
        self._machine, self._findings = machine, findings
        self._sure = machine.source is not None and not may_store_and_return(machine.source, machine.program.name)
        self._waiting: list[tuple[BasicBlock, Array]] = []  # lanes: bool[T, B]
        self._gone_on: dict[int, Array] = {}  # lanes that have executed a basic block behind a barrier

    def arrive(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Check lanes that reach the barrier at the end of `block`; `alive`: the lanes that have not ended."""
        number = _number_of(block)
        if mask is alive or number is None:
            return
        lanes = mask.full_dense()
        for other, waiting in self._waiting:
            both = waiting.any(axis=0) & lanes.any(axis=0)
            if other.index != block.index and _number_of(other) == number and both.any():
                self._report_two(other, waiting, block, lanes, int(both.argmax()))
        for place in self._behind(block) & self._gone_on.keys():
            both = self._gone_on[place].any(axis=0) & lanes.any(axis=0)
            if both.any():
                self._report_skipped(block, lanes, self._gone_on[place], int(both.argmax()))
        self._waiting.append((block, lanes))

    def release(self, mask: Mask) -> None:
        """Note that a barrier releases lanes."""
        if self._waiting:
            gone = mask.full_dense()
            left = ((block, lanes & ~gone) for block, lanes in self._waiting)
            self._waiting = [(block, lanes) for block, lanes in left if lanes.any()]

    def enter(self, block: BasicBlock, mask: Mask) -> None:
        """Check lanes that are about to execute a basic block."""
        for barrier, waiting in self._waiting:
            if block.index in self._behind(barrier):
                lanes = mask.full_dense()
                both = waiting.any(axis=0) & lanes.any(axis=0)
                if both.any():
                    self._report_skipped(barrier, waiting, lanes, int(both.argmax()))
        if not mask.whole and block.index in _behind_any(self._machine.program, self._sure):
            lanes = mask.full_dense()
            self._gone_on[block.index] = self._gone_on.get(block.index, False) | lanes

    def _behind(self, barrier: BasicBlock) -> frozenset[int]:
        return _behind(self._machine.program, barrier.index, self._sure)

    def _report_two(self, one: BasicBlock, first: Array, two: BasicBlock, second: Array, column: int) -> None:
        if np.intersect1d(_warps(first, column), _warps(second, column)).size:
            return  # lanes of one warp: a finding of its own
        name, other_name = called(two), called(one)
        clause = (
            f"line {two.line}: {self._name(second, column)} waits at this {name} while {self._name(first, column)} "
            f"waits at {'another one' if name == other_name else other_name}"
        )
        other = None if one.line == two.line else one.line
        where = f", at line {other}" if other else ", from the same line but another place of the program"
        self._findings.report("divergent-barrier", two.line, other, f"{clause}{where}; {_RULE.format(name)}")

    def _report_skipped(self, barrier: BasicBlock, waiting: Array, lanes: Array, column: int) -> None:
        others = np.setdiff1d(_warps(lanes, column), _warps(waiting, column))
        absent = in_words(others, "warp") if others.size else self._name(lanes, column).split(" of ")[0]
        name = called(barrier)
        message = (
            f"line {barrier.line}: {self._name(waiting, column)} waits at {name}, and {absent} of the same block "
            f"{'go' if absent.startswith('warps') else 'goes'} on without it; {_RULE.format(name)}"
        )
        self._findings.report("divergent-barrier", barrier.line, None, message)

    def _name(self, lanes: Array, column: int) -> str:
        return self._machine.lane_name(int(lanes[:, column].argmax()), column)


def _warps(lanes: Array, column: int) -> Array:
    return np.unique(np.flatnonzero(lanes[:, column]) // WARP)


def _number_of(block: BasicBlock) -> int | None:
    """Return the number of a barrier for the whole block, None for barriers with a count or an unknown number."""
    item = block.terminator
    if item is None or "arrive" in item.words:
        return None
    numbers = item.operands[:-1] if "red" in item.words else item.operands  # the last one of red is the vote
    return numbers[0].value if len(numbers) == 1 and isinstance(numbers[0], Immediate) else None


def called(block: BasicBlock) -> str:
    """Return the name of a barrier in CUDA; those with a count, or a number other than 0, have none."""
    item = block.terminator
    assert item is not None
    if _number_of(block) == 0:
        return next((_VOTES[word] for word in item.words if word in _VOTES), _USUAL)
    number = item.operands[0] if item.operands else None
    return f"barrier {number.value}" if isinstance(number, Immediate) else item.opcode


def is_for_whole_warps(block: BasicBlock) -> bool:
    """Return whether the lanes of a warp must execute a barrier together; since Volta they need not execute
    `barrier.sync` so, which is without `.aligned`."""
    item = block.terminator
    return item is None or item.words[0] == "bar" or "aligned" in item.words


@lru_cache(maxsize=64)
def _graph(program: Program) -> tuple[Edges, list[int], Mapping[int, list[tuple[int, Instruction]]]]:
    """Return the successors and the immediate postdominators of the blocks, and the writers of each register with their
    blocks."""
    after = [block.successors for block in program.blocks]
    writers: dict[int, list[tuple[int, Instruction]]] = {}
    for block in program.blocks:
        for item in block.body:
            for index in writes(item, program.carry):
                writers.setdefault(index, []).append((block.index, item))
    return after, postdominators(after), writers


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MACRO_WITH_RETURN = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*\breturn\b", re.MULTILINE)
_KERNEL = re.compile(r"\b__global__\b[^;{]*{")
_BEHIND_A_STATEMENT = re.compile(r"[;}]\s*return\s*;")


@lru_cache(maxsize=64)
def may_store_and_return(source: Source, kernel: str) -> bool:
    """Return whether threads of a kernel may store a value and return at once, judged by its .cu text: a `return;`
    follows another statement, in the kernel or in a function that it may call."""
    text = _COMMENT.sub("", source.text)
    if _MACRO_WITH_RETURN.search(text):
        return True
    named = re.compile(rf"\b{re.escape(readable(kernel).partition('<')[0])}\s*\(")
    kernels = list(_KERNEL.finditer(text))
    others = [each for each in kernels if not named.search(each[0])]
    if len(others) < len(kernels):  # else the name comes from a macro
        for other in reversed(others):
            text = text[: other.end()] + text[other.end() :].removeprefix(_until_closed(text[other.end() :]))
    return bool(_BEHIND_A_STATEMENT.search(text))


def _until_closed(text: str) -> str:
    """Return the text up to the brace that closes the one in front of it."""
    depth = 1
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if not depth:
            return text[:at]
    return text


@lru_cache(maxsize=64)
def _behind_any(program: Program, sure: bool) -> frozenset[int]:
    """Return the blocks of `_behind` of all barriers of the whole block."""
    barriers = [block.index for block in program.blocks if _number_of(block) is not None]
    return frozenset[int]().union(*(_behind(program, barrier, sure) for barrier in barriers))


@lru_cache(maxsize=256)
def _behind(program: Program, barrier: int, sure: bool) -> frozenset[int]:
    """Return the blocks after this barrier that change memory and never lead back to it.

    If the text has no store in front of a return (`sure`), a thread that executes one of them has not ended before.
    Else the compiler may join the stores of `if (...) { out = a; return; }` and of the end of the kernel into one of a
    value with several origins. So only stores that every thread executes are a proof then, and of these only one of a
    value with one origin, or of a sum over the loop with the barrier.
    """
    after, meets, writers = _graph(program)
    behind = reached_blocks(after, barrier)

    def is_one_value(index: int) -> bool:
        if sure:
            return True
        made = writers.get(index, [])
        in_loop = (item for place, item in made if behind >> place & 1 and reached_blocks(after, place) >> barrier & 1)
        return len(made) <= 1 or any(isinstance(each, Register) for item in in_loop for each in item.operands[1:])

    def changes(item: Instruction) -> bool:
        return traits_of(item.opcode).memory not in ("", "load") and all(map(is_one_value, reads(item, program.carry)))

    return frozenset(
        place
        for place in (numbers_of(behind) if sure else places_behind(meets, barrier))
        if any(map(changes, program.blocks[place].body)) and not reached_blocks(after, place) >> barrier & 1
    )

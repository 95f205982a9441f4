"""Data flow in a program's text: registers that vary between threads, and registers that decide branches.

A register varies if an operand varies, or if threads that took different paths write it in different places. The GPU's
assembler applies the same analysis before it lets one lane act for the whole warp.
"""

from __future__ import annotations

from functools import lru_cache

from engine.backends.emulator.ptx.block_order import places_behind, postdominators, reached_blocks
from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, Operand, Special
from engine.backends.emulator.ptx.traits import COMPUTING, reads, registers_of, traits_of, uses_and_defs, writes


def varying_registers(program: Program) -> frozenset[int]:
    """Return the registers that can differ between the threads of a block."""
    blocks = program.blocks
    meets = postdominators([block.successors for block in blocks])
    writers: dict[int, int] = {}
    for block in blocks:
        for item in block.body:
            for index in writes(item, program.carry):
                writers[index] = writers.get(index, 0) + 1
    # Values passed to called functions, and everything computed there, count as varying.
    called = [item for place in program.in_callees for item in blocks[place].body]
    found = {index for item in (*called, *program.passed) for index in writes(item, program.carry)}
    before = -1
    while before != len(found):
        before = len(found)
        apart = _divergent_blocks(blocks, meets, found)
        for block in blocks:
            for item in block.body:
                differs = _differs(item, found, program.carry)
                split = block.index in apart or (item.guard is not None and item.guard.index in found)
                found |= {i for i in writes(item, program.carry) if differs or (split and writers[i] > 1)}
    return frozenset(found)


def operand_varies(operand: Operand, found: frozenset[int] | set[int]) -> bool:
    """Return whether an operand can differ between the threads of a block; `found`: the registers that can."""
    if isinstance(operand, Special):
        known = SPECIAL_REGISTERS.get(operand.name)
        return known is None or known.differs != "block"
    return any(index in found for index in registers_of(operand))


def _differs(item: Instruction, found: set[int], carry: int) -> bool:
    traits = traits_of(item.opcode)
    if traits.varies or (traits.memory == "load" and item.space == "local") or (traits.reads_carry and carry in found):
        return True
    return any(operand_varies(operand, found) for operand in item.operands[1:])


def _divergent_blocks(blocks: tuple[BasicBlock, ...], meets: list[int], found: set[int]) -> set[int]:
    """Return the blocks that only some threads may reach: between a varying branch and its postdominator."""
    apart: set[int] = set()
    for block in blocks:
        last = block.terminator
        if last is None or len(set(block.successors)) < 2:
            continue
        guarded = last.guard is not None and last.guard.index in found
        if not guarded and not any(operand_varies(operand, found) for operand in last.operands):
            continue
        apart |= _blocks_between(blocks, block, meets[block.index])
    return apart


def _blocks_between(blocks: tuple[BasicBlock, ...], block: BasicBlock, meet: int) -> set[int]:
    """Return the blocks behind the branch of a block and in front of `meet`."""
    ahead = [place for place in block.successors if place != meet]
    seen: set[int] = set()
    while ahead:
        place = ahead.pop()
        if place not in seen:
            seen.add(place)
            ahead += [after for after in blocks[place].successors if after != meet]
    return seen


@lru_cache(maxsize=256)
def decides_about_memory(program: Program, place: int) -> bool:
    """Return whether the branch of a block decides about a store or atomic outside local memory."""
    blocks = program.blocks
    meets = postdominators([block.successors for block in blocks])
    between = _blocks_between(blocks, blocks[place], meets[place])
    return any(
        traits_of(item.opcode).memory in ("store", "atomic") and item.space != "local"
        for index in between
        for item in blocks[index].body
    )


@lru_cache(maxsize=256)
def blocks_behind(program: Program, start: int) -> frozenset[int]:
    """Return the blocks that every thread executes after the block `start` unless it returns, and that never lead
    back."""
    after = [block.successors for block in program.blocks]
    return frozenset(
        place
        for place in places_behind(postdominators(after), start)
        if program.blocks[place].body and not reached_blocks(after, place) >> start & 1
    )


@lru_cache(maxsize=64)
def blocks_without_end(program: Program) -> frozenset[int]:
    """Return the blocks from which no way leads to an end of the thread: those of a loop that nothing leaves."""
    after = [block.successors for block in program.blocks]
    ends = sum(1 << block.index for block in program.blocks if _may_end(block))
    return frozenset(place for place in range(len(after)) if not (reached_blocks(after, place) | 1 << place) & ends)


def _may_end(block: BasicBlock) -> bool:
    last = block.terminator
    return not block.successors or (last is not None and traits_of(last.opcode).control in _ENDS)


@lru_cache(maxsize=256)
def in_other_branches(program: Program, one: int, two: int) -> bool:
    """Return whether a thread that executes one of two blocks need not come to the other one later."""
    meets = postdominators([block.successors for block in program.blocks])
    return two not in places_behind(meets, one) and one not in places_behind(meets, two)


_ENDS = frozenset(("exit", "trap", "return", "call"))  # a called function may end the thread
MOVING = frozenset(("mov", "selp", "cvta", "prmt", "bfi", "bfe", "shf"))  # they do not ask what a value is


@lru_cache(maxsize=64)
def computed_registers(program: Program) -> int:
    """Return the bit set of registers that arithmetic reads. The compiler may compute ahead of a condition and select
    afterwards: what serves only a selection does not count. A selection of two constants is a condition as a number."""
    selected = read = computed = 0
    for item in program.instructions:
        bits, _ = uses_and_defs((item,), program.carry)
        if item.words[0] == "selp" and not all(isinstance(each, Immediate) for each in item.operands[1:3]):
            selected |= bits
        else:
            read |= bits
    for item in program.instructions:
        traits = traits_of(item.opcode)
        if (traits is COMPUTING or traits.head == "setp") and item.words[0] not in MOVING:
            bits, made = uses_and_defs((item,), program.carry)
            computed |= bits if not made & selected or made & read else 0
    return computed & ~selected


@lru_cache(maxsize=64)
def branch_registers(program: Program) -> int:
    """Return the bit set of registers that branch conditions are computed from, other than through memory."""
    ends = [block.terminator for block in program.blocks if block.terminator]
    needed = sum({1 << index for item in ends for index in reads(item, program.carry)})
    flows = [uses_and_defs((item,), program.carry) for item in program.instructions]
    before = -1
    while before != needed:
        before = needed
        for uses, defs in reversed(flows):
            if defs & needed:
                needed |= uses
    return needed

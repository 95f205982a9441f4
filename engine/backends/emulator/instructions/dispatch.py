"""Instruction -> executor, by the opcode's row. This is also the list of all modules that bring instructions."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

from engine.backends.emulator.instructions import (
    arithmetic,
    async_copy,
    atomics,
    barrier_copies,
    fences,
    hints,
    loads,
    matrix_loads,
    mbarriers,
    moves,
    runtime_calls,
    tensor_cores,
    warp_wide,
    wmma_memory,
)
from engine.backends.emulator.instructions.batches import executed_together, gathered
from engine.backends.emulator.instructions.meetings import met
from engine.backends.emulator.instructions.registry import MAKERS, Executor
from engine.backends.emulator.meanings.table import OPERATIONS, UnknownInstruction
from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.register_use import has_destination
from engine.backends.emulator.ptx.syntax import Instruction, PtxError, Register
from engine.backends.emulator.ptx.traits import COMPUTING, traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.state.faults import EmulatorFault
from engine.backends.emulator.state.machine import Machine

# To import one registers its rows and what makes its executors.
FAMILIES: tuple[ModuleType, ...] = (
    arithmetic, async_copy, atomics, barrier_copies, fences, hints, loads, matrix_loads, mbarriers, moves,
    runtime_calls, tensor_cores, warp_wide, wmma_memory,
)  # fmt: skip


def executors_of(machine: Machine, block: BasicBlock) -> list[tuple[Executor, int]]:
    """The executors of a block's body, each with its .cu line. PtxError for an instruction that is not emulated."""
    made = []
    in_turn = bool(machine.hooks.on_result)  # observers hear of each result
    kept = _of_registers(machine.program, machine.options.sums)
    for items in [(item,) for item in block.body] if in_turn else _gathered(machine.program, block.index):
        item = items[0]
        try:
            executor = kept.get((id(item), len(items)))
            if executor is None:
                executor = executed_together(machine, items) if len(items) > 1 else _executor(machine, item)
                if executor is not None and traits_of(item.opcode) is COMPUTING:
                    kept[id(item), len(items)] = executor
        except UnknownInstruction:
            raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line, item.place) from None
        except PtxError as error:
            raise error.at(item.line, item.place) from None
        except Exception as error:
            raise EmulatorFault(item.line) from error
        if executor is not None:
            made.append((told(machine, item, executor), item.line))
    return made


@lru_cache(maxsize=64)
def _of_registers(program: Program, sums: bool) -> dict[tuple[int, int], Executor]:
    """The executors of what computes on registers alone, which are the same in every launch of a program, by the
    instruction that they start with and how many they execute. `sums`: of the launches' options."""
    return {}


@lru_cache(maxsize=1024)
def _gathered(program: Program, block: int) -> list[tuple[Instruction, ...]]:
    return gathered(program, program.blocks[block].body)


def told(machine: Machine, item: Instruction, step: Executor) -> Executor:
    """The executor of an instruction, of whose result observers hear, if any want to."""
    hooks = machine.hooks.on_result
    if not hooks or not has_destination(item):
        return step
    sources = item.operands[1:]

    def watched(registers: Registers, mask: Mask) -> None:
        before = [registers[each.index] if isinstance(each, Register) else None for each in sources]
        step(registers, mask)
        for hook in hooks:
            hook(item, mask, before, registers)

    return watched


def not_emulated(program: Program) -> list[Instruction]:
    """The instructions of a program that nothing here executes, one of each opcode and line."""
    found: dict[tuple[str, int], Instruction] = {}
    for item in (item for block in program.blocks for item in block.body):
        traits = traits_of(item.opcode)
        known = traits.head in MAKERS if traits is not COMPUTING else item.opcode in OPERATIONS
        if not known:
            found.setdefault((item.opcode, item.line), item)
    return list(found.values())


def _executor(machine: Machine, item: Instruction) -> Executor | None:
    traits = traits_of(item.opcode)
    if traits is COMPUTING:
        return arithmetic.computed(machine, item)
    make = MAKERS.get(traits.head)
    if make is None:
        raise UnknownInstruction(item.opcode)
    return met(machine, item, make(machine, item)) if traits.meets else make(machine, item)

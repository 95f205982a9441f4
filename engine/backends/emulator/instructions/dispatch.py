"""Instruction -> executor, by the opcode's row; and the list of all modules with instructions."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

from engine.backends.emulator.instructions import (
    arithmetic,
    async_copy,
    atomics,
    loads,
    matrix_memory,
    mbarriers,
    moves,
    runtime_calls,
    tensor_copy,
    tensor_cores,
    textures,
    warp_wide,
    warpgroup_products,
)
from engine.backends.emulator.instructions.arithmetic import (
    batch_executor,
    batch_instructions,
    divides_integers,
    with_divisor_hooks,
)
from engine.backends.emulator.instructions.contraction import contracted
from engine.backends.emulator.instructions.convergence import with_warp_sync_hooks
from engine.backends.emulator.instructions.load_groups import LoadGroup
from engine.backends.emulator.instructions.registry import MAKERS, Executor
from engine.backends.emulator.instructions.straight_runs import LEAST, StraightRun, can_join
from engine.backends.emulator.meanings.table import OPERATIONS, UnknownInstruction
from engine.backends.emulator.ptx.load_groups import grouped_loads
from engine.backends.emulator.ptx.program import BasicBlock, Program
from engine.backends.emulator.ptx.syntax import Instruction, PtxError, Register
from engine.backends.emulator.ptx.traits import COMPUTING, has_destination, traits_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.state.machine import EmulatorFault, Machine

# Importing a module registers its rows and the functions that make its executors.
FAMILIES: tuple[ModuleType, ...] = (
    arithmetic, async_copy, atomics, loads, matrix_memory, mbarriers, moves, runtime_calls, tensor_copy,
    tensor_cores, textures, warp_wide, warpgroup_products,
)  # fmt: skip

# Of a grid: with so few, calls cost more than arithmetic, and the results of many instructions stay in caches.
FEW_LANES = 2048


def executors_of(machine: Machine, block: BasicBlock) -> list[tuple[Executor, int]]:
    """Return the executors of a block's body, each with its .cu line. PtxError for an unsupported instruction."""
    executors: list[tuple[Executor, int]] = []
    one_by_one = bool(machine.hooks.on_result)  # observers see each result
    few = machine.options.groups and machine.rows * machine.blocks <= FEW_LANES
    cached = _cached_executors(machine.program, machine.sums, one_by_one, few)
    body = contracted(machine.program, block.index)
    batches = [(item,) for item in body] if one_by_one else _batches_of(machine.program, block.index, few)
    run: list[tuple[Instruction, Executor]] = []

    def end_run(number: int) -> None:
        if len(run) < LEAST:
            executors.extend((step, item.line) for item, step in run)
        else:
            key = block.index, -number
            if key not in cached:
                cached[key] = StraightRun([item for item, _ in run], [step for _, step in run], machine.sums)
            executors.append((cached[key], run[0][0].line))
        run.clear()

    for number, items in enumerate(batches):
        item = items[0]
        try:
            executor = cached.get((block.index, number))
            if executor is None:
                executor = _together(machine, items) if len(items) > 1 else _executor(machine, item)
                if executor is not None and traits_of(item.opcode) is COMPUTING:
                    cached[block.index, number] = executor
        except UnknownInstruction:
            raise PtxError(f"this instruction is not emulated: {item.opcode}", item.line, item.place) from None
        except PtxError as error:
            raise error.at(item.line, item.place) from None
        except Exception as error:
            raise EmulatorFault(item.line) from error
        if executor is not None and not one_by_one and len(items) == 1 and can_join(item, machine.program.widths):
            run.append((item, executor))
            continue
        end_run(number)
        if executor is not None and divides_integers(item):
            executor = with_divisor_hooks(machine, item, executor)
        if executor is not None:
            seen = block.body[number] if one_by_one else item
            executors.append((with_result_hooks(machine, seen, executor), item.line))
    end_run(len(batches))
    return executors


@lru_cache(maxsize=64)
def _cached_executors(program: Program, sums: bool, one_by_one: bool, few: bool) -> dict[tuple[int, int], Executor]:
    """Return the executors on registers only, by (block, number in it); all launches of a program share them."""
    return {}


@lru_cache(maxsize=1024)
def _batches_of(program: Program, block: int, few: bool) -> list[tuple[Instruction, ...]]:
    """Return a block's instructions in an equivalent order: single ones, and those that are executed together."""
    body = contracted(program, block)
    return batch_instructions(program, grouped_loads(program, body) if few else [(item,) for item in body], few)


def _together(machine: Machine, items: tuple[Instruction, ...]) -> Executor:
    return LoadGroup(machine, items) if items[0].words[0] == "ld" else batch_executor(machine, items)


def with_result_hooks(machine: Machine, item: Instruction, step: Executor) -> Executor:
    """Return the executor, extended by the observers' result hooks if there are any."""
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
    """Return the unsupported instructions of a program, one per opcode and line."""
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
        return arithmetic.arithmetic_executor(machine, item)
    make = MAKERS.get(traits.head)
    if make is None:
        raise UnknownInstruction(item.opcode)
    made = with_warp_sync_hooks(machine, item, make(machine, item)) if traits.converges else make(machine, item)
    return with_drained_stores(machine, made) if _awaits_stores(machine, item) else made


def _awaits_stores(machine: Machine, item: Instruction) -> bool:
    """Return whether delayed stores arrive before an instruction: a fence, an atomic, a __syncwarp(). A release store
    is delayed itself, behind the earlier ones."""
    if machine.schedule.kind != "independent":
        return False
    traits = traits_of(item.opcode)
    orders = item.words[0] in ("fence", "membar", "mbarrier", "cp") or traits.head == "bar.warp.sync"
    return orders or traits.memory in ("atomic", "copy") or ("release" in item.words and "async" in item.words)


def with_drained_stores(machine: Machine, step: Executor | None) -> Executor:
    """Return the executor, extended by the arrival of its lanes' delayed stores before it."""

    def drained(registers: Registers, mask: Mask) -> None:
        machine.drain(mask)
        if step is not None:
            step(registers, mask)

    return drained

"""Check warp-wide instructions: wrong member masks, incomplete warps, shuffles that read from inactive lanes."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.instructions.convergence import by_warp, in_all_rows
from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.traits import traits_of
from engine.backends.emulator.registers.masks import WARP, Mask, lane_words
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.machine import Machine
from engine.backends.emulator.watching.races.findings import Findings
from engine.backends.emulator.watching.races.undefined_values import UndefinedUse, UndefinedValues, first_reader
from engine.records import Array

_EVERYONE = (1 << WARP) - 1  # the mask of a whole warp


class WarpMembers:
    """Checks the lanes that reach the warp-wide instructions and barriers of a launch."""

    def __init__(self, machine: Machine, findings: Findings) -> None:
        self._machine, self._findings = machine, findings
        self._compared: tuple[Mask, Array] | None = None  # the last lanes that were compared, and their masks

    def check(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Check a warp-wide instruction; `members`: the lanes that each lane names."""
        if traits_of(opcode).converges == "warp":
            self._not_whole(line, opcode, mask)
        elif members.size > 1 or int(members.flat[0]) != _EVERYONE:
            self._unnamed(line, opcode, mask, members)
            if members.size > 1 and not (self._compared and self._compared[0] is mask and self._compared[1] is members):
                self._compared = mask, members
                self._unequal(line, opcode, mask, members)

    def incomplete(self, line: int, opcode: str, mask: Mask) -> None:
        """Report lanes that wait at an instruction for lanes that they name and that never arrive."""
        if traits_of(opcode).converges == "named":
            row, column = (0, 0) if mask.dense is None else np.argwhere(mask.dense)[0].tolist()
            self._report(line, opcode, mask, row, column, "names lanes that never reach it")

    def at_barrier(self, line: int, called: str, mask: Mask, alive: Mask) -> None:
        """Report warps that reach a barrier incompletely; `called`: its name; `alive`: the lanes that have not
        ended."""
        here, living = mask.full_dense(), alive.full_dense()
        warps = (here.shape[0] // WARP, WARP, here.shape[1])
        some = here.reshape(warps).any(axis=1)
        lacking = (living & ~here).reshape(warps).any(axis=1) & some
        if not lacking.any():
            return
        warp, column = (int(i[0]) for i in np.nonzero(lacking))
        absent = np.flatnonzero((living & ~here)[warp * WARP : warp * WARP + WARP, column])
        block = self._machine.lane_name(0, column).split(" of ")[1]
        who = "threads of a block" if called.endswith("()") else "lanes of a warp"
        message = (
            f"line {line}: lanes of warp {warp} of {block} reach {called} while {in_words(absent)} of the same warp "
            f"{'is' if absent.size == 1 else 'are'} elsewhere; all {who} must reach the same {called}."
        )
        self._findings.report("divergent-barrier", line, None, message)

    def _not_whole(self, line: int, opcode: str, mask: Mask) -> None:
        lanes = mask.row_lanes()
        warps = lanes.reshape(-1, WARP, lanes.shape[1])
        lacking = warps.any(axis=1) & ~warps.all(axis=1)
        if lacking.any():
            warp, column = (int(at[0]) for at in np.nonzero(lacking))
            absent = in_words(np.flatnonzero(~warps[warp, :, column]))
            block = self._machine.lane_name(0, int(mask.columns_at()[column])).split(" of ")[1]
            message = (
                f"line {line}: warp {warp} of {block} executes {traits_of(opcode).called} without its {absent}; all "
                f"{WARP} lanes of a warp must execute it together, else the result is undefined."
            )
            self._findings.report("divergent-barrier", line, None, message)

    def _unnamed(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        itself = members >> (mask.rows_at() % WARP).astype(np.uint32)[:, None] & np.uint32(1)
        lacking = np.broadcast_to(itself == 0, (mask.height, mask.width))
        lacking = lacking if mask.dense is None else lacking & mask.dense
        if lacking.any():
            column = int(lacking.any(axis=0).argmax())
            self._report(line, opcode, mask, int(lacking[:, column].argmax()), column, "does not name itself")

    def _unequal(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Report a lane that names a lane with another mask."""
        given, lanes = in_all_rows(members, mask), mask.row_lanes()
        shape = (lanes.shape[0], max(lanes.shape[1], given.shape[1]))
        masks, active = by_warp(np.broadcast_to(given, shape)), by_warp(np.broadcast_to(lanes, shape))
        if _agree(masks, active):
            return
        for other in range(WARP):
            named = active & active[:, other : other + 1] & (masks >> np.uint32(other) & np.uint32(1) == 1)
            wrong = (named & (masks != masks[:, other : other + 1])).reshape(shape)
            if wrong.any():
                column = int(wrong.any(axis=0).argmax())
                row = int(np.cumsum(mask.rows)[wrong[:, column].argmax()]) - 1
                self._report(line, opcode, mask, row, column, f"names lane {other}, which gives another mask")
                return

    def _report(self, line: int, opcode: str, mask: Mask, row: int, column: int, flaw: str) -> None:
        lane = self._machine.lane_name(int(mask.rows_at()[row]), int(mask.columns_at()[column]))
        what = traits_of(opcode).called or "a warp-wide function"
        clause = f"{lane} executes {what} with a mask that {flaw}"
        message = f"line {line}: {clause}; on a GPU the result is undefined."
        self._findings.report("divergent-barrier", line, None, message)


def in_words(numbers: Array, noun: str = "lane") -> str:
    """Format ascending numbers as "lane 3", "lanes 0 to 15" or "lanes 1, 3, 5, 7 …"."""
    if numbers.size == 1:
        return f"{noun} {numbers[0]}"
    if numbers[-1] - numbers[0] + 1 == numbers.size:
        return f"{noun}s {numbers[0]} to {numbers[-1]}"
    shown = ", ".join(str(number) for number in numbers[:4])
    return f"{noun}s {shown}{' …' if numbers.size > 4 else ''}"


def _agree(masks: Array, active: Array) -> bool:
    """Return whether active lanes that name each other give one mask; both (warps, 32, columns), and each lane names
    itself. It is so if the lowest named lane gives this mask, and as many lanes do as it names."""
    named = masks & lane_words(active)
    lowest = np.bitwise_count((named & (~named + np.uint32(1))) - np.uint32(1)).astype(np.int64) % WARP
    if (active & (np.take_along_axis(masks, lowest, axis=1) != masks)).any():
        return False
    warps, _, columns = masks.shape
    party = (np.arange(warps)[:, None, None] * WARP + lowest) * columns + np.arange(columns)
    counts = np.bincount(party[active], minlength=masks.size)
    return bool((counts[party] == np.bitwise_count(named))[active].all())


class UndefinedCheck:
    """The undefined values of a chunk, with results in `findings`: from shuffles and of variables without a value."""

    def __init__(self, machine: Machine, findings: Findings, info: ChunkInfo) -> None:
        self._machine, self._findings = machine, findings
        self._undefined = UndefinedValues(machine.program, info.rows, info.blocks)

    def enter(self, block: BasicBlock, mask: Mask) -> None:
        """Follow values through a basic block."""
        self._report(self._undefined.enter(block, mask, self._machine.registers))

    def shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """Check a shuffle; `source`: the row that each row reads."""
        found = inactive_sources(mask, source)
        if found is None:
            self._report(self._undefined.shuffle(line, mask, source, None))
            return
        nobody, whole_warps = found
        self._report(self._undefined.shuffle(line, mask, source, nobody & ~whole_warps))
        if whole_warps.any():
            row, column, read = first_reader(whole_warps, source)
            lane = self._machine.lane_name(row, int(mask.columns_at()[column]))
            message = (
                f"line {line}: all lanes of the warp of {lane} that execute this shuffle read from lanes that do not "
                f"execute it, here from lane {read}; such a value is undefined."
            )
            self._findings.report("warp-race", line, None, message)

    def _report(self, found: list[UndefinedUse]) -> None:
        for one in found:
            lane, taint = self._machine.lane_name(one.row, one.column), one.taint
            if taint.of_shuffle:
                message = (
                    f"line {one.line}: {lane} {one.verb} the shuffle at line {taint.line}, which "
                    f"read lane {taint.missed}; that lane did not execute the shuffle, so the value is undefined."
                )
                self._findings.report("warp-race", one.line, taint.line, message)
            else:
                self._findings.unset_variable(one.line, f"{lane} {one.verb}")


def inactive_sources(mask: Mask, source: Array) -> tuple[Array, Array] | None:
    """Return (lanes that read from an inactive lane; those in whose warp all lanes do), bool[T, 1 or C]; None if none
    does.

    `source`: the row that each row reads, (T, 1) or (T, columns of the mask). The register of an inactive lane is
    undefined, but tree reductions read beyond the lanes they need and never use the result. So a shuffle alone is a
    mistake only if no lane of a warp reads from an active lane.
    """
    active = mask.row_lanes()
    if active.all():
        return None
    shape = (active.shape[0], max(active.shape[1], source.shape[1]))
    active, source = np.broadcast_to(active, shape), np.broadcast_to(source, shape)
    nobody = active & ~np.take_along_axis(active, source, axis=0)
    if not nobody.any():
        return None
    by_warp = (-1, WARP, shape[1])
    partly = (active & ~nobody).reshape(by_warp).any(axis=1)
    return nobody, nobody & ~np.repeat(partly, WARP, axis=0)

"""The base class of observers of a run, and the hooks made from them.

The emulator does not know its observers: the caller of `launch` passes them (`results` has those of an ordinary run).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.backends.emulator.ptx.program import BasicBlock
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.state.events import Access, ChunkInfo, Hooks, Loads, Site
from engine.backends.emulator.state.machine import Machine
from engine.records import Array, Finding


class Observer:
    """Override the events to observe, and the results to return at the end. Other events cost nothing.

    `mask`: the lanes of an event. Addresses and values are given in its rows and columns (shapes {1, height} x {1,
    width}); an address may be an OuterSum. Lines are lines of the .cu file.
    """

    # ---- events, in the order of a run

    def on_launch(self, machine: Machine) -> None:
        """A launch starts; `machine` has its file, program, sizes and memory. All earlier launches have ended."""

    def on_chunk(self, info: ChunkInfo) -> None:
        """A chunk starts: the blocks that run together. Masks belong to this chunk until the next one."""

    def on_basic_block(self, block: BasicBlock, mask: Mask) -> None:
        """These lanes are about to execute a basic block."""

    def on_access(self, access: Access) -> None:
        """A memory instruction is about to take effect; for an asynchronous copy, its read, and its write on
        arrival."""

    def on_loads(self, loads: Loads) -> None:
        """Several loads of shared memory are about to take effect, with nothing between them that orders memory."""
        for access in loads.accesses:
            self.on_access(access)

    def on_copy(self, access: Access) -> None:
        """An asynchronous copy to shared memory starts: it may write at any time until its `on_access`. Its values are
        given if they are known."""

    def on_free(self, access: Access) -> None:
        """Lanes have freed memory of the heap: `sizes` bytes from each address."""

    def on_unwritten(self, site: Site, row: int, column: int) -> None:
        """A lane, given by its row and column in the chunk, has loaded local memory that it has not written."""

    def on_result(self, item: Instruction, mask: Mask, before: list[Value], registers: list[Value]) -> None:
        """An instruction has written its registers, given in the rows and columns of the mask.

        `before`: the contents of its source operands, in their order; None for an operand that is no register.
        """

    def on_warp_sync(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """A warp-synchronous instruction; `members`: the lanes that each lane names, as the bits of a uint32."""

    def on_warp_meeting(self, line: int, opcode: str, mask: Mask, members: Array) -> None:
        """Lanes of a warp that name each other have met at different __syncwarp(), each with an `on_warp_sync` of its
        own behind this; `line`: of one of them."""

    def on_shuffle(self, line: int, mask: Mask, source: Array) -> None:
        """A shuffle; `source`: the row that each row reads, (T, 1) or (T, columns of the mask)."""

    def on_zero_divisor(self, line: int, mask: Mask) -> None:
        """Lanes divide an integer by zero."""

    def on_incomplete(self, line: int, opcode: str, mask: Mask) -> None:
        """Lanes wait at a warp-synchronous instruction for lanes that they name and that never arrive: these wait
        elsewhere or have gone on, and have not just ended."""

    def on_fence(self, line: int, opcode: str, mask: Mask) -> None:
        """A memory fence."""

    def on_branch(self, block: BasicBlock, taken: Mask | None, other: Mask | None) -> None:
        """The conditional branch at the end of `block` is decided: the lanes of either side, None for no lane."""

    def on_barrier(self, block: BasicBlock, mask: Mask, alive: Mask) -> None:
        """Lanes arrive at the barrier at the end of `block`; `alive`: the lanes of the chunk that have not ended."""

    def on_part_arrives(self, number: int, mask: Mask) -> None:
        """Lanes arrive at barrier `number` for some threads, perhaps not the whole block; some continue at once."""

    def on_part_released(self, number: int, mask: Mask) -> None:
        """Such a barrier releases lanes."""

    def on_phase_end(self, at: Array, columns: Array) -> None:
        """Phases of mbarriers have ended; `at`: the byte offsets of the barriers in shared memory; `columns`: their
        blocks in the chunk."""

    def on_release(self, mask: Mask) -> None:
        """A barrier of the whole block releases lanes."""

    def on_exit(self, mask: Mask) -> None:
        """Lanes end."""

    def on_chunk_end(self) -> None:
        """The chunk has ended."""

    # ---- results at the end

    def totals(self) -> Mapping[str, float]:
        """Return the counts over all launches, by the counter's name."""
        return {}

    def by_line(self, file_name: str) -> Mapping[int, Mapping[str, float]]:
        """Return the counts per line of one .cu file, for lines with any."""
        return {}

    def findings(self) -> tuple[Finding, ...]:
        """Return the hazards of the kernels, in the order of lines."""
        return ()


def hooks_of(observers: Sequence[Observer]) -> Hooks:
    """Return the event methods that the observers override, in the observers' order."""
    every = [(type(observer), observer) for observer in observers]
    return Hooks(
        on_chunk=tuple(one.on_chunk for kind, one in every if kind.on_chunk is not Observer.on_chunk),
        on_basic_block=tuple(
            one.on_basic_block for kind, one in every if kind.on_basic_block is not Observer.on_basic_block
        ),
        on_access=tuple(one.on_access for kind, one in every if kind.on_access is not Observer.on_access),
        on_loads=tuple(one.on_loads for kind, one in every if kind.on_access is not Observer.on_access),
        on_copy=tuple(one.on_copy for kind, one in every if kind.on_copy is not Observer.on_copy),
        on_free=tuple(one.on_free for kind, one in every if kind.on_free is not Observer.on_free),
        on_unwritten=tuple(one.on_unwritten for kind, one in every if kind.on_unwritten is not Observer.on_unwritten),
        on_result=tuple(one.on_result for kind, one in every if kind.on_result is not Observer.on_result),
        on_warp_sync=tuple(one.on_warp_sync for kind, one in every if kind.on_warp_sync is not Observer.on_warp_sync),
        on_warp_meeting=tuple(
            one.on_warp_meeting for kind, one in every if kind.on_warp_meeting is not Observer.on_warp_meeting
        ),
        on_shuffle=tuple(one.on_shuffle for kind, one in every if kind.on_shuffle is not Observer.on_shuffle),
        on_zero_divisor=tuple(
            one.on_zero_divisor for kind, one in every if kind.on_zero_divisor is not Observer.on_zero_divisor
        ),
        on_incomplete=tuple(
            one.on_incomplete for kind, one in every if kind.on_incomplete is not Observer.on_incomplete
        ),
        on_fence=tuple(one.on_fence for kind, one in every if kind.on_fence is not Observer.on_fence),
        on_branch=tuple(one.on_branch for kind, one in every if kind.on_branch is not Observer.on_branch),
        on_barrier=tuple(one.on_barrier for kind, one in every if kind.on_barrier is not Observer.on_barrier),
        on_part_arrives=tuple(
            one.on_part_arrives for kind, one in every if kind.on_part_arrives is not Observer.on_part_arrives
        ),
        on_part_released=tuple(
            one.on_part_released for kind, one in every if kind.on_part_released is not Observer.on_part_released
        ),
        on_phase_end=tuple(one.on_phase_end for kind, one in every if kind.on_phase_end is not Observer.on_phase_end),
        on_release=tuple(one.on_release for kind, one in every if kind.on_release is not Observer.on_release),
        on_exit=tuple(one.on_exit for kind, one in every if kind.on_exit is not Observer.on_exit),
        on_chunk_end=tuple(one.on_chunk_end for kind, one in every if kind.on_chunk_end is not Observer.on_chunk_end),
    )

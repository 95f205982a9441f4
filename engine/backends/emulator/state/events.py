"""What happens in a run that an observer may see, as records, and whom to call then.

The machine knows nothing of who listens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from engine.backends.emulator.ptx.program import BasicBlock, SharedRequest
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.state.memory import DeviceArray
from engine.records import Array


@dataclass(frozen=True)
class Site:
    """One memory instruction. `op`: "ld", "st", "atom", "red" (an atomic whose result nobody reads).

    `space`: "global", "shared", "local", or "" for a generic address. An access moves `count` parts of `part` bytes.
    `weak`: an ordinary access; False for volatile, relaxed, acquire and release ones. `number`: unique in the program.
    `tallies`: it adds the constant 1 to a word of shared memory, and nobody reads the result. `one_word`, `one_value`:
    the address, the value of an atomic are computed from nothing that differs between the threads of a block.
    `decides`: where the thread goes on follows from what a volatile load (or the like) reads.
    `request`: what the assembler makes of it, where that is something else.
    """

    number: int
    line: int
    opcode: str
    op: str
    space: str
    part: int
    count: int
    weak: bool
    tallies: bool = False
    one_word: bool = False
    one_value: bool = False
    decides: bool = False
    request: SharedRequest | None = None

    @property
    def shared_rule(self) -> str:
        """The op by whose rule shared memory serves it.

        Lanes of an atomic come one after the other. But to count, the GPU has an instruction of its own (its assembler
        makes it of an atomic that tallies), which takes all lanes of a word at once, as a store does.
        """
        return "st" if self.tallies else "atom" if self.op in ("atom", "red") else self.op

    @cached_property
    def words(self) -> frozenset[str]:
        """The parts of the opcode."""
        return frozenset(self.opcode.split("."))

    @cached_property
    def arrives_later(self) -> bool:
        """Whether it is the write of an asynchronous copy."""
        return self.op == "st" and "cp" in self.words

    @cached_property
    def size(self) -> int:
        """Bytes that one lane moves."""
        return self.part * self.count


@dataclass(frozen=True)
class Access:
    """One executed memory instruction: byte addresses (in shared memory: offsets) of the lanes of `mask`.

    `space` is resolved ("global", "shared" or "local"); `array` the one device array where all lanes meet, if one.
    `values`: what is stored or combined, one array per part; empty for loads. `place`: in memory of a block, the same
    object whenever the instruction comes back with the same addresses in all blocks; None where that is not known.
    `sizes`: bytes of each lane of (height, width) where an asynchronous copy reads less than it writes; None: all of
    `site.size`.
    """

    site: Site
    space: str
    address: Value
    mask: Mask
    array: DeviceArray | None
    values: tuple[Array, ...]
    place: object = None
    sizes: Array | None = None


@dataclass(frozen=True)
class ChunkInfo:
    """The blocks that run together: `rows` threads (padded to warps), of which `threads` exist, by `blocks` blocks.

    `first` is the number of the first block in the grid; `launch` counts the launches of the run.
    """

    launch: int
    first: int
    blocks: int
    rows: int
    threads: int
    shared_bytes: int


@dataclass(frozen=True)
class Hooks:
    """Whom to call at which event, as `watching.observer` describes them; nobody, where nobody listens."""

    on_chunk: tuple[Callable[[ChunkInfo], None], ...] = ()
    on_basic_block: tuple[Callable[[BasicBlock, Mask], None], ...] = ()
    on_access: tuple[Callable[[Access], None], ...] = ()
    on_copy: tuple[Callable[[Access], None], ...] = ()
    on_result: tuple[Callable[[Instruction, Mask, list[Value], list[Value]], None], ...] = ()
    on_warp_sync: tuple[Callable[[int, str, Mask, Array], None], ...] = ()
    on_shuffle: tuple[Callable[[int, Mask, Array], None], ...] = ()
    on_incomplete: tuple[Callable[[int, str, Mask], None], ...] = ()
    on_fence: tuple[Callable[[int, str, Mask], None], ...] = ()
    on_branch: tuple[Callable[[BasicBlock, Mask | None, Mask | None], None], ...] = ()
    on_barrier: tuple[Callable[[int, Mask, Mask], None], ...] = ()
    on_part_arrives: tuple[Callable[[Mask], None], ...] = ()
    on_part_released: tuple[Callable[[Mask], None], ...] = ()
    on_release: tuple[Callable[[Mask], None], ...] = ()
    on_exit: tuple[Callable[[Mask], None], ...] = ()
    on_chunk_end: tuple[Callable[[], None], ...] = ()


NO_HOOKS = Hooks()

"""What an observer of a run may see. The machine calls these hooks and knows nothing of who listens.

An observer implements the hooks it needs, as methods of these names; `hooks` finds them. Addresses and values are given
in the rows and columns of the mask (shapes {1, height} x {1, width}), addresses possibly as an OuterSum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from engine.backends.emulator.ptx.program import BasicBlock
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
    def size(self) -> int:
        """Bytes that one lane moves."""
        return self.part * self.count


@dataclass(frozen=True)
class Access:
    """One executed memory instruction: byte addresses (in shared memory: offsets) of the lanes of `mask`.

    `space` is resolved ("global", "shared" or "local"); `array` the one device array where all lanes meet, if one.
    `values`: what is stored or combined, one array per part; empty for loads.
    """

    site: Site
    space: str
    address: Value
    mask: Mask
    array: DeviceArray | None
    values: tuple[Array, ...]


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


class Observer(Protocol):
    """Any object; see `HOOKS` for the methods that are called if it has them."""


HOOKS: dict[str, str] = {
    "on_chunk": "(ChunkInfo): a chunk starts",
    "on_basic_block": "(BasicBlock, Mask): a basic block is executed by these lanes",
    "on_access": "(Access): a memory instruction, before it takes effect",
    "on_branch": "(BasicBlock, Mask taken | None, Mask not taken | None): a conditional branch was decided",
    "on_barrier": "(line, Mask arriving, Mask alive): lanes arrive at a block barrier",
    "on_release": "(Mask): the lanes that a barrier lets go",
    "on_warp_sync": "(line, opcode, Mask, Array members): a warp-synchronous instruction; members are uint32 bits",
    "on_incomplete": "(line, opcode, Mask): a warp-synchronous instruction runs though lanes that it names never came",
    "on_fence": "(line, Mask): a memory fence",
    "on_exit": "(Mask): lanes end",
    "on_chunk_end": "(): a chunk ended",
}


def hooks(observers: Sequence[Any], name: str) -> tuple[Callable[..., None], ...]:
    """The bound methods of that name."""
    assert name in HOOKS
    return tuple(getattr(observer, name) for observer in observers if hasattr(observer, name))


__all__ = ["HOOKS", "Access", "BasicBlock", "ChunkInfo", "Mask", "Observer", "Site", "hooks"]

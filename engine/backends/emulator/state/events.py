"""The events of a run that an observer may see, as records, and the hooks to call for each.

The machine does not know its observers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.backends.emulator.ptx.program import BasicBlock, MachineRequest, UnrolledLoop
from engine.backends.emulator.ptx.spared_loads import Use
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.values import Value, restrict
from engine.backends.emulator.state.memory import DeviceArray
from engine.records import Array

_WORDS, _LONG = ("u32", "s32", "b32"), ("u64", "s64")
_REDUCIBLE = ("add", "min", "max", "and", "or", "xor")


@dataclass(frozen=True)
class Site:
    """One memory instruction.

    `op`: "ld", "st", "atom", or "red" (an atomic with an unused result). `space`: "global", "shared", "local", or ""
    for a generic address. An access moves `count` parts of `part` bytes. `weak`: an ordinary access; False for
    volatile, relaxed, acquire and release ones. `number`: unique in the program. `tallies`: it adds the constant 1 to a
    word of shared memory and its result is unused. `uniform_address`, `uniform_value`: the address or value of an
    atomic is the same for all threads of a block. `decides_branch`: a branch depends on a value read by a volatile load
    or an atomic. `request`: the access that the assembler makes of it, if that differs. `guess`: a plain load whose
    value a compare-and-swap confirms before it counts. `computed`: arithmetic reads a value that it loads. `uses`: what
    the program does with each loaded part; empty if every part counts. `unrolled`: the loop around it that the
    assembler unrolls.
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
    uniform_address: bool = False
    uniform_value: bool = False
    decides_branch: bool = False
    request: MachineRequest | None = None
    guess: bool = False
    computed: bool = False
    uses: tuple[Use, ...] = ()
    unrolled: UnrolledLoop | None = None

    @cached_property
    def shared_rule(self) -> str:
        """Return the op that determines the cost in shared memory: "ld", "st", "atom" or "cas".

        Shared memory serves the lanes of an atomic one after the other. There are two exceptions, which serve all lanes
        of a word at once, like a store: a warp that aggregates, and counting, for which the assembler has a special
        instruction.
        """
        if self.op not in ("atom", "red"):
            return self.op
        if self.tallies or self.aggregates == "always":
            return "st"
        return "cas" if "cas" in self.words else "atom"

    @cached_property
    def aggregates(self) -> str:
        """Return when one lane of a warp does an atomic for all: "always", "whole" (if all 32 take part) or "never".

        The assembler for sm_90 lets a warp combine its values first if the address is the same for all threads of a
        block: by REDUX, by counting the lanes, or with a scan by SHFL.
        """
        *_, name, code = self.opcode.split(".")
        if not self.uniform_address or code not in (*_WORDS, *_LONG):
            return "never"
        if code in _WORDS and self.op == "red" and name in _REDUCIBLE:
            return "always"
        if name != "add":
            return "never"
        if self.uniform_value:  # the lanes are counted, and each knows its rank
            return "always"
        return "whole" if code in _WORDS else "never"

    @cached_property
    def spins(self) -> bool:
        """Return whether this atomic of shared memory is a loop in the machine code: a load, and a compare-and-swap
        that fails for all lanes of a word but one. Shared memory has atomics of its own for 32-bit integers only."""
        atomic = self.space == "shared" and self.op in ("atom", "red")
        return atomic and self.opcode.rpartition(".")[2] not in _WORDS and not {"exch", "cas"} & self.words

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the parts of the opcode."""
        return frozenset(self.opcode.split("."))

    @cached_property
    def read_only(self) -> bool:
        """Return whether this reads through the cache for data that no thread writes."""
        return self.op == "ld" and "nc" in self.words

    @cached_property
    def may_wait(self) -> bool:
        """Return whether a thread may wait for the value that this reads, as for a flag: it is no data."""
        return self.op != "ld" or self.decides_branch or "acquire" in self.words

    @cached_property
    def arrives_later(self) -> bool:
        """Return whether this is the write of an asynchronous copy."""
        return self.op == "st" and "cp" in self.words

    @cached_property
    def size(self) -> int:
        """Return the bytes that one lane moves."""
        return self.part * self.count


@dataclass(frozen=True)
class Access:
    """One executed memory instruction: byte addresses (in shared memory: offsets) of the lanes of `mask`.

    `space` is resolved ("global", "shared" or "local"). `array`: the device array that all lanes access, None if there
    are several. `values`: the stored or combined values, one array per part; empty for loads. `place`: for memory of a
    block, the same object whenever the instruction repeats the same addresses in all blocks; None if unknown. `sizes`:
    bytes per lane (height, width) of an asynchronous copy that reads less than it writes; None: all of `site.size`.
    `takers`: the lanes that use the loaded value, bool, if the compiler loads ahead of a condition; None: all.
    """

    site: Site
    space: str
    address: Value
    mask: Mask
    array: DeviceArray | None
    values: tuple[Array, ...]
    place: object = None
    sizes: Array | None = None
    takers: Array | None = None

    def of_takers(self) -> Access | None:
        """Return the access by the lanes that use its value; None if none does."""
        if self.takers is None:
            return self
        part = self.mask.part(self.takers)
        if part is None:
            return None
        height, width = self.takers.shape if part.dense is None else (1, 1)
        rows = np.flatnonzero(self.takers[:, 0]) if height > 1 else None
        columns = np.flatnonzero(self.takers[0]) if width > 1 else None
        return replace(self, mask=part, address=restrict(self.address, rows, columns), place=None, takers=None)


@dataclass(eq=False)
class LoadPattern:
    """Ordinary loads of shared memory by the lanes of `mask`, in one basic block with nothing between them that orders
    memory. `offsets`: in bytes, int64[loads, height]; the height is 1 if all lanes have one address."""

    sites: tuple[Site, ...]
    mask: Mask
    offsets: Array


@dataclass(eq=False)
class Loads:
    """The loads of a pattern, moved by `distance` bytes, a multiple of 16. The same object whenever the same addresses
    come again in all blocks."""

    pattern: LoadPattern
    distance: int

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Return the loads one by one."""
        pattern, offsets = self.pattern, self.pattern.offsets + self.distance
        return tuple(
            Access(site, "shared", at[:, None], pattern.mask, None, (), object())
            for site, at in zip(pattern.sites, offsets, strict=True)
        )


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
    """The methods to call at each event (see `watching.observer`); empty for an event without observers."""

    on_chunk: tuple[Callable[[ChunkInfo], None], ...] = ()
    on_basic_block: tuple[Callable[[BasicBlock, Mask], None], ...] = ()
    on_access: tuple[Callable[[Access], None], ...] = ()
    on_loads: tuple[Callable[[Loads], None], ...] = ()
    on_copy: tuple[Callable[[Access], None], ...] = ()
    on_free: tuple[Callable[[Access], None], ...] = ()
    on_unwritten: tuple[Callable[[Site, int, int], None], ...] = ()
    on_result: tuple[Callable[[Instruction, Mask, list[Value], list[Value]], None], ...] = ()
    on_warp_sync: tuple[Callable[[int, str, Mask, Array], None], ...] = ()
    on_warp_meeting: tuple[Callable[[int, str, Mask, Array], None], ...] = ()
    on_shuffle: tuple[Callable[[int, Mask, Array], None], ...] = ()
    on_zero_divisor: tuple[Callable[[int, Mask], None], ...] = ()
    on_incomplete: tuple[Callable[[int, str, Mask], None], ...] = ()
    on_fence: tuple[Callable[[int, str, Mask], None], ...] = ()
    on_branch: tuple[Callable[[BasicBlock, Mask | None, Mask | None], None], ...] = ()
    on_barrier: tuple[Callable[[BasicBlock, Mask, Mask], None], ...] = ()
    on_part_arrives: tuple[Callable[[int, Mask], None], ...] = ()
    on_part_released: tuple[Callable[[int, Mask], None], ...] = ()
    on_phase_end: tuple[Callable[[Array, Array], None], ...] = ()
    on_release: tuple[Callable[[Mask], None], ...] = ()
    on_exit: tuple[Callable[[Mask], None], ...] = ()
    on_chunk_end: tuple[Callable[[], None], ...] = ()


NO_HOOKS = Hooks()

"""What an instruction is, told by its opcode: one row for a family of opcodes.

A row stands beside what executes its instructions (`instructions`), or, where `running` itself does, with its like
(`control`). An opcode belongs to the longest head that it begins with. One that begins with none only computes: it
writes its first operand and reads the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.backends.emulator.ptx.syntax import Instruction


@dataclass(frozen=True)
class Traits:
    """A family of opcodes. `head`: the words that they begin with: "ld", "shfl.sync".

    `form`: its operands, a letter each as `check` explains them; None: not looked at. `choices`: the word behind the
    head is one of these. `check`: what else must hold; raises InvalidPtx or PtxError.
    `writes`: the first operand is written, unless it is an address. `reads_carry`: it reads the condition code.
    `memory`: what it does there; a "copy" reads global memory and writes shared memory, later.
    `control`: it ends a basic block; "branch", "switch": the last operand says where it goes.
    `meets`: the lanes of a warp that have to wait for each other here: those that its last operand "named", or the
    whole "warp".
    `waits`: lanes stand before it until what they wait for has come, or nobody else can go on.
    `varies`: what it gives depends on which lane asks, or which lanes are there. `unsteady`: from turn to turn, too.
    `issued`: False for what the emulator itself put in, which no GPU executes. `called`: by whom a student calls it.
    """

    head: str
    form: str | None = None
    choices: tuple[str, ...] = ()
    check: Callable[[Instruction], None] | None = None
    writes: bool = True
    reads_carry: bool = False
    memory: Literal["", "load", "store", "atomic", "copy"] = ""
    control: Literal["", "branch", "switch", "barrier", "call", "return", "exit", "trap"] = ""
    meets: Literal["", "named", "warp"] = ""
    waits: bool = False
    varies: bool = False
    unsteady: bool = False
    issued: bool = True
    called: str = ""


COMPUTING = Traits("")
_ROWS: dict[str, Traits] = {}


def describe(*rows: Traits) -> None:
    """Register rows. Asserts that no head has two."""
    for row in rows:
        assert row.head and row.head not in _ROWS, f"{row.head} is described twice"
        _ROWS[row.head] = row
    traits_of.cache_clear()


@lru_cache(maxsize=4096)
def traits_of(opcode: str) -> Traits:
    """The row of an opcode; COMPUTING where it has none of its own."""
    words = [word.split("::")[0] for word in opcode.split(".")]
    heads = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((_ROWS[head] for head in heads if head in _ROWS), COMPUTING)

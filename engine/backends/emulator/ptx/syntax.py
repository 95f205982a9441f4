"""The parts of a PTX module as frozen records; `parser` creates them, `program` links them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

# Bits of a register or memory element by type suffix; "pred" is a bool.
WIDTHS: dict[str, int] = {
    **{f"{kind}{bits}": bits for kind in "busf" for bits in (8, 16, 32, 64)},
    "f16x2": 32, "bf16": 16, "bf16x2": 32, "e4m3x2": 16, "e5m2x2": 16, "u16x2": 32, "s16x2": 32,
    "tf32": 32, "b128": 128, "pred": 1,
}  # fmt: skip
SPACES = ("global", "shared", "local", "const", "param")


class PtxError(Exception):
    """The emulator cannot run this PTX. `line`: the .cu line, if known; `str(error)`: one clause.

    `ptx_line`: the line of the PTX, shown if there is no .cu line; `advice`: how the student can proceed.
    """

    usual_advice = "run it on a GPU"

    def __init__(
        self, clause: str, line: int | None = None, ptx_line: int | None = None, advice: str | None = None
    ) -> None:
        super().__init__(clause, line, ptx_line, advice)
        self.line, self.ptx_line, self.advice = line, ptx_line, advice or self.usual_advice

    def __str__(self) -> str:
        return str(self.args[0])

    def at(self, line: int | None, ptx_line: int | None) -> PtxError:
        """Return the same error with this location, unless it has its own."""
        return type(self)(str(self), self.line or line, self.ptx_line or ptx_line, self.advice)

    def sentence(self, name: str) -> str:
        """Return one sentence: the location in the file `name`, the reason, and the advice."""
        place = f", line {self.line}" if self.line else f", PTX line {self.ptx_line}" if self.ptx_line else ""
        return f"{name}{place}: {self}; {self.advice}."


class InvalidPtx(PtxError):
    """No GPU accepts this PTX: it comes from an asm statement, because the compiler never makes such PTX."""

    usual_advice = "this PTX is not valid, so correct the asm statement that it comes from"


@dataclass(frozen=True, slots=True)
class Register:
    """A register by its number in the function; `negated` for `!%p1`."""

    index: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Special:
    """A read-only register of the machine: "%tid.x", "%laneid"."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. `bits`: for `0f…` and `0d…`, the size of the bit pattern; 0 for an integer."""

    value: int
    bits: int = 0


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, function or label by name, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`: base is a register, a symbol, or None for an absolute address. `coordinates`: the place in the
    map or texture at this address, as in `[base, {%r1, %r2}]`."""

    base: Register | Symbol | None
    offset: int
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """`{%r1, %r2}`: several registers at once."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`%r1|%p1`: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """`(retval0, …)` of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: an unused destination."""


Operand = Register | Special | Immediate | Symbol | Address | Vector | Pair | Group | Sink


def operand_text(operand: Operand) -> str:
    """Return an operand as PTX writes it; registers have lost their names."""
    match operand:
        case Register():
            return "a register"
        case Immediate(value):
            return str(value)
        case Symbol(name, offset):
            return f"{name.split('#')[0]}+{offset}" if offset else name.split("#")[0]
        case Special(name):
            return name
        case Address(base, offset):
            inner = operand_text(base) if base is not None else ""
            return f"[{inner}+{offset}]" if inner and offset else f"[{inner or offset}]"
        case Vector(items):
            return "{" + ", ".join(operand_text(item) for item in items) + "}"
        case Group(items):
            return "(" + ", ".join(operand_text(item) for item in items) + ")"
        case Pair(first, second):
            return f"{operand_text(first)}|{operand_text(second)}"
    return "_"


@lru_cache(maxsize=4096)
def _words_of(opcode: str) -> tuple[str, ...]:
    return tuple(opcode.split("."))


@lru_cache(maxsize=4096)
def _space_of(opcode: str) -> str:
    return next((name for word in _words_of(opcode)[1:] if (name := word.split("::")[0]) in SPACES), "")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX statement. `guard`: the predicate of `@%p`; `line`: its .cu line, 0 if unknown; `place`: its PTX line."""

    opcode: str
    operands: tuple[Operand, ...]
    guard: Register | None
    line: int
    place: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        """Return the opcode's dotted parts."""
        return _words_of(self.opcode)

    @property
    def count(self) -> int:
        """Return how many values it moves at once: 2, 4 or 8 for a vector, else 1."""
        return next((int(word[1:]) for word in self.words if word in ("v2", "v4", "v8")), 1)

    @property
    def space(self) -> str:
        """Return the first memory space that the opcode names; "" if only the address determines it."""
        return _space_of(self.opcode)


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable or parameter: `size` bytes in `space`; `data`: its initial bytes, else zeros.

    `array`: it is declared with brackets, like every structure passed by value.
    """

    name: str
    space: str
    size: int
    alignment: int
    external: bool = False
    data: bytes = b""
    references: tuple[tuple[int, str], ...] = ()  # (byte offset, symbol whose address stands there)
    array: bool = False


# The results and parameters of a function: (bytes, whether it is an array) of each.
Form = tuple[tuple[tuple[int, bool], ...], tuple[tuple[int, bool], ...]]


def form_of(returns: tuple[Variable, ...], params: tuple[Variable, ...]) -> Form:
    """Return the form of a function with these results and parameters."""
    one, other = (tuple((each.size, each.array) for each in group) for group in (returns, params))
    return one, other


@dataclass(frozen=True)
class Function:
    """A kernel or device function. `widths[i]`: the bits of register i (1 for a predicate).

    By label: `tables`, the targets of a `brx.idx`; `prototypes` and `choices`, the possible targets of a call through a
    pointer: functions of this form, or these functions. `refused`: why no caller of it can be emulated; its body is
    then incomplete.
    """

    name: str
    entry: bool
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    body: tuple[Instruction | Label, ...]
    widths: tuple[int, ...]
    variables: tuple[Variable, ...]
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    line: int = 0
    prototypes: Mapping[str, Form] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: PtxError | None = None


@dataclass(frozen=True)
class Module:
    """One parsed PTX text. `main_file` is the number of the .cu file in `.file`."""

    functions: Mapping[str, Function]
    variables: Mapping[str, Variable]
    declared: frozenset[str]

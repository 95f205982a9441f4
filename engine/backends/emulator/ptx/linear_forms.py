"""Addresses as sums of multiples of registers and constants: two addresses with the same multiples are neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Address, Immediate, Instruction, Operand, Register, Special, Symbol
from engine.backends.emulator.ptx.traits import writes

_MOST_TERMS = 8


@dataclass(frozen=True)
class LinearForm:
    """A sum of `terms` (a register or special register, its factor) and a constant; overflows are ignored."""

    terms: frozenset[tuple[Register | Special, int]]
    constant: int

    def plus(self, other: LinearForm, sign: int = 1) -> LinearForm:
        """Return self + sign * other."""
        factors = Counter(dict(self.terms))
        for root, factor in other.terms:
            factors[root] += sign * factor
        terms = frozenset((root, factor) for root, factor in factors.items() if factor)
        return LinearForm(terms, self.constant + sign * other.constant)

    def times(self, factor: int) -> LinearForm:
        """Return the product with a number."""
        return LinearForm(frozenset((root, own * factor) for root, own in self.terms if factor), self.constant * factor)


class LinearForms:
    """The addresses of a program; `places`: the addresses of variables."""

    def __init__(self, program: Program, places: Mapping[str, int]) -> None:
        self._places = places
        self._known: dict[int, LinearForm] = {}
        self._makers: dict[int, Instruction | None] = {}  # None: several instructions write the register
        for item in program.instructions:
            for index in writes(item, program.carry):
                self._makers[index] = None if index in self._makers or item.guard else item

    def of(self, operand: Operand | None) -> LinearForm | None:
        """Return the form of an operand, or of the address in brackets; None if it names an unknown variable."""
        match operand:
            case Address(base, offset):
                form = self.of(base) if base is not None else LinearForm(frozenset(), 0)
                return None if form is None else LinearForm(form.terms, form.constant + offset)
            case Immediate(value, 0):
                return LinearForm(frozenset(), value)
            case Symbol(name, offset):
                return LinearForm(frozenset(), self._places[name] + offset) if name in self._places else None
            case Special():
                return LinearForm(frozenset({(operand, 1)}), 0)
            case Register(index):
                found = self._known.get(index)
                if found is None:
                    own = LinearForm(frozenset({(Register(index), 1)}), 0)
                    self._known[index] = own  # until its operands are known
                    found = self._known[index] = self._made(self._makers.get(index)) or own
                return found
        return None

    def _made(self, item: Instruction | None) -> LinearForm | None:
        if item is None or not isinstance(item.operands[0], Register):
            return None
        forms = [self.of(operand) for operand in item.operands[1:]]
        known = [form for form in forms if form is not None]
        if len(known) != len(forms) or item.words[-1][:1] not in "usb":
            return None
        made = _computed(item.words, known)
        return made if made is not None and len(made.terms) <= _MOST_TERMS else None


def _computed(words: tuple[str, ...], forms: list[LinearForm]) -> LinearForm | None:
    """Return the result of an integer instruction, None if it is no sum of multiples of its operands."""
    match words, forms:
        case ((("mov", _) | ("cvta", *_) | ("cvt", _, _)), [a]):
            return a
        case ("add" | "sub", _), [a, b]:
            return a.plus(b, 1 if words[0] == "add" else -1)
        case ("shl", _), [a, b] if not b.terms and 0 <= b.constant < 64:
            return a.times(1 << b.constant)
        case ("mul" | "mad", "lo" | "wide", _), [a, b, *rest] if not (a.terms and b.terms):
            product = b.times(a.constant) if b.terms else a.times(b.constant)
            return product.plus(rest[0]) if rest else product
    return None

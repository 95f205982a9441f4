"""Products and sums that the GPU's assembler joins to one multiply-add, which rounds once.

PTX lets it do so where neither instruction names a rounding. The compiler joins most sums itself and leaves the
differences. Measured on an H200: the assembler joins where both stand in one basic block and nothing but such sums and
differences reads the product; of `a * b - c * d` it joins the first product. The product stays in the program, so the
counts are those of the PTX.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache

from engine.backends.emulator.meanings.contracted import TYPES, contracted_opcode
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.ptx.syntax import Immediate, Instruction, Operand, Register
from engine.backends.emulator.ptx.traits import reads, writes

_PARTS = re.compile(rf"(mul|add|sub|neg)\.({'|'.join(TYPES)})")
_FLIPPED = {"+": "-", "-": "+"}


@dataclass
class _Product:
    """A product of a block. `uses`: the sums that read it, as (place, operand, sign); `stays`: something else reads it,
    or a factor has changed before a sum."""

    item: Instruction
    code: str
    uses: list[tuple[int, int, str]] = field(default_factory=list)
    stays: bool = False
    changed: bool = False


@lru_cache(maxsize=1024)
def contracted(program: Program, index: int) -> tuple[Instruction, ...]:
    """Return the body of a basic block with a multiply-add in place of each sum that takes up its product."""
    block = program.blocks[index]
    if not program.optimised or not any(item.opcode.startswith("mul.") for item in block.body):
        return block.body
    found: list[_Product] = []
    factors: dict[int, list[_Product]] = defaultdict(list)  # the products that a register is a factor of
    held: dict[int, tuple[_Product, str]] = {}  # by register, with the sign that it has there
    for place, item in enumerate(block.body):
        name, code = _parts_of(item)
        _note_uses(place, item, name, code, held, program.carry)
        sources = [operand.index for operand in item.operands[1:] if isinstance(operand, Register)]
        negated = held.get(sources[0]) if name == "neg" and sources else None
        for written in writes(item, program.carry):
            held.pop(written, None)
            for product in factors.pop(written, ()):
                product.changed = True
        target = item.operands[0] if item.operands else None
        if name == "mul" and isinstance(target, Register) and target.index not in sources:
            found.append(_Product(item, code))
            held[target.index] = found[-1], "+"
            for source in sources:
                factors[source].append(found[-1])
        elif negated and negated[0].code == code and isinstance(target, Register):
            held[target.index] = negated[0], _FLIPPED[negated[1]]
    after = set(reads(block.terminator, program.carry)) if block.terminator else set()
    for register, (product, _) in held.items():
        product.stays |= bool(block.live_out >> register & 1) or register in after
    return _joined(block.body, [product for product in found if not product.stays])


def _parts_of(item: Instruction) -> tuple[str, str]:
    """Return the name and the type of a product, sum, difference or negation; twice "" for everything else."""
    matched = None if item.guard else _PARTS.fullmatch(item.opcode)
    plain = all(isinstance(operand, Register | Immediate) for operand in item.operands)
    return (matched[1], matched[2]) if matched and plain else ("", "")


def _note_uses(
    place: int, item: Instruction, name: str, code: str, held: dict[int, tuple[_Product, str]], carry: int
) -> None:
    """Note how an instruction reads the products that registers hold."""
    read = list(reads(item, carry))
    for register in set(read) & held.keys():
        product, sign = held[register]
        if name == "neg" and code == product.code:
            continue
        if name not in ("add", "sub") or code != product.code or product.changed or read.count(register) > 1:
            product.stays = True
            continue
        operand = next(at for at, one in enumerate(item.operands[1:], start=1) if one == Register(register))
        product.uses.append((place, operand, _FLIPPED[sign] if name == "sub" and operand == 2 else sign))


def _joined(body: tuple[Instruction, ...], products: list[_Product]) -> tuple[Instruction, ...]:
    made = list(body)
    uses = sorted((*use, number) for number, one in enumerate(products) for use in one.uses)
    for place, operand, sign, number in reversed(uses):  # the first operand comes last, and stays
        item, product = body[place], products[number]
        addend: Operand = item.operands[3 - operand]
        minus = item.words[0] == "sub" and operand == 1
        opcode = contracted_opcode(sign, "-" if minus else "+", product.code)
        made[place] = replace(item, opcode=opcode, operands=(item.operands[0], *product.item.operands[1:], addend))
    return tuple(made)

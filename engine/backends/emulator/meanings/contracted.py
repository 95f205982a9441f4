"""Multiply-adds with signs: what the GPU's assembler makes of a product and a difference.

`fma.-+.f32` is -(a * b) + c, rounded once. No PTX has these opcodes; instructions/contraction.py puts them in place of
a `sub` or an `add`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from engine.backends.emulator.meanings import floating, half
from engine.backends.emulator.meanings.registry import OPERATIONS, Compute, Operation
from engine.records import Array

_REGISTER = (floating, half)  # importing them registers the multiply-adds
TYPES = ("f32", "ftz.f32", "f64", "f16", "f16x2", "bf16", "bf16x2")


def contracted_opcode(product: str, addend: str, code: str) -> str:
    """Return the opcode of a multiply-add; `product`, `addend`: the signs "+" and "-"."""
    return f"fma.rn.{code}" if product == addend == "+" else f"fma.{product}{addend}.{code}"


def _with_signs(fuse: Compute, negate: Compute, product: str, addend: str, a: Array, b: Array, c: Array) -> Array:
    made: Array = fuse(negate(a) if product == "-" else a, b, negate(c) if addend == "-" else c)
    return made


def _signed(product: str, addend: str, code: str) -> Operation:
    fuse, negate = OPERATIONS[f"fma.rn.{code}"], OPERATIONS[f"neg.{code}"]
    return replace(fuse, compute=partial(_with_signs, fuse.compute, negate.compute, product, addend))


CONTRACTED = {
    contracted_opcode(product, addend, code): _signed(product, addend, code)
    for product, addend in ("-+", "+-", "--")
    for code in TYPES
}

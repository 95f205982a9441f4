"""Integer instructions on outer sums: an index stays `rows + columns + constant` as long as that is exact.

`rule(opcode)` returns, for the few instructions that indices consist of, a function of the raw operand values. It
returns the result, or None if no operand is an outer sum or the result would not be one; the instruction is then
computed lane by lane. A register is a sum modulo 2**width, so add, sub, mul and shl need no overflow check. Widening
and comparing read the sum as a number, so they first check that it fits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.backends.emulator.registers.values import ZERO, Axis, OuterSum, Value, axes_sum
from engine.records import Array

Rule = Callable[..., Value | None]
_ndarray = np.ndarray
_SAFE = 1 << 61  # the sum of two such bounds fits int64


def rule(opcode: str) -> Rule | None:
    """Return the rule of an opcode, None if it has none."""
    words = opcode.split(".")
    kind = words[-1]
    if kind[:1] not in "usb" or kind[1:] not in ("32", "64") or {"cc", "sat", "hi"} & set(words):
        return None
    width, is_signed = int(kind[1:]), kind[0] == "s"
    match words[0]:
        case "add" if len(words) == 2:
            return lambda a, b: add(a, b, width)
        case "sub" if len(words) == 2:
            return lambda a, b: add(a, b, width, -1)
        case "mul" if words[1] == "lo":
            return lambda a, b: multiply(a, b, width)
        case "mul" if words[1] == "wide" and width == 32:
            return lambda a, b: multiply_wide(a, b, is_signed)
        case "mad" if words[1] == "lo":
            return lambda a, b, c: multiply_add(a, b, c, width)
        case "mad" if words[1] == "wide" and width == 32:
            return lambda a, b, c: _then_add(multiply_wide(a, b, is_signed), c)
        case "shl":
            return lambda a, b: shift_left(a, b, width)
        case "or":
            return lambda a, b: join(a, b, width)
        case "bfi":
            return lambda a, b, place, length: insert(a, b, place, length, width)
        case "cvt" if len(words) == 3 and words[1] in ("u32", "s32", "u64", "s64"):
            return lambda a: convert(a, width, int(words[1][1:]), is_signed)
        case "setp" if len(words) == 3:
            return lambda a, b: compare(words[1], a, b, width, is_signed or kind[0] == "b")
    return None


def _is_outer(a: Value, b: Value) -> bool:
    """Return whether the operands together form an outer sum: one varies by row and the other by column, or one is a
    sum."""
    if a.__class__ is not _ndarray or b.__class__ is not _ndarray:
        return True
    (p, q), (r, s) = a.shape, b.shape
    return bool((p > 1 and q == 1 and r == 1 and s > 1) or (p == 1 and q > 1 and r > 1 and s == 1))


def _terms(value: Value) -> OuterSum | None:
    """Return the value as an outer sum of signed numbers; None for an array over rows and columns."""
    if value.__class__ is OuterSum:
        return value
    bits = value.dtype.itemsize * 8
    number = value.view(np.int64) if bits == 64 else value.view(np.int32)
    if value.size == 1:
        return OuterSum(ZERO, ZERO, int(number.item()), bits)
    if value.shape[0] > 1 and value.shape[1] > 1:
        return None
    axis = Axis(number.astype(np.int64))
    if axis.low < -_SAFE or axis.high > _SAFE:
        return None
    return OuterSum(axis, ZERO, 0, bits) if value.shape[1] == 1 else OuterSum(ZERO, axis, 0, bits)


def _outer_sum(rows: Axis, columns: Axis, constant: int, width: int) -> OuterSum | None:
    if rows.low < -_SAFE or columns.low < -_SAFE or rows.high > _SAFE or columns.high > _SAFE or abs(constant) > _SAFE:
        return None
    return OuterSum(rows, columns, constant, width)


def add(a: Value, b: Value, width: int, sign: int = 1) -> OuterSum | None:
    """Return a + sign * b."""
    if not _is_outer(a, b):
        return None
    x, y = _terms(a), _terms(b)
    if x is None or y is None:
        return None
    rows = axes_sum(x.rows, y.rows.scaled(sign))
    return _outer_sum(rows, axes_sum(x.columns, y.columns.scaled(sign)), x.constant + sign * y.constant, width)


def _times(a: OuterSum, factor: int, width: int) -> OuterSum | None:
    if max(abs(a.low), abs(a.high), 1) * abs(factor) > _SAFE or abs(a.constant * factor) > _SAFE:
        return None
    if max(-a.rows.low, a.rows.high, -a.columns.low, a.columns.high) * abs(factor) > _SAFE:
        return None
    return _outer_sum(a.rows.scaled(factor), a.columns.scaled(factor), a.constant * factor, width)


def _single_number(value: Value) -> int | None:
    """Return the signed number of a value that is the same for all lanes."""
    if value.__class__ is not _ndarray or value.size != 1:
        return None
    return int(value.view(np.int64 if value.dtype.itemsize == 8 else np.int32).item())


def multiply(a: Value, b: Value, width: int) -> OuterSum | None:
    """Return the low half of an outer sum times one number."""
    if b.__class__ is OuterSum:
        a, b = b, a
    factor = _single_number(b) if a.__class__ is OuterSum else None
    return None if factor is None else _times(a, factor, width)


def multiply_wide(a: Value, b: Value, is_signed: bool) -> OuterSum | None:
    """Return the whole product of two 32-bit numbers."""
    if b.__class__ is OuterSum:
        a, b = b, a
    factor = _single_number(b) if a.__class__ is OuterSum else None
    if factor is None:
        return None
    exact = fitted(a, 32, is_signed)
    return None if exact is None else _times(exact, factor if is_signed else factor % (1 << 32), 64)


def multiply_add(a: Value, b: Value, c: Value, width: int) -> OuterSum | None:
    """Return the low half of a * b + c."""
    if a.__class__ is OuterSum or b.__class__ is OuterSum:
        return _then_add(multiply(a, b, width), c)
    rows, columns = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
    if rows > 1 and columns > 1:
        return None
    if c.__class__ is _ndarray and not ((rows > 1 and c.shape[1] > 1) or (columns > 1 and c.shape[0] > 1)):
        return None
    kind = np.dtype(f"u{width // 8}")
    return add(a.view(kind) * b.view(kind), c, width)


def _then_add(product: OuterSum | None, c: Value) -> OuterSum | None:
    return None if product is None else add(product, c, product.width)


def shift_left(a: Value, b: Value, width: int) -> OuterSum | None:
    """Return a << b for a single b below the width."""
    places = _single_number(b) if a.__class__ is OuterSum else None
    return None if places is None or not 0 <= places < width else _times(a, 1 << places, width)


def join(a: Value, b: Value, width: int) -> OuterSum | None:
    """Return a | b as a + b, if no bit can be set in both."""
    if not _is_outer(a, b):
        return None
    x, y = _terms(a), _terms(b)
    if x is None or y is None:
        return None
    used = 0
    for bits in (x.rows.bits, x.columns.bits, x.constant, y.rows.bits, y.columns.bits, y.constant):
        if bits < 0 or bits & used:
            return None
        used |= bits
    return add(x, y, width)


def insert(a: Value, b: Value, place: Value, length: Value, width: int) -> OuterSum | None:
    """Return bfi of a field that reaches the top bit: (b & low bits) + (a << place)."""
    at, count = _single_number(place), _single_number(length)
    if at is None or count is None or at + count != width or at <= 0:
        return None
    if a.__class__ is not _ndarray or b.__class__ is not _ndarray or not _is_outer(a, b):
        return None
    kind = np.dtype(f"u{width // 8}")
    return join(a.view(kind) << kind.type(at), b.view(kind) & kind.type((1 << at) - 1), width)


def convert(a: Value, source: int, target: int, is_signed: bool) -> OuterSum | None:
    """Return an integer conversion to the same or another width."""
    if a.__class__ is not OuterSum:
        return None
    if target <= source:
        return OuterSum(a.rows, a.columns, a.constant, target)
    exact = fitted(a, source, is_signed)
    return None if exact is None else OuterSum(exact.rows, exact.columns, exact.constant, target)


def fitted(a: OuterSum, width: int, is_signed: bool) -> OuterSum | None:
    """Return a sum that equals the register's number in every lane; None if lanes wrap differently."""
    span = 1 << width
    bottom = -(span >> 1) if is_signed else 0
    turns = (a.low - bottom) // span
    if a.high - turns * span >= bottom + span:
        return None
    return a.plus(-turns * span)


_ORDERINGS: dict[str, tuple[str, bool]] = {
    "lt": ("less", False), "lo": ("less", False), "ge": ("less", True), "hs": ("less", True),
    "gt": ("greater", False), "hi": ("greater", False), "le": ("greater", True), "ls": ("greater", True),
    "eq": ("equal", False), "ne": ("equal", True),
}  # fmt: skip


_UFUNCS: dict[str, np.ufunc] = {
    "lt": np.less, "lo": np.less, "ge": np.greater_equal, "hs": np.greater_equal, "gt": np.greater, "hi": np.greater,
    "le": np.less_equal, "ls": np.less_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip


def compare(name: str, a: Value, b: Value, width: int, is_signed: bool) -> Array | None:
    """Return a comparison, from the bounds of a - b if they decide it, else from rows against columns."""
    if a.__class__ is _ndarray and b.__class__ is _ndarray:
        return None
    x, y = _terms(a), _terms(b)
    if x is None or y is None or name not in _ORDERINGS:
        return None
    if name in ("lo", "ls", "hi", "hs"):
        is_signed = False
    x, y = fitted(x, width, is_signed), fitted(y, width, is_signed)
    if x is None or y is None:
        return None
    gap = add(x, y, 64, -1)
    if gap is None:
        return None
    test, inverted = _ORDERINGS[name]
    if test == "less" and (gap.high < 0 or gap.low >= 0):
        return _truth((gap.high < 0) != inverted)
    if test == "greater" and (gap.low > 0 or gap.high <= 0):
        return _truth((gap.low > 0) != inverted)
    if test == "equal" and (gap.low > 0 or gap.high < 0 or gap.low == gap.high):
        return _truth((gap.low <= 0 <= gap.high) != inverted)
    compared: Array = _UFUNCS[name](gap.rows.values, -(gap.columns.values + gap.constant))
    return compared


def _truth(value: bool) -> Array:
    return np.array([[value]])

"""Straight-line PTX instructions for the reference interpreter: closures over one thread's registers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from tests.backends.emulator.exact import (
    BITS,
    combine,
    compare,
    decode,
    divided,
    encode,
    rounded,
    to_integer,
    whole_number,
)

Registers = dict[str, Any]
_COMPARISONS = (
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "lo",
    "ls",
    "hi",
    "hs",
    "equ",
    "neu",
    "ltu",
    "leu",
    "gtu",
    "geu",
    "num",
    "nan",
)
_APPROXIMATIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin, "cos": math.cos, "ex2": lambda x: 2.0**x, "lg2": math.log2, "tanh": math.tanh,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}  # fmt: skip


def width_of(code: str) -> int:
    """Return the bits of a type suffix."""
    return BITS.get(code) or {"f16x2": 32, "bf16x2": 32, "bf16": 16}[code]


def literal(text: str, code: str) -> int:
    """Return a literal's bits as the type `code`."""
    kind = text[:2].lower()
    if kind in ("0f", "0d"):
        own = "f32" if kind == "0f" else "f64"
        bits = int(text[2:], 16)
        if width_of(code) == width_of(own):
            return bits
        return encode(rounded_float(float(decode(bits, own)), code), code)
    return encode(int(text.rstrip("U"), 0), "b64" if code[0] == "f" else code)


def rounded_float(value: float, code: str) -> float:
    """Return a float as the nearest number of another float type."""
    from fractions import Fraction

    return rounded(Fraction(value), code) if math.isfinite(value) and value else value


def reader(text: str, code: str, widths: dict[str, int], literal_code: str = "") -> Callable[[Registers], Any]:
    """Return a function from registers to the operand: an int of bits for untyped and unsigned types, else a value."""
    negated = text[0] == "!"
    name = text.lstrip("!")
    if re.match(r"-?\d", name):
        fixed = decode(literal(name, literal_code or code), code)
        return lambda registers: fixed
    if code == "pred":
        return lambda registers: bool(registers.get(name, 0)) != negated
    if code[0] in "bu":
        low = (1 << width_of(code)) - 1
        return lambda registers: registers.get(name, 0) & low
    return lambda registers: decode(registers.get(name, 0), code)


def writer(name: str, code: str, widths: dict[str, int]) -> Callable[[Registers, Any], None]:
    """Return a function that puts a value (or its bits) into a register; narrow signed types are extended by their
    sign."""
    if name == "_":
        return lambda registers, value: None
    width = widths[name]
    full = (1 << width) - 1
    if code == "pred":

        def put_predicate(registers: Registers, value: Any) -> None:
            registers[name] = int(bool(value))

        return put_predicate

    if code[0] == "s" and width_of(code) < width:

        def put_extended(registers: Registers, value: Any) -> None:
            registers[name] = int(decode(int(value), code)) & full

        return put_extended
    narrow = (1 << width_of(code)) - 1

    def put(registers: Registers, value: Any) -> None:
        registers[name] = (encode(value, code) if isinstance(value, float) else value & narrow) & full

    return put


def computed(opcode: str, operands: list[str], widths: dict[str, int]) -> Callable[[Registers], None]:
    """Return the action of an arithmetic instruction."""
    head, *words = opcode.split(".")
    code = words[-1] if words else "b32"
    if head == "mov" and "{" in operands[0] + operands[1]:
        return _packed(operands, code, widths)
    if head == "setp":
        return _comparison(words, operands, widths)
    if head == "cvt":
        return _conversion(words, operands, widths)
    if head == "activemask":
        raise ValueError("which lanes are together depends on the schedule; the oracle has none")
    types, result = _signature(head, words, code, len(operands) - 1)
    reads = [reader(text, kind, widths) for text, kind in zip(operands[1:], types, strict=True)]
    write = writer(operands[0].split("|")[0], result, widths)
    if head in ("addc", "subc", "madc") or "cc" in words:
        return _with_carry(head, words, reads, write)
    function = _function(head, words, code)
    if len(reads) == 2:
        left, right = reads
        return lambda registers: write(registers, function(left(registers), right(registers)))
    return lambda registers: write(registers, function(*[read(registers) for read in reads]))


def _signature(head: str, words: list[str], code: str, count: int) -> tuple[list[str], str]:
    """Return the operand types and the result's type."""
    if head in ("shl", "shr"):
        return [code, "u32"], code
    if head in ("mul", "mad") and "wide" in words:
        wide = f"{code[0]}{2 * width_of(code)}"
        return [code, code, wide][:count], wide
    if head == "selp":
        return [code, code, "pred"], code
    if head == "slct":
        return [words[0], words[0], code], words[0]
    if head in ("popc", "clz", "bfind"):
        return [code], "u32"
    if head in ("bfe", "bfi"):
        return [*[code] * (count - 2), "u32", "u32"], code
    if head == "dp4a":
        return ["b32", "b32", code], code
    if head == "testp":
        return [code], "pred"
    if head == "lop3":
        return [code, code, code, "u32"], code
    return [code] * count, code


def _function(head: str, words: list[str], code: str) -> Callable[..., Any]:
    if code[0] == "f":
        return _float_function(head, words, code)
    bits = BITS[code]
    full = (1 << bits) - 1
    if code == "pred":
        return {
            "and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b, "not": lambda a: not a,
            "mov": lambda a: a,
        }[head]  # fmt: skip
    if head in ("mul", "mad"):
        shift = bits if "hi" in words else 0
        return lambda a, b, c=0: (a * b >> shift) + c
    simple: dict[str, Callable[..., Any]] = {
        "mov": lambda a: a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "neg": lambda a: -a, "abs": abs,
        "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "not": lambda a: ~a, "div": lambda a, b: divided(a, b, code)[0], "rem": lambda a, b: divided(a, b, code)[1],
        "shl": lambda a, n: a << min(n, bits), "shr": lambda a, n: a >> min(n, bits), "popc": lambda a: a.bit_count(),
        "clz": lambda a: bits - (a & full).bit_length(), "brev": lambda a: int(f"{a:0{bits}b}"[::-1], 2),
        "selp": lambda a, b, p: a if p else b, "slct": lambda a, b, c: a if c >= 0 else b,
        "sad": lambda a, b, c: c + abs(a - b), "cnot": lambda a: int(a == 0),
        "bfe": lambda a, at, count: _field(a, _counted(at, bits), _counted(count, bits), code),
        "bfi": lambda a, b, at, count: _inserted(a, b, _counted(at, bits), _counted(count, bits), bits),
        "lop3": lambda a, b, c, table: _looked_up(a, b, c, table, bits), "prmt": _permuted,
        "shf": lambda a, b, n: _funnel(a, b, n, words),
        "dp4a": lambda a, b, c: c + _dot(a, b, f"{words[0][0]}8", f"{words[1][0]}8"),
        "bfind": lambda a: _highest(a, bits, "shiftamt" in words),
    }  # fmt: skip
    return simple[head]


def _float_function(head: str, words: list[str], code: str) -> Callable[..., Any]:
    mode = next((word for word in words if word in ("rn", "rz", "rm", "rp")), "rn")
    if head in ("add", "sub", "mul", "fma", "sqrt", "rcp", "div", "mad"):
        name = "fma" if head == "mad" else head
        return lambda *values: _saturated(combine(name, code, mode, *values), words)
    if head in _APPROXIMATIONS:
        return lambda a: rounded_float(_guarded(_APPROXIMATIONS[head], a), code)
    return {
        "mov": lambda a: a, "neg": lambda a: -a, "abs": abs, "selp": lambda a, b, p: a if p else b,
        "min": lambda a, b: _extreme(min, a, b), "max": lambda a, b: _extreme(max, a, b),
        "copysign": lambda a, b: math.copysign(b, a),
        "testp": lambda a: _is(words[0], a),
    }[head]  # fmt: skip


def _guarded(function: Callable[[float], float], a: float) -> float:
    try:
        return function(a)
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def _saturated(value: float, words: list[str]) -> float:
    if "sat" not in words:
        return value
    return min(max(value, 0.0), 1.0) if value == value else 0.0


def _extreme(choose: Callable[[float, float], float], a: float, b: float) -> float:
    """Return the minimum or maximum: a number wins over NaN, and -0 is less than +0."""
    if a != a or b != b:
        return b if a != a else a
    if a == b:
        return choose((a, b), key=lambda x: math.copysign(1, x))  # type: ignore[call-arg, arg-type, return-value]
    return choose(a, b)


def _field(a: int, at: int, count: int, code: str) -> int:
    bits = BITS[code]
    a &= (1 << bits) - 1
    if count == 0:
        return 0
    sign = a >> min(at + count - 1, bits - 1) & 1 if code[0] == "s" else 0
    field = (a >> at) & ((1 << count) - 1) if at < bits else 0
    for bit in range(count):
        if at + bit >= bits or bit >= count:
            field = field & ~(1 << bit) | sign << bit
    return field | (-sign << count)


def _highest(a: int, bits: int, shift: bool) -> int:
    place = (~a if a < 0 else a).bit_length() - 1
    return 0xFFFFFFFF if place < 0 else bits - 1 - place if shift else place


def _dot(a: int, b: int, left: str, right: str) -> int:
    return sum(int(decode(a >> place, left)) * int(decode(b >> place, right)) for place in (0, 8, 16, 24))


def _is(kind: str, a: float) -> bool:
    return {"finite": math.isfinite(a), "infinite": math.isinf(a), "number": a == a, "notanumber": a != a}[kind]


def _counted(count: int, bits: int) -> int:
    """Return the start or the length of a field, with counts above 255 as the H200 reads them."""
    return min(count, 64) if bits == 64 else count & 255


def _inserted(a: int, b: int, at: int, count: int, bits: int) -> int:
    mask = ((1 << count) - 1) << at & ((1 << bits) - 1)
    return b & ~mask | a << at & mask


def _looked_up(a: int, b: int, c: int, table: int, bits: int) -> int:
    return sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(bits))


def _permuted(a: int, b: int, selection: int) -> int:
    pool = [(a | b << 32) >> 8 * i & 255 for i in range(8)]
    made = 0
    for i in range(4):
        byte = pool[selection >> 4 * i & 7]
        made |= (255 * (byte >> 7) if selection >> 4 * i & 8 else byte) << 8 * i
    return made


def _funnel(a: int, b: int, n: int, words: list[str]) -> int:
    n = min(n, 32) if "clamp" in words else n & 31
    whole = b << 32 | a
    return whole >> n if "r" in words else whole << n >> 32


def _packed(operands: list[str], code: str, widths: dict[str, int]) -> Callable[[Registers], None]:
    whole = width_of(code)
    if operands[0][0] == "{":
        names = [name.strip() for name in operands[0].strip("{} ").split(",")]
        size = whole // len(names)
        read, writes = reader(operands[1], f"b{whole}", widths), [writer(name, f"b{size}", widths) for name in names]

        def unpack(registers: Registers) -> None:
            value = read(registers)
            for number, write in enumerate(writes):
                write(registers, value >> number * size)

        return unpack
    names = [name.strip() for name in operands[1].strip("{} ").split(",")]
    size = whole // len(names)
    reads, write = [reader(name, f"b{size}", widths) for name in names], writer(operands[0], f"b{whole}", widths)
    return lambda registers: write(registers, sum(read(registers) << i * size for i, read in enumerate(reads)))


def _comparison(words: list[str], operands: list[str], widths: dict[str, int]) -> Callable[[Registers], None]:
    code, name = words[-1], words[0]
    assert name in _COMPARISONS
    join = next((word for word in words[1:-1] if word in ("and", "or", "xor")), None)
    left, right = (reader(text, code, widths) for text in operands[1:3])
    writes = [writer(text.strip(), "pred", widths) for text in operands[0].split("|")]
    other = reader(operands[3], "pred", widths) if join else None

    def act(registers: Registers) -> None:
        a, b = left(registers), right(registers)
        found = compare(name, a, b)
        results = [found, not found]
        if other:
            c = other(registers)  # read before a result may overwrite it
            results = [{"and": value and c, "or": value or c, "xor": value != c}[str(join)] for value in results]
        for write, value in zip(writes, results, strict=False):
            write(registers, value)

    return act


def _conversion(words: list[str], operands: list[str], widths: dict[str, int]) -> Callable[[Registers], None]:
    target, source = words[-2:]
    read, write = reader(operands[1], source, widths), writer(operands[0], target, widths)
    mode = next((word for word in words[:-2] if word[0] == "r" and word[1] in "nzmp"), "rn")
    bits = BITS[target]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target[0] == "s" else (0, (1 << bits) - 1)

    def act(registers: Registers) -> None:
        from fractions import Fraction

        value = read(registers)
        if target[0] != "f":
            if source[0] == "f":
                write(registers, to_integer(value, target, mode, source == "f64" or bits == 64))
            else:
                write(registers, min(max(value, low), high) if "sat" in words else value)
            return
        if source[0] == "f" and mode.endswith("i") and math.isfinite(value) and value:
            value = math.copysign(float(whole_number(Fraction(value), mode)), value)
        if math.isfinite(value):
            made = rounded(Fraction(value), target, mode)
            value = made or math.copysign(0.0, value)
        write(registers, _saturated(float(value), words))

    return act


def _with_carry(head: str, words: list[str], reads: list[Any], write: Any) -> Callable[[Registers], None]:
    """Return the action of an extended-precision instruction. A difference is a sum with the complement: it carries
    unless it borrows."""
    code = words[-1]
    bits = BITS[code]
    full = (1 << bits) - 1

    def act(registers: Registers) -> None:
        values = [read(registers) for read in reads]
        carry = registers.get("carry", 0) if head in ("addc", "subc", "madc") else int(head == "sub")
        if head.startswith("sub"):
            exact = (values[0] & full) + (~values[1] & full) + carry
        elif head.startswith("mad"):
            product = values[0] * values[1] >> (bits if "hi" in words else 0)
            exact = (product & full) + (values[2] & full) + carry
        else:
            exact = (values[0] & full) + (values[1] & full) + carry
        write(registers, exact & full)
        if "cc" in words:
            registers["carry"] = int(exact > full)

    return act


def atomic(name: str, code: str, old: int, operands: list[Any]) -> int:
    """Return the bits that an atomic leaves in memory, from the bits before."""
    now, first = decode(old, code), operands[0]
    full = (1 << BITS[code]) - 1
    match name:
        case "add":
            made = combine("add", code, "rn", now, first) if code[0] == "f" else now + first
        case "inc":
            made = 0 if now >= first else now + 1
        case "dec":
            made = first if now == 0 or now > first else now - 1
        case "cas":
            made = operands[1] if now == first else now
        case "exch":
            made = first
        case _:
            made = {"min": min(now, first), "max": max(now, first)}.get(name)
            if made is None:
                made = {"and": now & first, "or": now | first, "xor": now ^ first}[name] if code[0] != "f" else now
    return encode(made, code) & full

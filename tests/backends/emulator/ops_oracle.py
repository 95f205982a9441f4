"""The right result of an opcode, on Python integers and fractions: a second implementation beside `meanings.table`.

A value is an int, a bool, a float that the type holds, or a pair (low, high) of them for a packed type.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.backends.emulator.exact import combine, compare, rounded, to_integer, whole_number

Value = Any
WIDTH = {
    "bf16": 16,
    "e4m3": 8,
    "e5m2": 8,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "f16x2": 32,
    "bf16x2": 32,
    "u16x2": 32,
    "s16x2": 32,
    "pred": 1,
}
FORMAT = {"f16": ("<e", "<H"), "f32": ("<f", "<I"), "f64": ("<d", "<Q")}
TINY = {"f16": 2.0**-14, "f32": 2.0**-126}
MODES = ("rn", "rz", "rm", "rp")
# The positive numbers of e4m3 by their bits: 8 steps of 2^-9, then 8 between neighbouring powers of two, up to 448.
E4M3 = [step * 2.0**-9 for step in range(8)] + [
    (1 + step / 8) * 2.0**power for power in range(-6, 9) for step in range(8)
]
E4M3.pop()  # 480, whose bits are NaN's
JOINS: dict[str, Callable[[bool, bool], bool]] = {
    "and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b,
}  # fmt: skip


def width(code: str) -> int:
    return WIDTH.get(code) or int(code.lstrip("busf"))


def decode(bits: int, code: str) -> Value:
    """Return the value of a bit pattern of the type."""
    bits &= (1 << width(code)) - 1
    if code == "pred":
        return bool(bits)
    if code.endswith("x2"):
        half = width(code) // 2
        return decode(bits & (1 << half) - 1, code[:-2]), decode(bits >> half, code[:-2])
    if code == "bf16":
        return decode(bits << 16, "f32")
    if code == "e5m2":
        return decode(bits << 8, "f16")
    if code == "e4m3":
        return math.copysign(E4M3[bits & 0x7F], -(bits >> 7)) if bits & 0x7F != 0x7F else math.nan
    if code == "f32" and bits & 0x7FFFFFFF > 0x7F800000:  # a conversion would change a NaN
        return decode((bits & 1 << 31) << 32 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29, "f64")
    if code in FORMAT:
        form, whole = FORMAT[code]
        return struct.unpack(form, struct.pack(whole, bits))[0]
    return bits - (1 << width(code)) if code[0] == "s" and bits >> (width(code) - 1) else bits


def encode(value: Value, code: str) -> int:
    """Return the bit pattern of a value of the type; integers wrap, and all NaNs have one pattern."""
    if code.endswith("x2"):
        return encode(value[0], code[:-2]) | encode(value[1], code[:-2]) << width(code) // 2
    if code == "bf16":
        return 0x7FFF if value != value else encode(value, "f32") >> 16
    if code == "e5m2":
        return 0x7F if value != value else encode(value, "f16") >> 8
    if code == "e4m3":
        return 0x7F if value != value else bisect_right(E4M3, abs(value)) - 1 | 0x80 * (math.copysign(1, value) < 0)
    if code in FORMAT:
        form, whole = FORMAT[code]
        if value != value:
            return {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8000000000000}[code]
        return int(struct.unpack(whole, struct.pack(form, value))[0])
    return int(value) & ((1 << width(code)) - 1)


def expected(opcode: str, operands: tuple[str, ...], results: tuple[str, ...], values: list[Value]) -> list[Value]:
    """Return the results of an instruction. A carry is the last of `values` and of the answer."""
    head, *words = opcode.split(".")
    if head in ("setp", "set"):
        return _tested(head, words, operands[0], results[0], values)
    if head == "cvt":
        return [_converted(words, operands[0], results[0], values)]
    if head in ("addc", "subc", "madc") or "cc" in words:
        return _with_carry(head, words, operands[0], values)
    code = operands[0]
    if code.endswith("x2"):
        halves = [
            expected(opcode, (code[:-2],) * len(operands), (code[:-2],), list(part))
            for part in zip(*values, strict=True)
        ]
        return [(halves[0][0], halves[1][0])]
    if code in ("f16", "bf16", "f32", "f64") and head not in ("selp", "slct", "testp"):
        return [_float(head, words, code, values)]
    return [_whole(head, words, code, values)]


def flushed(value: float, code: str) -> float:
    return math.copysign(0.0, value) if abs(value) < TINY[code] else value


def saturated(value: float) -> float:
    return 0.0 if value != value else min(max(value, 0.0), 1.0) + 0.0


def positive(value: float) -> float:
    return value if value != value else max(value, 0.0) + 0.0


def rounded_once(exact: Fraction, code: str, mode: str) -> float:
    if code != "bf16":
        return rounded(exact, code, mode)
    # As a float32 of 8 digits: round to the multiple of the unit in the last place.
    if not exact:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent - 7, -133)
    whole = whole_number(exact / Fraction(2) ** unit, mode)
    value = float(whole * Fraction(2) ** unit) if exponent < 128 else 2.0**128
    if abs(value) >= 2.0**128:
        outward = mode in ("rn", "rp" if exact > 0 else "rm")
        value = math.inf if outward else decode(0x7F7F, "bf16")
    return math.copysign(value, float(1 if exact > 0 else -1))


def _rounded_value(value: float, code: str, mode: str) -> float:
    return rounded_once(Fraction(value), code, mode) if math.isfinite(value) and value else value


def _float(head: str, words: list[str], code: str, values: list[float]) -> float:
    mode = next((word for word in words if word in MODES), "rn")
    if "ftz" in words and code in TINY:
        values = [flushed(value, code) for value in values]
    a = values[0]
    if head in ("add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt"):
        name = "fma" if head == "mad" else head
        if code == "bf16" and all(map(math.isfinite, values)) and (exact := _exact(name, *values)):
            result = rounded_once(exact, code, mode)
        else:
            result = combine(name, "f64" if code == "bf16" else code, mode, *values)
    elif head in ("min", "max"):
        result = _extreme(head, words, *values)
    else:
        result = {"neg": lambda: -a, "abs": lambda: abs(a), "copysign": lambda: math.copysign(values[1], a)}[head]()
    if "ftz" in words and code in TINY:
        result = flushed(result, code)
    if "sat" in words:
        result = saturated(result)
    return positive(result) if "relu" in words else result


def _exact(name: str, a: float, b: float, c: float = 0.0) -> Fraction:
    x, y, z = map(Fraction, (a, b, c))
    return {"add": x + y, "sub": x - y, "mul": x * y, "fma": x * y + z}[name]


def _extreme(head: str, words: list[str], a: float, b: float) -> float:
    sign = math.copysign(1, a) * math.copysign(1, b)
    if "abs" in words:
        a, b = abs(a), abs(b)
    if a != a or b != b:
        result = math.nan if "NaN" in words else (b if a != a else a)
    else:
        result = sorted((a, b), key=lambda x: (x, math.copysign(1, x)))[0 if head == "min" else 1]
    return math.copysign(result, sign) if "abs" in words else result


def _tested(head: str, words: list[str], code: str, result: str, values: list[Value]) -> list[Value]:
    ftz = "ftz" in words
    join = next((word for word in words[1:] if word in JOINS), None)
    pairs = [values[:2]] if not code.endswith("x2") else list(zip(*values[:2], strict=True))
    found = []
    for a, b in pairs:
        holds = compare(words[0], flushed(a, code), flushed(b, code)) if ftz else compare(words[0], a, b)
        found.append(JOINS[join](holds, values[2]) if join else holds)
    if head == "setp":
        return found
    if result.endswith("x2"):
        return [tuple(float(holds) for holds in found)]
    if result in ("f16", "bf16", "f32"):
        return [float(found[0])]
    if len(found) == 2:
        return [sum(0xFFFF << 16 * place for place, holds in enumerate(found) if holds)]
    return [-int(found[0])]


def _eighth(value: float, code: str) -> float:
    """Return the nearest number of e4m3 or e5m2, in a tie the one with even bits; at most the largest."""
    if value != value:
        return value
    table = E4M3 if code == "e4m3" else [decode(bits, "e5m2") for bits in range(0x7C)]
    size = Fraction(min(abs(value), table[-1]))
    bits = min(range(len(table)), key=lambda bits: (abs(Fraction(table[bits]) - size), bits % 2))
    return math.copysign(table[bits], value)


def _converted(words: list[str], source: str, target: str, values: list[Value]) -> Value:
    if target[1] in "45" and source == "f16x2":
        low, high = (_converted([*words[:-2], target[:-2], "f16"], "f16", target[:-2], [value]) for value in values[0])
        return low, high
    if source[1] in "45":
        parts = [positive(value) if "relu" in words else value for value in values[0]]
        return parts[0], parts[1]
    if target in ("e4m3", "e5m2"):
        return _eighth(positive(values[0]) if "relu" in words else values[0], target)
    if target.endswith("x2"):
        high, low = (_converted([*words[:-2], target[:-2], source], source, target[:-2], [value]) for value in values)
        return low, high
    value = values[0]
    mode = next((word for word in words[:-2] if word[0] == "r" and word[1] in "nzmp" and word != "relu"), "rn")
    if "ftz" in words and source == "f32" and target != "f16":  # for a half nothing is flushed, as on the H200
        value = flushed(value, "f32")
    if "tf32" in words:
        return _tensor_float(positive(value) if "relu" in words else value, mode, "satfinite" in words)
    if "f" not in target:
        if "f" in source:
            return to_integer(value, target, mode, source == "f64" or width(target) == 64)
        bits = width(target)
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
        return min(max(value, low), high) if "sat" in words else value
    if "f" in source and mode.endswith("i") and math.isfinite(value) and value:
        value = math.copysign(float(whole_number(Fraction(value), mode)), value)
    if "relu" in words:
        value = positive(value)
    if isinstance(value, int):
        made = rounded_once(Fraction(value), target, mode)
    else:
        made = _rounded_value(value, target, mode[:2])
    if "ftz" in words and target == "f32":
        made = flushed(made, "f32")
    return saturated(made) if "sat" in words else made


def _tensor_float(value: float, mode: str, finite: bool) -> int:
    """Round to 10 bits of fraction; the answer is a float32's pattern. rna: ties away from zero, and a NaN keeps its
    upper bits; with satfinite a NaN and infinity lose a unit. Otherwise a NaN has all its bits set."""
    if value != value:
        wide = int(struct.unpack("<Q", struct.pack("<d", value))[0])
        kept = wide >> 32 & 1 << 31 | 0xFF << 23 | wide >> 29 & 0x7FE000
        return (kept - 0x2000 * finite) if mode == "rna" else 0x7FFFE000
    if not math.isfinite(value) or not value:
        return encode(value, "f32") - 0x2000 * (finite and value != 0)
    exponent = max(math.frexp(value)[1] - 1, -126)
    unit = Fraction(2) ** (exponent - 10)
    scaled = abs(Fraction(value)) / unit
    whole = math.floor(scaled + Fraction(1, 2)) if mode == "rna" else whole_number(scaled, mode)
    size = float(whole * unit)
    made = encode(math.copysign(size if size < 2.0**128 else math.inf, value), "f32")
    return made - 0x2000 * (finite and size >= 2.0**128)


def _with_carry(head: str, words: list[str], code: str, values: list[int]) -> list[int]:
    full = (1 << width(code)) - 1
    carry = values[-1] if head in ("addc", "subc", "madc") else int(head == "sub")
    if head.startswith("sub"):
        exact = (values[0] & full) + (~values[1] & full) + carry
    elif head.startswith("mad"):
        product = values[0] * values[1] >> (width(code) if "hi" in words else 0)
        exact = (product & full) + (values[2] & full) + carry
    else:
        exact = (values[0] & full) + (values[1] & full) + carry
    return [exact & full, int(exact > full)] if "cc" in words else [exact & full]


def _kept(value: int, code: str = "s32") -> int:
    top = 1 << (width(code) - 1)
    return min(max(value, -top), top - 1)


def _whole(head: str, words: list[str], code: str, v: list[Value]) -> Value:
    bits = width(code)
    full = (1 << bits) - 1
    a = v[0]
    made: dict[str, Callable[[], Value]] = {
        "add": lambda: a + v[1], "sub": lambda: a - v[1], "min": lambda: min(a, v[1]), "max": lambda: max(a, v[1]),
        "mul": lambda: a * v[1] >> (bits if "hi" in words else 0),
        "mad": lambda: (a * v[1] >> (bits if "hi" in words else 0)) + v[2],
        "mul24": lambda: _times_24(a, v[1], code, words), "sad": lambda: abs(a - v[1]) + v[2],
        "div": lambda: _divided(a, v[1])[0], "rem": lambda: _divided(a, v[1])[1],
        "abs": lambda: abs(a), "neg": lambda: -a, "not": lambda: not a if code == "pred" else ~a,
        "and": lambda: a & v[1], "or": lambda: a | v[1], "xor": lambda: a ^ v[1], "cnot": lambda: int(a == 0),
        "shl": lambda: a << min(v[1], bits), "shr": lambda: a >> min(v[1], bits),
        "selp": lambda: a if v[2] else v[1], "slct": lambda: a if _not_negative(v[2], words) else v[1],
        "popc": lambda: bin(a).count("1"), "clz": lambda: bits - a.bit_length(),
        "brev": lambda: int(f"{a:0{bits}b}"[::-1], 2), "bfind": lambda: _top(a, bits, "shiftamt" in words),
        "bfe": lambda: _field(a, _counted(v[1], bits), _counted(v[2], bits), code),
        "bfi": lambda: _inserted(a, v[1], _counted(v[2], bits), _counted(v[3], bits), bits),
        "bmsk": lambda: _masked(a, v[1], words), "szext": lambda: _extended(a, v[1], code, words),
        "fns": lambda: _nth_set(a, v[1], v[2]), "prmt": lambda: _permuted(a, v[1], v[2], words),
        "lop3": lambda: _looked_up(*v),
        "shf": lambda: _funnel(a, v[1], v[2], words),
        "dp4a": lambda: v[2] + _dot(_parts(a, 8, words[0]), _parts(v[1], 8, words[1])),
        "dp2a": lambda: v[2] + _dot(_parts(a, 16, words[1]), _pair_of_bytes(v[1], words[2], "hi" in words)),
        "testp": lambda: _property(a, words[0], code),
    }  # fmt: skip
    if head[:4] in ("vadd", "vsub", "vabs", "vmin", "vmax"):
        return _video(head, words, v)
    made["mad24"] = lambda: _times_24(a, v[1], code, words) + v[2]
    value = made[head]()
    if "sat" in words:
        if head in ("mad", "mad24"):  # the part before the addition wraps first
            part = decode((value - v[2]) & full, code)
            value = part + v[2]
        return _kept(value)
    if "relu" in words:
        return max(value, 0)
    return value


def _looked_up(a: int, b: int, c: int, table: int) -> int:
    return sum((table >> (a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) & 1) << i for i in range(32))


def _pair_of_bytes(a: int, code: str, high: bool) -> list[int]:
    return _parts(a, 8, code)[2:] if high else _parts(a, 8, code)[:2]


def _dot(a: list[int], b: list[int]) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _times_24(a: int, b: int, code: str, words: list[str]) -> int:
    x, y = ((decode(p << 8 & 0xFFFFFFFF, code) >> 8) for p in (a, b))
    return decode(x * y >> (16 if "hi" in words else 0), code)


def _divided(a: int, b: int) -> tuple[int, int]:
    if b == 0:
        return -1, -1
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient, a - quotient * b


def _not_negative(sign: int | float, words: list[str]) -> bool:
    return flushed(sign, "f32") >= 0 if "ftz" in words else sign >= 0


def _top(a: int, bits: int, shift: bool) -> int:
    size = a if a >= 0 else ~a
    return -1 if size == 0 else bits - size.bit_length() if shift else size.bit_length() - 1


def _counted(count: int, bits: int) -> int:
    """Return the start or the length of a field, with counts above 255 as the H200 reads them."""
    return min(count, 64) if bits == 64 else count & 255


def _inserted(a: int, b: int, start: int, length: int, bits: int) -> int:
    return sum((a >> i - start if start <= i < start + length else b >> i) % 2 << i for i in range(bits))


def _field(a: int, start: int, length: int, code: str) -> int:
    bits = width(code)
    a &= (1 << bits) - 1
    sign = a >> min(start + length - 1, bits - 1) & 1 if code[0] == "s" and length else 0
    return sum((a >> start + i & 1 if i < length and start + i < bits else sign) << i for i in range(bits))


def _masked(start: int, size: int, words: list[str]) -> int:
    if "wrap" in words:
        start, size = start & 31, size & 31
    return sum(1 << i for i in range(start, min(start + size, 32))) if start < 32 else 0


def _extended(a: int, size: int, code: str, words: list[str]) -> int:
    size = size & 31 if "wrap" in words else min(size, 32)
    low = a & ((1 << size) - 1)
    return low - (1 << size) if code == "s32" and size and low >> (size - 1) else low


def _nth_set(mask: int, base: int, offset: int) -> int:
    if offset == -(2**31):
        return 0  # has no absolute value; as on the H200
    if base >= 32:
        return -1
    if offset == 0:
        return base if mask >> base & 1 else -1
    places = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [place for place in places if mask >> place & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else -1


def _permuted(a: int, b: int, select: int, words: list[str]) -> int:
    pool = [(a | b << 32) >> 8 * i & 255 for i in range(8)]
    which = select & 3
    modes = {
        "f4e": [which + i for i in range(4)], "b4e": [(which - i) % 8 for i in range(4)], "rc8": [which] * 4,
        "ecl": [max(which, i) for i in range(4)], "ecr": [min(which, i) for i in range(4)],
        "rc16": [0, 1, 0, 1] if which % 2 == 0 else [2, 3, 2, 3],
    }  # fmt: skip
    if words[-1] in modes:
        return sum(pool[place] << 8 * i for i, place in enumerate(modes[words[-1]]))
    chosen = [select >> 4 * i & 15 for i in range(4)]
    return sum((255 * (pool[n & 7] >> 7) if n & 8 else pool[n & 7]) << 8 * i for i, n in enumerate(chosen))


def _funnel(low: int, high: int, count: int, words: list[str]) -> int:
    count = min(count, 32) if "clamp" in words else count & 31
    whole = high << 32 | low
    return whole >> count if "r" in words else whole << count >> 32


def _parts(a: int, bits: int, code: str) -> list[int]:
    return [decode(a >> place, f"{code[0]}{bits}") for place in range(0, 32, bits)]


def _video(head: str, words: list[str], v: list[int]) -> int:
    """Each video instruction in unbounded whole numbers: on words, or on the parts of words. Where the H100 differs
    from the manual (CUDA 13.0), as on the H100."""
    ways: dict[str, Callable[[int, int], int]] = {
        "vadd": lambda x, y: x + y, "vsub": lambda x, y: x - y, "vabsdiff": lambda x, y: abs(x - y), "vmin": min,
        "vmax": max, "add": lambda x, y: x + y, "min": min, "max": max,
    }  # fmt: skip
    into, given = words[0], words[1]
    if head[-1] in "24":
        bits = 32 // int(head[-1])
        pairs = zip(_parts(v[0], bits, given), _parts(v[1], bits, given), strict=True)
        found = [ways[head[:-1]](x, y) for x, y in pairs]
        if "add" in words:
            return v[2] + sum(found)
        whole = [_kept_in(value, f"{into[0]}{bits}") if "sat" in words else value for value in found]
        return sum((value & ((1 << bits) - 1)) << bits * place for place, value in enumerate(whole))
    value = ways[head](v[0], v[1])
    if "sat" in words:
        return value if (head, into, given) == ("vadd", "u32", "u32") else _kept_in(value, into)
    if words[-1] not in ways:
        return value
    if head in ("vadd", "vsub"):
        value = decode(value & 0xFFFFFFFF, "s32")
    return ways[words[-1]](value % 2**64 if into == "u32" else value, v[2])


def _kept_in(value: int, code: str) -> int:
    return _kept(value, code) if code[0] == "s" else min(max(value, 0), (1 << width(code)) - 1)


def _property(a: float, what: str, code: str) -> bool:
    tiny = {"f32": 2.0**-126, "f64": 2.0**-1022}[code]
    return {
        "finite": math.isfinite(a), "infinite": math.isinf(a), "number": a == a, "notanumber": a != a,
        "normal": a == 0 or (math.isfinite(a) and abs(a) >= tiny), "subnormal": 0 < abs(a) < tiny,
    }[what]  # fmt: skip

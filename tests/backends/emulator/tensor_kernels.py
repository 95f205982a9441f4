"""Every emulated `mma.sync` as a kernel over raw registers, and an oracle.

The oracle takes the places of the elements from the PTX manual, and computes the documented rounding with exact
fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from engine.records import Array

LANES = 32
PLACES = 25  # binary places that a Hopper tensor core keeps below the largest exponent of a sum


@dataclass(frozen=True)
class Form:
    """One form: its shape and types as in the opcode, and the number of registers of A, B, C and D per lane."""

    shape: str
    types: str
    registers: tuple[int, int, int, int]
    modifier: str = ""

    @property
    def opcode(self) -> str:
        return f"mma.sync.aligned.{self.shape}.row.col{self.modifier}.{self.types}"

    @property
    def size(self) -> tuple[int, int, int]:
        m, n, k = (int(part) for part in self.shape.replace("m", "").replace("n", " ").replace("k", " ").split())
        return m, n, k


FORMS = (
    Form("m16n8k16", "f32.f16.f16.f32", (4, 2, 4, 4)),
    Form("m16n8k16", "f16.f16.f16.f16", (4, 2, 2, 2)),
    Form("m16n8k8", "f32.f16.f16.f32", (2, 1, 4, 4)),
    Form("m16n8k16", "f32.bf16.bf16.f32", (4, 2, 4, 4)),
    Form("m16n8k8", "f32.bf16.bf16.f32", (2, 1, 4, 4)),
    Form("m16n8k8", "f32.tf32.tf32.f32", (4, 2, 4, 4)),
    Form("m16n8k4", "f32.tf32.tf32.f32", (2, 1, 4, 4)),
    Form("m16n8k32", "s32.s8.s8.s32", (4, 2, 4, 4)),
    Form("m16n8k32", "s32.u8.s8.s32", (4, 2, 4, 4), ".satfinite"),
    Form("m16n8k16", "s32.s8.u8.s32", (2, 1, 4, 4)),
    Form("m8n8k16", "s32.u8.u8.s32", (1, 1, 2, 2)),
    Form("m8n8k4", "f64.f64.f64.f64", (1, 1, 2, 2)),
)
_CODES = {"f32": ("f", "float"), "f64": ("d", "double")}  # the asm constraint and C's type; all others have 32 bits


def text_of(form: Form) -> str:
    """A kernel f(a, b, c, d): lane i of the grid holds registers i * n to i * n + n - 1 of each array."""
    kinds = dict(zip("dabc", form.types.split("."), strict=True))
    counts = dict(zip("abcd", form.registers, strict=True))
    code = {name: _CODES.get(kinds[name], ("r", "unsigned")) for name in "abcd"}
    if kinds["a"] == "tf32":
        code["a"] = code["b"] = ("r", "unsigned")
    parameters = ", ".join(f"{'' if name == 'd' else 'const '}{code[name][1]} *{name}" for name in "abcd")
    order = [(name, number) for name in "dabc" for number in range(counts[name])]
    place = {pair: f"%{index}" for index, pair in enumerate(order)}
    groups = ", ".join("{" + ", ".join(place[name, r] for r in range(counts[name])) + "}" for name in "dabc")

    def operands(names: str, sign: str) -> str:
        return ", ".join(
            f'"{sign}{code[name][0]}"({name}[i * {counts[name]} + {r}])' for name in names for r in range(counts[name])
        )

    return (
        f'extern "C" __global__ void f({parameters}) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n'
        f'    asm volatile("{form.opcode} {groups};" : {operands("d", "=")} : {operands("abc", "")});\n}}\n'
    )


def registers_of(form: Form, warps: int, seed: int) -> list[Array]:
    """Return random A, B and C, uint32 or float64: numbers of similar size, and for halves sometimes arbitrary bits."""
    random = np.random.default_rng(seed)
    made = []
    for name, kind, count in zip("abc", form.types.split(".")[1:], form.registers, strict=False):
        size = warps * LANES * count
        if kind == "f64":
            made.append(random.standard_normal(size))
        elif kind in ("f32", "tf32"):
            made.append((random.standard_normal(size) * 2.0 ** random.integers(-9, 9, size)).astype("f4").view("u4"))
        elif kind == "f16":
            values = (random.standard_normal(2 * size) * 2.0 ** random.integers(-4, 4, 2 * size)).astype("f2")
            made.append(values.view("u4"))
        elif kind == "bf16":
            values = (random.standard_normal(2 * size) * 2.0 ** random.integers(-9, 9, 2 * size)).astype("f4")
            made.append((values.view("u4") >> 16).astype("u2").view("u4"))
        elif name == "c":
            made.append(random.integers(-(1 << 31), 1 << 31, size, dtype=np.int64).astype("i4").view("u4"))
        else:
            made.append(random.integers(0, 1 << 32, size, dtype=np.uint64).astype("u4"))
    return made


# ---- the manual: (row of A or column of B, place in K) of number i of lane l; (row, column) of sum i


def place_in_a(form: Form, lane: int, i: int) -> tuple[int, int]:
    group, inside = lane >> 2, lane % 4
    match form.types.split(".")[1], form.shape:
        case (("f16" | "bf16"), "m16n8k16"):
            return (group if i < 2 or 4 <= i < 6 else group + 8), inside * 2 + (i & 1) + (8 if i >= 4 else 0)
        case (("f16" | "bf16"), "m16n8k8"):
            return (group if i < 2 else group + 8), inside * 2 + (i & 1)
        case ["tf32", "m16n8k8"]:
            return (group if i in (0, 2) else group + 8), (inside if i < 2 else inside + 4)
        case ["tf32", "m16n8k4"]:
            return (group if i == 0 else group + 8), inside
        case (("s8" | "u8"), "m16n8k32"):
            return (group if i < 4 or 8 <= i < 12 else group + 8), inside * 4 + (i & 3) + (16 if i >= 8 else 0)
        case (("s8" | "u8"), "m16n8k16"):
            return (group if i < 4 else group + 8), inside * 4 + (i & 3)
        case (("s8" | "u8"), "m8n8k16"):
            return group, inside * 4 + i
        case ["f64", "m8n8k4"]:
            return group, inside
    raise AssertionError(form)


def place_in_b(form: Form, lane: int, i: int) -> tuple[int, int]:
    group, inside = lane >> 2, lane % 4
    match form.types.split(".")[1]:
        case "f16" | "bf16":
            return group, inside * 2 + (i & 1) + (8 if i >= 2 else 0)
        case "tf32":
            return group, inside + 4 * i
        case "s8" | "u8":
            return group, inside * 4 + (i & 3) + (16 if i >= 4 else 0)
    return group, inside


def place_of_sum(form: Form, lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), (lane % 4) * 2 + (i & 1)


# ---- the oracle


def numbers_of(registers: Array, kind: str) -> Array:
    """Convert (lanes, registers) to (lanes, numbers), as float64 or int64; exact."""
    if kind == "f64":
        return registers
    if kind == "tf32":
        return (registers & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if kind == "bf16":
        return (registers.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    kinds = {"f16": np.float16, "f32": np.float32, "s8": np.int8, "u8": np.uint8, "s32": np.int32}
    made = registers.view(kinds[kind])
    return made.astype(np.int64 if kind[0] in "su" else np.float64)


def matrix(numbers: Array, shape: tuple[int, int], place: Callable[[int, int], tuple[int, int]]) -> Array:
    """Convert a warp's (32, numbers) to a matrix."""
    made = np.empty(shape, numbers.dtype)
    for lane in range(LANES):
        for i in range(numbers.shape[1]):
            made[place(lane, i)] = numbers[lane, i]
    return made


def expected(form: Form, a: Array, b: Array, c: Array) -> Array:
    """Return the registers D of one warp, (32, numbers), from those of A, B and C, (32, registers)."""
    made, left, right, added = form.types.split(".")
    m, n, k = form.size
    first = matrix(numbers_of(a, left), (m, k), lambda lane, i: place_in_a(form, lane, i))
    second = matrix(numbers_of(b, right), (n, k), lambda lane, i: place_in_b(form, lane, i))
    third = matrix(numbers_of(c, added), (m, n), lambda lane, i: place_of_sum(form, lane, i))
    kinds = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s32": np.int32}
    count = m * n // LANES
    sums = np.empty((LANES, count), kinds[made])
    for lane in range(LANES):
        for i in range(count):
            row, column = place_of_sum(form, lane, i)
            sums[lane, i] = _sum(form, first[row].tolist(), second[column].tolist(), third[row, column].item())
    return sums


def _sum(form: Form, a: list[float], b: list[float], c: float) -> float:
    made, kind, _, added = form.types.split(".")
    if made == "s32":
        total = int(c) + sum(int(x) * int(y) for x, y in zip(a, b, strict=True))
        if form.modifier:
            return max(-(1 << 31), min((1 << 31) - 1, total))
        return (total + (1 << 31)) % (1 << 32) - (1 << 31)
    if made == "f64":
        for x, y in zip(a, b, strict=True):
            c = float(Fraction(x) * Fraction(y) + Fraction(c))
        return c
    terms = [(Fraction(x) * Fraction(y), _exponent(x, kind) + _exponent(y, kind)) for x, y in zip(a, b, strict=True)]
    terms.append((Fraction(c), _exponent(c, added)))
    largest = max([-126, *(exponent for value, exponent in terms if value)])
    unit = Fraction(2) ** (largest - PLACES)
    total = sum((int(value / unit) * unit for value, _ in terms), Fraction(0))  # int() truncates toward zero
    if made == "f16":
        return float(np.float64(total).astype(np.float16))
    if not total:
        return 0.0
    last = Fraction(2) ** (max(math.frexp(float(total))[1] - 1, -126) - 23)
    return float(int(total / last) * last)


def _exponent(value: float, kind: str) -> int:
    return max(math.frexp(value)[1] - 1, -14 if kind == "f16" else -126)

"""Every opcode of the table against exact arithmetic on Python numbers, on awkward and on random bit patterns."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.emulator.meanings import rounding
from engine.backends.emulator.meanings.registry import OPERATIONS, computes
from engine.backends.emulator.meanings.table import DTYPES, Operation, UnknownInstruction, operation
from engine.records import Array
from tests.backends.emulator.ops_oracle import decode, encode, expected, width
from tests.sentences import refused

# NaN, infinities, zeros, the smallest and largest denormals and normals, one and its neighbours.
SPECIAL = {
    "f16": [0x7E00, 0xFFFF, 0x7C00, 0xFC00, 0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00, 0x3C01],
    "bf16": [0x7FC0, 0xFFFF, 0x7F80, 0xFF80, 0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x7F7F, 0xFF7F, 0x3F80, 0xBF80, 0x3F81],
    "e4m3": [0x7F, 0xFF, 0x7E, 0xFE, 0, 0x80, 1, 0x81, 7, 8, 0x38, 0xB8],
    "e5m2": [0x7F, 0xFE, 0x7C, 0xFC, 0, 0x80, 1, 0x81, 3, 4, 0x7B, 0xFB, 0x3C, 0xBC],
    "f32": [
        0x7FC00000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000,
        0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x3F000000, 0x4F000000, 0x5F000000,
        0xCF000000,
    ],
    "f64": [
        0x7FF8 << 48, (1 << 64) - 1, 0x7FF0 << 48, 0xFFF0 << 48, 0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52,
        0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x3FF << 52, 0xBFF << 52, (0x3FF << 52) + 1, 0x3FE << 52, 0x41E << 52,
        0x43E << 52, 0x43F << 52, 0xC3E << 52, 0x41DFFFFFFFE00000,
    ],
}  # fmt: skip


def pattern(raw: int, code: str, earlier: list[int]) -> int:
    """64 drawn bits -> the bits of an operand: special, small, near an earlier operand, or just these."""
    bits = width(code)
    if code.endswith("x2"):
        return pattern(raw, code[:-2], []) | pattern(raw >> 17, code[:-2], []) << bits // 2
    full = (1 << bits) - 1
    kind = raw >> 60
    specials = SPECIAL.get(code) or [
        0,
        1,
        full,
        1 << (bits - 1),
        (1 << (bits - 1)) - 1,
        bits,
        bits - 1,
        bits + 1,
        31,
        32,
        33,
    ]
    if kind < 4:
        return specials[raw % len(specials)] & full
    if kind < 7:  # small numbers of either sign
        small = raw % 67 - 33
        return encode(small / 4 if code in SPECIAL else small, code)
    if kind < 9 and earlier:  # sums that cancel, comparisons that tie
        return (earlier[-1] ^ (1 << (bits - 1)) * (kind & 1)) + raw % 3 & full
    if kind < 12 and code in SPECIAL:  # of middling size, so that products and sums stay in range
        spread = 1 << (bits - 4)
        return (encode(1.0, code) + raw % (2 * spread) - spread) & (full >> 1) | (raw >> 59 & 1) << (bits - 1)
    return raw & full


def arrays(code: str, patterns: list[int]) -> Array:
    kind = DTYPES[code]
    if code == "pred":
        return np.array(patterns, dtype=bool)
    return np.array(patterns, dtype=f"u{kind.itemsize}").view(kind)


def check(opcode: str, found: Operation, raws: list[list[int]]) -> None:
    """Run one opcode on the operands made of `raws` and compare each lane with the oracle."""
    codes = [*found.operands, *(["u32"] if found.reads_carry else [])]
    columns: list[list[int]] = []
    for row in raws:
        bits: list[int] = []
        for place, code in enumerate(codes):
            carry = found.reads_carry and place == len(codes) - 1
            bits.append(row[place] & 1 if carry else pattern(row[place], code, bits))
        columns.append(bits)
    operands = [arrays(code, [bits[place] for bits in columns]) for place, code in enumerate(codes)]
    if opcode.startswith("lop3"):
        columns = [[*bits[:3], columns[0][3] & 255] for bits in columns]  # one table for all lanes
        operands[3] = np.full(1, columns[0][3], dtype=np.uint32)
    before = [operand.copy() for operand in operands]
    with np.errstate(all="ignore"):
        made = found.compute(*operands)
    outputs = made if isinstance(made, tuple) else (made,)
    targets = [*found.results, *(["u32"] if found.writes_carry else [])]
    assert len(outputs) == len(targets)
    for output, code in zip(outputs, targets, strict=True):
        assert output.dtype == DTYPES[code] and output.shape == (len(raws),), (opcode, output.dtype, output.shape)
    for operand, old in zip(operands, before, strict=True):
        assert operand.tobytes() == old.tobytes(), f"{opcode} changed an operand"
    for lane, bits in enumerate(columns):
        values = [decode(pattern, code) for pattern, code in zip(bits, codes, strict=True)]
        wanted = expected(opcode, found.operands, found.results, values)
        for output, code, value in zip(outputs, targets, wanted, strict=True):
            got = decode(
                int(output[lane]) if code == "pred" else int(output[lane : lane + 1].view(f"u{output.itemsize}")[0]),
                code,
            )
            same = encode(got, code) == encode(value, code)
            assert same, f"{opcode}{tuple(values)} = {got!r}, not {value!r}"


# The opcodes of one function of the table, with the same kinds of operands: tested together.
GROUPS: dict[str, list[str]] = defaultdict(list)
for _opcode, _found in OPERATIONS.items():
    _function = _found.compute.func if isinstance(_found.compute, partial) else _found.compute
    if "approx" not in _opcode and "full" not in _opcode:
        GROUPS[f"{_function.__module__.rsplit('.', 1)[-1]}.{_function.__name__}"].append(_opcode)

ROWS = st.lists(st.lists(st.integers(0, 2**64 - 1), min_size=5, max_size=5), min_size=1, max_size=4)


@pytest.mark.sampled(quick=0, thorough=8)
@pytest.mark.parametrize("group", GROUPS)
def test_every_instruction_against_exact_arithmetic(group: str) -> None:
    random = np.random.default_rng(len(group))
    for opcode in GROUPS[group]:
        check(opcode, OPERATIONS[opcode], random.integers(0, 2**64, (100, 5), dtype=np.uint64).tolist())


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("group", GROUPS)
@settings(max_examples=10, deadline=None)
@given(rows=ROWS, data=st.data())
def test_instructions_on_drawn_operands(group: str, rows: list[list[int]], data: st.DataObject) -> None:
    opcode = data.draw(st.sampled_from(GROUPS[group]))
    check(opcode, OPERATIONS[opcode], rows)


# The special functions, against libm: correctly rounded here, within a unit or two on a GPU.
FUNCTIONS = {
    "rcp": lambda x: 1 / x, "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x), "ex2": lambda x: 2.0**x,
    "lg2": math.log2, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
}  # fmt: skip


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("opcode", [opcode for opcode in OPERATIONS if "approx" in opcode and "div" not in opcode])
def test_special_functions(opcode: str) -> None:
    found = OPERATIONS[opcode]
    code = found.operands[0]
    single = code.removesuffix("x2")
    values = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.25, 0.01)
    bits = [encode((value, value + 1) if code != single else value, code) for value in values]
    with np.errstate(all="ignore"):
        made = found.compute(arrays(code, bits))
    assert len(made) == len(values)
    for lane, value in enumerate(values):
        got = decode(int(made[lane : lane + 1].view(f"u{made.itemsize}")[0]), code)
        pairs = [(got, value)] if code == single else list(zip(got, (value, value + 1), strict=True))
        for answer, argument in pairs:
            argument = decode(encode(argument, single), single) if single != "bf16" else argument
            wanted = FUNCTIONS[opcode.split(".")[0]](float(argument))
            bound = {
                "f16": 2.0**-10,
                "bf16": 2.0**-7,
                "f32": 2.0**-23,
                "f64": 2.0**-20 if "ftz" in opcode else 2.0**-51,
            }
            assert abs(answer - wanted) <= bound[single] * max(abs(wanted), 2.0**-10), (argument, answer, wanted)


@pytest.mark.thorough
@pytest.mark.parametrize(("opcode", "value", "wanted"), [
    ("rcp.approx.f32", -0.0, -math.inf), ("sqrt.approx.f32", -1.0, math.nan), ("rsqrt.approx.f32", 0.0, math.inf),
    ("ex2.approx.ftz.f32", -200.0, 0.0), ("lg2.approx.f32", 0.0, -math.inf), ("lg2.approx.f32", -1.0, math.nan),
    ("sin.approx.f32", math.inf, math.nan),
    ("rcp.approx.ftz.f64", 5e-324, math.inf), ("ex2.approx.f32", 128.0, math.inf),
    ("rcp.approx.ftz.f64", math.nan, math.nan), ("tanh.approx.f32", -math.inf, -1.0),
])  # fmt: skip
def test_special_functions_at_the_edges(opcode: str, value: float, wanted: float) -> None:
    found = operation(opcode)
    with np.errstate(all="ignore"):
        (got,) = found.compute(np.array([value], DTYPES[found.operands[0]]))
    assert encode(float(got), "f64") == encode(wanted, "f64")


@pytest.mark.thorough
@pytest.mark.parametrize(("opcode", "values", "wanted"), [
    ("bfe.u64", (18446744073709551606, 249280292, 1200850438), 0), ("bfe.u64", (0xFF00, 8, 2**32 - 1), 0xFF),
    ("bfe.s64", (8593231906060455989, 1006815533, 1770170917), 0), ("bfe.s64", (-1, 300, 300), -1),
    ("bfi.b64", (65, 15058780078767827547, 5, 2471261726), 2107), ("bfe.u32", (0xFF00, 0x108, 0x104), 0xF),
    ("fns.b32", (185519403, 2286180789, -(2**31)), 0), ("testp.normal.f32", (0.0,), True),
    ("testp.normal.f64", (-0.0,), True), ("testp.subnormal.f32", (0.0,), False),
    ("cvt.rm.ftz.f16.f32", (-(2.0**-149),), -(2.0**-24)), ("cvt.rp.ftz.f16.f32", (2.0**-127,), 2.0**-24),
    ("cvt.rp.ftz.sat.f16.f32", (2.0**-127,), 2.0**-24), ("cvt.rna.tf32.f32", (math.nan,), 0x7FC00000),
    ("cvt.rna.tf32.f32", (-math.inf,), 0xFF800000),
])  # fmt: skip
def test_what_the_manual_leaves_open_is_as_the_h200_answers(
    opcode: str, values: tuple[float, ...], wanted: int
) -> None:
    found = operation(opcode)
    made = found.compute(*(np.array([value], DTYPES[code]) for value, code in zip(values, found.operands, strict=True)))
    assert made[0] == wanted


@pytest.mark.thorough
@settings(deadline=None)
@given(st.floats(width=32), st.floats(width=32))
def test_approximate_division_is_zero_for_huge_divisors(a: float, b: float) -> None:
    for opcode in ("div.approx.f32", "div.full.f32"):
        with np.errstate(all="ignore"):
            (got,) = operation(opcode).compute(np.array([a], "f4"), np.array([b], "f4"))
            exact = np.float32(a) / np.float32(b)
        if opcode == "div.approx.f32" and 2.0**126 < abs(b) < math.inf and math.isfinite(a):
            exact = np.copysign(np.float32(0), exact)
        assert encode(float(got), "f32") == encode(float(exact), "f32")


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 3), min_size=1, max_size=20), st.sampled_from(["f32", "f64"]))
def test_fused_without_the_processor_s_instruction(rows: list[tuple[int, int, int]], code: str) -> None:
    """The error terms give what the complex product gives, away from the ends of the range."""
    a, b, c = (
        arrays(code, [pattern(8 << 60 | row[place] >> 4 | 1 << 63, code, []) for row in rows]) for place in range(3)
    )
    with np.errstate(all="ignore"):
        plain, fast = rounding._fused_by_error_terms(a, b, c), rounding.fused(a, b, c)
    inside = (
        np.isfinite(fast) & ((np.abs(fast) > 1e-30) | (fast == 0)) & (np.abs(a * b) > 1e-30) & (np.abs(a * b) < 1e30)
    )
    assert np.array_equal(plain[inside], fast[inside])


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "digits"), [("f4", 24), ("f8", 53)])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (2, 1), (1, 3), (7, 5), (65, 130)])
def test_fused_rounds_once_in_every_shape(shape: tuple[int, ...], kind: str, digits: int) -> None:
    step = 2.0 ** (1 - digits)
    made = rounding.fused(*(np.full(shape, value, kind) for value in (1 + step, 1 + step, -1 - 2 * step)))
    assert made.shape == shape and (made == step * step).all()


@pytest.mark.thorough
def test_fused_takes_broadcast_and_strided_operands_of_any_length() -> None:
    random = np.random.default_rng(3)
    for shape in ((1, 1), (33, 1), (64, 301), (0, 4)):
        a, b, c = random.standard_normal((3, 64, 602))[:, : shape[0], : 2 * shape[1] : 2]
        rows, column = b[:1], c[:, :1]
        got = rounding.fused(a, rows, column)
        wanted = rounding.fused(*(np.ascontiguousarray(x) for x in np.broadcast_arrays(a, rows, column)))
        assert got.shape == a.shape and np.array_equal(got, wanted)


@pytest.mark.thorough
@pytest.mark.parametrize("opcode", ["add.u32", "fma.rn.f64", "selp.f64", "cvt.rzi.s32.f32", "div.s32", "setp.lt.f32"])
def test_operands_of_different_shapes_broadcast(opcode: str) -> None:
    """A register is as small as what it depends on: (1, 1), (threads, 1), (1, blocks) or full."""
    found = operation(opcode)
    random = np.random.default_rng(1)
    shapes = [(4, 1), (1, 5), (4, 5)]
    small, full = [], []
    for place, code in enumerate(found.operands):
        values = arrays(code, (random.integers(1, 2, 20) if code == "pred" else random.integers(1, 2**31, 20)).tolist())
        small.append(values[: math.prod(shapes[place])].reshape(shapes[place]))
        full.append(np.ascontiguousarray(np.broadcast_to(small[-1], (4, 5))))
    with np.errstate(all="ignore"):
        assert np.array_equal(np.broadcast_to(found.compute(*small), (4, 5)), found.compute(*full))


@pytest.mark.thorough
@given(st.integers(0, 2**16 - 1), st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2))
@settings(deadline=None)
def test_one_selector_for_all_lanes(selector: int, words: list[int]) -> None:
    """The bytes of a constant selector, as most of the compiler's are."""
    a, b = np.full(3, words[0], np.uint32), np.full((1, 1), words[1], np.uint32)
    made = operation("prmt.b32").compute(a, b, np.array([[selector]], np.uint32))
    assert made.shape == (1, 3)
    assert (made == expected("prmt.b32", ("b32", "b32", "u32"), ("b32",), [*words, selector])[0]).all()


@pytest.mark.thorough
@pytest.mark.parametrize("opcode", ["tanh.approx.ftz.f32", "ex2.approx.ftz.f16", "ex2.approx.bf16"])
def test_a_form_that_ptx_does_not_have_is_not_known(opcode: str) -> None:
    with pytest.raises(UnknownInstruction):
        operation(opcode)


@pytest.mark.thorough
def test_an_unknown_instruction_is_named() -> None:
    with refused("emulator.unknown-opcode", UnknownInstruction):
        operation("tex.2d.v4.f32.f32")


@pytest.mark.thorough
def test_one_opcode_has_one_meaning() -> None:
    with pytest.raises(AssertionError, match=r"add\.u32 has two meanings"):
        computes("add.u32", "u32 u32 -> u32")(lambda a, b: a)


@pytest.mark.thorough
def test_every_type_code_has_a_dtype_of_its_width() -> None:
    assert len(DTYPES) > 10
    for code, kind in DTYPES.items():
        if code not in ("pred", "tf32"):
            assert kind.itemsize * 8 == width(code)

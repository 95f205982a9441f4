"""Every opcode of the emulator's table on the GPU itself: the same bits on awkward and random operands.

The approximate ones may differ by what the manual allows; the emulator gives the correctly rounded values.
"""

from __future__ import annotations

import ctypes
import math
from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np
import pytest

from engine.ptx.ops import DTYPES, Operation, operation
from tests.ptx.ops_oracle import decode, encode
from tests.ptx.test_ops import GROUPS, OPERATIONS, pattern

pytestmark = pytest.mark.gpu

LANES = 256
# Units in the last place, or an absolute error, that PTX allows an approximation.
ULPS = {"rcp": 1, "sqrt": 1, "rsqrt": 2, "ex2": 2, "lg2": 2, "div": 2, "tanh": 32}
ABSOLUTE = {"sin": 2.0**-20, "cos": 2.0**-20, "lg2": 2.0**-22}
APPROXIMATE = [opcode for opcode in OPERATIONS if "approx" in opcode or "full" in opcode]


def register(code: str) -> str:
    """The register type that holds a type; no register is narrower than 16 bits."""
    return f"b{max(16, DTYPES[code].itemsize * 8)}"


def text_of(opcode: str, found: Operation) -> str:
    """A kernel that applies one opcode to arrays: pointers to the operands, its carry if any, then the results."""
    sources = [*found.operands, *(["u32"] if found.reads_carry else [])]
    targets = [*found.results, *(["u32"] if found.writes_carry else [])]
    names = [f"a{place}" for place in range(len(sources))] + [f"d{place}" for place in range(len(targets))]
    body = []
    for name, code in zip(names, sources + targets, strict=True):
        width = DTYPES[code].itemsize
        body += [
            f".reg .{register(code)} %{name}; .reg .b64 %p{name}; .reg .pred %q{name};",
            f"ld.param.u64 %p{name}, [{name}]; mad.wide.u32 %p{name}, %i, {width}, %p{name};",
        ]
    for place, code in enumerate(sources):
        if opcode.startswith("lop3") and place == 3:
            continue
        body.append(f"ld.global.{'u8' if DTYPES[code].itemsize == 1 else register(code)} %a{place}, [%pa{place}];")
        if code == "pred":
            body.append(f"setp.ne.b16 %qa{place}, %a{place}, 0;")
    reads = [f"%{'q' if code == 'pred' else ''}a{place}" for place, code in enumerate(found.operands)]
    if opcode.startswith("lop3"):
        reads[3] = "0xE8"  # the table is an immediate
    writes = "|".join(f"%{'q' if code == 'pred' else ''}d{place}" for place, code in enumerate(found.results))
    borrow = opcode.startswith("sub")
    if found.reads_carry:  # a carry, or a borrow, made from the operand
        carry = f"%a{len(sources) - 1}"
        body.append(f"sub.cc.u32 %i, 0, {carry};" if borrow else f"add.cc.u32 %i, {carry}, 0xFFFFFFFF;")
    body.append(f"{opcode} {writes}, {', '.join(reads)};")
    if found.writes_carry:
        last = f"%d{len(targets) - 1}"
        body.append(f"subc.u32 {last}, 0, 0; and.b32 {last}, {last}, 1;" if borrow else f"addc.u32 {last}, 0, 0;")
    for place, code in enumerate(targets):
        if code == "pred":
            body.append(f"selp.b16 %d{place}, 1, 0, %qd{place};")
        body.append(f"st.global.{'u8' if DTYPES[code].itemsize == 1 else register(code)} [%pd{place}], %d{place};")
    parameters = ", ".join(f".param .u64 {name}" for name in names)
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    lines = "\n".join(body)
    return f"{head}.visible .entry f({parameters}) {{\n.reg .b32 %i; mov.u32 %i, %tid.x;\n{lines}\nret;\n}}\n"


def operands_of(found: Operation, seed: int) -> list[Any]:
    """Arrays of operands of the kinds that the exact tests use as well."""
    random = np.random.default_rng(seed)
    codes = [*found.operands, *(["u32"] if found.reads_carry else [])]
    columns: list[list[int]] = [[] for _ in codes]
    for row in random.integers(0, 2**64, (LANES, 5), dtype=np.uint64).tolist():
        earlier: list[int] = []
        for place, code in enumerate(codes):
            carry = found.reads_carry and place == len(codes) - 1
            earlier.append(row[place] & 1 if carry else pattern(row[place], code, earlier))
            columns[place].append(earlier[-1])
    return [
        np.array(column, dtype=bool if code == "pred" else f"u{DTYPES[code].itemsize}").view(DTYPES[code])
        for column, code in zip(columns, codes, strict=True)
    ]


def on_the_gpu(opcode: str, found: Operation, operands: list[Any]) -> list[Any]:
    """What the GPU makes of the operands."""
    import cupy
    from cupy.cuda.function import Module
    from cupy_backends.cuda.api import driver

    module = Module()
    module.load(text_of(opcode, found).encode() + b"\0")
    targets = [*found.results, *(["u32"] if found.writes_carry else [])]
    given = [cupy.asarray(operand.view(f"u{operand.itemsize}")) for operand in operands]
    made = [cupy.zeros(LANES, f"u{DTYPES[code].itemsize}") for code in targets]
    values = [ctypes.c_uint64(array.data.ptr) for array in given + made]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    function = driver.moduleGetFunction(module.ptr, "f")
    driver.launchKernel(function, 1, 1, 1, LANES, 1, 1, 0, 0, ctypes.addressof(pointers), 0)
    cupy.cuda.runtime.deviceSynchronize()
    return [array.get() for array in made]


def differences(opcode: str, allowed: Any = None) -> list[str]:
    """The lanes in which the GPU and the table disagree, as sentences."""
    found = operation(opcode)
    operands = operands_of(found, len(opcode))
    if opcode.startswith("lop3"):
        operands[3] = np.full(1, 0xE8, np.uint32)
    given = operands[:3] + [np.zeros(LANES, np.uint32)] if opcode.startswith("lop3") else operands
    real = on_the_gpu(opcode, found, given)
    with np.errstate(all="ignore"):
        made = found.compute(*operands)
    emulated = made if isinstance(made, tuple) else (made,)
    targets = [*found.results, *(["u32"] if found.writes_carry else [])]
    wrong = []
    for code, one, two in zip(targets, real, emulated, strict=True):
        for lane in range(LANES):
            gpu, ours = (decode(int(x[lane : lane + 1].view(f"u{x.itemsize}")[0]), code) for x in (one, two))
            if encode(gpu, code) != encode(ours, code) and not (allowed and allowed(gpu, ours, code)):
                values = [decode(int(a[lane : lane + 1].view(f"u{a.itemsize}")[0]), c)
                          for a, c in zip(given, found.operands, strict=False)]  # fmt: skip
                wrong.append(f"{opcode}{tuple(values)}: {gpu!r} on the GPU, {ours!r} here")
    return wrong


@pytest.mark.parametrize("group", GROUPS)
def test_the_gpu_computes_the_same_bits(group: str) -> None:
    wrong: dict[str, list[str]] = defaultdict(list)
    refused = []
    for opcode in GROUPS[group]:
        try:
            wrong[opcode] = differences(opcode)
        except Exception as error:
            if "PTX" not in str(error).upper():
                raise
            refused.append(opcode)  # the table knows forms that this assembler does not take
    bad = {opcode: (len(lines), lines[0]) for opcode, lines in wrong.items() if lines}
    assert not bad, bad
    assert len(refused) < len(GROUPS[group]), f"the assembler takes no form of {group}"


@pytest.mark.parametrize("opcode", APPROXIMATE)
def test_approximations_are_as_close_as_the_manual_says(opcode: str) -> None:
    name = opcode.split(".")[0]

    def near(gpu: Any, ours: Any, code: str) -> bool:
        if code.endswith("x2"):
            return all(near(x, y, code[:-2]) for x, y in zip(gpu, ours, strict=True))
        if gpu != gpu or ours != ours or math.isinf(gpu) or math.isinf(ours):
            return name in ("sin", "cos") and ours == ours  # the argument is reduced badly for large numbers
        absolute = ABSOLUTE.get(name, 0.0) if code == "f32" else 0.0
        if name in ("sin", "cos"):
            return abs(gpu) <= 1.0 + absolute
        digits = {"f16": 10, "bf16": 7, "f32": 23, "f64": 20}[code]
        units = ULPS[name] if code == "f32" else 2
        return abs(gpu - ours) <= max(absolute, units * 2.0**-digits * abs(ours), 2.0**-126 if "ftz" in opcode else 0.0)

    assert not differences(opcode, near)[:3]


def test_every_group_is_a_function_of_the_table() -> None:
    assert all(callable(OPERATIONS[opcode].compute) for opcodes in GROUPS.values() for opcode in opcodes)
    assert not any(isinstance(found, partial) for found in OPERATIONS.values())

"""Every opcode of the emulator's table on the GPU itself: the same bits on awkward and random operands.

The approximate ones may differ by what the manual allows; the emulator gives the correctly rounded values.
"""

from __future__ import annotations

import ctypes
import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from engine.backends.emulator.meanings.table import DTYPES, Operation, operation
from tests.backends.emulator.meanings.test_ops import FUNCTIONS, GROUPS, OPERATIONS, pattern
from tests.backends.emulator.ops_oracle import decode, encode, flushed

pytestmark = pytest.mark.gpu

LANES = 256
# The error that the PTX manual allows an approximation: (relative to the exact value, absolute).
ALLOWED = {
    "rcp.f32": (2.0**-23, 0.0), "sqrt.f32": (2.0**-23, 0.0), "rsqrt.f32": (2.0**-22, 0.0), "div.f32": (2.0**-22, 0.0),
    "ex2.f32": (2.0**-22, 0.0), "lg2.f32": (2.0**-22, 2.0**-22), "tanh.f32": (2.0**-11, 0.0),
    "rcp.f64": (2.0**-19, 0.0), "rsqrt.f64": (2.0**-19, 0.0),
    "ex2.f16": (2.0**-9.9, 0.0), "ex2.bf16": (2.0**-7, 0.0),
    "tanh.f16": (0.0, 2.0**-10.987), "tanh.bf16": (0.0, 2.0**-8),
}  # fmt: skip
# The smallest denormal, which no bound can be below, and the smallest normal, below which `.ftz` may give zero.
LEAST = {"f16": (-24, -14), "bf16": (-133, -126), "f32": (-149, -126), "f64": (-1074, -1022)}
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
    if found.reads_carry:
        body.append(f"add.cc.u32 %i, %a{len(sources) - 1}, 0xFFFFFFFF;")  # the carry is the operand
    body.append(f"{opcode} {writes}, {', '.join(reads)};")
    if found.writes_carry:
        body.append(f"addc.u32 %d{len(targets) - 1}, 0, 0;")
    for place, code in enumerate(targets):
        if code == "pred":
            body.append(f"selp.b16 %d{place}, 1, 0, %qd{place};")
        body.append(f"st.global.{'u8' if DTYPES[code].itemsize == 1 else register(code)} [%pd{place}], %d{place};")
    parameters = ", ".join(f".param .u64 {name}" for name in names)
    head = ".version 8.1\n.target sm_90\n.address_size 64\n"
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


def differences(opcode: str, allowed: Callable[..., bool] | None = None) -> list[str]:
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
            values = [decode(int(a[lane : lane + 1].view(f"u{a.itemsize}")[0]), c)
                      for a, c in zip(given, found.operands, strict=False)]  # fmt: skip
            if encode(gpu, code) != encode(ours, code) and not (allowed and allowed(opcode, gpu, ours, code, values)):
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


def near(opcode: str, gpu: Any, ours: Any, code: str, values: list[Any]) -> bool:
    """Does the GPU's result of an approximation keep to the manual's bound?"""
    if code.endswith("x2"):
        halves = zip(gpu, ours, *values, strict=True)
        return all(near(opcode, one, two, code[:-2], part) for one, two, *part in halves)
    name, ftz = opcode.split(".")[0], "ftz" in opcode
    if name in ("sin", "cos"):  # large arguments are reduced badly, and beyond 100 pi the manual promises nothing
        turns = abs(values[0]) / math.tau
        bound = 2.0**-20.5 if turns <= 1 else 2.0**-14.7 if turns <= 50 else 2.0
        return bool(ours == ours and abs(gpu - ours) <= bound + 2.0**-25)  # ours is rounded
    if gpu != gpu or ours != ours or math.isinf(gpu) or math.isinf(ours):
        return encode(gpu, code) == encode(ours, code)
    exact = ours
    if name in FUNCTIONS:  # not of div: its result is zero for large divisors
        exact = FUNCTIONS[name](flushed(values[0], code) if ftz and code == "f32" else values[0])
    relative, absolute = ALLOWED[f"{name}.{code}"]
    return abs(gpu - exact) <= max(relative * abs(exact), absolute, 2.0 ** LEAST[code][ftz])


@pytest.mark.parametrize("opcode", APPROXIMATE)
def test_approximations_are_as_close_as_the_manual_says(opcode: str) -> None:
    assert not differences(opcode, near)[:3]


def test_every_group_is_a_function_of_the_table() -> None:
    assert all(callable(OPERATIONS[opcode].compute) for opcodes in GROUPS.values() for opcode in opcodes)
    assert not any(isinstance(found, partial) for found in OPERATIONS.values())

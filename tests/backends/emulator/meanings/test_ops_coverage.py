"""Every instruction that NVRTC emits for the arithmetic students write has a meaning, on every architecture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.backends.emulator.meanings.table import UnknownInstruction, operation
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import Source
from tests.cases import case

FOLDER = Path(__file__).parent / "arithmetic"
ARCHITECTURES = ("compute_75", "compute_80", EMULATED_ARCHITECTURE)

# Data movement, control and collectives are the machine's, not the table's.
ELSEWHERE = {
    "mov", "ld", "ldu", "st", "atom", "red", "bar", "barrier", "bra", "ret", "exit", "call", "shfl", "vote", "match",
    "activemask", "redux", "membar", "fence", "cvta", "isspacep", "prefetch", "trap", "brkpt", "nanosleep", "brx",
    "elect", "pmevent", "cp", "mbarrier", "ldmatrix", "mma", "wmma", "stacksave", "alloca",
}  # fmt: skip

MATH = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2",
    "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "rcbrt", "erf", "erfc", "erfinv",
    "erfcinv", "erfcx", "tgamma", "lgamma", "sinpi", "cospi", "j0", "j1", "y0", "y1", "normcdf", "normcdfinv",
    "cyl_bessel_i0",
)  # fmt: skip
MATH_TWO = ["pow", "atan2", "hypot", "fmod", "remainder", "fdim", "rhypot"]


def source(name: str, text: str) -> Source:
    return Source(name=f"{name}.cu", text=text, dtype="int32")


def programs() -> dict[str, str]:
    """Sources by name: one file for each type that it is written for."""
    texts = {path.stem: path.read_text() for path in FOLDER.glob("*.cu")}
    made = {"intrinsics": texts["intrinsics"], "fast": texts["fast"]}
    for short, full in {
        "char": "signed char", "byte": "unsigned char", "short": "short", "ushort": "unsigned short", "int": "int",
        "uint": "unsigned int", "long": "long long", "ulong": "unsigned long long",
    }.items():  # fmt: skip
        made[short] = f"using I = {full};\n{texts['integer']}"
    for kind in ("float", "double"):
        made[f"{kind} arithmetic"] = f"using F = {kind};\n{texts['floating']}"
        calls = " ".join(f"r += {name}(a);" for name in MATH) + " ".join(f"r += {name}(a, b);" for name in MATH_TWO)
        made[f"{kind} math"] = (
            f'extern "C" __global__ void k(const {kind} *in, {kind} *out) {{ int i = threadIdx.x; {kind} a = in[i], '
            f"b = in[i + 32], r = 0; {calls} r += jn(3, a) + norm3d(a, b, r); out[i] = r; }}"
        )
    for kind, pair, from_name, pack in (
        ("__half", "__half2", "__half2float", "__floats2half2_rn"),
        ("__nv_bfloat16", "__nv_bfloat162", "__bfloat162float", "__floats2bfloat162_rn"),
    ):
        made[kind] = (
            f"#define H {kind}\n#define H2 {pair}\n#define FROM {from_name}\n#define PAIR {pack}\n{texts['half']}"
        )
    return made


def opcodes(ptx: str) -> set[str]:
    ptx = re.sub(r"\bcall\b[^;]*;", "", ptx)  # its arguments stand on lines of their own
    found = re.findall(r"^\s*(?:\{\s*)?(?:@!?%?\w+\s+)?([a-z][a-z0-9]*(?:[.:]+\w+)*)\s[^\n]*;", ptx, re.MULTILINE)
    return {opcode for opcode in found if opcode.split(".")[0] not in ELSEWHERE}


@pytest.mark.sampled(quick=4, thorough=3)
@pytest.mark.parametrize("architecture", [case(name, quick=name == EMULATED_ARCHITECTURE) for name in ARCHITECTURES])
@pytest.mark.parametrize("name", programs())
def test_every_arithmetic_instruction_has_a_meaning(name: str, architecture: str) -> None:
    if name == "__nv_bfloat16" and architecture == "compute_75":
        pytest.skip("bfloat16 arithmetic begins with compute_80")
    ptx = compile_source(source(name, programs()[name]), architecture).decode()
    unknown = []
    for opcode in sorted(opcodes(ptx)):
        try:
            operation(opcode)
        except UnknownInstruction:
            unknown.append(opcode)
    assert not unknown

"""Ways to break a .cu file, drawn from a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Make = random.Random
_OPERATORS = (
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "=", "+=", "-=",
    "*=", ">>=", "<<=", "/=", "++", "--",
)  # fmt: skip
_STATEMENTS = (
    "__syncthreads();", "if (threadIdx.x < 5) __syncthreads();", "while (true) {}", "while (true) out[0] = out[0];",
    "return;", "for (unsigned int k = 0; k < 1000000000u; k++) out[0] += 1;", "__trap();", "assert(threadIdx.x < 3);",
    '__nanosleep(100);', 'printf("%d %f %s\\n", threadIdx.x, 1.5, "x");', "out[n] = 0;", "out[-1] = 0;",
    "*(int *)0 = 1;", "*(int *)((char *)out + 1) = 1;", "if (threadIdx.x & 1) return;", "__syncwarp(1);",
    "int q = __shfl_xor_sync(~0u, 1, 1); out[0] = q;", "__threadfence();", "while (atomicCAS((int *)out, 0, 1)) {}",
    "volatile int *v = (int *)out; while (*v == 12345) {}", "out[0] = malloc(8) != 0;",
    "int big[4096]; for (int k = 0; k < 4096; k++) big[k] = k; out[0] = big[threadIdx.x * 7 & 4095];",
    "asm volatile(\"exit;\");", "out[0] /= (threadIdx.x - threadIdx.x);",
    "__shared__ char huge[40000]; huge[threadIdx.x * 100] = 1; out[0] = huge[7];",
)  # fmt: skip


def mutated_source(text: str, make: Make) -> str:
    """A .cu file with one or two things changed."""
    for _ in range(make.choice((1, 1, 2))):
        text = make.choice(_SOURCE)(text, make)
    return text


def _token(text: str, make: Make, pattern: str, new: Callable[[re.Match[str]], str]) -> str:
    body = text.find("__global__")
    matches = list(re.finditer(pattern, text[body:]))
    if not matches:
        return text
    found = make.choice(matches)
    return text[: body + found.start()] + new(found) + text[body + found.end() :]


def _operator(text: str, make: Make) -> str:
    return _token(
        text,
        make,
        r"(?<=[\w\s)])(?:<<=|>>=|[-+*/%&|^<>=!]=|<<|>>|&&|\|\||\+\+|--|[-+*/%<>&|^])(?=[\w\s(;)])",
        lambda m: make.choice(_OPERATORS),
    )


def _index(text: str, make: Make) -> str:
    names = (
        "threadIdx.x",
        "threadIdx.y",
        "blockIdx.x",
        "blockDim.x",
        "gridDim.x",
        "(threadIdx.x + 1)",
        "(2 * threadIdx.x)",
        "n",
        "0",
        "(-1)",
    )
    return _token(text, make, r"(threadIdx|blockIdx|blockDim|gridDim)\.[xy]|\bt\b|\bi\b", lambda m: make.choice(names))


def _constant(text: str, make: Make) -> str:
    return _token(
        text,
        make,
        r"\b\d+u?\b",
        lambda m: make.choice(("0", "1", "2", "3", "31", "32", "33", "64", "1000000", "0x7fffffff", "-1")),
    )


def _barrier(text: str, make: Make) -> str:
    return _token(
        text,
        make,
        r"__sync\w+\([^)]*\);|\w+\.sync\(\);",
        lambda m: make.choice(("", "", "if (threadIdx.x & 1) " + m[0])),
    )


def _condition(text: str, make: Make) -> str:
    return _token(
        text,
        make,
        r"\b(if|while) \([^()]*(?:\([^()]*\)[^()]*)*\)",
        lambda m: f"{m[1]} ({make.choice(('true', 'false', '!', 'threadIdx.x < 7'))})",
    )


def _endless(text: str, make: Make) -> str:
    return _token(
        text,
        make,
        r"for \(([^;]*);([^;]*);([^;{]*)\)",
        lambda m: make.choice((f"for ({m[1]};;{m[3]})", f"for ({m[1]};{m[2]};)", f"for (;{m[2]};{m[3]})")),
    )


def _statement(text: str, make: Make) -> str:
    return _token(text, make, r"\n(?=  )|;\n", lambda m: m[0] + make.choice(_STATEMENTS) + "\n")


def _line(text: str, make: Make) -> str:
    lines = text.split("\n")
    first = next((n for n, line in enumerate(lines) if "__global__" in line), 0)
    at, to = make.randrange(first, len(lines)), make.randrange(first, len(lines))
    match make.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(to, lines[at])
        case _:
            lines[at], lines[to] = lines[to], lines[at]
    return "\n".join(lines)


def _type(text: str, make: Make) -> str:
    types = (
        "int",
        "char",
        "short",
        "long long",
        "float",
        "double",
        "bool",
        "unsigned char",
        "T",
        "volatile T",
        "int4",
        "void",
    )
    return _token(text, make, r"\b(unsigned int|int|float|T)\b", lambda m: make.choice(types))


_SOURCE: tuple[Callable[[str, Make], str], ...] = (
    _operator, _operator, _operator, _index, _index, _constant, _constant, _barrier, _barrier, _condition, _endless,
    _statement, _statement, _line, _type,
)  # fmt: skip

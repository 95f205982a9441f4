"""Hostile lines of NumPy for what is right, an endless stream from one seed.

A tree of names, numbers, functions, indices and operators, with parts among them that no formula may have.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

NUMBERS = (
    "0", "-1", "3", "10 ** 9", "9 ** 9 ** 9", "1 << 62", "2 ** 63", "1e308", "-1e-320", "1j", "True", "None",
    "...", "0x7fffffffffffffff", "float('nan')", "1_000_000_007",
)  # fmt: skip
NAMES = (
    "x", "y", "a", "n", "z", "np", "__builtins__", "self", "lambda_", "int", "type", "x.T", "x.shape",
    "x.base", "x.ctypes", "x.__class__", "x.dtype", "globals()", "x.__array_interface__",
)  # fmt: skip
FUNCTIONS = (
    "sum", "max", "argmax", "cumsum", "exp", "sqrt", "log", "dot", "outer", "repeat", "arange", "zeros",
    "ones", "full", "eye", "roll", "where", "softmax", "sort", "reshape", "concatenate", "stack", "tile",
    "pad", "convolve", "power", "diff", "clip", "abs", "bincount", "histogram", "load", "fromfile", "memmap",
    "save", "eval", "exec", "open", "getattr", "__import__", "compile", "vars", "input", "breakpoint", "print",
)  # fmt: skip
METHODS = (
    "sum", "max", "reshape", "cumsum", "dot", "astype", "tofile", "dump", "tobytes", "copy", "view", "T",
    "repeat", "take", "put", "sort", "item", "__getattribute__", "__class__.__mro__", "setfield", "resize",
)  # fmt: skip
OPERATORS = (
    "+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "<", "==", "is", "in", "and", "or",
    ":=",
)  # fmt: skip
SHAPES = (
    "({})", "-({})", "~({})", "not ({})", "[{}]", "[i for i in {}]", "({},)", "{{{}}}", "lambda: {}",
    "f'{{{}}}'", "({})[0]", "({})[::-1]", "({})[10 ** 30]", "({})[-1:9:0]", "({})[..., None]", "({})[x]",
    "({})[{}]", "({}) if x else 1", "*{}", "await {}", "(yield {})", "'{}'", "b'{}'", "{}; 1", "{} = 1",
    "{}\n1", "{} # 1", "\x00{}", "({}).real.imag",
)  # fmt: skip


def hostile_lines(count: int, seed: int = 0) -> Iterator[str]:
    """Yield `count` lines, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        yield _part(chance, chance.randrange(1, 6))


def _part(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(chance.choice((NAMES[:4], NAMES[:4], NUMBERS, NAMES)))
    match chance.randrange(5):
        case 0:
            parts = ", ".join(_part(chance, depth - 1) for _ in range(chance.randrange(4)))
            more = chance.choice(("", "", "", ", axis=0", ", out=y", ", 10 ** 9", ", dtype=object"))
            return f"{chance.choice(FUNCTIONS)}({parts}{more})"
        case 1:
            return f"({_part(chance, depth - 1)}).{chance.choice(METHODS)}({_part(chance, 0)})"
        case 2:
            shape = chance.choice(SHAPES)
            return shape.format(*(_part(chance, depth - 1) for _ in range(shape.count("{}"))))
        case _:
            return f"({_part(chance, depth - 1)}) {chance.choice(OPERATORS)} ({_part(chance, depth - 1)})"

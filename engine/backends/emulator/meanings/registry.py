"""The table of instructions, filled by one decorator:

@computes("mad.{half}.{t}", "t t t -> t", half=("lo", "hi"), t=INTEGERS)
def multiply_and_add(a, b, c, *, half): ...

The pattern is the PTX opcode. `{name}` stands for each value of the keyword, `{name?}` also for its absence (""), and
`word?` for an optional modifier. A function receives the ones that it names as keyword-only parameters. The signature
has PTX type codes, choices of the pattern, `wide:t` (twice the bits of t), `bits:t` (t as untyped bits) and `carry`
(the condition code, always last).

`compute` is a pure function of broadcasting arrays of the operands' dtypes. It may divide by zero, overflow and meet
NaN: the caller wraps it once in `np.errstate(all="ignore")`.

The helpers below convert bit patterns.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from engine.records import Array

Compute = Callable[..., Any]  # (Array, ...) -> Array, or a tuple of arrays for several results
Function = TypeVar("Function", bound=Compute)

# PTX type code -> the dtype of its arrays. Untyped bits are unsigned; NumPy has no bfloat16 and no packed types.
DTYPES: dict[str, np.dtype[Any]] = {
    **{f"{kind}{bits}": np.dtype(f"u{bits // 8}") for kind in "ub" for bits in (8, 16, 32, 64)},
    **{f"s{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"f{bits // 8}") for bits in (16, 32, 64)},
    **{code: np.dtype("u2") for code in ("bf16", "e4m3x2", "e5m2x2")},
    **{code: np.dtype("u4") for code in ("f16x2", "bf16x2", "u16x2", "s16x2", "tf32")},
    "pred": np.dtype("bool"),
}
UNSIGNED = ("u16", "u32", "u64")
SIGNED = ("s16", "s32", "s64")
INTEGERS = UNSIGNED + SIGNED
BITS = ("b16", "b32", "b64")
FLOATS = ("f32", "f64")
ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Operation:
    """The computation of one PTX instruction. `operands`, `results`: PTX type codes, keys of DTYPES.

    The caller narrows an operand from a wider register to its low bits, and widens a result to a wider register, by
    sign if its type is signed. With `reads_carry`, the condition code (uint32 0 or 1) is an additional last operand of
    `compute`; with `writes_carry` it is an additional last result.
    """

    results: tuple[str, ...]
    operands: tuple[str, ...]
    compute: Compute
    reads_carry: bool = False
    writes_carry: bool = False


OPERATIONS: dict[str, Operation] = {}


def computes(pattern: str, signature: str, **choices: Iterable[str]) -> Callable[[Function], Function]:
    """Register a function for every opcode of `pattern`. Asserts that no opcode is registered twice."""
    words = [_alternatives(word, choices) for word in pattern.split(".")]
    operands, results = (part.split() for part in signature.split("->"))

    def register(function: Function) -> Function:
        wanted = {
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        }
        for chosen in itertools.product(*words):
            opcode = ".".join(text for text, _, _ in chosen if text)
            values = {name: value for _, name, value in chosen if name}
            if any(values[name] != value for _, name, value in chosen if name):
                continue  # a repeated name has one value
            assert opcode not in OPERATIONS, f"{opcode} has two meanings"
            named = {name: values[name] for name in wanted}
            OPERATIONS[opcode] = Operation(
                results=tuple(_type(token, values) for token in results if token != "carry"),
                operands=tuple(_type(token, values) for token in operands if token != "carry"),
                compute=partial(function, **named) if named else function,
                reads_carry="carry" in operands,
                writes_carry="carry" in results,
            )
        return function

    return register


def _alternatives(word: str, choices: dict[str, Iterable[str]]) -> list[tuple[str, str, Any]]:
    """Return [(text in the opcode, keyword, its value)] for one dotted word of a pattern."""
    if word.startswith("{"):
        name = word.strip("{}?")
        optional = [("", name, "")] if word.endswith("?}") else []
        return optional + [(value, name, value) for value in choices[name]]
    if word.endswith("?"):
        name = word[:-1]
        return [("", name, False), (name, name, True)]
    return [(word, "", None)]


def _type(token: str, values: dict[str, Any]) -> str:
    how, _, name = token.rpartition(":")
    code = str(values.get(name, name))
    if how == "wide":
        code = f"{code[0]}{int(code[1:]) * 2}"
    elif how == "bits":
        code = f"b{DTYPES[code].itemsize * 8}"
    assert code in DTYPES, code
    return code


_KINDS = [np.dtype(f"{kind}{size}") for kind in "iuf" for size in (1, 2, 4, 8) if (kind, size) != ("f", 1)]
_UNSIGNED = {kind: np.dtype(f"u{kind.itemsize}") for kind in _KINDS}
_SIGNED = {kind: np.dtype(f"i{kind.itemsize}") for kind in _KINDS}
_WIDER = {kind: np.dtype(f"{kind.kind}{2 * kind.itemsize}") for kind in _KINDS if kind.itemsize < 8}


def unsigned(a: Array) -> Array:
    """Return the same bits as unsigned integers."""
    return a.view(_UNSIGNED[a.dtype])


def widened(a: Array) -> Array:
    """Return the same values in twice the bits."""
    return a.astype(_WIDER[a.dtype])


def bit_mask(condition: Array, dtype: str | np.dtype[np.generic]) -> Array:
    """Return a select mask: all ones where `condition` holds. Negating bytes first is one cheap pass; sign
    extends it."""
    dtype = np.dtype(dtype)
    return np.negative(condition.view(np.int8)).astype(_SIGNED[dtype]).view(_UNSIGNED[dtype])


def halves(a: Array, signed: bool) -> tuple[Array, Array]:
    """Return the low and the high 16 bits of each word."""
    low, high = a.astype(np.uint16), (a >> np.uint32(16)).astype(np.uint16)
    return (low.view(np.int16), high.view(np.int16)) if signed else (low, high)


def packed(low: Array, high: Array) -> Array:
    """Pack two arrays of 16 bits into words."""
    return unsigned(low).astype(np.uint32) | unsigned(high).astype(np.uint32) << np.uint32(16)

"""A line of NumPy that says what is right, `a * x + y` or `softmax(x)`, evaluated with the bound of its roundings.

check("a * x + y", {"x": x, "y": y}, {"a": 2.0}, found, "y") -> Check

The line is read as a tree of allowed operations, so nothing of it runs as Python. Floats are compared within the bound
that their roundings have (`bounded`), and whole numbers wrap as the type of the answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from keyword import kwlist
from typing import Any

import numpy as np

from engine.catalogue import checks
from engine.lab.bounded import (
    OF_COMPLEX,
    Value,
    add,
    divide,
    exact,
    floor_divide,
    indexed,
    matmul,
    multiply,
    plain,
    power,
    remainder,
    room,
    stacked,
    subtract,
    whole,
    wholes,
)
from engine.lab.numpy_functions import FUNCTIONS, HALF_UNITS, MODES, OF_PARTS, STEPS, added_at
from engine.records import Array, Check, NotRunnable

LONGEST, MOST_NODES = 2_000, 600  # with what each name of an earlier statement stands for
_OF_FLOAT = (
    float(np.finfo(np.float32).eps) / 2
)  # half units of 1, in which a kernel computes fractions of whole numbers
_OVERFLOWED = 4.0  # roundings of a value of which one on the way to it was infinite, as in 1 / (1 + exp(1000))
_SLACK = 2.0  # a kernel may round an intermediate value once more than the line does
_FLUSHED, _NOTHING = 2**10, 1e-30  # a factor of a number that has become zero; what counts as zero in any case


# Names of parameters that are words of Python; they are read with two underscores behind them.
KEYWORD = re.compile(
    rf"\b({'|'.join(sorted({*kwlist} - {'True', 'False', 'None', 'and', 'or', 'not', 'if', 'else'}))})\b"
)


def check(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], found: Array, out: str) -> Check:
    """Compare the first elements of the array `found`, named `out`, with the line's value, as many as it has.

    `arrays`: as they were before the launch; `numbers`: the other parameters. Unsigned numbers of 32 or 64 bits wrap in
    each step; a difference of two may also be negative. NotRunnable: the line is no formula, or its value does not fit
    the array.
    """
    unit = float(np.finfo(found.dtype).eps) / 2 if found.dtype.kind == "f" else _OF_FLOAT
    taken = HALF_UNITS.set((unit,))
    try:
        return _checked(line, arrays, numbers, found, out)
    finally:
        HALF_UNITS.reset(taken)


def _checked(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], found: Array, out: str) -> Check:
    made = value_of(line, arrays, numbers)
    compared = _compared(line, arrays, numbers, made, found, out)
    words = unsigned_words(arrays, found)
    if not words and "uint" not in line:
        return compared
    unsigned = value_of(line, {**arrays, **words}, numbers, wraps=True)
    if np.array_equal(made.of, unsigned.of, equal_nan=unsigned.of.dtype.kind == "f"):
        return compared
    if compared.ok and found.dtype.kind == "f":
        return compared  # a kernel may compute with floats, which do not wrap
    wide = [one for one in words.values() if one.of.itemsize > 4]
    sizes = [
        np.abs(part).max(initial=0) for _, part in _values_of_parts(line, arrays, numbers) if part.dtype.kind in "iu"
    ]
    only_below_0 = compared.ok and not wide and max(sizes, default=0) < 2**32
    return compared if only_below_0 else _compared(line, arrays, numbers, unsigned, found, out)


def unsigned_words(arrays: Mapping[str, Array], out: Array) -> dict[str, Value]:
    """Return the arrays whose numbers wrap in a line as NumPy's and a kernel's do: they are unsigned, as wide as an
    answer of whole numbers and as an int, as which a kernel computes narrower ones."""
    wide = max(4, out.itemsize if out.dtype.kind in "iu" else 0)
    words = {name: one for name, one in arrays.items() if one.dtype.kind == "u" and one.itemsize >= wide}
    return {name: Value(one, np.zeros(one.shape)) for name, one in words.items()}


def stays_unsigned(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], out: Array) -> bool:
    """Return whether a line computes only with unsigned words of one type before it makes fractions of them: then it
    has a kernel's own value, whatever the numbers are. NotRunnable: the line has no value."""
    words = unsigned_words(arrays, out)
    parts = _values_of_parts(line, {**arrays, **words}, numbers, wraps=True)
    kinds = {made.dtype for _, made in parts if made.dtype.kind in "iu" and (made.ndim or made.dtype.kind == "u")}
    return bool(words) and kinds == {one.of.dtype for one in words.values()} and len(kinds) == 1


def _compared(
    line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], made: Value, found: Array, out: str
) -> Check:
    flat = found.ravel()
    if not made.of.size:
        raise NotRunnable(f"{line} has no elements.")
    if made.of.size > flat.size:
        raise NotRunnable(f"`{out}` has room for {flat.size:,} numbers, but {line} has {made.of.size:,}.")
    if flat.dtype.kind not in "biuf":
        hint = f" {OF_COMPLEX}" if flat.dtype.kind == "c" else ""
        raise NotRunnable(f"`{out}` is an array of {flat.dtype}: a formula needs one of plain numbers.{hint}")
    columns = made.of.shape[1] if made.of.ndim == 2 else 0
    note = f"{out} = {line}."
    steps = _steps_of(line, arrays, numbers, made)
    flat, wanted, off = flat[: made.of.size], made.of.ravel(), made.off.ravel()
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):
            cast = wanted.astype(flat.dtype)
        if made.exact or wanted.dtype.kind != "f":
            none = np.isnan(flat) & np.isnan(cast.astype(np.float64))
            return checks.equal(np.where(none, 0, flat), np.where(none, 0, cast), note, columns)
        # Infinities and NaN must be the same; a number below the smallest normal one may have become zero
        # before it was multiplied, as 1 / (1 + exp(-x)) has in x / (1 + exp(-x)).
        same = ~np.isfinite(cast) & ((cast == flat) | (np.isnan(cast) & np.isnan(flat)))
        # A kernel may halve a sum that has become infinite, as in (exp(x) + exp(-x)) / 2.
        same |= np.isinf(flat) & (np.sign(flat) == np.sign(wanted)) & (np.abs(wanted) > np.finfo(flat.dtype).max / 4)
        off = np.where(np.isfinite(off), off, _OVERFLOWED * np.abs(wanted))
        flat, wanted, off = (np.where(same, 0, each) for each in (flat, wanted.astype(np.float64), off))
        kind = np.finfo(flat.dtype)
        tiny = float(kind.tiny)
        bound = float(kind.eps) / 2 * (_SLACK * off + np.abs(wanted)) + max(tiny, min(_FLUSHED * tiny, _NOTHING))
        if _misses_steps(line, steps, flat, wanted):
            return checks.equal(flat, cast, note, columns)
        return checks.within(flat, wanted, bound, note, columns)
    if wanted.dtype.kind == "f":
        if not np.array_equal(wanted, np.trunc(wanted)) or np.abs(wanted).max() >= 2**63:
            other = "fractions" if np.isfinite(wanted).all() and np.abs(wanted).max() < 2**63 else "larger numbers"
            raise NotRunnable(f"`{out}` holds whole numbers, but {line} has {other}: give it a floating-point type.")
        wanted = wanted.astype(np.int64)
    if steps.any() and not _misses_steps(line, steps, flat, wanted):
        return checks.within(flat, wanted.astype(flat.dtype), steps, note, columns)
    return checks.equal(flat, wanted.astype(flat.dtype), note, columns)


def _steps_of(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], made: Value) -> Array:
    """Return by how much the whole numbers of a line may be off, where a float rounds a fraction to another one."""
    match parse(line):
        case ast.Call(func=function, args=given):
            name, given = function_of(function, given)
            if name == CAST and made.of.dtype.kind in "iu":
                made = value_of(f"trunc({ast.unparse(given[0])})", arrays, numbers)
    if made.of.dtype.kind != "f":
        return np.zeros(1)
    return np.floor(np.ravel(made.off) * _OF_FLOAT)


_FEWEST_STEPS, _FEWEST_WHOLE = 8, 4


def _misses_steps(line: str, steps: Array, found: Array, wanted: Array) -> bool:
    """Return whether a kernel is off wherever it may be: its roundings are not on one side of all steps of a line such
    as ceil(x / 3), but floor(x / 3) + 1 is. `steps`: by how much each number may be off."""
    tree = parse(line)
    if not isinstance(tree, ast.Call) or function_of(tree.func, tree.args)[0] not in (*STEPS, CAST):
        return False
    near = np.broadcast_to(steps > 0, wanted.shape)
    many = np.count_nonzero(near) >= _FEWEST_STEPS and np.unique(wanted[near]).size >= _FEWEST_WHOLE
    return bool(many and not np.any(found[near] == wanted[near]))


def value_of(
    line: str, arrays: Mapping[str, Array | Value], numbers: Mapping[str, float], wraps: bool = False
) -> Value:
    """Evaluate a line of NumPy. `wraps`: numbers that the line itself makes unsigned wrap in each step. NotRunnable: it
    is none, names what is not there, or takes too much memory."""
    tree = parse(line)
    known = {**arrays, **numbers}
    try:
        with np.errstate(all="ignore"):
            return _evaluate(tree, known, line, wraps)
    except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as error:
        raise NotRunnable(f"{line}: {str(error).rstrip('.')}.") from None
    except MemoryError:
        raise NotRunnable(f"{line} takes too much memory.") from None


def largest_whole(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float]) -> float:
    """Return the largest whole number, without its sign, of a line and of all its parts; infinite if one is a
    fraction. A part that the line itself makes 64 bits wide counts as a number with 32 bits less. NotRunnable: the line
    has no value."""
    largest = 0.0
    for part, made in _values_of_parts(line, arrays, numbers):
        if made.dtype.kind == "f":
            return np.inf
        size = float(np.abs(made.astype(np.float64)).max(initial=0))
        largest = max(largest, size / 2**32 if "int64" in part else size)
    return largest


def part_too_large(
    line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], kind: np.dtype[Any]
) -> str | None:
    """Return the shortest part of a line that has a number larger than a floating-point type can hold; None if there is
    none, or the line has no value."""
    most = float(np.finfo(kind).max)
    try:
        large = [part for part, made in _values_of_parts(line, arrays, numbers) if np.any(np.abs(made) > most)]
    except NotRunnable:
        return None
    return min(large, key=len, default=None)


def _values_of_parts(
    line: str, arrays: Mapping[str, Array | Value], numbers: Mapping[str, float], wraps: bool = False
) -> Iterator[tuple[str, Array]]:
    """Yield the parts of a line with their values. NotRunnable: one has none."""
    parts = [part for part in ast.walk(parse(line)) if isinstance(part, ast.BinOp | ast.Call | ast.UnaryOp | ast.Name)]
    inside = {id(part.func) for part in parts if isinstance(part, ast.Call)}
    for part in parts:
        if id(part) in inside or (isinstance(part, ast.Name) and name_of(part) not in {*arrays, *numbers}):
            continue  # the name of a function
        yield ast.unparse(part), value_of(ast.unparse(part), arrays, numbers, wraps).of


@lru_cache(maxsize=256)  # a check asks many things of one line
def parse(line: str) -> ast.expr:
    """Return the tree of a line, which nobody may change. NotRunnable: it is not one expression of NumPy, or too
    long."""
    try:
        if len(line) > LONGEST:
            raise NotRunnable(f"A formula has at most {LONGEST:,} characters.")
        tree = _tree(line.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotRunnable(f"{line!r} is not a line of NumPy such as a * x + y or x.sum().") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise NotRunnable(f"{line!r} has too many parts for a formula.")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            _refuse_unknown(function_of(node.func, [])[0], line)
    return tree


_NUMPY = re.compile(r"\b(?:math|numpy)\.(?=[a-z])")


def _tree(line: str) -> ast.expr:
    """Return the tree of a line, in which parameters may have words of Python as names; or that of Python's own words,
    which is no formula but has parts that can be named. `math.pi` is `np.pi`."""
    line = _NUMPY.sub("np.", line)
    try:
        return ast.parse(KEYWORD.sub(r"\g<0>__", line), mode="eval").body
    except SyntaxError:
        return ast.parse(line, mode="eval").body


def name_of(node: ast.Name) -> str:
    """Return the parameter that a part of a line names."""
    return node.id.removesuffix("__") if KEYWORD.fullmatch(node.id[:-2]) else node.id


def _refuse_unknown(name: str, line: str) -> None:
    if name not in FUNCTIONS and name not in OF_PARTS and name not in (CAST, ASSIGNED, ADDED):
        near = get_close_matches(name, [*FUNCTIONS, *OF_PARTS], 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        hint = f" Write {_INSTEAD[name]}." if name in _INSTEAD else hint
        raise NotRunnable(f"{line}: a formula has no function `{name}`.{hint}")


_INSTEAD = {
    "digitize": "(x[:, None] >= bins).sum(axis=1)",
    "isin": "(x[:, None] == values).any(axis=1)",
    "reduceat": "x.reshape(-1, 128).sum(axis=1) for the sums of blocks of 128",
    "einsum": "the sum with @, .T and sum(axis=...)",
    "histogram": "the bins as whole numbers into np.bincount(bins, minlength=...)",
    "allclose": "the numbers that the kernel shall compute, which are compared within their bound",
    "isclose": "np.abs(x - y) <= 1e-5 with a tolerance of your own",
}


def _evaluate(node: ast.expr, known: Mapping[str, Any], line: str, wraps: bool) -> Value:
    def inner(part: ast.expr) -> Value:
        return _evaluate(part, known, line, wraps)

    match node:
        case ast.Constant(value=bool() | int() | float() as number) if isinstance(number, float) or abs(number) < 2**63:
            rounds = isinstance(number, float) and number != float(np.float32(number))  # in the kernel, too
            return Value(np.asarray(number), np.asarray(abs(number))) if rounds else exact(np.asarray(number))
        case ast.Constant(value=int() as number) if 2**63 <= number < 2**64:
            return exact(np.asarray(number - 2**64))  # the same bits
        case ast.Name():
            name = name_of(node)
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f" Did you mean {near[0]}?" if near else ""
                raise NotRunnable(f"{line}: there is no `{name}`; there are {', '.join(known)}.{hint}")
            return known[name] if isinstance(known[name], Value) else exact(np.asarray(known[name]))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            one = inner(operand)
            return Value(_UNARY[type(op)](one.of), one.off)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            made = _BINARY[type(op)](*_of_one_type(inner(left), inner(right)))
            return _of_whole(made) if isinstance(op, ast.Div) and _is_share(left, right) else made
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return plain(_COMPARISONS[type(op)], inner(left), inner(right))
        case ast.Subscript(value=part, slice=index):
            return indexed(inner(part), _index(index, inner))
        case ast.Attribute(value=part, attr="T"):
            one = inner(part)
            return Value(one.of.T, one.off.T)
        case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in _CONSTANTS:
            return exact(np.asarray(_CONSTANTS[name]))
        case ast.Attribute(value=part, attr="shape"):
            return exact(np.asarray(inner(part).of.shape))
        case ast.Attribute(value=part, attr="size"):
            return exact(np.asarray(inner(part).of.size))
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return stacked([inner(part) for part in parts])
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=given, keywords=keywords):
            name, given = function_of(function, given)
            if name == CAST and len(given) == 2 and not keywords:
                return _cast(inner(given[0]), _kind_of(given[1], line), wraps)
            if name in (ASSIGNED, ADDED):
                return _changed(name, given, inner, line)
            kinds = [_kind_of(each.value, line) for each in keywords if each.arg == "dtype"]
            if kinds:
                keywords = [each for each in keywords if each.arg != "dtype"]
                return _cast(inner(ast.Call(function, node.args, keywords)), kinds[0], wraps)
            said = [
                each for each in keywords if not (_is_none(each.value) or (each.arg == "kind" and name in _SORTING))
            ]
            sides = [*given[2:3], *(each.value for each in said if each.arg in _OF_MODES)] if name in MODES else []
            modes = [side.value for side in sides if isinstance(side, ast.Constant) and side.value in MODES[name]]
            if modes:
                given, said = given[:2], [each for each in said if each.arg not in _OF_MODES]
            named = {each.arg or "": _keyword(each, inner) for each in said}
            if modes:
                named["mode"] = modes[0]
            if name in OF_PARTS:
                if not given or not isinstance(given[0], ast.List | ast.Tuple):
                    raise NotRunnable(f"{line}: `{name}` takes a list of arrays, as in {name}([x, y]).")
                return _joined(name, [inner(part) for part in given[0].elts], named)
            values = [inner(each) for each in given]
            if name in STEPS and len(values) == 1 and _is_held(given[0], inner):
                values = [exact(values[0].of)]
            return _called(name, values, named, line)
    raise NotRunnable(f"{line}: `{ast.unparse(node)}` is none of the operations of a formula.{_hint_for(node)}")


_HALF = 0.5  # the fraction of a power of two: a quotient by it is not rounded


def _is_held(node: ast.expr, inner: Callable[[ast.expr], Value]) -> bool:
    """Return whether floats hold a line's numbers and what it adds and multiplies, so that no kernel rounds them."""
    match node:
        case ast.Constant() | ast.Name() | ast.Subscript():
            held = True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            held = _is_held(operand, inner)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult(), right=right):
            held = _is_held(left, inner) and _is_held(right, inner)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            held = _is_held(left, inner) and bool(np.all(np.frexp(np.abs(inner(right).of))[0] == _HALF))
        case _:
            return False
    numbers = inner(node).of
    return held and bool(np.array_equal(numbers, numbers.astype(np.float32)))


def _hint_for(node: ast.expr) -> str:
    """Return what to write in place of an operation of Python, if a formula has something like it."""
    match node:
        case ast.BoolOp() | ast.Compare():
            return " Write (x > 0) & (x < 9), or | for or."
        case ast.UnaryOp(op=ast.Not()):
            return " Write ~(x > 0)."
        case ast.IfExp():
            return " Write np.where(x > 0, x, 0)."
        case ast.ListComp() | ast.GeneratorExp():
            return " Write it with whole arrays, such as x[np.arange(8)]."
        case ast.Constant(value=complex()) | ast.Attribute(attr="real" | "imag"):
            return f" {OF_COMPLEX}"
    return ""


def _keyword(each: ast.keyword, inner: Callable[[ast.expr], Value]) -> Any:
    value = inner(each.value)
    return value if each.arg in ("weights", "constant_values") else wholes(value)


def _changed(name: str, given: Sequence[ast.expr], inner: Callable[[ast.expr], Value], line: str) -> Value:
    """Return an array of which a part has other numbers, as after y[1:-1] = x or np.add.at(y, at, x)."""
    match given:
        case [ast.Subscript(value=array, slice=index), part]:
            before, made = inner(array), inner(part)
            if name == ADDED:
                return added_at(before, _index(index, inner), made)
            kind = np.result_type(before.of, made.of)
            of, off, at = before.of.astype(kind), before.off.copy(), _index(index, inner)
            of[at], off[at] = made.of, made.off
            return Value(of, off)
    raise NotRunnable(f"{line}: only a part of an array can be assigned, as in y[1:-1] = x[2:].")


def _is_share(part: ast.expr, divisor: ast.expr) -> bool:
    """Return whether a line divides a part by a sum with that part in it, as 1 / (1 + exp(-x)) does."""
    sides = [divisor.left, divisor.right] if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add) else []
    return ast.unparse(part) in map(ast.unparse, sides)


def _of_whole(share: Value) -> Value:
    """Return shares that a kernel may compute as the whole without the other share, or as tanh(x / 2) / 2 + 1 / 2: it
    rounds numbers as large as the whole, if no share is negative."""
    return Value(share.of, share.off + 2.0 * ((share.of >= 0) & (share.of <= 1)), share.added)


def function_of(function: ast.expr, given: list[ast.expr]) -> tuple[str, list[ast.expr]]:
    """Return a call's function and arguments: `sum(x)`, `np.sum(x)` and `x.sum()` are the same, and `np.int64(x)` is
    `x.astype(np.int64)`."""
    match function:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name) if name in KINDS:
            return CAST, [*given, function]
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name), attr=how) if (
            f"{name}.{how}" in FUNCTIONS
        ):
            return f"{name}.{how}", given
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np"), attr="linalg"), attr=name):
            return name, given
        case ast.Name(id="max" | "min" as name) if len(given) == 2:  # Python's own: the second is no axis
            return f"{name}imum", given
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name):
            return name, given
        case ast.Attribute(value=own, attr=name):
            return name, [own, *given]
    return "", given


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


_CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan}
CAST = "astype"
ASSIGNED = "assigned"  # of y[1:-1] = x, which is the line assigned(y[1:-1], x)
ADDED = "added"  # of np.add.at(y, at, x), which is the line added(y[at], x)
KINDS = {"int": "int64", "float": "float64", "bool": "bool", "bool_": "bool"} | {
    f"{kind}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
} | {f"float{bits}": f"float{bits}" for bits in (16, 32, 64)}  # fmt: skip


def _kind_of(node: ast.expr, line: str) -> np.dtype[Any]:
    """Return the type that `astype` names."""
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name) if name in KINDS:
            return np.dtype(KINDS[name])
    raise NotRunnable(f"{line}: `{ast.unparse(node)}` is no type of numbers: there are {', '.join(KINDS)}.")


def _of_one_type(one: Value, two: Value) -> tuple[Value, Value]:
    """Return two operands, of which a single number takes the other's unsigned type, if that can hold it."""
    return _typed_as(two, one), _typed_as(one, two)


def _typed_as(other: Value, one: Value) -> Value:
    kind = other.of.dtype
    if kind.kind != "u" or one.of.ndim or one.of.dtype != np.int64:
        return one
    fits = kind.itemsize == 8 or 0 <= int(one.of) < 2**32  # an int64 has the bits of a constant of 64
    return replace(one, of=one.of.astype(kind)) if fits else one


def _cast(one: Value, kind: np.dtype[Any], wraps: bool) -> Value:
    """Return numbers as another type: fractions are dropped, and whole numbers wrap. `wraps`: unsigned ones of a
    kernel's own width go on to."""
    if kind.kind == "f":
        made = one.of.astype(kind if kind.itemsize == 2 else np.float64).astype(np.float64)
        return Value(made, one.off + (np.abs(made) if one.of.dtype.kind != "f" else 0.0))
    if kind.kind == "b":
        return exact(one.of != 0)
    made = one.of.astype(np.int64).astype(kind)
    return Value(made, np.zeros(made.shape)) if wraps and kind.kind == "u" and kind.itemsize >= 4 else exact(made)


# ---- indices


def _index(node: ast.expr, inner: Callable[[ast.expr], Value]) -> Any:
    match node:
        case ast.Tuple(elts=parts):
            return tuple(_index(part, inner) for part in parts)
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if part is None else whole(inner(part)) for part in (lower, upper, step)))
        case ast.Constant(value=None) | ast.Attribute(value=ast.Name(id="np"), attr="newaxis"):
            return None
        case ast.Constant(value=value) if value is ...:
            return ...
    return inner(node).of


_UNARY: dict[type[ast.unaryop], Callable[[Array], Array]] = {ast.USub: np.negative, ast.UAdd: np.positive,
                                                             ast.Invert: np.invert}  # fmt: skip
_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: add, ast.Sub: subtract, ast.Mult: multiply, ast.Div: divide, ast.FloorDiv: floor_divide,
    ast.Mod: remainder, ast.Pow: power, ast.MatMult: matmul,
    ast.BitAnd: lambda one, two: plain(np.bitwise_and, one, two),
    ast.BitOr: lambda one, two: plain(np.bitwise_or, one, two),
    ast.BitXor: lambda one, two: plain(np.bitwise_xor, one, two),
    ast.LShift: lambda one, two: plain(np.left_shift, one, two),
    ast.RShift: lambda one, two: plain(np.right_shift, one, two),
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}  # fmt: skip


_OF_AN_AXIS = frozenset((
    "sum", "cumsum", "mean", "prod", "cumprod", "var", "std", "median", "max", "min", "argmax", "argmin", "any", "all",
    "sort", "argsort", "softmax",
))  # fmt: skip
_OF_ONE_TYPE = frozenset((
    "maximum", "minimum", "fmax", "fmin", "where", "clip", "add", "subtract", "multiply", "floor_divide", "mod",
    "remainder", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
))  # fmt: skip
_SORTING = frozenset(("sort", "sorted", "argsort"))  # always stable
_OF_MODES = ("mode", "side")


def _called(name: str, values: list[Value], named: dict[str, Any], line: str) -> Value:
    if name not in FUNCTIONS:
        near = get_close_matches(name, [*FUNCTIONS, *OF_PARTS], 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise NotRunnable(f"{line}: a formula has no function `{name}`.{hint}")
    if name in _OF_AN_AXIS and len(values) > 1:
        named = {"axis": wholes(values[1]), **named}
        values = values[:1]
    unsigned = next((one for one in values if one.of.dtype.kind == "u"), None) if name in _OF_ONE_TYPE else None
    if unsigned is not None:
        values = [_typed_as(unsigned, one) for one in values]
    try:
        return FUNCTIONS[name](*values, **named)
    except TypeError:
        raise NotRunnable(f"{line}: `{name}` takes other arguments.") from None


def _joined(name: str, values: Sequence[Value], named: dict[str, Any]) -> Value:
    room(sum(one.of.size for one in values))
    join: Callable[..., Array] = getattr(np, name)
    return Value(join([one.of for one in values], **named), join([one.off for one in values], **named))

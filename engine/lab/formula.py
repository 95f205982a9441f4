"""A line of NumPy that says what is right, `a * x + y` or `softmax(x)`, evaluated with the bound of its roundings.

check("a * x + y", {"x": x, "y": y}, {"a": 2.0}, found, "y") -> Check

The line is read as a tree of allowed operations, so nothing of it runs as Python. Arrays are computed in float64 or
int64. Each float carries a bound of the error that a kernel may make in the answer's own type: one rounding for an
operation, ten standard deviations for a sum in any order, a few units for a function such as exp. Whole numbers wrap.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from keyword import kwlist
from math import prod
from typing import Any

import numpy as np

from engine.catalogue import checks
from engine.records import Array, Check, NotRunnable

LONGEST, MOST_NODES, MOST_ELEMENTS = 400, 200, 1 << 26
MOST_PRODUCTS = 1 << 34  # of a matrix product
_SUM = 10.0  # standard deviations
_SLACK = 2.0  # a kernel may round an intermediate value once more than the line does
_HALF_UNITS = {"exp": 4, "exp2": 4, "log": 4, "log2": 4, "log10": 6, "sin": 4, "cos": 4, "tan": 8, "tanh": 6, "sqrt": 2,
               "arctan": 6, "arcsin": 8, "arccos": 8, "sinh": 8, "cosh": 6, "power": 16}  # fmt: skip


# Names of parameters that are words of Python; they are read with an underscore behind them.
_KEYWORD = re.compile(
    rf"\b({'|'.join(sorted({*kwlist} - {'True', 'False', 'None', 'and', 'or', 'not', 'if', 'else'}))})\b"
)


@dataclass(frozen=True)
class Value:
    """Numbers and, of the same shape, how far off a kernel's may be, in half units in the last place of one."""

    of: Array
    off: Array

    @property
    def exact(self) -> bool:
        """Return whether nothing is rounded."""
        return not np.any(self.off)


def check(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], found: Array, out: str) -> Check:
    """Compare the first elements of the array `found`, named `out`, with the line's value, as many as it has.

    `arrays`: as they were before the launch; `numbers`: the other parameters. NotRunnable: the line is no formula, or
    its value does not fit the array.
    """
    made = value_of(line, arrays, numbers)
    flat = found.ravel()
    if made.of.size > flat.size:
        raise NotRunnable(f"`{out}` has room for {flat.size:,} numbers, but {line} has {made.of.size:,}.")
    if flat.dtype.kind not in "biuf":
        raise NotRunnable(f"`{out}` is an array of {flat.dtype}: a formula needs one of plain numbers.")
    columns = made.of.shape[1] if made.of.ndim == 2 else 0
    note = f"{out} = {line}."
    flat, wanted, off = flat[: made.of.size], made.of.ravel(), made.off.ravel()
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):
            cast = wanted.astype(flat.dtype)
        if made.exact:
            return checks.equal(flat, cast, note, columns)
        # Infinities and NaN must be the same; a number below the smallest normal one may have become zero.
        same = ~np.isfinite(cast) & ((cast == flat) | (np.isnan(cast) & np.isnan(flat)))
        flat, wanted, off = (np.where(same, 0, each) for each in (flat, wanted.astype(np.float64), off))
        kind = np.finfo(flat.dtype)
        bound = float(kind.eps) / 2 * (_SLACK * off + np.abs(wanted)) + float(kind.tiny)
        return checks.within(flat, wanted, bound, note, columns)
    if wanted.dtype.kind == "f":
        if not np.array_equal(wanted, np.trunc(wanted)):
            raise NotRunnable(f"`{out}` holds whole numbers, but {line} has fractions: give it a floating-point type.")
        wanted = wanted.astype(np.int64)
    return checks.equal(flat, wanted.astype(flat.dtype), note, columns)


def value_of(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float]) -> Value:
    """Evaluate a line of NumPy. NotRunnable: it is none, names what is not there, or takes too much memory."""
    tree = parse(line)
    known = {name: _exact(np.asarray(array)) for name, array in arrays.items()}
    known |= {name: _exact(np.asarray(number)) for name, number in numbers.items()}
    try:
        with np.errstate(all="ignore"):
            return _evaluate(tree, known, line)
    except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError) as error:
        raise NotRunnable(f"{line}: {str(error).rstrip('.')}.") from None
    except MemoryError:
        raise NotRunnable(f"{line} takes too much memory.") from None


def parse(line: str) -> ast.expr:
    """Return the tree of a line. NotRunnable: it is not one expression of NumPy, or too long."""
    try:
        if len(line) > LONGEST:
            raise NotRunnable(f"A formula has at most {LONGEST} characters.")
        tree = ast.parse(_KEYWORD.sub(r"\g<0>_", line.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotRunnable(f"{line!r} is not a line of NumPy such as a * x + y or x.sum().") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise NotRunnable(f"{line!r} has too many parts for a formula.")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            _refuse_unknown(node.func.id if isinstance(node.func, ast.Name) else node.func.attr, line)
    return tree


def names_in(line: str) -> frozenset[str]:
    """Return the parameters that a line computes with, but for those that it takes for indices."""
    return frozenset(node.id.removesuffix("_") if _KEYWORD.fullmatch(node.id[:-1]) else node.id
                     for node in _outside_indices(parse(line)) if isinstance(node, ast.Name))  # fmt: skip


def moved_in(line: str) -> frozenset[str]:
    """Return the parameters of a line that only moves and compares numbers, such as sort(x); none for other lines."""
    parts = _outside_indices(parse(line))
    return names_in(line) if all(isinstance(part, _MOVING) or _moves(part) for part in parts) else frozenset()


def bounds_in(line: str) -> tuple[float, ...]:
    """Return the numbers with which a line compares others; none if it divides, as they may become divisors."""
    nodes = list(ast.walk(parse(line)))
    if any(isinstance(node, ast.Div | ast.FloorDiv | ast.Mod) for node in nodes):
        return ()
    sides = [side for node in nodes if isinstance(node, ast.Compare) for side in (node.left, *node.comparators)]
    return tuple(side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, int | float))


def powers_in(line: str) -> frozenset[str]:
    """Return the parameters whose softmax is the line's value, which is the same for numbers shifted by a constant."""
    match parse(line):
        case ast.Call(func=function, args=given):
            name, given = _function_of(function, given)
            if name == "softmax" and given and isinstance(given[0], ast.Name):
                return names_in(ast.unparse(given[0]))
    return frozenset()


def _outside_indices(tree: ast.expr) -> list[ast.AST]:
    """Return the parts of a line that are no indices, without the names of its functions."""
    left: list[ast.AST] = [tree]
    found = list[ast.AST]()
    while left:
        part = left.pop()
        found.append(part)
        match part:
            case ast.Subscript(value=value):
                left.append(value)
            case ast.Call(func=function, args=given, keywords=keywords):
                name, given = _function_of(function, given)
                left += [*given[name == "bincount" :], *(each.value for each in keywords)]
            case _:
                left += ast.iter_child_nodes(part)
    return found


def _moves(part: ast.AST) -> bool:
    """Return whether a part of a line moves or compares numbers."""
    match part:
        case ast.Call(func=function, args=given):
            return _function_of(function, given)[0] in _MOVES
        case ast.UnaryOp(operand=operand):
            return isinstance(operand, ast.Constant)
        case ast.Attribute(attr=name):
            return name == "T"
    return False


_MOVING = (ast.Name, ast.Constant, ast.Subscript, ast.List, ast.Tuple, ast.Compare, ast.cmpop, ast.expr_context,
           ast.USub)  # fmt: skip
_MOVES = {"max", "min", "argmax", "argmin", "maximum", "minimum", "sort", "argsort", "where", "clip", "any", "all",
          "transpose", "ravel", "flip", "roll", "repeat", "tile", "reshape", "diag", "concatenate", "stack", "hstack",
          "vstack", "count_nonzero"}  # fmt: skip


def _refuse_unknown(name: str, line: str) -> None:
    if name not in _FUNCTIONS and name not in _OF_PARTS:
        near = get_close_matches(name, [*_FUNCTIONS, *_OF_PARTS], 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise NotRunnable(f"{line}: a formula has no function `{name}`.{hint}")


def _exact(array: Array) -> Value:
    if array.dtype.kind not in "biuf":
        raise NotRunnable(f"An array of {array.dtype} has no place in a formula: it needs plain numbers.")
    values = array if array.dtype.kind == "b" else array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    return Value(values, np.zeros(values.shape))


def _evaluate(node: ast.expr, known: Mapping[str, Value], line: str) -> Value:
    def inner(part: ast.expr) -> Value:
        return _evaluate(part, known, line)

    match node:
        case ast.Constant(value=bool() | int() | float() as number) if abs(number) < 2**63:
            return _exact(np.asarray(number))
        case ast.Name(id=name):
            name = name[:-1] if _KEYWORD.fullmatch(name[:-1]) else name
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f" Did you mean {near[0]}?" if near else ""
                raise NotRunnable(f"{line}: there is no `{name}`; there are {', '.join(known)}.{hint}")
            return known[name]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            one = inner(operand)
            return Value(_UNARY[type(op)](one.of), one.off)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](inner(left), inner(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _plain(_COMPARISONS[type(op)], inner(left), inner(right))
        case ast.Subscript(value=part, slice=index):
            return _indexed(inner(part), _index(index, inner))
        case ast.Attribute(value=part, attr="T"):
            one = inner(part)
            return Value(one.of.T, one.off.T)
        case ast.Attribute(value=part, attr="size"):
            return _exact(np.asarray(inner(part).of.size))
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return _stacked([inner(part) for part in parts])
        case ast.Call(func=function, args=given, keywords=keywords):
            name, given = _function_of(function, given)
            named = {each.arg or "": _whole(inner(each.value)) for each in keywords}
            if name in _OF_PARTS and given and isinstance(given[0], ast.List | ast.Tuple):
                return _joined(name, [inner(part) for part in given[0].elts], named)
            return _called(name, [inner(each) for each in given], named, line)
    raise NotRunnable(f"{line}: `{ast.unparse(node)}` is none of the operations of a formula.")


def _function_of(function: ast.expr, given: list[ast.expr]) -> tuple[str, list[ast.expr]]:
    """Return a call's function and arguments: `sum(x)`, `np.sum(x)` and `x.sum()` are the same."""
    match function:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="np"), attr=name):
            return name, given
        case ast.Attribute(value=own, attr=name):
            return name, [own, *given]
    return "", given


def _whole(one: Value) -> int:
    if one.of.ndim or one.of.dtype.kind not in "iub":
        raise ValueError("an axis, a size or a shift is a whole number")
    return int(one.of)


def _stacked(values: Sequence[Value]) -> Value:
    _room(sum(one.of.size for one in values))
    return Value(np.array([one.of for one in values]), np.array([one.off for one in values]))


# ---- indices


def _index(node: ast.expr, inner: Callable[[ast.expr], Value]) -> Any:
    match node:
        case ast.Tuple(elts=parts):
            return tuple(_index(part, inner) for part in parts)
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(*(None if part is None else _whole(inner(part)) for part in (lower, upper, step)))
        case ast.Constant(value=None):
            return None
    return inner(node).of


def _indexed(one: Value, index: Any) -> Value:
    return Value(np.asarray(one.of[index]), np.asarray(one.off[index]))


# ---- arithmetic


def _room(elements: int) -> None:
    if elements > MOST_ELEMENTS:
        raise NotRunnable(f"A formula's arrays have at most {MOST_ELEMENTS:,} elements.")


def _fits(*values: Value) -> None:
    _room(prod(np.broadcast_shapes(*(one.of.shape for one in values))))


def _rounded(made: Array, off: Array | float, half_units: float = 1.0) -> Value:
    """Return numbers that an operation has made, with its own rounding if they are floats."""
    made = np.asarray(made)
    if made.dtype.kind != "f":
        return Value(made, np.zeros(made.shape))
    return Value(made, np.broadcast_to(off + half_units * np.abs(made), made.shape))


def _plain(function: Callable[..., Any], *values: Value) -> Value:
    """Apply a function that chooses or compares numbers and rounds none."""
    _fits(*values)
    made = np.asarray(function(*(one.of for one in values)))
    off = np.zeros(made.shape) if made.dtype.kind != "f" else np.broadcast_to(
        np.asarray(sum(one.off for one in values)), made.shape)  # fmt: skip
    return Value(made, off)


def _add(one: Value, two: Value) -> Value:
    _fits(one, two)
    return _rounded(one.of + two.of, one.off + two.off)


def _subtract(one: Value, two: Value) -> Value:
    _fits(one, two)
    return _rounded(one.of - two.of, one.off + two.off)


def _multiply(one: Value, two: Value) -> Value:
    _fits(one, two)
    return _rounded(one.of * two.of, np.abs(one.of) * two.off + one.off * np.abs(two.of))


def _divide(one: Value, two: Value) -> Value:
    _fits(one, two)
    made = one.of / two.of
    return _rounded(made, (one.off + np.abs(made) * two.off) / np.abs(two.of), 2.0)


def _floor_divide(one: Value, two: Value) -> Value:
    return _plain(np.floor_divide, one, two)


def _remainder(one: Value, two: Value) -> Value:
    return _plain(np.mod, one, two)


def _power(one: Value, two: Value) -> Value:
    _fits(one, two)
    if one.of.dtype.kind != "f" and two.of.dtype.kind != "f" and np.any(two.of < 0):
        raise ValueError("a whole number has no negative powers")
    made = np.power(one.of, two.of)
    slope = np.abs(two.of * made / np.where(one.of == 0, 1, one.of)) * one.off
    few = two.of.ndim == 0 and two.of in (2, 3, 4)
    return _rounded(made, slope + np.abs(made * np.log(np.abs(np.where(one.of == 0, 1, one.of)))) * two.off,
                    float(two.of) if few else _HALF_UNITS["power"])  # fmt: skip


def _matmul(one: Value, two: Value) -> Value:
    if one.of.ndim not in (1, 2) or two.of.ndim not in (1, 2):
        raise ValueError("@ multiplies matrices and vectors")
    if prod(one.of.shape) * (two.of.shape[1] if two.of.ndim == 2 else 1) > MOST_PRODUCTS:
        raise NotRunnable("The matrix product of this formula takes too long: choose a smaller N.")
    made = one.of @ two.of
    if made.dtype.kind != "f":
        return _rounded(made, 0.0)
    a, b = one.of.astype(np.float64), two.of.astype(np.float64)
    carried = np.abs(a) @ two.off + one.off @ np.abs(b)
    spread = _SUM * np.sqrt(one.of.shape[-1]) * np.sqrt((a * a) @ (b * b))
    return _rounded(made, carried + spread, _SUM)


_UNARY: dict[type[ast.unaryop], Callable[[Array], Array]] = {ast.USub: np.negative, ast.UAdd: np.positive,
                                                             ast.Invert: np.invert}  # fmt: skip
_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: _add, ast.Sub: _subtract, ast.Mult: _multiply, ast.Div: _divide, ast.FloorDiv: _floor_divide,
    ast.Mod: _remainder, ast.Pow: _power, ast.MatMult: _matmul,
    ast.BitAnd: lambda one, two: _plain(np.bitwise_and, one, two),
    ast.BitOr: lambda one, two: _plain(np.bitwise_or, one, two),
    ast.BitXor: lambda one, two: _plain(np.bitwise_xor, one, two),
    ast.LShift: lambda one, two: _plain(np.left_shift, one, two),
    ast.RShift: lambda one, two: _plain(np.right_shift, one, two),
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}  # fmt: skip


# ---- functions


def _function(name: str, slope: Callable[[Array], Array]) -> Callable[[Value], Value]:
    def apply(one: Value) -> Value:
        x = one.of.astype(np.float64)
        return _rounded(getattr(np, name)(x), np.abs(slope(x)) * one.off, _HALF_UNITS[name])

    return apply


def _sum(one: Value, axis: int | None = None, keepdims: int = 0) -> Value:
    kept = bool(keepdims)
    made = np.sum(one.of, axis=axis, keepdims=kept)
    if np.asarray(made).dtype.kind != "f":
        return _rounded(made, 0.0)
    count = one.of.size if axis is None else one.of.shape[axis]
    spread = _SUM * np.sqrt(count) * np.sqrt(np.sum(one.of**2, axis=axis, keepdims=kept))
    return _rounded(made, np.sum(one.off, axis=axis, keepdims=kept) + spread, _SUM)


def _cumsum(one: Value, axis: int | None = None) -> Value:
    made = np.cumsum(one.of, axis=axis)
    if made.dtype.kind != "f":
        return _rounded(made, 0.0)
    count = np.arange(1, made.shape[0 if axis is None else axis] + 1)
    shape = [1] * made.ndim
    shape[0 if axis is None else axis] = -1
    spread = _SUM * np.sqrt(count.reshape(shape) * np.cumsum(one.of**2, axis=axis))
    return _rounded(made, np.cumsum(one.off, axis=axis) + spread, _SUM)


def _mean(one: Value, axis: int | None = None, keepdims: int = 0) -> Value:
    count = one.of.size if axis is None else one.of.shape[axis]
    return _divide(_sum(one, axis, keepdims), _exact(np.asarray(float(count))))


def _prod(one: Value, axis: int | None = None) -> Value:
    made = np.asarray(np.prod(one.of, axis=axis))
    count = one.of.size if axis is None else one.of.shape[axis]
    return _rounded(made, 0.0, 2.0 * count)


def _of_axis(name: str) -> Callable[..., Value]:
    def apply(one: Value, axis: int | None = None, keepdims: int = 0) -> Value:
        made = np.asarray(getattr(np, name)(one.of, axis=axis, keepdims=bool(keepdims)))
        off = np.max(one.off, axis=axis, keepdims=bool(keepdims)) if made.dtype.kind == "f" else np.zeros(made.shape)
        return Value(made, np.asarray(off))

    return apply


def _softmax(one: Value, axis: int = -1) -> Value:
    powers = _FUNCTIONS["exp"](_subtract(one, _of_axis("max")(one, axis, 1)))
    return _divide(powers, _sum(powers, axis, 1))


def _sorted(one: Value, axis: int = -1) -> Value:
    return Value(np.sort(one.of, axis=axis), np.full(one.of.shape, one.off.max(initial=0)))


def _moved(name: str) -> Callable[..., Value]:
    """Return a function that moves numbers: the same moves for the bounds."""

    def apply(one: Value, *given: Value, **named: int) -> Value:
        numbers = [_whole(each) for each in given]
        if name in ("repeat", "tile"):
            _room(one.of.size * prod(numbers[:1]))
        move = getattr(np, name)
        if name == "reshape":
            return Value(one.of.reshape(numbers), one.off.reshape(numbers))
        return Value(move(one.of, *numbers, **named), move(one.off, *numbers, **named))

    return apply


def _chosen(name: str) -> Callable[..., Value]:
    return lambda *values: _plain(getattr(np, name), *values)


def _arange(*given: Value) -> Value:
    numbers = [_whole(each) for each in given]
    _room(len(range(*numbers)))
    return _exact(np.arange(*numbers))


def _filled(number: float) -> Callable[..., Value]:
    def apply(*given: Value) -> Value:
        sizes = [_whole(each) for each in given]
        _room(prod(sizes))
        return _exact(np.full(sizes, number))

    return apply


def _bincount(one: Value, minlength: int = 0) -> Value:
    _room(max(minlength, int(one.of.max(initial=0))))
    return _exact(np.bincount(one.of.ravel(), minlength=minlength))


def _where(condition: Value, one: Value, two: Value) -> Value:
    _fits(condition, one, two)
    chosen = condition.of.astype(bool)
    made = np.where(chosen, one.of, two.of)
    return Value(made, np.where(chosen, one.off, two.off) if made.dtype.kind == "f" else np.zeros(made.shape))


def _outer(one: Value, two: Value) -> Value:
    flat, other = _moved("ravel")(one), _moved("ravel")(two)
    return _multiply(Value(flat.of[:, None], flat.off[:, None]), Value(other.of[None, :], other.off[None, :]))


def _convolve(one: Value, two: Value) -> Value:
    if one.of.size * two.of.size > MOST_PRODUCTS:
        raise NotRunnable("The convolution of this formula takes too long: choose a smaller N.")
    made = np.convolve(one.of, two.of, "same")
    if made.dtype.kind != "f":
        return _rounded(made, 0.0)
    carried = np.convolve(np.abs(one.of), two.off, "same") + np.convolve(one.off, np.abs(two.of), "same")
    spread = _SUM * np.sqrt(min(one.of.size, two.of.size) * np.convolve(one.of**2, two.of**2, "same"))
    return _rounded(made, carried + spread, _SUM)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": _function("exp", np.exp),
    "exp2": _function("exp2", lambda x: np.log(2) * np.exp2(x)),
    "log": _function("log", lambda x: 1 / x),
    "log2": _function("log2", lambda x: 1.5 / x),
    "log10": _function("log10", lambda x: 0.5 / x),
    "sqrt": _function("sqrt", lambda x: 0.5 / np.sqrt(x)),
    "sin": _function("sin", np.cos),
    "cos": _function("cos", np.sin),
    "tan": _function("tan", lambda x: 1 + np.tan(x) ** 2),
    "tanh": _function("tanh", lambda x: 1 - np.tanh(x) ** 2),
    "sinh": _function("sinh", np.cosh),
    "cosh": _function("cosh", np.sinh),
    "arctan": _function("arctan", lambda x: 1 / (1 + x * x)),
    "arcsin": _function("arcsin", lambda x: 1 / np.sqrt(1 - x * x)),
    "arccos": _function("arccos", lambda x: 1 / np.sqrt(1 - x * x)),
    "sum": _sum, "cumsum": _cumsum, "mean": _mean, "prod": _prod, "softmax": _softmax, "sort": _sorted,
    **{name: _of_axis(name) for name in ("max", "min", "argmax", "argmin", "any", "all")},
    **{name: _moved(name) for name in ("transpose", "ravel", "flip", "roll", "repeat", "tile", "reshape", "diag")},
    **{name: _chosen(name) for name in ("maximum", "minimum", "abs", "floor", "ceil", "round", "trunc", "sign")},
    "power": _power, "dot": _matmul, "matmul": _matmul, "outer": _outer, "convolve": _convolve, "where": _where,
    "arange": _arange, "zeros": _filled(0.0), "ones": _filled(1.0), "bincount": _bincount,
    "len": lambda one: _exact(np.asarray(len(one.of))),
    "diff": lambda one: _subtract(_indexed(one, slice(1, None)), _indexed(one, slice(None, -1))),
    "clip": lambda one, low, high: _plain(np.clip, one, low, high),
    "square": lambda one: _multiply(one, one),
    "argsort": lambda one: _exact(np.argsort(one.of, kind="stable")),
    "count_nonzero": lambda one: _exact(np.asarray(np.count_nonzero(one.of))),
}  # fmt: skip
_OF_PARTS = ("concatenate", "stack", "hstack", "vstack")


def _called(name: str, values: list[Value], named: dict[str, int], line: str) -> Value:
    if name not in _FUNCTIONS:
        near = get_close_matches(name, [*_FUNCTIONS, *_OF_PARTS], 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise NotRunnable(f"{line}: a formula has no function `{name}`.{hint}")
    if (
        name in ("sum", "cumsum", "mean", "prod", "max", "min", "argmax", "argmin", "sort", "softmax")
        and len(values) > 1
    ):
        named = {"axis": _whole(values[1]), **named}
        values = values[:1]
    try:
        return _FUNCTIONS[name](*values, **named)
    except TypeError:
        raise NotRunnable(f"{line}: `{name}` takes other arguments.") from None


def _joined(name: str, values: Sequence[Value], named: dict[str, int]) -> Value:
    _room(sum(one.of.size for one in values))
    join: Callable[..., Array] = getattr(np, name)
    return Value(join([one.of for one in values], **named), join([one.off for one in values], **named))


FUNCTIONS = tuple(sorted([*_FUNCTIONS, *_OF_PARTS]))

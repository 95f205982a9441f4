"""The functions of NumPy that a formula may call, on numbers with the bound of their roundings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import prod
from typing import Any, Literal

import numpy as np

from engine.lab.bounded import (
    MOST_PRODUCTS,
    SUM,
    Value,
    add,
    divide,
    exact,
    fits,
    in_turn,
    indexed,
    matmul,
    multiply,
    plain,
    power,
    room,
    rounded,
    subtract,
    whole,
    wholes,
)
from engine.records import Array, NotRunnable

# Half units in the last place of 1 in the types in which a kernel may compute: a double, a float and a half.
HALF_UNITS: ContextVar[tuple[float, ...]] = ContextVar("HALF_UNITS", default=(2.0**-53, 2.0**-24, 2.0**-11))
_MOST_DIFFERENCES = 8  # of differences
_MOST_ERRORS = 1 << 22  # elements of erf, which NumPy does not have
_HALF_UNITS = {"exp": 4, "exp2": 4, "log": 4, "log2": 4, "log10": 6, "sin": 4, "cos": 4, "tan": 8, "tanh": 6, "sqrt": 2,
               "arctan": 6, "arcsin": 8, "arccos": 8, "sinh": 8, "cosh": 6, "expm1": 4, "log1p": 4,
               "cbrt": 4, "erf": 6, "arctan2": 8}  # fmt: skip


def _function(name: str, slope: Callable[[Array], Array]) -> Callable[[Value], Value]:
    def apply(one: Value) -> Value:
        x = one.of.astype(np.float64)
        return rounded(getattr(np, name)(x), np.abs(slope(x)) * one.off, _HALF_UNITS[name])

    return apply


def _of_powers(name: str, slope: Callable[[Array], Array], size: Callable[[Array], Array]) -> Callable[[Value], Value]:
    """Return a function that a kernel may compute from powers of e, which are of this size where they cancel."""

    def apply(one: Value) -> Value:
        x = one.of.astype(np.float64)
        made = _function(name, slope)(one)
        return Value(made.of, made.off + _HALF_UNITS["exp"] * size(x))

    return apply


def _of_circle(name: str, slope: Callable[[Array], Array]) -> Callable[[Value], Value]:
    """Return a sine or cosine. A kernel may compute a product of two as a sum of numbers up to 1, such as cos(x) ** 2
    as (1 + cos(2 * x)) / 2."""

    def apply(one: Value) -> Value:
        made = _function(name, slope)(one)
        return Value(made.of, made.off, np.ones(made.of.shape))

    return apply


def _exp(one: Value) -> Value:
    """Return the powers of e. A kernel may compute them as 2 ** (x / log(2)), whose exponent is rounded."""
    x = one.of.astype(np.float64)
    made = np.exp(x)
    return rounded(made, made * (one.off + np.where(np.isfinite(x), np.abs(x), 0)), _HALF_UNITS["exp"])


Axis = int | tuple[int, ...] | None


def _count(one: Value, axis: Axis) -> int:
    """Return how many numbers an axis, several axes or the whole array have."""
    return one.of.size if axis is None else int(np.prod(np.take(one.of.shape, axis)))


def _sum(one: Value, axis: Axis = None, keepdims: int = 0) -> Value:
    kept = bool(keepdims)
    made = np.sum(one.of, axis=axis, keepdims=kept)
    count = _count(one, axis)
    terms = np.sum(one.terms.astype(np.float64), axis=axis, keepdims=kept)
    squares = np.sum(one.terms.astype(np.float64) ** 2, axis=axis, keepdims=kept)
    spread = SUM * np.sqrt(count) * np.sqrt(squares) + in_turn(np.asarray(made), count)
    carried = np.sum(one.off, axis=axis, keepdims=kept)
    if np.asarray(made).dtype.kind != "f":  # a kernel may add fractions: sum(x) / n is the sum of all x / n
        return Value(np.asarray(made), np.asarray(spread))
    return rounded(made, carried + spread, SUM, np.asarray(terms))


def _cumsum(one: Value, axis: int | None = None) -> Value:
    made = np.cumsum(one.of, axis=axis)
    if made.dtype.kind != "f":
        return rounded(made, 0.0)
    count = np.arange(1, made.shape[0 if axis is None else axis] + 1)
    shape = [1] * made.ndim
    shape[0 if axis is None else axis] = -1
    spread = SUM * np.sqrt(count.reshape(shape) * np.cumsum(one.of**2, axis=axis))
    return rounded(made, np.cumsum(one.off, axis=axis) + spread + in_turn(made, count.reshape(shape)), SUM)


def _mean(one: Value, axis: Axis = None, keepdims: int = 0) -> Value:
    count = _count(one, axis)
    return divide(_sum(one, axis, keepdims), exact(np.asarray(float(count))))


def _prod(one: Value, axis: Axis = None) -> Value:
    made = np.asarray(np.prod(one.of, axis=axis))
    count = _count(one, axis)
    return rounded(made, 0.0, 2.0 * count)


def _of_axis(name: str) -> Callable[..., Value]:
    def apply(one: Value, axis: Axis = None, keepdims: int = 0) -> Value:
        made = np.asarray(getattr(np, name)(one.of, axis=axis, keepdims=bool(keepdims)))
        off = np.max(one.off, axis=axis, keepdims=bool(keepdims)) if made.dtype.kind == "f" else np.zeros(made.shape)
        return Value(made, np.asarray(off))

    return apply


def _var(one: Value, axis: Axis = None, ddof: int = 0, keepdims: int = 0) -> Value:
    count = _count(one, axis)
    off_mean = subtract(one, _mean(one, axis, 1))
    return divide(_sum(multiply(off_mean, off_mean), axis, keepdims), exact(np.asarray(float(count - ddof))))


def _std(one: Value, axis: Axis = None, ddof: int = 0, keepdims: int = 0) -> Value:
    return _sqrt(_var(one, axis, ddof, keepdims))


def _norm(one: Value, axis: Axis = None, keepdims: int = 0) -> Value:
    return _sqrt(_sum(multiply(one, one), axis, keepdims))


def _median(one: Value, axis: Axis = None, keepdims: int = 0) -> Value:
    made = _ordered(lambda numbers: np.asarray(np.median(numbers, axis=axis, keepdims=bool(keepdims))), one)
    odd = _count(one, axis) % 2  # then it is one of the numbers
    return made if odd else rounded(made.of, made.off)


def _cumprod(one: Value, axis: int | None = None) -> Value:
    made = np.cumprod(one.of, axis=axis)
    return rounded(made, 0.0, 2.0 * one.of.size)


def _of_ufunc(name: str, how: str) -> Callable[..., Value]:
    """Return `accumulate` or `reduce` of a function that rounds nothing."""

    def apply(one: Value, axis: Axis = 0, keepdims: int = 0) -> Value:
        more = {"keepdims": bool(keepdims)} if how == "reduce" else {}
        return _ordered(lambda numbers: np.asarray(getattr(getattr(np, name), how)(numbers, axis=axis, **more)), one)

    return apply


def _first_axis(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a function of all numbers as one of the first axis, which is what `add.reduce` and its kin take."""
    return lambda one, axis=0, **named: function(one, axis=axis, **named)


def _softmax(one: Value, axis: int = -1) -> Value:
    powers = FUNCTIONS["exp"](subtract(one, _of_axis("max")(one, axis, 1)))
    return divide(powers, _sum(powers, axis, 1))


def _sqrt(one: Value) -> Value:
    return FUNCTIONS["sqrt"](one)


def _hypot(one: Value, two: Value) -> Value:
    return _sqrt(add(multiply(one, one), multiply(two, two)))


def _arctan2(one: Value, two: Value) -> Value:
    fits(one, two)
    y, x = one.of.astype(np.float64), two.of.astype(np.float64)
    off = (np.abs(x) * one.off + np.abs(y) * two.off) / np.maximum(x * x + y * y, np.finfo(np.float64).tiny)
    return rounded(np.arctan2(y, x), off, _HALF_UNITS["arctan2"])


def _erf(one: Value) -> Value:
    if one.of.size > _MOST_ERRORS:
        raise NotRunnable("The erf of this formula takes too long: choose a smaller N.")
    x = one.of.astype(np.float64)
    made = np.array([math.erf(each) for each in x.ravel().tolist()]).reshape(x.shape)
    return rounded(made, 2 / np.sqrt(np.pi) * np.exp(-x * x) * one.off, _HALF_UNITS["erf"])


def _pad(one: Value, widths: Value, mode: str = "constant", constant_values: Value | None = None) -> Value:
    filling = {} if constant_values is None else {"constant_values": constant_values.of}
    sides = np.broadcast_to(widths.of, (one.of.ndim, 2))
    room(prod(int(size + sum(side)) for size, side in zip(one.of.shape, sides.tolist(), strict=True)))
    padded: Array = np.pad(one.of, sides, mode, **filling)  # type: ignore[call-overload]
    return Value(padded, np.pad(one.off, sides, mode))  # type: ignore[call-overload]


def _take(one: Value, at: Value, axis: int | None = None) -> Value:
    return Value(np.asarray(np.take(one.of, at.of, axis)), np.asarray(np.take(one.off, at.of, axis)))


def _sorted(one: Value, axis: int = -1) -> Value:
    return _ordered(lambda numbers: np.sort(numbers, axis=axis), one)


def _ordered(function: Callable[..., Array], *values: Value) -> Value:
    """Apply a function whose values grow with the numbers, such as a sort: the bound is how far they move if all
    numbers are as much larger or smaller as their bounds allow, in the types of HALF_UNITS."""
    fits(*values)
    made = np.asarray(function(*(one.of for one in values)))
    if made.dtype.kind != "f":
        return Value(made, np.zeros(made.shape))
    off = np.zeros(made.shape)
    bounds = [np.where(np.isnan(one.off), 0, one.off) for one in values]  # the root of 0 has none
    for unit in HALF_UNITS.get():
        for side in (unit, -unit):
            moved = [one.of + side * bound for one, bound in zip(values, bounds, strict=True)]
            off = np.fmax(off, (function(*moved) - made) / side)
    return Value(made, off)


def _sizes(given: Sequence[Value]) -> list[int]:
    """Return whole numbers, which are given one by one or as a tuple."""
    if len(given) == 1 and given[0].of.ndim == 1:
        given = [indexed(given[0], place) for place in range(given[0].of.size)]
    return [whole(each) for each in given]


def _moved(name: str) -> Callable[..., Value]:
    """Return a function that moves numbers: the same moves for the bounds."""

    def apply(one: Value, *given: Value, **named: int) -> Value:
        if name in ("reshape", "transpose"):
            sizes = [_sizes(given)] if given else []
            return Value(getattr(one.of, name)(*sizes), getattr(one.off, name)(*sizes))
        if name in ("repeat", "tile"):
            room(one.of.size * prod(_sizes(given[:1])))
        move, numbers = getattr(np, name), [wholes(each) for each in given]
        return Value(move(one.of, *numbers, **named), move(one.off, *numbers, **named))

    return apply


def _chosen(name: str) -> Callable[..., Value]:
    return lambda *values: plain(getattr(np, name), *values)


def _between(name: str) -> Callable[..., Value]:
    return lambda one, two: _ordered(getattr(np, name), one, two)


def _stepped(name: str) -> Callable[[Value], Value]:
    """Return a function to whole numbers. A number beside a step may be on the other side of it in a kernel."""
    return lambda one: _ordered(getattr(np, name), one)


def _arange(*given: Value) -> Value:
    numbers = [whole(each) for each in given]
    room(len(range(*numbers)))
    return exact(np.arange(*numbers))


def _filled(number: float) -> Callable[..., Value]:
    def apply(*given: Value) -> Value:
        sizes = _sizes(given)
        room(prod(sizes))
        return exact(np.full(sizes, number))

    return apply


def _full(sizes: Value, number: Value) -> Value:
    shape = _sizes([sizes])
    room(prod(shape))
    return Value(np.full(shape, number.of), np.full(shape, number.off))


def _eye(size: Value) -> Value:
    room(whole(size) ** 2)
    return exact(np.eye(whole(size)))


def _bincount(one: Value, weights: Value | None = None, minlength: Value | int = 0) -> Value:
    least, at = whole(minlength) if isinstance(minlength, Value) else minlength, one.of.ravel()
    room(max(least, int(at.max(initial=0))))
    counts = np.bincount(at, minlength=least)
    if weights is None:
        return exact(counts)

    def total(numbers: Array) -> Array:
        made = np.zeros(counts.shape, numbers.dtype)
        np.add.at(made, at, numbers.ravel())
        return made

    made, squares = total(weights.of), total(weights.of.astype(np.float64) ** 2)
    return rounded(made, total(weights.off) + SUM * np.sqrt(counts * squares) + in_turn(made, counts), SUM)


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "1"


def added_at(before: Value, at: Any, numbers: Value) -> Value:
    """Return `before` after np.add.at(before, at, numbers): a place that occurs several times gets several numbers.
    ValueError: the numbers do not fit these places."""
    places, given = before.of[at].shape, numbers.of.shape
    if given != places[len(places) - len(given) :]:
        raise ValueError(f"the indices name {_by(places)} elements, and {_by(given)} numbers are added there")

    def total(each: Array | float, kind: Any = np.float64) -> Array:
        made = np.zeros(before.of.shape, kind)
        np.add.at(made, at, each)
        return made

    counts, squares = total(1, np.int64), total(numbers.of.astype(np.float64) ** 2)
    made = total(numbers.of, np.result_type(numbers.of, np.int64))
    off = total(numbers.off) + SUM * np.sqrt(counts * squares) + in_turn(made, counts)
    return add(before, rounded(made, off, SUM))


def _nonzero(condition: Value) -> Value:
    return exact(np.array(np.nonzero(condition.of)))


def _where(condition: Value, one: Value | None = None, two: Value | None = None) -> Value:
    if one is None or two is None:
        return _nonzero(condition)
    fits(condition, one, two)
    chosen = condition.of.astype(bool)
    made = np.where(chosen, one.of, two.of)
    return Value(made, np.where(chosen, one.off, two.off) if made.dtype.kind == "f" else np.zeros(made.shape))


def _outer(one: Value, two: Value) -> Value:
    flat, other = _moved("ravel")(one), _moved("ravel")(two)
    return multiply(Value(flat.of[:, None], flat.off[:, None]), Value(other.of[None, :], other.off[None, :]))


def _convolve(one: Value, two: Value, mode: str = "full") -> Value:
    if one.of.size * two.of.size > MOST_PRODUCTS:
        raise NotRunnable("The convolution of this formula takes too long: choose a smaller N.")

    def convolve(one: Array, two: Array) -> Array:
        return np.convolve(one, two, mode)  # type: ignore[call-overload, no-any-return]

    made = convolve(one.of, two.of)
    if made.dtype.kind != "f":
        return rounded(made, 0.0)
    carried = convolve(np.abs(one.of), two.off) + convolve(one.off, np.abs(two.of))
    spread = SUM * np.sqrt(min(one.of.size, two.of.size) * convolve(one.of**2, two.of**2))
    return rounded(made, carried + spread, SUM)


def _correlate(one: Value, two: Value, mode: str = "valid") -> Value:
    if two.of.size > one.of.size:
        raise ValueError("the second array of a correlation is the shorter one")
    return _convolve(one, indexed(two, slice(None, None, -1)), mode)


def _diff(one: Value, n: Value | int = 1, axis: int = -1) -> Value:
    times = n if isinstance(n, int) else whole(n)
    if not -one.of.ndim <= axis < one.of.ndim or not 0 <= times <= _MOST_DIFFERENCES:
        raise ValueError(f"diff takes an axis of the array, and at most {_MOST_DIFFERENCES} times")
    before = (slice(None),) * (axis % one.of.ndim)
    for _ in range(times):
        one = subtract(indexed(one, (*before, slice(1, None))), indexed(one, (*before, slice(None, -1))))
    return one


def _argsort(one: Value, axis: int = -1) -> Value:
    return exact(np.argsort(one.of, axis=axis, kind="stable"))


def _searchsorted(one: Value, two: Value, mode: Literal["left", "right"] = "left") -> Value:
    return exact(np.asarray(np.searchsorted(one.of, two.of, side=mode)))


def _dot(one: Value, two: Value) -> Value:
    if max(one.of.ndim, two.of.ndim) > 2:
        raise ValueError("dot takes matrices and vectors: write @ for the products of several matrices")
    return matmul(one, two)


def _inner(one: Value, two: Value) -> Value:
    return _dot(one, _moved("transpose")(two))


def _cross(one: Value, two: Value) -> Value:
    if one.of.shape[-1:] != (3,) or two.of.shape[-1:] != (3,):
        raise ValueError("cross takes vectors of three numbers")
    sides = [[indexed(each, (..., (place + more) % 3)) for place in range(3)] for each, more in
             ((one, 1), (two, 2), (one, 2), (two, 1))]  # fmt: skip
    made = [subtract(multiply(a, b), multiply(c, d)) for a, b, c, d in zip(*sides, strict=True)]
    return Value(np.stack([each.of for each in made], -1), np.stack([each.off for each in made], -1))


def _kron(one: Value, two: Value) -> Value:
    if one.of.ndim != 2 or two.of.ndim != 2:
        raise ValueError("kron takes two matrices")
    made = multiply(indexed(one, (slice(None), None, slice(None), None)), indexed(two, (None, slice(None), None)))
    shape = [a * b for a, b in zip(one.of.shape, two.of.shape, strict=True)]
    return Value(made.of.reshape(shape), made.off.reshape(shape))


def _vdot(one: Value, two: Value) -> Value:
    return matmul(_moved("ravel")(one), _moved("ravel")(two))


def _ptp(one: Value, axis: Axis = None, keepdims: int = 0) -> Value:
    return subtract(_of_axis("max")(one, axis, keepdims), _of_axis("min")(one, axis, keepdims))


def _linspace(start: Value, stop: Value, num: Value | int = 50) -> Value:
    count = whole(num) if isinstance(num, Value) else num
    room(count)
    return Value(np.linspace(start.of, stop.of, count), np.full(count, 4 * (np.abs(start.of) + np.abs(stop.of))))


def _logaddexp(one: Value, two: Value) -> Value:
    """Return log(exp(x) + exp(y)). A kernel may compute it as the larger number, and log(1 + ...)."""
    fits(one, two)
    made = np.logaddexp(one.of, two.of)
    return rounded(made, one.off + two.off + 1.0, _HALF_UNITS["log"])


# Functions that move numbers, that choose or compare them, others that round nothing, and those with a reduce and an
# accumulate that round nothing.
MOVING = (
    "transpose", "ravel", "flip", "fliplr", "flipud", "roll", "rot90", "repeat", "tile", "reshape", "diag", "squeeze",
    "swapaxes", "expand_dims", "tril", "triu",
)  # fmt: skip
COMPARING = (
    "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor", "logical_not", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
EXACT = (
    "abs", "absolute", "fabs", "floor", "ceil", "round", "rint", "trunc", "sign", "mod", "remainder", "fmod",
    "floor_divide", "isnan", "isinf", "isfinite", "signbit", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor",
    "invert", "left_shift", "right_shift", "bitwise_count", "gcd", "lcm",
)  # fmt: skip
STEPS = ("floor", "ceil", "trunc", "rint")
REDUCING = ("maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or")


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "exp": _exp,
    "exp2": _function("exp2", lambda x: np.log(2) * np.exp2(x)),
    "log": _function("log", lambda x: 1 / x),
    "log2": _function("log2", lambda x: 1.5 / x),
    "log10": _function("log10", lambda x: 0.5 / x),
    "sqrt": _function("sqrt", lambda x: 0.5 / np.sqrt(x)),
    "sin": _of_circle("sin", np.cos),
    "cos": _of_circle("cos", np.sin),
    "tan": _function("tan", lambda x: 1 + np.tan(x) ** 2),
    "tanh": _of_powers("tanh", lambda x: 1 - np.tanh(x) ** 2, np.ones_like),
    "sinh": _of_powers("sinh", np.cosh, np.cosh),
    "cosh": _function("cosh", np.sinh),
    "arctan": _function("arctan", lambda x: 1 / (1 + x * x)),
    "arcsin": _function("arcsin", lambda x: 1 / np.sqrt(1 - x * x)),
    "arccos": _function("arccos", lambda x: 1 / np.sqrt(1 - x * x)),
    "log1p": _function("log1p", lambda x: 1 / (1 + x)),
    "expm1": _function("expm1", np.exp),
    "cbrt": _function("cbrt", lambda x: 1 / (3 * np.cbrt(x) ** 2)),
    "hypot": _hypot, "arctan2": _arctan2, "erf": _erf,
    "sum": _sum, "cumsum": _cumsum, "mean": _mean, "prod": _prod, "cumprod": _cumprod, "var": _var, "std": _std,
    "norm": _norm, "median": _median, "softmax": _softmax, "sort": _sorted,
    **{name: _of_axis(name) for name in ("max", "min", "argmax", "argmin", "any", "all")},
    **{name: _moved(name) for name in MOVING},
    **{name: _chosen(name) for name in (*COMPARING, *EXACT)},
    **{name: _between(name) for name in ("maximum", "minimum", "fmax", "fmin")},
    **{name: _stepped(name) for name in STEPS},
    "add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "true_divide": divide, "power": power,
    "negative": lambda one: Value(-one.of, one.off), "reciprocal": lambda one: divide(exact(np.asarray(1.0)), one),
    "dot": _dot, "matmul": matmul, "inner": _inner, "vdot": _vdot, "outer": _outer, "convolve": _convolve,
    "correlate": _correlate, "ptp": _ptp, "linspace": _linspace, "logaddexp": _logaddexp, "nonzero": _nonzero,
    "array_equal": lambda one, two: exact(np.asarray(np.array_equal(one.of, two.of))), "pow": power, "average": _mean,
    "sorted": _sorted, "flatten": _moved("ravel"), "copy": lambda one: one, "array": lambda one: one,
    "identity": _eye, "full_like": lambda one, number: _full(exact(np.asarray(one.of.shape)), number),
    "where": _where, "pad": _pad, "take": _take, "cross": _cross, "kron": _kron,
    "arange": _arange, "zeros": _filled(0.0), "ones": _filled(1.0), "full": _full, "eye": _eye, "bincount": _bincount,
    "zeros_like": lambda one: exact(np.zeros_like(one.of)), "ones_like": lambda one: exact(np.ones_like(one.of)),
    "len": lambda one: exact(np.asarray(len(one.of))),
    "diff": _diff,
    "clip": lambda one, low, high: _ordered(np.clip, one, low, high),
    "square": lambda one: multiply(one, one),
    "trace": lambda one: _sum(_moved("diag")(one)),
    "argsort": _argsort, "searchsorted": _searchsorted,
    "flatnonzero": lambda one: exact(np.flatnonzero(one.of)),
    "unique": lambda one: Value(np.unique(one.of), np.full(np.unique(one.of).shape, one.off.max(initial=0))),
    "count_nonzero": lambda one: exact(np.asarray(np.count_nonzero(one.of))),
    "add.reduce": _first_axis(_sum), "add.accumulate": _first_axis(_cumsum),
    "multiply.reduce": _first_axis(_prod), "multiply.accumulate": _first_axis(_cumprod),
    **{f"{name}.{how}": _of_ufunc(name, how) for name in REDUCING for how in ("reduce", "accumulate")},
}  # fmt: skip
# Functions of several arrays that are given as one list or tuple.
OF_PARTS = ("concatenate", "stack", "hstack", "vstack", "column_stack")
# Functions that have a mode, with their modes.
MODES = {
    **dict.fromkeys(("convolve", "correlate"), ("full", "same", "valid")),
    "pad": ("constant", "edge", "reflect", "symmetric", "wrap"),
    "searchsorted": ("left", "right"),
}

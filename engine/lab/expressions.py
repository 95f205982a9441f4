"""Whole numbers that are computed from names: sizes of a launch as a student or a file writes them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from engine.records import NotRunnable
from engine.records.words import whole_number

_LARGEST = 1 << 40
_LONGEST, _SHOWN = 200, 40  # characters
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
    ast.Div: operator.floordiv, ast.FloorDiv: operator.floordiv, ast.LShift: lambda a, b: a << min(b, 63),
    ast.RShift: operator.rshift,
}  # fmt: skip


def evaluate(words: str, known: Mapping[str, int]) -> int:
    """Evaluate an expression; `/` divides as C does with integers, `^` is a power. NotRunnable: it is no number."""
    try:
        return whole_number(words)
    except ValueError:
        pass
    if len(words.strip()) > _LONGEST:
        raise NotRunnable(f"{words.strip()[:_SHOWN]!r} … is not a whole number: more than {_LONGEST} characters.")
    try:
        # As ** the ^ has a power's precedence.
        number = _value(ast.parse(words.strip().replace("^", "**"), mode="eval").body, known)
    except OverflowError:
        raise NotRunnable(f"{words.strip()} is too large: choose a smaller N.") from None
    except ZeroDivisionError:
        raise NotRunnable(f"{words.strip()!r} is not a whole number, as it divides by 0: choose another N.") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        named = " and ".join(known)
        raise NotRunnable(f"{words.strip()!r} is not a whole number: write one, or compute it from {named}.") from None
    return number


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, known)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bounded(_value(left, known) ** min(max(0, _value(right, known)), 63))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(_OPERATORS[type(op)](_value(left, known), _value(right, known)))
        case _:
            raise ValueError(node)


def _bounded(number: int) -> int:
    if abs(number) > _LARGEST:
        raise OverflowError
    return number

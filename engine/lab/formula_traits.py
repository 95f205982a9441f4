"""What the line of a formula is made of, which decides the numbers of its trials."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from enum import IntEnum
from math import isfinite

from engine.lab.bounded import whole
from engine.lab.formula import ADDED, ASSIGNED, CAST, KINDS, function_of, name_of, parse, value_of
from engine.lab.numpy_functions import COMPARING, MOVING, OF_PARTS, STEPS
from engine.records import NotRunnable


def names_in(line: str) -> frozenset[str]:
    """Return the parameters that a line computes with, but for those that it takes for indices."""
    return frozenset(name_of(node) for node in _outside_indices(parse(line)) if isinstance(node, ast.Name))


def every_name_in(line: str) -> frozenset[str]:
    """Return all parameters of a line."""
    return frozenset(name_of(node) for node in ast.walk(parse(line)) if isinstance(node, ast.Name))


def moved_in(line: str) -> frozenset[str]:
    """Return the parameters of a line that only moves and compares numbers, such as sort(x); none for other lines."""
    parts = _outside_indices(parse(line))
    return names_in(line) if all(isinstance(part, _MOVING) or _moves(part) for part in parts) else frozenset()


def array_divisors_in(line: str, numbers: Collection[str] = ()) -> frozenset[str]:
    """Return the arrays by which a line divides, or by something that it computes from them. `numbers`: the parameters
    that are numbers."""
    return frozenset(name for each in _divisors(parse(line)) for name in names_in(ast.unparse(each))) - {*numbers}


def _divisors(tree: ast.expr) -> list[ast.expr]:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp)]
    return [node.right for node in nodes if isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)]


def bounds_in(line: str, numbers: Mapping[str, float] | None = None) -> tuple[float, ...]:
    """Return the numbers with which a line compares others, also 0 where it asks for a sign, and the whole numbers by
    which it divides. `numbers`: the parameters that are numbers."""
    tree = parse(line)
    nodes, divisors = list(ast.walk(tree)), _divisors(tree)
    sides = _compared(nodes)
    written = [side.value for side in sides if isinstance(side, ast.Constant)]
    written += [
        node.right.value
        for node in nodes
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod)
        if isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
    ]
    named = [side for side in (*sides, *divisors) if isinstance(side, ast.Name)]
    passed = [(numbers or {}).get(name_of(side)) for side in named]
    calls = {function_of(node.func, node.args)[0] for node in nodes if isinstance(node, ast.Call)}
    written += [0] * bool(calls & _OF_ZERO)
    return tuple(each for each in (*written, *passed) if isinstance(each, int | float) and isfinite(each))


def _compared(nodes: Iterable[ast.AST]) -> list[ast.expr]:
    """Return the sides of a line's comparisons."""
    compared = [node for node in nodes if isinstance(node, ast.Compare)]
    return [side for node in compared for side in (node.left, *node.comparators)]


def comparisons_in(line: str) -> list[str]:
    """Return a line's comparisons."""
    return [ast.unparse(node) for node in ast.walk(parse(line)) if isinstance(node, ast.Compare)]


def choices_by_sign_in(line: str) -> list[str]:
    """Return differences of a line that decide by their signs what it chooses: x * a - 255 of minimum(x * a, 255) and
    of clip(x * a, 0, 255)."""
    pairs = list[tuple[ast.expr, ast.expr]]()
    for node in ast.walk(parse(line)):
        match node:
            case ast.Compare(left=left, comparators=[right]):
                pairs.append((left, right))
            case ast.Call(func=function, args=given):
                name, given = function_of(function, given)
                pairs += [(given[0], one) for one in given[1:]] if name in _BOUNDING else []
    return [f"({ast.unparse(one)}) - ({ast.unparse(two)})" for one, two in pairs]


def added_in(line: str) -> float:
    """Return the smallest positive number that a line adds, such as 1e-5; 0 if there is none."""
    nodes = [node for node in ast.walk(parse(line)) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)]
    sides = [side.value for node in nodes for side in (node.left, node.right) if isinstance(side, ast.Constant)]
    return min((side for side in sides if isinstance(side, float) and side > 0), default=0.0)


def factors_in(line: str) -> frozenset[str]:
    """Return the parameters that are only operands of arithmetic, comparisons or choices: no sizes, indices or
    shifts."""
    tree = parse(line)
    return _only_among([*_operands(tree), *_chosen(tree)], tree)


def _operands(tree: ast.expr) -> list[ast.expr]:
    """Return the operands of a line's arithmetic."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, _FACTORS)]
    return [side for node in nodes for side in (node.left, node.right)]


def counted_in(line: str) -> dict[str, str]:
    """Return the parameters of whose numbers, or their bits, a line counts how often each occurs, with what it
    counts: x of bincount(x & 15) with x & 15."""
    calls = [node for node in ast.walk(parse(line)) if isinstance(node, ast.Call)]
    named = [function_of(node.func, node.args) for node in calls]
    counted = [each[0] for name, each in named if name == "bincount"]
    counted += [each[0].slice for name, each in named if name == ADDED and isinstance(each[0], ast.Subscript)]
    nodes = [(part.left if isinstance(part, ast.BinOp) else part, part) for part in counted]
    return {name_of(one): ast.unparse(part) for one, part in nodes if isinstance(one, ast.Name)}


def choices_in(line: str) -> frozenset[str]:
    """Return the parameters that are only compared or chosen."""
    tree = parse(line)
    return _only_among(_chosen(tree), tree)


def places_in(line: str) -> frozenset[str]:
    """Return the parameters that are parts of an index, or by which a line rolls, shifts, pads or repeats; no
    other sizes."""
    tree = parse(line)
    found = list[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=index):
                found.append(index)
            case ast.BinOp(op=ast.LShift() | ast.RShift(), right=right):
                found.append(right)
            case ast.Call(func=function, args=given, keywords=keywords):
                name, given = function_of(function, given)
                if name in _SHIFTING or name in _FILLING:
                    found += [*given[name in _SHIFTING :], *(each.value for each in keywords)]
    named = [part for each in found for part in ast.walk(each) if isinstance(part, ast.Name)]
    return frozenset(map(name_of, named)) & _only_among([*named, *_operands(tree), *_chosen(tree)], tree)


def indices_in(line: str) -> frozenset[str]:
    """Return the parameters that are only whole indices, as in A[row] and A[:, column]."""
    tree = parse(line)
    found = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    found = [part for each in found for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return _only_among(found, tree)


def inside_indices_in(line: str) -> frozenset[str]:
    """Return the parameters from which a line computes indices."""
    found = list[ast.AST]()
    for node in ast.walk(parse(line)):
        match node:
            case ast.Subscript(slice=index):
                found.append(index)
            case ast.Call(func=function, args=given):
                name, given = function_of(function, given)
                found += {"bincount": given[:1], "take": given[1:2]}.get(name, [])
    return frozenset(name_of(part) for each in found for part in ast.walk(each) if isinstance(part, ast.Name))


_SHIFTING = frozenset(("roll", "repeat", "tile", "pad", "left_shift", "right_shift"))
_FILLING = frozenset(("zeros", "ones"))


def _chosen(tree: ast.expr) -> list[ast.expr]:
    """Return what a line compares, and among what it chooses."""
    found = _compared(ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name, given = function_of(node.func, node.args)
            found += given if name in _CHOOSING else []
    return found


def _only_among(parts: Sequence[ast.expr], tree: ast.expr) -> frozenset[str]:
    """Return the parameters that are some of these parts of a line, and nowhere else."""
    inside = {id(part) for part in parts}
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    others = {name_of(node) for node in named if id(node) not in inside}
    return frozenset(name_of(node) for node in named) - others


def divisors_in(line: str) -> frozenset[str]:
    """Return the parameters by which a line divides, or with whose bits it computes."""
    nodes = [node for node in ast.walk(parse(line)) if isinstance(node, ast.BinOp) and isinstance(node.op, _DIVIDING)]
    return frozenset(name_of(node.right) for node in nodes if isinstance(node.right, ast.Name))


def compares_plainly(line: str) -> bool:
    """Return whether a line compares its numbers as they are, and computes nothing before."""
    sides = _compared(ast.walk(parse(line)))
    return all(isinstance(part, _MOVING) or _moves(part) for side in sides for part in _outside_indices(side))


_WRAPPING = (ast.Add, ast.Sub, ast.Mult)
_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor)
_OF_ZERO = frozenset(("sign", "logical_and", "logical_or", "logical_xor", "logical_not"))
_DIVIDING = (ast.Div, ast.FloorDiv, ast.Mod, *_BITS)
_BOUNDING = frozenset(("maximum", "minimum", "fmax", "fmin", "clip"))
_CHOOSING = frozenset((*COMPARING, "clip", "where"))
_FACTORS = (*_WRAPPING, *_DIVIDING)


def is_decided(line: str) -> bool:
    """Return whether a line asks for how many numbers, or whether any or all, something is true."""
    match parse(line):
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=given):
            name, given = function_of(function, given)
            inside = [part for each in given for part in ast.walk(each)]
            return name in _TRUTHS or (name in _ASKING and any(isinstance(part, ast.Compare) for part in inside))
    return False


_TRUTHS = frozenset((
    "any", "all", "count_nonzero", "array_equal",
    *(f"{name}.reduce" for name in ("bitwise_or", "bitwise_and", "logical_or", "logical_and")),
))  # fmt: skip
_ASKING = frozenset(("sum", "mean", "argmax", "argmin", CAST))


def has_steps(line: str) -> bool:
    """Return whether a line makes whole numbers of fractions, as floor(x) and x.astype(int) do."""
    calls = [node for node in ast.walk(parse(line)) if isinstance(node, ast.Call)]
    return any(function_of(node.func, node.args)[0] in (*STEPS, CAST) for node in calls)


def powers_in(line: str, numbers: Collection[str] = ()) -> frozenset[str]:
    """Return the parameters whose softmax is the line's value, also if they are divided by one of `numbers` before: it
    is the same for numbers shifted by a constant."""
    match parse(line):
        case ast.Call(func=function, args=given):
            name, given = function_of(function, given)
            names = names_in(ast.unparse(given[0])) - {*numbers} if name == "softmax" and given else frozenset[str]()
            return names if names and _is_scaled(_numbered(given[0], numbers)) else frozenset()
    return frozenset()


def _is_scaled(node: ast.expr) -> bool:
    """Return whether a part of a line is an array, also times a positive number or divided by one."""
    match node:
        case ast.Name():
            return True
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=ast.Constant()):
            return _is_scaled(left)
    return False


def exponents_in(line: str) -> frozenset[str]:
    """Return the parameters of a line that sums powers of e, if they are in the exponents."""
    return frozenset(name for part in summed_exponents_in(line) for name in names_in(part))


def summed_exponents_in(line: str) -> list[str]:
    """Return the exponents of a line that sums powers of e."""
    calls = [node for node in ast.walk(parse(line)) if isinstance(node, ast.Call)]
    named = [function_of(node.func, node.args) for node in calls]
    sums = any(name in ("sum", "mean", "softmax") for name, _ in named)
    return [ast.unparse(given[0]) for name, given in named if name in ("exp", "exp2", "softmax") and given and sums]


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
                name, given = function_of(function, given)
                given = given[:1] if name == CAST else given[name in ("bincount", "take") :]
                left += [*given, *(each.value for each in keywords)]
            case ast.Attribute(value=ast.Name(id="np")):
                pass  # a constant
            case _:
                left += ast.iter_child_nodes(part)
    return found


def _moves(part: ast.AST) -> bool:
    """Return whether a part of a line moves or compares numbers."""
    match part:
        case ast.Call(func=function, args=given):
            return function_of(function, given)[0] in _MOVES
        case ast.UnaryOp(operand=operand):
            return isinstance(operand, ast.Constant)
        case ast.Attribute(attr=name):
            return name == "T"
    return False


_MOVING = (ast.Name, ast.Constant, ast.Subscript, ast.List, ast.Tuple, ast.Compare, ast.cmpop, ast.expr_context,
           ast.USub)  # fmt: skip
_MOVES = frozenset((
    *MOVING, *COMPARING, *OF_PARTS, "maximum.reduce", "maximum.accumulate", "minimum.reduce", "minimum.accumulate",
    "max", "min", "argmax", "argmin", "sort", "argsort", "where", "clip", "any", "all", "count_nonzero", "pad", "take",
    "unique", "searchsorted", "flatnonzero", "nonzero", "array_equal", "sorted", "flatten", "copy", "array", ASSIGNED,
))  # fmt: skip


class _Whole(IntEnum):
    """How a whole number of a line compares with a kernel's, whatever the numbers are. A kernel computes in 32 bits."""

    FREE = 0  # it may differ: the line divides, compares or chooses what has left the type
    WRAPPED = 1  # the same bits
    EXACT = 2  # the same number


_ADDING = frozenset((
    "add", "subtract", "multiply", "negative", "sum", "cumsum", "prod", "cumprod", "dot", "matmul",
    "inner", "vdot", "outer", "convolve", "diff", "square", "trace", "add.reduce", "add.accumulate", "multiply.reduce",
    "multiply.accumulate", "kron", "cross", ADDED,
))  # fmt: skip
_COUNTING = frozenset(("sign", "bitwise_count"))
_BOUNDED = frozenset((*_ADDING, *_COUNTING, *_MOVES, CAST, "abs", "absolute", "floor_divide", "mod", "remainder"))
_SEEKING = frozenset((
    "max", "min", "maximum", "minimum", "fmax", "fmin", "sort", "sorted", "maximum.reduce", "maximum.accumulate",
    "minimum.reduce", "minimum.accumulate",
))  # fmt: skip
_OF_BITS = frozenset((
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", *(
        f"bitwise_{name}.{how}" for name in ("and", "or", "xor") for how in ("reduce", "accumulate")
    ),
))  # fmt: skip


def wraps_in(line: str, numbers: Collection[str] = ()) -> frozenset[str]:
    """Return the parameters of a line of whole numbers whose value has the same 32 bits for all numbers of a kernel's
    type, also where they are too large for it; none for other lines. `numbers`: the parameters that are small positive
    numbers, which do for divisors and shifts what constants do."""
    tree = _numbered(parse(line), numbers)
    calls = {function_of(node.func, node.args)[0] for node in ast.walk(tree) if isinstance(node, ast.Call)}
    # A kernel may compute before it chooses, as the largest 2 * x for twice the largest x.
    least = _Whole.EXACT if calls & _SEEKING else _Whole.WRAPPED
    return names_in(line) if _whole_of(tree) >= least else frozenset()


def _numbered(tree: ast.expr, numbers: Collection[str]) -> ast.expr:
    """Return a copy of a tree with a constant in the place of each of these parameters."""
    made: ast.expr = _Numbered(numbers).visit(deepcopy(tree))
    return made


class _Numbered(ast.NodeTransformer):
    def __init__(self, numbers: Collection[str]) -> None:
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(1) if name_of(node) in self.numbers else node


def adds_in(line: str) -> frozenset[str]:
    """Return the parameters of a line that only adds, multiplies, divides, moves and compares; none for other lines. A
    kernel may take as long as its numbers are large for what else there is, such as a greatest common divisor."""
    nodes = list(ast.walk(parse(line)))
    calls = {function_of(node.func, node.args)[0] for node in nodes if isinstance(node, ast.Call)}
    operators = {type(node.op) for node in nodes if isinstance(node, ast.BinOp)}
    return names_in(line) if calls <= _BOUNDED and operators <= {*_FACTORS, ast.LShift, ast.RShift} else frozenset()


def _whole_of(node: ast.expr) -> _Whole:
    match node:
        case ast.Name():
            return _Whole.EXACT
        case ast.Constant(value=number):
            size = abs(number) if isinstance(number, int) else 2**32
            return _Whole.EXACT if size < 2**31 else _Whole.WRAPPED if size < 2**32 else _Whole.FREE
        case ast.Subscript(value=value):
            return _whole_of(value)
        case ast.Attribute(value=value, attr="T"):
            return _whole_of(value)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return min(map(_whole_of, parts), default=_Whole.EXACT)
        case ast.UnaryOp(op=ast.Invert() | ast.USub() | ast.UAdd(), operand=operand):
            constant = isinstance(operand, ast.Constant)
            return _whole_of(operand) if constant else min(_Whole.WRAPPED, _whole_of(operand))
        case ast.Compare(left=left, comparators=[right]):
            return _exact_of(left, right)
        case ast.BinOp(left=left, op=op, right=right):
            both = min(_whole_of(left), _whole_of(right))
            if isinstance(op, _BITS):
                return both
            if isinstance(op, _WRAPPING) or (isinstance(op, ast.LShift | ast.Pow) and _is_fixed(right)):
                return min(_Whole.WRAPPED, both)
            if isinstance(op, ast.Mod) and _is_word(right):
                return _Whole.EXACT if _whole_of(left) else _Whole.FREE
            divides = isinstance(op, ast.FloorDiv | ast.Mod | ast.RShift) and _is_fixed(right)
            return _exact_of(left) if divides else _Whole.FREE
        case ast.Call(func=ast.Name() | ast.Attribute() as function, args=given):
            return _of_call(*function_of(function, given))
    return _Whole.FREE


def _is_fixed(node: ast.expr) -> bool:
    """Return whether an operand is made of constants alone."""
    return all(isinstance(part, ast.Constant | ast.BinOp | ast.operator) for part in ast.walk(node))


def _is_word(node: ast.expr) -> bool:
    """Return whether a divisor leaves the low bits of 32 or fewer."""
    try:
        value = whole(value_of(ast.unparse(node), {}, {})) if _is_fixed(node) else 0
    except (NotRunnable, ValueError):
        return False
    return 0 < value <= 2**32 and value & (value - 1) == 0


def _exact_of(*parts: ast.expr) -> _Whole:
    """Return whether an operation gives the same number, as it does if its operands are the same."""
    return _Whole.EXACT if all(_whole_of(part) is _Whole.EXACT for part in parts) else _Whole.FREE


def _of_call(name: str, given: list[ast.expr]) -> _Whole:
    if name == CAST:
        kind = ast.unparse(given[1]).removeprefix("np.") if len(given) > 1 else ""
        small = KINDS.get(kind, "").strip("uint") in ("8", "16", "32")
        return _Whole.FREE if not small else _Whole.EXACT if _whole_of(given[0]) else _Whole.FREE
    if name == "where" and len(given) == 3:
        chosen = min(_whole_of(given[1]), _whole_of(given[2]))
        return chosen if _whole_of(given[0]) is _Whole.EXACT else _Whole.FREE
    if name in _OF_BITS or name in OF_PARTS or name in MOVING:
        return min(map(_whole_of, given), default=_Whole.FREE)
    if name in ("abs", "absolute"):
        return min(_Whole.WRAPPED, _exact_of(*given))
    if name in _ADDING:
        return min([_Whole.WRAPPED, *map(_whole_of, given)])
    return _exact_of(*given) if name in _MOVES or name in _COUNTING else _Whole.FREE

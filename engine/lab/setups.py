"""The user's own launch and its reference, in words that fit an address and a form.

saxpy<<<(n + block - 1) / block, 256>>>(2, float32[n]=range, float32[n]=ones, n)        y = saxpy(x, y, 2)

The first is CUDA's launch syntax with the arguments of `engine emulate`; sizes and integers may be expressions of `n`
and `block`, the first size of a block. The second names a reference.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from engine.catalogue.entries import MAX_BLOCK
from engine.lab.arguments import ARRAY, Argument, argument_of
from engine.lab.instances import typed_parameters
from engine.lab.references import reference_named
from engine.lab.signatures import bare, kernels_in
from engine.lab.top_level import parts, uncommented
from engine.records import NotRunnable
from engine.records.words import whole_number

_LARGEST = 1 << 40
_LONGEST = 200  # characters
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
    try:
        # As ** the ^ has a power's precedence.
        number = _value(ast.parse(words.strip()[:_LONGEST].replace("^", "**"), mode="eval").body, known)
    except OverflowError:
        raise NotRunnable(f"{words.strip()} is too large: choose a smaller N.") from None
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        named = " and ".join(known)
        raise NotRunnable(f"{words.strip()!r} is no whole number: write one, or compute it from {named}.") from None
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


_DEEPEST, _MOST_NAMES = 6, 60
_BYTES = {"char": 1, "bool": 1, "half": 2, "short": 2, "int": 4, "float": 4, "unsigned": 4, "double": 8, "long": 8}
_SIZEOF = re.compile(r"sizeof\s*\(\s*(\w+)[\w ]*\)")
_DIM3 = re.compile(r"(?:dim3\s*)?[({](.*)[)}]", re.DOTALL)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True)
class LaunchSizes:
    """`block`: one to three sizes; `shared`: bytes of dynamic shared memory, 0 if not given."""

    block: tuple[int, ...]
    shared: int


def launch_in_text(text: str, name: str) -> LaunchSizes | None:
    """Return the sizes of the first launch of the kernel `name`; None if they are not numbers."""
    code = _Code(uncommented(text))
    found = re.search(rf"(?<![\w.]){name}\s*(?:<(?!<)[^;{{}}]{{0,400}}?>\s*)?<<<([^;]{{1,400}}?)>>>", code.text)
    given = parts(found[1]) if found else []
    block = code.sizes(given[1].strip()) if len(given) > 1 else None
    if block is None or not 1 <= len(block) <= 3 or not 1 <= prod(block) <= MAX_BLOCK or min(block) < 1:
        return None
    while len(block) > 1 and block[-1] == 1:
        block = block[:-1]
    shared = code.sizes(given[2].strip()) if len(given) > 2 else None
    return LaunchSizes(block, shared[0] if shared else 0)


class _Code:
    def __init__(self, text: str) -> None:
        self.text = text
        self._looked_up = 0

    def sizes(self, words: str, depth: int = 0) -> tuple[int, ...] | None:
        """Return the sizes of an expression: one number, or those of a dim3."""
        if depth > _DEEPEST:
            return None
        words = _SIZEOF.sub(lambda found: str(_BYTES.get(found[1], found[0])), words).strip()
        inner = _DIM3.fullmatch(words)
        if inner and (words.startswith(("dim3", "{")) or "," in inner[1]):
            each = [self.sizes(part, depth + 1) for part in parts(inner[1])]
            return tuple(one[0] for one in each if one) if all(each) else None
        if _WORD.fullmatch(words):
            meant = self._meant(words)
            return self.sizes(meant, depth + 1) if meant else None
        for word in dict.fromkeys(_WORD.findall(words)):
            value = self.sizes(word, depth + 1)
            if value is None:
                return None
            words = re.sub(rf"(?<![\w.]){word}\b", str(value[0]), words)
        try:
            return (evaluate(words, {}),)
        except NotRunnable:
            return None

    def _meant(self, word: str) -> str | None:
        """Return the definition of a name: a macro, a dim3, or its first value."""
        self._looked_up += 1
        if self._looked_up > _MOST_NAMES:
            return None
        for pattern in (
            rf"^[ \t]*#[ \t]*define[ \t]+{word}[ \t]+([^\n]{{1,200}})$",
            rf"\bdim3\s+{word}\s*([({{][^;]{{1,200}}?[)}}])\s*[;,]",
            rf"(?<![\w.]){word}\s*=\s*(dim3\s*\([^;]{{1,200}}?\))\s*;",
            rf"(?<![\w.]){word}\s*=(?!=)\s*([^;,]{{1,100}})[;,]",
        ):
            found = re.search(pattern, self.text, re.MULTILINE)
            if found:
                return found[1].strip()
        return None


MOST_BYTES = 256 << 20  # of all arrays: a class shares the memory of one computer
BLOCK, GRID = ("256",), ("(n + block - 1) / block",)
_CALL = re.compile(
    r"\s*(?P<kernel>[\w:]+(?:<(?!<).*?>)?)\s*<<<(?P<launch>.*?)>>>\s*\((?P<arguments>.*)\)\s*;?\s*", re.DOTALL
)
_RIGHT = re.compile(r"\s*(\w+)\s*=\s*([\w-]+)\s*\(([^()]*)\)\s*")
# C types as NumPy types; an unknown type counts as a float
_TYPES = {"float": "float32", "double": "float64", "half": "float16", "__half": "float16", "char": "int8",
          "short": "int16", "int": "int32", "long": "int64", "bool": "bool", "uint": "uint32",
          "uchar": "uint8", "ushort": "uint16", "ulong": "uint64", "size_t": "uint64",
          **{f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}}  # fmt: skip


@dataclass(frozen=True)
class Right:
    """The array `out` must equal the reference of `given`: arrays, then numbers, each a parameter's name or a
    number.
    """

    out: str
    reference: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.out} = {self.reference}({', '.join(self.given)})"


@dataclass(frozen=True)
class Setup:
    """A launch in words. `kernel`: its name, with a template's arguments; `grid`, `block`: one to three sizes;
    `shared`: bytes of dynamic shared memory; `right`: its reference, or None.
    """

    kernel: str
    grid: tuple[str, ...] = GRID
    block: tuple[str, ...] = BLOCK
    arguments: tuple[str, ...] = ()
    shared: str = "0"
    right: Right | None = None

    @property
    def call(self) -> str:
        """The launch in CUDA's syntax."""
        shared = f", {self.shared}" if self.shared != "0" else ""
        return f"{self.kernel}<<<{_dim3(self.grid)}, {_dim3(self.block)}{shared}>>>({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Launching:
    """A setup at one n, in numbers."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[Argument, ...]


def setup_of(call: str, right: str = "") -> Setup:
    """Parse a launch and a reference. NotRunnable: the words are neither."""
    found = _CALL.fullmatch(call)
    sizes = parts(found["launch"]) if found else []
    if found is None or not 2 <= len(sizes) <= 3:
        raise NotRunnable(f"{call!r} is no launch such as saxpy<<<(n + 255) / 256, 256>>>(2, float32[n], n).")
    arguments = tuple(" ".join(word.split()) for word in parts(found["arguments"]))
    shared = sizes[2].strip() if len(sizes) == 3 else "0"
    made = _right_of(right) if right.strip() else None
    return Setup(found["kernel"], _sizes(sizes[0]), _sizes(sizes[1]), arguments, shared, made)


def propose_setup(text: str, kernel: str = "") -> Setup:
    """Propose a launch that fits the parameters of a text's kernel: `kernel`, else the first one.

    Its blocks are those of the file's own launch, if it has one. NotRunnable: the text has no kernel.
    """
    kernels = kernels_in(text)
    if not kernels:
        raise NotRunnable("There is no kernel here yet: a function with __global__ in front.")
    name = kernel if bare(kernel) in kernels else next(iter(kernels))
    found = launch_in_text(text, bare(name)) or LaunchSizes((), 0)
    block = tuple(map(str, found.block)) or BLOCK
    grid = tuple(f"(n + {size - 1}) / {size}" for size in found.block) if len(block) > 1 else GRID
    size = ", ".join("n" for _ in block)
    written = typed_parameters(text, name, kernels[bare(name)])
    return Setup(name, grid, block, tuple(_propose_argument(one, size) for one in written), str(found.shared))


def fit_setup(setup: Setup, text: str) -> Setup:
    """Fit the setup to the kernel's present parameters: propose arguments for those that changed."""
    kernels = kernels_in(text)
    if bare(setup.kernel) not in kernels:
        return propose_setup(text)
    anew = [
        _propose_argument(written, "n") for written in typed_parameters(text, setup.kernel, kernels[bare(setup.kernel)])
    ]
    kept = [*setup.arguments, *anew[len(setup.arguments) :]][: len(anew)]
    return replace(setup, arguments=tuple(kept))


def launching(setup: Setup, n: int) -> Launching:
    """Evaluate the launch at one n. NotRunnable: an invalid number or array, or too much memory."""
    block = tuple(evaluate(size, {"n": n}) for size in setup.block)
    known = {"n": n, "block": block[0]}
    grid = tuple(evaluate(size, known) for size in setup.grid)
    words = [_at(word, known) for word in setup.arguments]
    memory = sum(_bytes(word) for word in words)
    if memory > MOST_BYTES:
        raise NotRunnable(
            f"The arrays take {memory:,} bytes, and {MOST_BYTES:,} are free for them: choose a smaller N."
        )
    return Launching(grid, block, evaluate(setup.shared, known), tuple(argument_of(word) for word in words))


def _right_of(words: str) -> Right:
    found = _RIGHT.fullmatch(words)
    if not found:
        raise NotRunnable(f"{words!r} is no reference such as y = saxpy(x, y, 2).")
    reference = reference_named(found[2])
    given = tuple(part.strip() for part in parts(found[3]))
    if len(given) < len(reference.reads):
        raise NotRunnable(f"The reference {reference.title} reads {', '.join(reference.reads)}: name the arrays.")
    return Right(found[1], found[2], given)


def _at(word: str, known: dict[str, int]) -> str:
    """Return an argument's words with its sizes as numbers."""
    found = ARRAY.fullmatch(word)
    if found:
        sizes = ",".join(str(evaluate(size, known)) for size in parts(found[2]))
        return f"{found[1]}[{sizes}]={found[3] or 'zeros'}"
    if word.endswith(".npy"):
        raise NotRunnable("An array from a file can only be passed on the command line.")
    try:
        return str(evaluate(word, known))
    except NotRunnable:
        return word  # 2.5: argument_of reports it


def _bytes(word: str) -> int:
    found = ARRAY.fullmatch(word)
    if not found:
        return 0
    try:
        return int(np.dtype(found[1]).itemsize * prod(int(size) for size in found[2].split(",")))
    except TypeError:
        return 0  # argument_of reports an unknown type


def _propose_argument(written: str, size: str) -> str:
    words = re.findall(r"\w+", written)
    other = "int32" if "unsigned" in words else "float32"
    kind = next((_TYPES[word] for word in words if word in _TYPES), other)
    if "unsigned" in words and kind.startswith("int"):
        kind = f"u{kind}"
    if "*" in written or "[" in written:
        return f"{kind}[{size}]={'random' if 'const' in words else 'zeros'}"
    return "1" if kind.startswith(("float", "bool")) else "n"


def _sizes(words: str) -> tuple[str, ...]:
    inner = re.fullmatch(r"\s*dim3\s*\((.*)\)\s*", words)
    return tuple(part.strip() for part in parts(inner[1])) if inner else (words.strip(),)


def _dim3(sizes: Sequence[str]) -> str:
    return sizes[0] if len(sizes) == 1 else f"dim3({', '.join(sizes)})"

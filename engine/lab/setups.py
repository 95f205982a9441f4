"""How a kernel of one's own is launched, and what is right, in words that stand in an address and in a form.

saxpy<<<(n + block - 1) / block, 256>>>(2, float32[n]=range, float32[n]=ones, n)        y = saxpy(x, y, 2)

The first is CUDA's own launch, its arguments as `engine emulate` takes them; sizes and whole numbers may be computed
from `n` and from `block`, the first size of a block. The second names a reference.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from engine.lab.argument_words import ARRAY, argument_of
from engine.lab.arguments import Argument
from engine.lab.instances import typed
from engine.lab.launches import Launched, launched
from engine.lab.references import named
from engine.lab.signatures import bare, kernels_in
from engine.lab.sizes import computed
from engine.lab.top_level import parts
from engine.records import NotRunnable

MOST_BYTES = 256 << 20  # of all arrays: a class shares the memory of one machine
BLOCK, GRID = ("256",), ("(n + block - 1) / block",)
_CALL = re.compile(
    r"\s*(?P<kernel>[\w:]+(?:<(?!<).*?>)?)\s*<<<(?P<launch>.*?)>>>\s*\((?P<arguments>.*)\)\s*;?\s*", re.DOTALL
)
_RIGHT = re.compile(r"\s*(\w+)\s*=\s*([\w-]+)\s*\(([^()]*)\)\s*")
# C's types as NumPy's; what is not known here is taken for a float.
_TYPES = {"float": "float32", "double": "float64", "half": "float16", "__half": "float16", "char": "int8",
          "short": "int16", "int": "int32", "long": "int64", "bool": "bool", "uint": "uint32",
          "uchar": "uint8", "ushort": "uint16", "ulong": "uint64", "size_t": "uint64",
          **{f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}}  # fmt: skip


@dataclass(frozen=True)
class Right:
    """The array `out` is what the reference makes of `given`: arrays, then numbers, each a parameter's name or a
    number."""

    out: str
    reference: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.out} = {self.reference}({', '.join(self.given)})"


@dataclass(frozen=True)
class Setup:
    """A launch in words. `kernel`: its name, a template's with its arguments; `grid`, `block`: one to three sizes;
    `shared`: bytes of dynamic shared memory a block; `right`: None where nothing is checked."""

    kernel: str
    grid: tuple[str, ...] = GRID
    block: tuple[str, ...] = BLOCK
    arguments: tuple[str, ...] = ()
    shared: str = "0"
    right: Right | None = None

    @property
    def call(self) -> str:
        """As CUDA writes it."""
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
    """The words back. NotRunnable where they are no launch or no reference."""
    found = _CALL.fullmatch(call)
    sizes = parts(found["launch"]) if found else []
    if found is None or not 2 <= len(sizes) <= 3:
        raise NotRunnable(f"{call!r} is no launch such as saxpy<<<(n + 255) / 256, 256>>>(2, float32[n], n).")
    arguments = tuple(" ".join(word.split()) for word in parts(found["arguments"]))
    shared = sizes[2].strip() if len(sizes) == 3 else "0"
    made = _right_of(right) if right.strip() else None
    return Setup(found["kernel"], _sizes(sizes[0]), _sizes(sizes[1]), arguments, shared, made)


def proposed(text: str, kernel: str = "") -> Setup:
    """A launch that fits the parameters of a text's kernel: `kernel`, else the first one, in blocks as the file itself
    launches it, where it does. NotRunnable: it has none."""
    kernels = kernels_in(text)
    if not kernels:
        raise NotRunnable("There is no kernel here yet: a function with __global__ in front.")
    name = kernel if bare(kernel) in kernels else next(iter(kernels))
    found = launched(text, bare(name)) or Launched((), 0)
    block = tuple(map(str, found.block)) or BLOCK
    grid = tuple(f"(n + {size - 1}) / {size}" for size in found.block) if len(block) > 1 else GRID
    size = ", ".join("n" for _ in block)
    written = typed(text, name, kernels[bare(name)])
    return Setup(name, grid, block, tuple(_proposed(one, size) for one in written), str(found.shared))


def fitted(setup: Setup, text: str) -> Setup:
    """The setup for the parameters that the text's kernel has now: what was said of the others is proposed anew."""
    kernels = kernels_in(text)
    if bare(setup.kernel) not in kernels:
        return proposed(text)
    anew = [_proposed(written, "n") for written in typed(text, setup.kernel, kernels[bare(setup.kernel)])]
    kept = [*setup.arguments, *anew[len(setup.arguments) :]][: len(anew)]
    return replace(setup, arguments=tuple(kept))


def launching(setup: Setup, n: int) -> Launching:
    """The launch at one n. NotRunnable for what is no number, no array, or too much memory."""
    block = tuple(computed(size, {"n": n}) for size in setup.block)
    known = {"n": n, "block": block[0]}
    grid = tuple(computed(size, known) for size in setup.grid)
    words = [_at(word, known) for word in setup.arguments]
    memory = sum(_bytes(word) for word in words)
    if memory > MOST_BYTES:
        raise NotRunnable(
            f"The arrays take {memory:,} bytes, and {MOST_BYTES:,} are free for them: choose a smaller N."
        )
    return Launching(grid, block, computed(setup.shared, known), tuple(argument_of(word) for word in words))


def _right_of(words: str) -> Right:
    found = _RIGHT.fullmatch(words)
    if not found:
        raise NotRunnable(f"{words!r} is no reference such as y = saxpy(x, y, 2).")
    reference = named(found[2])
    given = tuple(part.strip() for part in parts(found[3]))
    if len(given) < len(reference.reads):
        raise NotRunnable(f"The reference {reference.title} reads {', '.join(reference.reads)}: name the arrays.")
    return Right(found[1], found[2], given)


def _at(word: str, known: dict[str, int]) -> str:
    """An argument's words with its sizes as numbers."""
    found = ARRAY.fullmatch(word)
    if found:
        sizes = ",".join(str(computed(size, known)) for size in parts(found[2]))
        return f"{found[1]}[{sizes}]={found[3] or 'zeros'}"
    if word.endswith(".npy"):
        raise NotRunnable("An array from a file can only be passed on the command line.")
    try:
        return str(computed(word, known))
    except NotRunnable:
        return word  # 2.5: argument_of says what is none


def _bytes(word: str) -> int:
    found = ARRAY.fullmatch(word)
    if not found:
        return 0
    try:
        return int(np.dtype(found[1]).itemsize * prod(int(size) for size in found[2].split(",")))
    except TypeError:
        return 0  # argument_of says that it is no type


def _proposed(written: str, size: str) -> str:
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

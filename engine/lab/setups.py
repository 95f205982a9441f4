"""The user's own launch and its reference, in words that fit an address and a form.

saxpy<<<(n + block - 1) / block, 256>>>(2, float32[n]=random, float32[n]=random, n)        y = saxpy(x, y, 2)

The first is CUDA's launch syntax with the arguments of `engine emulate`; sizes and integers may be expressions of `n`
and `block`, the first size of a block. The second names a reference, or is a line of NumPy: y = 2 * x + y.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from engine.lab.arguments import (
    ARRAY,
    MOST_INDICES,
    Argument,
    Structure,
    argument_of,
    arrays_and_numbers,
    written_fields,
)
from engine.lab.expressions import evaluate
from engine.lab.few_elements import few_elements
from engine.lab.formula import check as check_formula
from engine.lab.formula import parse, part_too_large
from engine.lab.host_launch import AS_PROPOSED, HostArgument, HostLaunch, launch_in_text
from engine.lab.instances import template_values, typed_parameters
from engine.lab.references import REFERENCES, check_against, reference_named
from engine.lab.signatures import (
    Declared,
    bare,
    block_in,
    ends_with_next,
    index_arrays,
    is_bounded_by_product,
    is_read,
    kernels_in,
    multiple,
    numbers_in,
    only_kernel,
    strides,
)
from engine.lab.statements import one_statement
from engine.lab.structures import Element, element_of, fields_in, length_of, mixed_element, vector_fields
from engine.lab.top_level import declarations, parts, uncommented
from engine.records import Array, Check, NotRunnable

LONGEST = 16_000  # characters of a launch: a kernel has at most 4,096 bytes of parameters
MOST_BYTES = 256 << 20  # of all arrays: a class shares the memory of one computer
BLOCK, GRID = ("256",), ("(n + block - 1) / block",)
_GRID_OF_PLANE = ("(n * n + block - 1) / block",)
_CALL = re.compile(
    r"\s*(?P<kernel>[\w:]+(?:<(?!<).*?>)?)\s*<<<(?P<launch>.*?)>>>\s*\((?P<arguments>.*)\)\s*;?\s*", re.DOTALL
)
_DYNAMIC = re.compile(r"\bextern\s+__shared__\s+(?:__align__\s*\(\s*\w+\s*\)\s*)?([\w ]+?)\s*\b(\w+)\s*\[\s*\]")
_STEPS = re.compile(r"\bfor\s*\([^;]{1,40};\s*\w+\s*<\s*(\w+)\s*;\s*\w+\s*\+=\s*(\w+)\s*\)")
_TILE = re.compile(r"__shared__\s[^;\[]{1,80}\[\s*(\w+)\s*\]\s*\[\s*(\w+)(?:\s*\+\s*1)?\s*\]")
_COOPERATIVE = "cooperative"  # in the place of a launch's stream
_FACTOR = "1"  # of a floating-point number that nothing tells
_SIDE = "16"  # n in each of three dimensions would be too much
_MOST_SIDES, _SHORT_SIDE = 3, "4"  # of more dimensions
# Parameters that are small in every program: where a part begins, an area that one thread reads, and steps.
_USUAL = (
    (re.compile(r"^(?:start|begin)|(?:start|begin|offset)$", re.IGNORECASE), "0"),
    (re.compile(r"stride|padding|(?<![a-z])pad|dilation|zero_?point", re.IGNORECASE), "1"),
    (
        re.compile(
            r"^(?:r|halo|ksize)$|radius|kernel|filter|blur|(?<![a-z])mask_?(?:size|width|w|h|len)|window", re.IGNORECASE
        ),
        "3",
    ),
)
_PLAIN = re.compile(r"[\w.+-]+")  # a parameter's name or a number
_RIGHT = re.compile(r"\s*(\w+)\s*=\s*([\w-]+)\s*\(([^()]*)\)\s*")


@dataclass(frozen=True)
class Right:
    """The array `out` must equal the reference of `given`: arrays, then numbers, each a parameter's name or a
    number."""

    out: str
    reference: str
    given: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.out} = {self.reference}({', '.join(self.given)})"


@dataclass(frozen=True)
class Formula:
    """The array `out` must equal the line of NumPy `line`, of the parameters as they were before the launch."""

    out: str
    line: str

    def __str__(self) -> str:
        return f"{self.out} = {self.line}"


@dataclass(frozen=True)
class Setup:
    """A launch in words. `kernel`: its name, with a template's arguments; `grid`, `block`: one to three sizes;
    `shared`: bytes of dynamic shared memory; `right`: its reference, or None; `cooperative`: all blocks run at once,
    for grid.sync(); `assumed`: a sentence on a proposal's source, "" for the user's own words."""

    kernel: str
    grid: tuple[str, ...] = GRID
    block: tuple[str, ...] = BLOCK
    arguments: tuple[str, ...] = ()
    shared: str = "0"
    right: Right | Formula | None = None
    cooperative: bool = False
    assumed: str = field(default="", compare=False)

    @property
    def call(self) -> str:
        """The launch in CUDA's syntax."""
        more = [self.shared] if self.shared != "0" or self.cooperative else []
        sizes = ", ".join([_dim3(self.grid), _dim3(self.block), *more, *[_COOPERATIVE] * self.cooperative])
        return f"{self.kernel}<<<{sizes}>>>({', '.join(self.arguments)})"

    @property
    def sized(self) -> bool:
        """Whether the launch depends on n."""
        return any(re.search(r"\bn\b", word) for word in (*self.grid, *self.block, self.shared, *self.arguments))


@dataclass(frozen=True)
class Launching:
    """A setup at one n, in numbers."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: tuple[Argument | Structure, ...]


def setup_of(call: str, right: str = "") -> Setup:
    """Parse a launch and a reference. NotRunnable: the words are neither."""
    if len(call) > LONGEST:
        raise NotRunnable(f"A launch has at most {LONGEST:,} characters.")
    found = _CALL.fullmatch(call)
    sizes = parts(found["launch"]) if found else []
    cooperative = len(sizes) == 4 and sizes[3].strip() == _COOPERATIVE
    if found is None or not 2 <= len(sizes) <= 3 + cooperative:
        raise NotRunnable(f"{call!r} is not a launch such as saxpy<<<(n + 255) / 256, 256>>>(2, float32[n], n).")
    arguments = tuple(" ".join(word.split()) for word in parts(found["arguments"]))
    shared = sizes[2].strip() if len(sizes) > 2 else "0"
    made = right_of(right) if right.strip() else None
    return Setup(found["kernel"], _sizes(sizes[0]), _sizes(sizes[1]), arguments, shared, made, cooperative)


def propose_setup(text: str, kernel: str = "") -> Setup:
    """Propose a launch that fits the parameters of a text's kernel: `kernel`, else the first one.

    Its sizes and arguments are those of the file's own launch, as far as they can be read. NotRunnable: the text has
    no kernel.
    """
    kernels = kernels_in(text)
    if not kernels:
        raise NotRunnable("There is no kernel here yet: a function with __global__ in front.")
    if bare(kernel) in kernels:
        text = only_kernel(text, "This text", kernel)[0]
        kernels = kernels_in(text)
    name = kernel if bare(kernel) in kernels else next(iter(kernels))
    side, plane = _tile(text, name), _is_plane(text, name)
    threads = None if plane else block_in(text, bare(name), _numbers(text, name))
    found = launch_in_text(text, name, block=threads)
    if found and threads and "<" in name and prod(found.block) != threads:
        found = None  # the file's launches are of other arguments than those that are asked for
    sizes = found.block if found else (side, _rows(text, name, side)) if plane else (threads or int(BLOCK[0]),)
    block, covered = tuple(map(str, sizes)), sizes if found else [side, side]
    grid = tuple(f"(n + {size - 1}) / {size}" for size in covered) if len(block) > 1 else GRID
    if not plane and is_bounded_by_product(text, bare(name), kernels[bare(name)].parameters):
        grid = _GRID_OF_PLANE
    size = "n, n" if grid == _GRID_OF_PLANE else ", ".join("n" for _ in block)
    setup = Setup(
        name, grid, block, _propose_arguments(text, name, kernels[bare(name)], size),
        _propose_shared(text, name, found), cooperative=_meets_grid(text, name),
    )  # fmt: skip
    if found is not None and found.open:
        found = launch_in_text(text, name, setup.arguments, threads)
    if found is None or found.grid is None:
        return setup
    given = setup.arguments
    if found.open and _over_planes(found):
        given = _propose_arguments(text, name, kernels[bare(name)], "n, n")
    exact = _propose_arguments(text, name, kernels[bare(name)], size, exact=True)
    unread = [
        name for name, own, one in zip(kernels[bare(name)].parameters, given, found.arguments, strict=False)
        if one is None and own == _FACTOR
    ]  # fmt: skip
    passed = [
        own
        if own == "{}" or (one is None and (own == _FACTOR or _is_vector(own)))
        else _as_on_host(own if one is AS_PROPOSED else allocated, one)
        for own, allocated, one in zip(given, exact, found.arguments, strict=False)
    ]
    if len(passed) < len(setup.arguments) or None in passed:
        return setup
    changes = ", ".join(f"{each} = {now:,} in place of {was:,}" for each, (was, now) in found.changed.items())
    opened = ", ".join(f"{each} = {word}" for each, word in found.open.items() if each != word)
    but = ", but for its shared memory" if found.shared is None else ""
    more = f", with {changes}, which takes the emulator less time" if changes else f", with {opened}" if opened else ""
    assumed = f"Launched as in line {found.line}{but}{more}."
    if unread:
        assumed += f" The file computes {' and '.join(unread)} as it runs: here {_FACTOR}."
    return replace(
        setup, grid=tuple(map(str, found.grid)), block=tuple(map(str, found.block)),
        arguments=tuple(filter(None, passed)), assumed=assumed,
    )  # fmt: skip


def _is_vector(word: str) -> bool:
    """Return whether a proposed argument is one of CUDA's vectors: values without an array."""
    return word.startswith("{") and "[" not in word


def _over_planes(found: HostLaunch) -> bool:
    """Return whether the number of blocks grows with the square of n, as far as it can be computed."""
    try:
        few, many = (prod(evaluate(str(one), {"n": n}) for one in found.grid or ()) for n in (1 << 10, 1 << 12))
    except NotRunnable:
        return False
    return many > 8 * few


def _propose_shared(text: str, name: str, found: HostLaunch | None) -> str:
    """Return the bytes of dynamic shared memory: those of the host's launch, else an element for each thread."""
    if found and found.shared is not None:
        return str(found.shared)
    dynamic = next(filter(None, map(_DYNAMIC.search, _bodies(text, name))), None)
    if dynamic is None:
        return "0"
    element = element_of(text, dynamic[1])
    threads = prod(found.block[1:]) if found else _tile(text, name) if _is_plane(text, name) else 1
    size = max(4, element.size if element else 0) * multiple(text, bare(name), dynamic[2])
    return f"{size * threads} * block"


def _is_plane(text: str, name: str) -> bool:
    """Return whether the threads of a kernel have two sides."""
    return any(re.search(r"\b(?:threadIdx|blockIdx)\s*\.\s*y\b", one) for one in _bodies(text, name))


def _tile(text: str, name: str) -> int:
    """Return the side of a kernel's square tile in shared memory, if a block can have it; else the usual one."""
    numbers = _numbers(text, name)
    for first, second in (found for one in _bodies(text, name) for found in _TILE.findall(one)):
        side = numbers.get(first, first)
        if first == second and side.isdecimal() and 4 <= int(side) <= 32:
            return int(side)
    return int(_SIDE)


def _numbers(text: str, name: str) -> dict[str, str]:
    """Return the names in a kernel that are whole numbers, with their digits: its template's, and the file's."""
    numbers = numbers_in(text)
    given = template_values(text, name, kernels_in(text)[bare(name)])
    plain = {own: value.strip("() ") for own, value in given.items()}
    return numbers | {own: numbers.get(value, value) for own, value in plain.items()}


def _rows(text: str, name: str, side: int) -> int:
    """Return the rows of threads of a block whose threads walk down a square tile, in steps of these rows."""
    numbers = _numbers(text, name)
    for steps in (step for one in _bodies(text, name) for step in _STEPS.findall(one)):
        top, rows = (numbers.get(one, one) for one in steps)
        if top == str(side) and rows.isdecimal() and 1 <= int(rows) < side:
            return int(rows)
    return side


def _meets_grid(text: str, name: str) -> bool:
    """Return whether the kernel itself waits for the whole grid."""
    return any(re.search(r"\bthis_grid\b|\bgrid_group\b", one) and "sync" in one for one in _bodies(text, name))


def _bodies(text: str, name: str) -> list[str]:
    return [uncommented(text[one.start : one.end]) for one in declarations(text) if bare(name) in one.words]


def fit_setup(setup: Setup, text: str) -> Setup:
    """Fit the setup to the kernel's present parameters: propose arguments for those that changed.

    A kernel that has the same parameters under another name keeps the setup.
    """
    kernels = kernels_in(text)
    if bare(setup.kernel) not in kernels:
        alike = (name for name, one in kernels.items() if _fits(setup, _propose_arguments(text, name, one, "n")))
        name = next(alike, None)
        return propose_setup(text) if name is None else replace(setup, kernel=name)
    anew = _propose_arguments(text, setup.kernel, kernels[bare(setup.kernel)], "n")
    kept = [*setup.arguments, *anew[len(setup.arguments) :]][: len(anew)]
    pairs = zip(kept, anew, strict=True)
    alike = (own if bool(ARRAY.fullmatch(own)) == bool(ARRAY.fullmatch(new)) else new for own, new in pairs)
    return replace(setup, arguments=tuple(alike))


def _fits(setup: Setup, proposed: Sequence[str]) -> bool:
    """Return whether the setup's arguments have the number and the kinds of the proposed ones."""
    kinds = [
        [found[1] if (found := ARRAY.fullmatch(word)) else None for word in each]
        for each in (setup.arguments, proposed)
    ]
    return bool(proposed) and kinds[0] == kinds[1]


def _as_on_host(word: str, passed: HostArgument | None) -> str | None:
    """Return an argument as the file's host code passes it; None if that cannot be read."""
    found = ARRAY.fullmatch(word)
    if passed is AS_PROPOSED:
        return word
    if passed is None or (found is None) != (passed.count is None):
        return None
    fill = found[3] if found and passed.words == "random" and found[3] == "indices" else passed.words
    if found is None:
        return passed.words
    numbers = [f", {size.strip()}" for size in parts(found[2])[1:] if size.strip().isdigit()]  # of an element
    return _array_words(found[1], f"{passed.count}{''.join(numbers)}", fill or found[3] or "")


def _array_words(kind: str, size: str, fill: str) -> str:
    return f"{kind}[{size}]={fill}" if fill else f"{kind}[{size}]"


def launching(setup: Setup, n: int, trial: int = 0) -> Launching:
    """Evaluate the launch at one n. `trial`: which random numbers its arrays get. NotRunnable: an invalid number or
    array, or too much memory."""
    block = tuple(evaluate(size, {"n": n}) for size in setup.block)
    known = {"n": n, "block": block[0]}
    grid = tuple(evaluate(size, known) for size in setup.grid)
    words = [_at(word, known) for word in setup.arguments]
    memory = sum(_bytes(word) for word in words)
    if memory > MOST_BYTES:
        raise NotRunnable(
            f"The arrays take {memory:,} bytes, and {MOST_BYTES:,} are free for them: choose a smaller N."
        )
    arguments = tuple(argument_of(word, place, trial) for place, word in enumerate(words))
    arguments = tuple(_within(one, word, arguments) for one, word in zip(arguments, words, strict=True))
    return Launching(grid, block, evaluate(setup.shared, known), arguments)


def _within(argument: Argument | Structure, word: str, every: Sequence[Argument | Structure]) -> Argument | Structure:
    """Return an array of indices with those of the smallest array of several elements; another argument as it is."""
    if not isinstance(argument, np.ndarray) or not word.endswith("=indices"):
        return argument
    least = least_of(one for one in every if isinstance(one, np.ndarray))
    return np.remainder(argument, argument.dtype.type(least)) if least < MOST_INDICES else argument


def least_of(arrays: Iterable[Array]) -> int:
    """Return what the indices of a launch are less than: the size of its smallest array of several elements."""
    return min((MOST_INDICES, *(one.size for one in arrays if one.size > 1)))


def right_of(words: str) -> Right | Formula:
    """Return a named reference, or a formula; `x *= 2`, `y[1:-1] = x[2:]` and `np.add.at(y, at, x)` are formulas of the
    whole array, and so are several statements. NotRunnable: the words are neither."""
    words = one_statement(words)
    found = _RIGHT.fullmatch(words)
    given = tuple(part.strip() for part in parts(found[3])) if found else ()
    known = REFERENCES.get(found[2]) if found else None
    # A reference with more arguments than it takes is NumPy's function of that name, as max(x, 0).
    plain = all(map(_PLAIN.fullmatch, given)) and (not known or len(given) <= len(known.reads) + len(known.numbers))
    if found is None or not plain or (known is None and found[2].isidentifier()):
        out, equals, line = words.partition("=")
        if not equals or not out.strip().isidentifier():
            raise NotRunnable(f"{words!r} is not what is right, such as y = saxpy(x, y, 2) or y = 2 * x + y.")
        parse(line)
        return Formula(out.strip(), line.strip())
    reference = reference_named(found[2])
    if len(given) < len(reference.reads):
        raise NotRunnable(f"The reference {reference.title} reads {', '.join(reference.reads)}: name the arrays.")
    return Right(found[1], found[2], given)


def check_right(right: Right | Formula, passed: Mapping[str, object], after: Mapping[str, Array]) -> Check:
    """Compare the array `right.out` of `after` with what is right of the arguments as they were passed, by name.

    NotRunnable: an array or a number is missing, or they do not fit together.
    """
    arrays, numbers = arrays_and_numbers(passed)
    if right.out not in after:
        raise NotRunnable(f"The kernel has no array `{right.out}`; it has {', '.join(after) or 'none'}.")
    if isinstance(right, Formula):
        return check_formula(right.line, _named(arrays), numbers, after[right.out], right.out)
    reads = len(reference_named(right.reference).reads)
    given = [_number(word, numbers) for word in right.given[reads:]]
    return check_against(right.reference, arrays, after, right.given[:reads], right.out, given)


def too_large_part(right: Formula, passed: Mapping[str, object], kind: np.dtype[Any]) -> str | None:
    """Return the shortest part of a formula that has a number larger than a floating-point type can hold, if any."""
    arrays, numbers = arrays_and_numbers(passed)
    return part_too_large(right.line, _named(arrays), numbers, kind)


def _named(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays that a formula can name: no fields of structs."""
    return {name: one for name, one in arrays.items() if name.isidentifier()}


def _number(word: str, numbers: Mapping[str, Any]) -> float:
    """Return a number of a reference: the value passed for a parameter, or the number itself."""
    try:
        return float(numbers.get(word, word))
    except ValueError:
        raise NotRunnable(f"{word!r} is neither a number nor a parameter that a number is passed for.") from None


def _at(word: str, known: dict[str, int]) -> str:
    """Return an argument's words with its sizes as numbers."""
    fields = written_fields(word)
    if fields is not None:
        return f"{{{', '.join(_at(field, known) for field in fields)}}}"
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
    fields = written_fields(word)
    if fields is not None:
        return sum(map(_bytes, fields))
    found = ARRAY.fullmatch(word)
    if not found:
        return 0
    try:
        return int(np.dtype(found[1]).itemsize * prod(int(size) for size in found[2].split(",")))
    except TypeError:
        return 0  # argument_of reports an unknown type


def _propose_arguments(text: str, name: str, declared: Declared, size: str, exact: bool = False) -> tuple[str, ...]:
    """Propose the arguments of a kernel. `exact`: for arrays whose elements the host counts."""
    indices = index_arrays(uncommented(text), declared.parameters)
    written = typed_parameters(text, name, declared)
    reads = ("const" in one.split() or is_read(text, bare(name), own)
             for own, one in zip(declared.parameters, written, strict=True))  # fmt: skip
    fills = [("indices" if own in indices else "random") if read else ""
             for own, read in zip(declared.parameters, reads, strict=True)]  # fmt: skip
    names = dict(zip(declared.parameters, written, strict=True))
    numbers = [own for own, one in names.items() if not re.search(r"[*\[]", one)]
    found = {own: strides(text, bare(name), own, numbers) for own in declared.parameters}
    most = max(map(len, found.values()), default=0)  # dimensions of an array, but for the first
    side = "n" if exact or most < 2 else _SIDE if most <= _MOST_SIDES else _SHORT_SIDE
    values = {own: side if any(own in each for each in found.values()) else "n" for own in numbers}
    values |= {own: each[0] for own in numbers if (each := [value for name, value in _USUAL if name.search(own)])}
    sizes = [max(size, ", ".join(["n", *[side] * len(found[own])]), key=len) for own in declared.parameters]
    ends = {own for own in indices if ends_with_next(text, bare(name), own)}
    sizes = [
        "n + 1" if own in ends and each == "n" else each for own, each in zip(declared.parameters, sizes, strict=True)
    ]
    times = (1 if exact else multiple(text, bare(name), own) for own in declared.parameters)
    sizes = [each + f", {more}" * (more > 1) for each, more in zip(sizes, times, strict=True)]
    known = {own: int(value) for own, value in values.items() if value.isdecimal()}
    few = (few_elements(text, bare(name), own, known) for own in declared.parameters)
    sizes = [", ".join(map(str, less)) or each for each, less in zip(sizes, few, strict=True)]
    return tuple(
        _propose_any(text, one, extent, fill, values.get(own, "n"))
        for one, own, extent, fill in zip(written, declared.parameters, sizes, fills, strict=True)
    )


def _propose_any(text: str, written: str, size: str, fill: str, whole: str) -> str:
    """Propose an argument, or the fields of a struct of the text that is passed by value."""
    if vector := vector_fields(text, written):
        return f"{{{', '.join(_FACTOR if one.kind == 'f' or one.size == 1 else whole for one in vector)}}}"
    fields = None if "*" in written or "[" in written else fields_in(text, written)
    if fields is None:
        return _propose_argument(text, written, size, fill, whole)
    sizes = [size if "*" in field else str(length_of(field) or size) for field in fields.values()]
    fills = ("zeros" if re.search(rf"\batomicCAS\s*\(\s*{name}\s*,\s*0\s*,", text) else "random" for name in fields)
    proposed = (
        _propose_argument(text, one, own, each) for one, own, each in zip(fields.values(), sizes, fills, strict=True)
    )
    return f"{{{', '.join(proposed)}}}"


def _propose_argument(text: str, written: str, size: str, fill: str, whole: str = "n") -> str:
    """Propose an argument that is no struct; `whole`: what a whole number is, if its type can hold it."""
    element = element_of(text, written) or mixed_element(text, written)
    element = element or Element("float32")  # an unknown type counts as a float
    kind = element.kind
    if "*" in written or "[" in written:
        size = f"{size}, {element.count}" if element.count > 1 else size
        return _array_words(kind, size, "random" if fill == "indices" and "float" in kind else fill)
    return _FACTOR if kind.startswith(("float", "bool")) or np.dtype(kind).itemsize == 1 else whole


def _sizes(words: str) -> tuple[str, ...]:
    """Return the sizes of `256`, of `dim3(16, 16)`, or of `(16, 16)`."""
    inner = re.fullmatch(r"\s*(dim3)?\s*\((.*)\)\s*", words)
    found = tuple(part.strip() for part in parts(inner[2])) if inner else ()
    return found if inner and (inner[1] or len(found) > 1) else (words.strip(),)


def _dim3(sizes: Sequence[str]) -> str:
    return sizes[0] if len(sizes) == 1 else f"dim3({', '.join(sizes)})"

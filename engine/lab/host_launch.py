"""The launch of a kernel in a file's own host code, as far as it can be read without running it.

Constants, sizes of allocations and the loops that fill arrays are found by their text. A constant that makes the run
too long for the emulator is halved, if no device code uses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from engine.catalogue.entries import MAX_BLOCK
from engine.lab.expressions import evaluate
from engine.lab.top_level import closing_bracket, declarations, expanded, parts, uncommented
from engine.records import NotRunnable

_DEEPEST, _MOST_NAMES = 6, 200
_BYTES = {"char": 1, "bool": 1, "half": 2, "short": 2, "int": 4, "float": 4, "unsigned": 4, "double": 8, "long": 8}
_SIZEOF = re.compile(r"sizeof\s*\(\s*(\w+)[\w ]*\)")
_CAST = re.compile(
    r"\(\s*(?:unsigned\s+)?(?:int|long|float|double|size_t|unsigned)\s*\)\s*(?=[\w(])|\b(?:int|float|double)\s*(?=\()"
)
_FLOATING = re.compile(r"(?<![\w.])(\d+)\.0*f?(?![\w.])")
_CEILING = re.compile(r"\bceilf?\s*\((.*)\)", re.DOTALL)
_CHOSEN = re.compile(r"(?:std::)?i?(min|max)\s*\((.*)\)", re.DOTALL | re.IGNORECASE)
_DIM3 = re.compile(r"(?:dim3\s*)?[({](.*)[)}]", re.DOTALL)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_MOST_ELEMENTS = 1 << 24  # of all arrays
_MOST_THREADS, _MOST_STEPS = 1 << 20, 1 << 26
_FEWEST = 64  # a constant is not halved below this


@dataclass(frozen=True)
class HostLaunch:
    """A launch in numbers. `grid`: None if it cannot be read; `block`: one to three sizes; `shared`: bytes.

    `arguments`: for each the number, the fill and the elements of its array, or None. `changed`: constants with their
    own and the chosen value.
    """

    line: int
    grid: tuple[int, ...] | None
    block: tuple[int, ...]
    shared: int
    arguments: tuple[HostArgument | None, ...]
    changed: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class HostArgument:
    """`count`: elements of an array, None for a number; `words`: how the array is filled, or the number; "": the host
    does not fill it."""

    words: str
    count: int | None = None


def launch_in_text(text: str, name: str) -> HostLaunch | None:
    """Return the first launch of the kernel `name`; None if its block is not a number."""
    code = HostCode(text, name)
    made = code.launch({})
    values, changed = dict(code.constants), dict[str, int]()
    while made is not None and made.grid and code.steps(made) > 1:
        large = max(
            (each for each in values if values[each] // 2 >= _FEWEST), key=lambda each: values[each], default=""
        )
        if not large:
            return None if code.steps(made) > 64 else made
        values[large] = changed[large] = values[large] // 2
        made = code.launch(changed)
    if made is None:
        return None
    return HostLaunch(
        made.line, made.grid, made.block, made.shared, made.arguments,
        {each: (code.constants[each], value) for each, value in changed.items()},
    )  # fmt: skip


class HostCode:
    """A text without comments. `constants`: the names that host code alone uses, and that are numbers."""

    def __init__(self, text: str, kernel: str) -> None:
        self.text = expanded(uncommented(text), "<<<", text)
        self.kernel = kernel
        device = [one for one in declarations(text) if {"__global__", "__device__"} & set(one.words) and one.body]
        self._device = uncommented("".join(text[one.start : one.end] for one in device))
        own = [text[one.start : one.end] for one in device if kernel in one.words]
        self._body = uncommented("".join(own)).partition("{")[2]
        self.constants: dict[str, int] = {}
        self._given: Mapping[str, int] = {}
        self._looked_up = 0

    def launch(self, given: Mapping[str, int]) -> HostLaunch | None:
        """Read the launch with the `given` values of some constants."""
        self._given, self._looked_up = given, 0
        template = r"(?:<(?!<)[^;{}]{0,400}?>\s*)?"
        found = re.search(
            rf"(?<![\w.]){self.kernel}\s*{template}<<<([^;]{{1,400}}?)>>>\s*(?:\(([^;]{{0,1000}})\)\s*;)?", self.text
        )
        sizes = parts(found[1]) if found else []
        block = self.sizes(sizes[1].strip()) if len(sizes) > 1 else None
        if not found or block is None or not 1 <= prod(block) <= MAX_BLOCK or min(block) < 1 or len(block) > 3:
            return None
        grid = self.sizes(sizes[0].strip())
        shared = self.sizes(sizes[2].strip()) if len(sizes) > 2 else None
        arguments = tuple(self._argument(one.strip()) for one in parts(found[2] or ""))
        line = self.text.count("\n", 0, found.start()) + 1
        grid = _short(grid) if grid and min(grid) > 0 and len(grid) <= 3 else None
        return HostLaunch(line, grid, _short(block), shared[0] if shared else 0, arguments, {})

    def steps(self, made: HostLaunch) -> float:
        """Return how much the launch exceeds what the emulator runs in seconds; at most 1 is fine."""
        threads = prod(made.grid or (1,)) * prod(made.block)
        counts = [one.count or 1 for one in made.arguments if one]
        numbers = [int(one.words) for one in made.arguments if one and one.count is None and one.words.isdecimal()]
        loops = re.search(r"\b(?:for|while)\s*\(", self._body) is not None
        strided = "gridDim" in self._body  # its threads share one loop
        each = max([1, *numbers]) / (threads if strided else 1) if loops else 1
        alone = max([1, *counts]) / threads if loops else 0  # elements of a thread
        return max(sum(counts) / _MOST_ELEMENTS, threads / _MOST_THREADS, threads * each / _MOST_STEPS, alone / 4096)

    def sizes(self, words: str, depth: int = 0) -> tuple[int, ...] | None:
        """Return the sizes of an expression: one number, or those of a dim3."""
        if depth > _DEEPEST:
            return None
        words = _SIZEOF.sub(lambda found: str(_BYTES.get(found[1], found[0])), words).strip()
        inner = _DIM3.fullmatch(words)
        if inner and (words.startswith(("dim3", "{")) or len(parts(inner[1])) > 1):
            each = [self.sizes(part, depth + 1) for part in parts(inner[1])]
            return tuple(one[0] for one in each if one) if all(each) else None
        if _WORD.fullmatch(words):
            return self._constant(words, depth)
        return self._computed(words, depth)

    def _computed(self, words: str, depth: int) -> tuple[int, ...] | None:
        words = _FLOATING.sub(r"\1", _CAST.sub("", words))
        if chosen := _CHOSEN.fullmatch(words):
            each = [self.sizes(part, depth + 1) for part in parts(chosen[2])]
            made = [one[0] for one in each if one]
            return ((min if chosen[1].lower() == "min" else max)(made),) if made and all(each) else None
        if rounded := _CEILING.fullmatch(words):  # ceil((float)n / block)
            top, _, bottom = rounded[1].rpartition("/")
            words = f"({top} + {bottom} - 1) / ({bottom})" if top else rounded[1]
        words = re.sub(r"(?<=\d)[uUlL]+\b", "", words)
        for word in dict.fromkeys(_WORD.findall(words)):
            value = self._constant(word.partition(".")[0], depth)
            if value is None:
                return None
            words = re.sub(
                rf"(?<![\w.]){word}\b(?:\.([xyz])\b)?",
                lambda found, value=value: str(  # type: ignore[misc]
                    value["xyz".index(found[1])] if found[1] and "xyz".index(found[1]) < len(value) else value[0]
                ),
                words,
            )
        try:
            return (evaluate(words, {}),)
        except NotRunnable:
            return None

    def _constant(self, word: str, depth: int) -> tuple[int, ...] | None:
        if word in self._given:
            return (self._given[word],)
        meant = self._meant(word)
        found = self.sizes(meant, depth + 1) if meant else None
        if found and len(found) == 1 and not re.search(rf"\b{word}\b", self._device) and not _WORD.search(meant or ""):
            self.constants[word] = found[0]
        return found

    def _meant(self, word: str) -> str | None:
        """Return the definition of a name: a macro, a dim3, or its first value."""
        self._looked_up += 1
        if self._looked_up > _MOST_NAMES:
            return None
        for pattern in (
            rf"^[ \t]*#[ \t]*define[ \t]+{word}[ \t]+([^\n]{{1,200}})$",
            rf"\bdim3\s+(?:\w+\s*\([^;()]{{0,200}}\)\s*,\s*){{0,4}}{word}\s*([({{][^;]{{1,200}}?[)}}])\s*[;,]",
            rf"(?<![\w.]){word}\s*=\s*(dim3\s*\([^;]{{1,200}}?\))\s*;",
            rf"(?<![\w.]){word}\s*=(?!=)\s*([^;]{{1,150}});",
            rf"\bint\s+{word}\s*[({{]\s*([^;,(){{}}]{{1,100}})[)}}]\s*;",
        ):
            found = re.search(pattern, self.text, re.MULTILINE)
            if found:
                meant = found[1].strip()
                return meant if _DIM3.fullmatch(meant) else next(iter(parts(meant)), None)
        return None

    def _argument(self, passed: str) -> HostArgument | None:
        """Return what is passed: a number, or an array as it is allocated and filled."""
        if re.fullmatch(r"-?\d*\.\d*(?:e-?\d+)?f?", passed):
            return HostArgument(passed.rstrip("f"))
        name = re.sub(r"^(?:\(\s*[\w ]+\*\s*\)|thrust::raw_pointer_cast\()\s*&?|^&|\.data\(\).*$|\)$|\[0\]", "", passed)
        if _WORD.fullmatch(name):
            count = self._allocated(name)
            if count is not None:
                return HostArgument(self._fill(name), count)
            meant = self._meant(name)
            if meant and re.fullmatch(r"-?\d*\.\d*(?:e-?\d+)?f?", meant):
                return HostArgument(meant.rstrip("f"))
        number = self.sizes(passed)
        return HostArgument(str(number[0])) if number and len(number) == 1 else None

    def _allocated(self, name: str) -> int | None:
        """Return the elements of a pointer's allocation."""
        kind = self._element(name)
        pointer = rf"(?:\(\s*void\s*\*\s*\*\s*\)\s*)?&\s*{name}"
        for pattern, size in (
            (rf"\bcudaMalloc(?:Managed|Host)?\s*\(\s*{pointer}\s*,", kind),
            (rf"(?<![\w.]){name}\s*=\s*(?:\([^()]{{1,40}}\)\s*)?malloc\s*\(", kind),
            (rf"(?<![\w.]){name}\s*=\s*new\s+\w+\s*\[(?=([^;\[\]]{{1,100}})\])", 1),
            (rf"\bdevice_vector\s*<[^;<>]{{1,40}}>\s+{name}\s*\((?=([^;,()]{{1,100}})[,)])", 1),
        ):
            found = re.search(pattern, self.text)
            if not found:
                continue
            words = (
                found[1] if found.re.groups else self.text[found.end() : closing_bracket(self.text, found.end()) - 1]
            )
            size_of_all = self.sizes(parts(words)[0]) if parts(words) else None
            if size_of_all and size and size_of_all[0] > 0:
                return size_of_all[0] // size
        return None

    def _element(self, name: str) -> int | None:
        found = re.search(rf"\b(\w+)\s*\*\s*(?:\w+\s*(?:=[^,;]{{0,40}})?,\s*\*\s*){{0,8}}{name}\b", self.text)
        return _BYTES.get(found[1]) if found else None

    def _fill(self, name: str) -> str:
        """Return how the host fills an array before the launch; "": not at all, "random": with data that are not
        read."""
        copied = re.search(
            rf"\bcudaMemcpy(?:Async)?\s*\(\s*{name}\s*,\s*(?:&\s*)?(\w+)[^;]{{0,200}}HostToDevice", self.text
        )
        source = copied[1] if copied else name
        host = self.text.replace(self._device, "") if self._device else self.text
        found = re.search(rf"(?<![\w.]){source}\s*\[([^\[\];=]{{1,80}})\]\s*=(?!=)\s*([^;]{{1,200}});", host)
        if found is None:
            return "random" if copied else ""
        index, value = found[1].strip(), _CAST.sub("", found[2]).strip()
        if re.fullmatch(r"-?\d+(?:\.\d*)?f?", value):
            return value.rstrip("f")
        return "range" if value == index else "random"


def _short(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes without ones at the end."""
    kept = len(sizes)
    while kept > 1 and sizes[kept - 1] == 1:
        kept -= 1
    return tuple(sizes[:kept])

"""The launch of a kernel in a file's own host code, as far as it can be read without running it.

Constants, sizes of allocations and the loops that fill arrays are found by their text. A constant that makes the run
too long for the emulator is halved, if no device code uses it. A size that the file leaves to its user (a parameter of
a function that nobody calls, a word of the command line, the size of a tensor) is `n`, or what is proposed for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from operator import eq, ge, gt, le, lt, ne

from engine.catalogue.entries import MAX_BLOCK
from engine.lab.expressions import evaluate
from engine.lab.signatures import bare, function_name
from engine.lab.structures import element_of
from engine.lab.top_level import (
    Declaration,
    closing_bracket,
    declarations,
    expanded,
    parts,
    template_parameters,
    uncommented,
)
from engine.records import NotRunnable

_DEEPEST, _MOST_NAMES = 6, 200
_SIZEOF = re.compile(r"sizeof\s*\(\s*(\w[\w ]*)\)")
_LENGTH = re.compile(r"sizeof\s*\(\s*(\w+)\s*\)\s*/\s*sizeof\s*\(\s*(?:\1\s*\[\s*0\s*\]|\*\s*\1|\w+)\s*\)")
_CAST = re.compile(
    r"\(\s*(?:unsigned\s+)?(?:int|long|float|double|size_t|unsigned)\s*\)\s*(?=[\w(])|\b(?:int|float|double)\s*(?=\()"
)
_FLOATING = re.compile(r"(?<![\w.])(\d+)\.0*f?(?![\w.])")
_FLOAT = re.compile(r"-?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?[fF]?")
_REST = re.compile(  # n / 4 + (n % 4 == 0 ? 0 : 1)
    r"(\w+)\s*/\s*(\w+)\s*\+\s*\(\s*\(?\s*\1\s*%\s*\2\s*(?:==\s*0\s*\)?\s*\?\s*0\s*:\s*1|(?:(?:!=|>)\s*0)?\s*\)?\s*\?\s*1\s*:\s*0)\s*\)"
)
_ASKED = re.compile(r"\(?\s*([\w\s.+*/-]+?)\s*(==|!=|<=|>=|<|>)\s*([\w\s.+*/-]+?)\s*\)?\s*\?([^?:]+):([^?:]+)")
_COMPARED = {"==": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt}
_CEILING = re.compile(r"\bceilf?\s*\((.*)\)", re.DOTALL)
_ROUNDED_UP = re.compile(
    r"(?:\w+::)*\b(?:i?div(?:ide)?_?(?:round_?)?(?:up|ceil)|c(?:eil(?:ing)?)?_?div|up_?div)\s*\(", re.IGNORECASE
)
_CHOSEN = re.compile(r"(?:std::)?i?(min|max)\s*\((.*)\)", re.DOTALL | re.IGNORECASE)
_DIM3 = re.compile(r"(?:dim3\s*)?[({](.*)[)}]", re.DOTALL)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_SIDE = re.compile(r"(?<![\w.])([A-Za-z_]\w*)(?:\.([xyz])\b)?")
_WITHOUT_ARGUMENTS = re.compile(r"\barg[cv]\b[^?;]*\?[^:;]*:([^;]*)")  # of a program that is called without any
_OF_COMMAND_LINE = re.compile(r"\bargv\b|\b(?:ato[filq]+|strto\w+|std::sto\w+)\s*\(")
_OF_DATA = re.compile(r"(?:\.|->)(?:size|sizes|numel|shape|dim|length|rows|cols)\s*[(\[]")
_WHOLE = re.compile(r"\b(?:int|long|short|unsigned|u?int\d+_t|s?size_t|uint|ulong)\b[^*\[]*?(\w+)\s*(?:=.*)?")
_ELEMENT = re.compile(r"(\w+)\s*\[[^\[\]]*\]")
_CONSTANT = re.compile(
    r"^[ \t]*(?:#[ \t]*define|(?:static[ \t]+)?const(?:expr)?[ \t]+\w+)[ \t]+(\w+)[ \t=]+([^\n;]{1,200})", re.MULTILINE
)
_SEPARATOR = re.compile(r"(?<=\d)'(?=\d)")  # of 1'000'000
_ALSO_ASSIGNED = re.compile(r"^(?:\w+\s*=(?!=)\s*)+")  # `M = 4096` of `N = M = 4096`
_LOOSE = re.compile(r"<<[ ]+<|>>[ ]+>(?=\s*\()")  # as some editors format a launch
_BY_FUNCTION = re.compile(r"\bcudaLaunch(?:Cooperative)?Kernel\s*\(")
_MOST_CALLS = 3  # from main to the function that launches
_MOST_EXCESS = 4  # of a launch without a constant that can be halved
_MOST_ELEMENTS = 1 << 24  # of all arrays
_MOST_THREADS, _MOST_STEPS = 1 << 20, 1 << 26
_MOST_SHARED = 227 << 10  # bytes
_USUAL = ("256", "16")  # a block's size, and that of a side
_FEW = "3"  # of a window
_FEWEST = 64  # a constant is not halved below this
_N = 1024  # at which a launch with sizes of its user must be one


@dataclass(frozen=True)
class HostLaunch:
    """A launch in numbers, or in words over `n`. `grid`: None if it cannot be read; `block`: one to three sizes;
    `shared`: bytes, or None if they cannot be read.

    `arguments`: for each the number, the fill and the elements of its array, or None. `changed`: constants with their
    own and the chosen value. `open`: sizes that the file leaves to its user, with the words for them.
    """

    line: int
    grid: tuple[int | str, ...] | None
    block: tuple[int, ...]
    shared: int | str | None
    arguments: tuple[HostArgument | None, ...]
    changed: Mapping[str, tuple[int, int]]
    open: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HostArgument:
    """`count`: elements of an array, None for a number; `words`: how the array is filled, or the number; "": the host
    does not fill it."""

    words: str
    count: int | str | None = None


AS_PROPOSED = HostArgument("")  # given by a caller that the file does not have


def launch_in_text(text: str, name: str, proposed: Sequence[str] = (), block: int | None = None) -> HostLaunch | None:
    """Return the first launch of the kernel `name`, of a template with arguments the first one with these, if there is
    one; None if its block is not a number.

    `proposed`: the words for the kernel's parameters, which sizes of the file's user get; `block`: the threads that a
    block gets if the file leaves them to its user.
    """
    code = HostCode(text, name, proposed, block)
    made = code.launch({})
    values, spare = dict(code.constants), _is_spare(made)
    kept = set[str]()  # constants that cannot be smaller alone
    while made is not None and made.grid and not made.open and code.steps(made) > 1:
        smaller = [each for each in values if values[each] // 2 >= _FEWEST and each not in kept]
        if not smaller:
            return None if code.steps(made) > _MOST_EXCESS else made
        large, before = max(smaller, key=lambda each: values[each]), dict(values)
        alike = [each for each in smaller if code.constants[each] == code.constants[large]]  # the sides of a square
        values |= dict.fromkeys(alike, values[large] // 2)
        made = code.launch(_changed(code, values))
        if _is_spare(made) > spare:
            kept |= {*alike}
            values = before
            made = code.launch(_changed(code, values))
    if made is None:
        return None
    told = {each: (code.constants[each], value) for each, value in _changed(code, values).items()}
    return replace(made, changed=told)


def _changed(code: HostCode, values: Mapping[str, int]) -> dict[str, int]:
    """Return those of the values that are not the file's own."""
    return {each: value for each, value in values.items() if value != code.constants[each]}


class HostCode:
    """A text without comments. `constants`: the names that host code alone uses, and that are numbers."""

    def __init__(self, text: str, name: str, proposed: Sequence[str] = (), block: int | None = None) -> None:
        code = _SEPARATOR.sub("", _LOOSE.sub(lambda found: found[0].replace(" ", ""), uncommented(text)))
        self.text = _in_brackets(expanded(expanded(code, "<<<", text), "##", text))
        self.kernel, self._proposed = (kernel := bare(name)), proposed
        self._asked = _arguments_of(name)
        self._usual = (str(block or _USUAL[0]), _USUAL[1])
        self._place = 0  # of the launch
        self._passed: dict[str, str] = {}  # parameters of the function that launches, as its caller passes them
        self._outer: list[str] = []  # parameters of the outermost of these functions, if nobody calls it
        self._program = re.search(r"\bmain\s*\(", self.text) is not None
        self._words: dict[str, str] = {}  # for sizes of the file's user
        self._used: dict[str, str] = {}  # those of them that the launch needs
        device = [one for one in declarations(text) if {"__global__", "__device__"} & set(one.words) and one.body]
        self._device = uncommented("".join(text[one.start : one.end] for one in device))
        self._of_device: set[str] = set()  # names that device code uses and does not get as parameters
        for one in device:
            head, _, body = uncommented(text[one.start : one.end]).partition("{")
            self._of_device |= {*_WORD.findall(body)} - {*_WORD.findall(head)}
        for given in re.findall(rf"(?<![\w.]){kernel}\s*<(?!<)([^;{{}}]{{0,400}}?)>\s*<<<", self.text)[:_MOST_CALLS]:
            self._of_device |= {*_WORD.findall(given)}  # the compiler needs a template's arguments as they are
        made_of = {name: {*_WORD.findall(value)} for name, value in _CONSTANT.findall(self.text)}
        for _ in range(_DEEPEST):
            self._of_device |= {word for name in self._of_device & {*made_of} for word in made_of[name]}
        own = [text[one.start : one.end] for one in device if kernel in one.words]
        self._body = uncommented("".join(own)).partition("{")[2]
        self.constants: dict[str, int] = {}
        self._given: Mapping[str, int] = {}
        self._looked_up = 0

    def launch(self, given: Mapping[str, int]) -> HostLaunch | None:
        """Read the launch with the `given` values of some constants."""
        self._given, self._looked_up, self._used = given, 0, {}
        template = r"(?P<template><(?!<)[^;{}]{0,400}?>\s*)?"
        place = re.compile(rf"(?<![\w.]){self.kernel}\s*{template}<<<(?P<sizes>[^;]{{1,400}}?)>>>\s*(?P<passed>\()?")
        every = list(islice(place.finditer(self.text), _MOST_NAMES))
        alike = (one for one in every if self._asked and _arguments_of(one["template"] or "") == self._asked)
        found = next(alike, next(iter(every), None))
        if found and not self._place:
            self._place, self._passed = found.start(), self._passed_to(found.start())
        sizes = parts(found["sizes"]) if found else []
        end = closing_bracket(self.text, found.end()) if found and found["passed"] else 0
        passed = parts(self.text[found.end() : end - 1]) if found and end else []
        for each, word in zip(passed, self._proposed, strict=False):
            if "[" not in word:
                self._words[self._of_caller(each.strip())] = word
        block = self._block(sizes[1].strip()) if len(sizes) > 1 else None
        if not found or block is None or not 1 <= prod(block) <= MAX_BLOCK or min(block) < 1 or len(block) > 3:
            return None
        grid = self.sizes(sizes[0].strip())
        shared = self.sizes(sizes[2].strip()) if len(sizes) > 2 else (0,)
        if shared and _at_n(shared[0]) > _MOST_SHARED:
            shared = None
        arguments = tuple(self._argument(one.strip()) for one in passed)
        line = self.text.count("\n", 0, found.start()) + 1
        grid = _short(grid) if grid and min(map(_at_n, grid)) > 0 and len(grid) <= 3 else None
        block = tuple(int(one) for one in _short(block))
        return HostLaunch(line, grid, block, shared[0] if shared else None, arguments, {}, dict(self._used))

    def steps(self, made: HostLaunch) -> float:
        """Return how much the launch exceeds what the emulator runs in seconds; at most 1 is fine."""
        threads = prod(map(_at_n, made.grid or (1,))) * prod(made.block)
        counts = [_at_n(one.count or 1) for one in made.arguments if one]
        numbers = [int(one.words) for one in made.arguments if one and one.count is None and one.words.isdecimal()]
        loops = re.search(r"\b(?:for|while)\s*\(", self._body) is not None
        strided = "gridDim" in self._body  # its threads share one loop
        each = max([1, *numbers]) / (threads if strided else 1) if loops else 1
        alone = max([1, *counts]) / threads if loops else 0  # elements of a thread
        return max(sum(counts) / _MOST_ELEMENTS, threads / _MOST_THREADS, threads * each / _MOST_STEPS, alone / 4096)

    def _passed_to(self, place: int) -> dict[str, str]:
        """Return the parameters of the host function around an index, and of its callers, as they are passed."""
        passed: dict[str, str] = {}
        functions = [one for one in declarations(self.text) if one.called and one.body]
        for _ in range(_MOST_CALLS):
            around = next((one for one in functions if one.start <= place < one.end), None)
            name = function_name(self.text, around) if around else ""
            head = re.compile(rf"(?<![\w.>]){name}\s*(?:<((?!<)[^;{{}}()]{{0,200}})>)?\s*\(") if name else None
            own = head.search(self.text, around.start, around.end) if head and around else None
            calls = head.finditer(self.text) if head else iter(())
            call = next((one for one in calls if any(each.start < one.start() < each.end and each is not around
                         and function_name(self.text, each) != name for each in functions)), None)  # fmt: skip
            if own is None or call is None:
                if around and (value := self._value_of(name, around)):
                    passed = {one: value.get(was, was) for one, was in passed.items()}
                    passed = value | passed
                if own and name != "main":
                    taken = parts(self.text[own.end() : closing_bracket(self.text, own.end()) - 1])
                    self._outer = [" ".join(one.split()) for one in taken]
                break
            given, taken = (
                parts(self.text[one.end() : closing_bracket(self.text, one.end()) - 1]) for one in (call, own)
            )
            if around and call[1]:
                taken, given = template_parameters(self.text, around) + taken, parts(call[1]) + given
            outside: dict[str, str] = {}
            for parameter, argument in zip(taken, given, strict=False):
                named = re.findall(r"\w+", re.sub(r"\[[^\]]*\]|=.*", "", parameter))[-1:]
                outside |= {one: argument.strip() for one in named if one != argument.strip()}
            passed = {
                one: _WORD.sub(lambda word: outside.get(word[0], word[0]), was)  # noqa: B023
                for one, was in passed.items()
            }
            passed = outside | passed
            place = call.start()
        # a name that means one thing in a function and another in its caller is not read
        return {one: "" if ({*_WORD.findall(was)} - {one}) & {*passed} else was for one, was in passed.items()}

    def _value_of(self, name: str, around: Declaration) -> dict[str, str]:
        """Return the template arguments of a host function that the file names elsewhere without a call."""
        for found in re.finditer(rf"(?<![\w.>]){name}\s*<((?!<)[^;{{}}()]{{0,200}})>(?!\s*\()", self.text):
            if not around.start <= found.start() < around.end:
                taken = [
                    re.findall(r"\w+", one.partition("=")[0])[-1] for one in template_parameters(self.text, around)
                ]
                pairs = zip(taken, parts(found[1]), strict=False)
                return {one: given.strip() for one, given in pairs if one != given.strip()}
        return {}

    def _of_caller(self, passed: str) -> str:
        """Return the name of an argument in the outermost function."""
        name = _plain(_CAST.sub("", passed))
        for _ in range(_MOST_CALLS):
            name = _plain(self._passed.get(name, name))
        return name

    def _block(self, words: str) -> tuple[int, ...] | None:
        """Return the sizes of a block in numbers; a usual one if the file leaves them to its user."""
        found = self.sizes(words)
        if found and any(isinstance(one, str) for one in found):
            self._words |= dict.fromkeys(self._used, self._usual[len(found) > 1])
            found = self.sizes(words)
        self._used = {name: one for name, one in self._used.items() if one in self._usual}
        whole = [one for one in found or () if isinstance(one, int)]
        return tuple(whole) if found and len(whole) == len(found) else None

    def sizes(self, words: str, depth: int = 0) -> tuple[int | str, ...] | None:
        """Return the sizes of an expression, one or those of a dim3: numbers, or words over `n`."""
        if depth > _DEEPEST:
            return None
        words = _SIZEOF.sub(self._size_of, _LENGTH.sub(self._length_of, words)).strip()
        if usual := _WITHOUT_ARGUMENTS.search(words):
            words = usual[1].strip()
        if (first := _ELEMENT.fullmatch(words)) and (listed := self._meant(first[1])) and listed.startswith("{"):
            words = next(iter(parts(listed.strip("{} "))), words)
        inner = _DIM3.fullmatch(words)
        if inner and (words.startswith(("dim3", "{")) or len(parts(inner[1])) > 1):
            each = [self.sizes(part, depth + 1) for part in parts(inner[1])]
            return tuple(one[0] for one in each if one) if all(each) else None
        if _WORD.fullmatch(words):
            return self._constant(words, depth)
        return self._computed(words, depth)

    def _computed(self, words: str, depth: int) -> tuple[int | str, ...] | None:
        words = _FLOATING.sub(r"\1", _CAST.sub("", words))
        while words.startswith("(") and closing_bracket(words, 1) == len(words):
            words = words[1:-1].strip()
        if chosen := _CHOSEN.fullmatch(words):
            each = [self.sizes(part, depth + 1) for part in parts(chosen[2])]
            made = [one[0] for one in each if one]
            return _chosen(chosen[1].lower(), made) if made and all(each) else None
        words = _REST.sub(lambda found: f"({_rounded_up(found[1], found[2])})", words)
        if asked := _ASKED.fullmatch(words):
            one, other = (self.sizes(asked[side], depth + 1) for side in (1, 3))
            if not one or not other or isinstance(one[0], str) or isinstance(other[0], str):
                return None
            return self.sizes(asked[4 if _COMPARED[asked[2]](one[0], other[0]) else 5], depth + 1)
        if rounded := _CEILING.fullmatch(words):  # ceil((float)n / block)
            top, _, bottom = rounded[1].rpartition("/")
            words = _rounded_up(top, bottom) if top else rounded[1]
        words = re.sub(r"(?<=\d)[uUlL]+\b", "", words)
        while divided := _ROUNDED_UP.search(words):
            end = closing_bracket(words, divided.end())
            given = parts(words[divided.end() : end - 1])
            if not end or len(given) != 2:
                return None
            words = f"{words[: divided.start()]}({_rounded_up(*given)}){words[end:]}"
        values: dict[str, tuple[int | str, ...]] = {}
        for word in dict.fromkeys(_WORD.findall(words)):
            value = self._constant(word.partition(".")[0], depth)
            if value is None:
                return None
            values[word] = value
        return _evaluated(_SIDE.sub(lambda found: _value(found, values), words))

    def _constant(self, word: str, depth: int) -> tuple[int | str, ...] | None:
        if word in self._given:
            return (self._given[word],)
        outer = word in {named[1] for one in self._outer if (named := _WHOLE.fullmatch(one))}
        meant = None if (outer and not self._program) or self._is_asked(word) else self._meant(word)
        found = self.sizes(meant, depth + 1) if meant else None
        if meant is None and (outer or self._is_asked(word)):
            own = self._words.get(word, "n")
            self._used[word] = _FEW if own == "n" and self._is_subtracted(word) else own
            return (_number(self._used[word]),)
        plain = meant and not _WORD.search(usual[1] if (usual := _WITHOUT_ARGUMENTS.search(meant)) else meant)
        if found and len(found) == 1 and word not in self._of_device and plain:
            self.constants[word] = int(found[0])
        return found

    def _is_subtracted(self, word: str) -> bool:
        """Return whether a size of the file's user is subtracted from another one, as that of a window is."""
        others = "|".join(named[1] for one in self._outer if (named := _WHOLE.fullmatch(one)) and named[1] != word)
        return bool(others) and re.search(rf"(?<![\w.])(?:{others})\s*-\s*{word}\b", self.text) is not None

    def _is_asked(self, word: str) -> bool:
        """Return whether the program gets a number only from its user, or from data that its caller gives."""
        assigned = re.findall(rf"(?<![\w.]){word}\s*=(?!=)\s*([^;]{{1,150}});", self.text)[:_MOST_NAMES]
        if re.search(rf"(?<![\w.]){word}\s*\*=[^;]{{0,80}}{_OF_DATA.pattern}", self.text):
            return True  # the product of a tensor's sizes
        read = rf"\bs?scanf\s*\([^;]{{0,100}}&\s*{word}\s*[,)]|\bcin\s*>>[^;]{{0,100}}(?<!\w){word}\b"
        told = [_OF_COMMAND_LINE.search(_WITHOUT_ARGUMENTS.sub("", one)) or _OF_DATA.search(one) for one in assigned]
        return (bool(told) and all(told)) or re.search(read, self.text) is not None

    def _meant(self, word: str) -> str | None:
        """Return the definition of a name: a macro, a dim3, or the value that it has at the launch."""
        self._looked_up += 1
        if self._looked_up > _MOST_NAMES:
            return None
        if word in self._passed:
            return self._passed[word]
        sides = dict(re.findall(rf"\b{word}\.([xyz])\s*=\s*([^;]{{1,100}});", self.text))
        if "x" in sides:
            return f"dim3({', '.join(sides.get(side, '1') for side in 'xyz')})"
        nearest: re.Match[str] | None = None  # the last one before the launch
        first: re.Match[str] | None = None
        for pattern in (
            rf"^[ \t]*#[ \t]*define[ \t]+{word}[ \t]+([^\n]{{1,200}})$",
            rf"\bdim3\s+(?:\w+\s*\((?:[^;()]|\([^;()]*\)){{0,200}}\)\s*,\s*){{0,4}}{word}\s*(?=[({{])([^;]{{1,300}});",
            rf"(?<![\w.]){word}\s*=\s*(dim3\s*\([^;]{{1,200}}?\))\s*;",
            rf"(?<![\w.]){word}\s*=(?!=)\s*([^;]{{1,300}});",
            rf"\b{word}\s*\[\s*\w*\s*\]\s*=\s*(\{{[^;{{}}]{{1,200}}\}})\s*;",
            rf"\bint\s+{word}\s*[({{]\s*([^;,(){{}}]{{1,100}})[)}}]\s*;",
        ):
            every = list(islice(re.finditer(pattern, self.text, re.MULTILINE), _MOST_NAMES))
            every = [one for one in every if not _OF_COMMAND_LINE.search(_WITHOUT_ARGUMENTS.sub("", one[1]))]
            before = [one for one in every if one.start() < self._place]
            if before and (nearest is None or nearest.start() < before[-1].start()):
                nearest = before[-1]
            first = first or next(iter(every), None)
        found = nearest or first
        if found is None:
            return None
        meant = _ALSO_ASSIGNED.sub("", " ".join(found[1].split()))
        if found[0].startswith("dim3") and meant[:1] in "({":
            meant = next(iter(parts(meant)), "")
        return meant if _DIM3.fullmatch(meant) else next(iter(parts(meant)), None)

    def _argument(self, passed: str) -> HostArgument | None:
        """Return what is passed: a number, or an array as it is allocated and filled."""
        if _FLOAT.fullmatch(passed):
            return HostArgument(passed.rstrip("fF"))
        name = self._of_caller(passed)
        if _WORD.fullmatch(name):
            count = self._allocated(name)
            if count is not None:
                return HostArgument(self._fill(name), count)
            meant = self._meant(name)
            if meant and _FLOAT.fullmatch(meant):
                return HostArgument(meant.rstrip("fF"))
        number = self.sizes(passed)
        if number is None:
            return AS_PROPOSED if self._is_given(name) else None
        return HostArgument(str(number[0])) if len(number) == 1 else None

    def _is_given(self, name: str) -> bool:
        """Return whether an argument is a parameter of a function that nobody calls, or the data of one."""
        words = {word for one in self._outer for word in _WORD.findall(one)}
        return bool(words & {*_WORD.findall(name)}) or (bool(words) and "data" in name)

    def _allocated(self, name: str) -> int | str | None:
        """Return the elements of a pointer's allocation, a number or words over `n`."""
        kind = self._element(name)
        cast = r"(?:\(\s*void\s*\*\s*\*\s*\)\s*|reinterpret_cast\s*<\s*void\s*\*\s*\*\s*>\s*\(\s*)?"
        pointer = rf"{cast}\(?\s*&\s*{name}(?:\s*\[\w*\])?\s*\)*"
        for pattern, size in (
            (rf"\bcudaMalloc(?:Managed|Host)?\s*\(\s*{pointer}\s*,", kind),
            (rf"(?<![\w.]){name}\s*=\s*(?:\([^()]{{1,40}}\)\s*)?malloc\s*\(", kind),
            (rf"(?<![\w.]){name}\s*=\s*new\s+\w+\s*\[(?=([^;\[\]]{{1,100}})\])", 1),
            (rf"\bdevice_vector\s*<[^;<>]{{1,40}}>\s+{name}\s*\((?=([^;,()]{{1,100}})[,)])", 1),
        ):
            every = list(islice(re.finditer(pattern, self.text), _MOST_NAMES))
            found = next((one for one in reversed(every) if one.start() < self._place), next(iter(every), None))
            if not found:
                continue
            words = (
                found[1] if found.re.groups else self.text[found.end() : closing_bracket(self.text, found.end()) - 1]
            )
            size_of_all = self.sizes(parts(words)[0]) if parts(words) else None
            if size_of_all and size and _at_n(size_of_all[0]) > 0:
                return _divided(size_of_all[0], size)
        return None

    def _element(self, name: str) -> int | None:
        found = re.search(
            rf"\b((?:unsigned\s+|long\s+)?\w+)\s*\*\s*(?:\w+\s*(?:=[^,;]{{0,40}})?,\s*\*\s*){{0,8}}{name}\b", self.text
        )
        element = element_of(self.text, found[1]) if found else None
        return element.size if element else None

    def _length_of(self, found: re.Match[str]) -> str:
        """Return how many elements a host array has: its size, or the number of its values."""
        declared = re.search(
            rf"\b{found[1]}\s*\[([^\]]{{0,80}})\]\s*(?:=\s*\{{([^{{}}]{{0,2000}})\}})?\s*[;,]", self.text
        )
        if declared is None:
            return found[0]
        return (
            f"({declared[1]})"
            if declared[1].strip()
            else str(len(parts(declared[2] or "")))
            if declared[2]
            else found[0]
        )

    def _size_of(self, found: re.Match[str]) -> str:
        element = element_of(self.text, found[1])
        return str(element.size) if element else found[0]

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


def _arguments_of(name: str) -> list[str]:
    """Return the arguments of a template by name, k<float, (64)> -> float, 64."""
    given = parts(name.partition("<")[2].rpartition(">")[0])
    return ["".join(one.split()).strip("()") for one in given]


def _plain(passed: str) -> str:
    """Return the name of an array without casts, `&` and an index."""
    return re.sub(
        r"^(?:\(\s*[\w ]+\*\s*\)|thrust::raw_pointer_cast\()\s*&?|^&|\.data\(\).*$|\)$|\[\w+\]$", "", passed
    ).strip()


def _in_brackets(text: str) -> str:
    """Return the text with each `cudaLaunchKernel(f, grid, block, arguments, shared)` as f<<<grid, block, shared>>>."""
    for found in list(_BY_FUNCTION.finditer(text))[::-1]:
        end = closing_bracket(text, found.end())
        given = [one.strip() for one in parts(text[found.end() : end - 1])]
        listed = (
            re.search(rf"\b{given[3]}\s*\[\s*\w*\s*\]\s*=\s*\{{([^{{}};]{{0,400}})\}}", text)
            if len(given) > 3
            else None
        )
        if listed is None:
            continue
        passed = ", ".join(re.sub(r"^\(\s*void\s*\*\s*\)\s*|&\s*", "", one.strip()) for one in parts(listed[1]))
        sizes = ", ".join([*given[1:3], *given[4:5]])
        kernel = re.sub(r"^(?:\([^()]*\))?\s*&?", "", given[0])
        text = f"{text[: found.start()]}{kernel}<<<{sizes}>>>({passed}){text[end:]}"
    return text


def _is_spare(made: HostLaunch | None) -> bool:
    """Return whether a launch has more threads than the largest of its arrays has elements."""
    if made is None or made.grid is None:
        return False
    counts = [_at_n(one.count) for one in made.arguments if one and one.count is not None]
    return bool(counts) and prod(map(_at_n, made.grid)) * prod(made.block) > max(counts)


def _at_n(size: int | str) -> int:
    return evaluate(size, {"n": _N}) if isinstance(size, str) else size


def _number(words: str) -> int | str:
    return int(words) if words.isdecimal() else words


def _value(found: re.Match[str], values: Mapping[str, tuple[int | str, ...]]) -> str:
    """Return the text of a name in an expression, of a dim3 that of the side after the dot."""
    each = values[found[1]]
    side = "xyz".index(found[2]) if found[2] else 0
    made = str(each[side] if side < len(each) else each[0])
    return made if re.fullmatch(r"-?\w+|\([^()]*\)", made) else f"({made})"


def _rounded_up(top: str, bottom: str) -> str:
    """Return the quotient of two expressions, rounded up."""
    bottom = bottom.strip()
    inside = bottom if re.fullmatch(r"[\w.]+", bottom) else f"({bottom})"
    return f"({top.strip()} + {bottom} - 1) / {inside}"


def _evaluated(words: str) -> tuple[int | str] | None:
    """Return an expression's number, or the expression if it has `n` in it; None if it is none."""
    try:
        number = evaluate(words, {"n": _N})
    except NotRunnable:
        return None
    plain = re.sub(r"^\(([^()]*)\)$", r"\1", " ".join(words.split()))
    return (plain if re.search(r"\bn\b", plain) else number,)


def _chosen(which: str, sizes: Sequence[int | str]) -> tuple[int | str]:
    """Return the least or the largest: of min(256, n) the number, as a block is bounded; else words over `n` before
    numbers, which are only their bounds."""
    words = [one for one in sizes if isinstance(one, str)]
    numbers = [one for one in sizes if isinstance(one, int)]
    return (words[0] if words and not (numbers and words[0] == "n") else (min if which == "min" else max)(numbers),)


def _divided(of_all: int | str, size: int) -> int | str:
    """Return bytes as elements of `size` bytes."""
    if isinstance(of_all, int):
        return of_all // size
    plain = of_all[1:-1] if re.fullmatch(r"\([^()]*\)", of_all) else of_all
    factors = re.split(r"\s*\*\s*", plain)
    if str(size) in factors and not re.search(r"[-+/%<>(]", plain):
        factors.remove(str(size))
        return " * ".join(factors)
    outer = re.fullmatch(rf"(?:{size}\s*\*\s*)?(\([^()]*\)|\w+)(?:\s*\*\s*{size})?", plain)
    if outer and outer[1] != plain:
        return outer[1].strip("()")
    return of_all if size == 1 else f"({of_all}) / {size}"


def _short(sizes: Sequence[int | str]) -> tuple[int | str, ...]:
    """Return the sizes without ones at the end."""
    kept = len(sizes)
    while kept > 1 and sizes[kept - 1] == 1:
        kept -= 1
    return tuple(sizes[:kept])

"""Mistakes in host code that its text alone shows: nothing compiles it here, and its launches and copies do not run.

host_mistakes(text) -> (CompilerWarning("a block has at most 1,024 threads, and this one has 2,048: ...", 12),)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from engine.catalogue.entries import MAX_BLOCK
from engine.lab.expressions import evaluate
from engine.lab.marks import CompilerWarning
from engine.lab.signatures import Declared, function_name, kernels_in
from engine.lab.structures import element_of
from engine.lab.top_level import (
    Declaration,
    blanked,
    body_start,
    closing_bracket,
    declarations,
    directives,
    is_left_out,
    parts,
    uncommented,
)
from engine.records import NotRunnable

_DEEPEST = 6
_MOST_SIDES = (1024, 1024, 64)
_MOST_BLOCKS = ((1 << 31) - 1, 65_535, 65_535)
_WORD = re.compile(r"[A-Za-z_]\w*")
_SIZEOF = re.compile(r"sizeof\s*\(\s*([\w ]+?)\s*\)")
_FACTOR = re.compile(
    r"^\s*sizeof\s*\(\s*[\w ]+\s*\)\s*\*\s*(.*)$|^(.*)\s*\*\s*sizeof\s*\(\s*[\w ]+\s*\)\s*$", re.DOTALL
)
_MALLOC = re.compile(r"\bcudaMalloc\s*\(")
_COPY = re.compile(r"\bcudaMemcpy\s*\(")
_POINTER = r"\b(?:unsigned\s+)?(\w+)\s*\*\s*(?:\w+\s*(?:=[^,;]{{0,80}})?,\s*\*\s*){{0,8}}{}\b"
_OF_HOST = (
    r"(?:\w\s*\*|[\s;{{}}(])\s*{0}\s*=\s*(?:(?:\([^()]{{1,40}}\)\s*)?(?:malloc|calloc)\s*\(|new\b)|"
    r"\b(?:int|float|double|char|long|short|unsigned)\s+{0}\s*\["
)
_OF_GPU = r"\bcuda(?:Malloc\w*|HostAlloc|HostRegister|GetSymbolAddress)\s*\([^;]{{0,80}}?(?<!\w){0}\b"
_SIDES = {"cudaMemcpyHostToDevice": ("device", "host"), "cudaMemcpyDeviceToHost": ("host", "device"),
          "cudaMemcpyDeviceToDevice": ("device", "device"), "cudaMemcpyHostToHost": ("host", "host")}  # fmt: skip
_NAMES = {"device": "of the GPU", "host": "of the host"}


def host_mistakes(text: str) -> tuple[CompilerWarning, ...]:
    """Return a sentence for each mistake in the host code of a text, in the order of lines.

    Only what the text says by itself counts: a size that a function, the command line or a loop gives is unknown.
    """
    host = _Host(text)
    found = {*host.calls(), *host.launches(), *host.allocations(), *host.copies()} if host.kernels else ()
    return tuple(sorted(found, key=lambda one: (one.line or 0, one.message)))


@dataclass(frozen=True)
class _Host:
    text: str

    @cached_property
    def kernels(self) -> dict[str, Declared]:
        """Kernels whose name no other function of the text has, as a wrapper for the host may."""
        named = [
            function_name(self.text, one)
            for one in self._every
            if one.called and (one.body or "__global__" not in one.words)
        ]
        return {name: one for name, one in kernels_in(self.text).items() if named.count(name) == 1}

    @cached_property
    def code(self) -> str:
        """The text without comments, preprocessor lines and device functions."""
        code = self._uncommented
        of_device = (one for one in self._every if {"__global__", "__device__"} & {*one.words} and one.called)
        for start, end in (*directives(self.text), *((one.start, one.end) for one in of_device)):
            code = blanked(code, start, end)
        return code

    @cached_property
    def _uncommented(self) -> str:
        return uncommented(self.text)

    @cached_property
    def _every(self) -> tuple[Declaration, ...]:
        return declarations(self.text)

    @cached_property
    def _words(self) -> str:
        """The code in one line, as patterns need long on the blanks of what is left out."""
        return " ".join(self.code.split())

    @cached_property
    def _bodies(self) -> list[tuple[int, int]]:
        """The places of the bodies of host functions."""
        found = declarations(self.code)
        return [(body_start(self.code, one), one.end) for one in found if one.called and one.body]

    def _told(self, place: int, sentence: str) -> Iterator[CompilerWarning]:
        if not is_left_out(self.text, place):
            yield CompilerWarning(sentence, self.text.count("\n", 0, place) + 1)

    def calls(self) -> Iterator[CompilerWarning]:
        """Return the launches that nvcc does not take for launches."""
        names = "|".join(self.kernels)
        for found in re.finditer(rf"(?<![\w.:])({names})\s*(?:<<(?!<)[^<>;()]{{1,100}}>>(?!>)\s*)?\(", self.code):
            if not any(start < found.start() < end for start, end in self._bodies):
                continue
            wrong = "a launch has three brackets on each side" if "<<" in found[0] else "a kernel is launched"
            yield from self._told(found.start(), f"{wrong}: {found[1]}<<<blocks, threads>>>(...).")

    def launches(self) -> Iterator[CompilerWarning]:
        """Return what is wrong with the sizes and arguments of launches."""
        names = "|".join(self.kernels)
        launch = rf"(?<![\w.:])({names})\s*(?:<(?!<)[^;{{}}]{{0,200}}?>\s*)?<<<([^;]{{1,400}}?)>>>\s*\("
        for found in re.finditer(launch, self.code):
            name, sizes = found[1], [one.strip() for one in parts(found[2])]
            given = parts(self.code[found.end() : max(closing_bracket(self.code, found.end()) - 1, found.end())])
            kernel, named = self.kernels[name], _WORD.findall(found[2])
            if len(sizes) == 1 and not any(re.search(rf"#\s*define\s+{each}\b", self.text) for each in named):
                told = f"a launch has at least two sizes, {name}<<<blocks, threads>>>: nvcc does not compile this one."
                yield from self._told(found.start(), told)
                continue
            yield from self._sizes(found.start(), sizes)
            variable = kernel.template or any("=" in one or "..." in one for one in kernel.written)
            compares = re.search(r"<|(?<!-)>", "".join(given)) is not None
            if not variable and not compares and len(given) != len(kernel.parameters):
                has, passes = _counted(len(kernel.parameters), "parameter"), _counted(len(given), "argument")
                told = f"{name} has {has}, and this launch passes {passes}."
                yield from self._told(found.start(), told)
            for each in given:
                if _WORD.fullmatch(each.strip()) and self._side(each.strip()) == "host":
                    told = f"{each.strip()} is an array of the host: pass {name} a copy that is made with cudaMalloc."
                    yield from self._told(found.start(), told)

    def _sizes(self, place: int, sizes: list[str]) -> Iterator[CompilerWarning]:
        for words, what, most in zip(sizes, ("grid", "block"), (_MOST_BLOCKS, _MOST_SIDES), strict=False):
            each = self._numbers(words)
            if each is None:
                continue
            if what == "block" and prod(each) > MAX_BLOCK:
                told = f"a block has at most {MAX_BLOCK:,} threads, and this one has {prod(each):,}: the launch fails."
                yield from self._told(place, told)
            elif 0 in each:
                yield from self._told(place, f"this {what} has a size of 0: the launch fails.")
            else:
                for side, number, limit in zip("xyz", each, most, strict=False):
                    if number > limit:
                        told = (
                            f"the {side} of a {what} is at most {limit:,}, and here it is {number:,}: the launch fails."
                        )
                        yield from self._told(place, told)

    def allocations(self) -> Iterator[CompilerWarning]:
        """Return calls of cudaMalloc that get the pointer in place of its address."""
        for found in _MALLOC.finditer(self.code):
            given = parts(self.code[found.end() : max(closing_bracket(self.code, found.end()) - 1, found.end())])
            first = re.sub(r"^\(\s*void\s*\*\s*\*\s*\)", "", given[0].strip()).strip() if len(given) == 2 else ""
            if _WORD.fullmatch(first) and self._pointed(first):
                yield from self._told(found.start(), f"cudaMalloc gets the address of the pointer: &{first}.")

    def copies(self) -> Iterator[CompilerWarning]:
        """Return copies whose direction or number of bytes does not fit their arrays."""
        for found in _COPY.finditer(self.code):
            given = parts(self.code[found.end() : max(closing_bracket(self.code, found.end()) - 1, found.end())])
            given = [one.strip() for one in given]
            if len(given) != 4:
                continue
            sides = zip(given, _SIDES.get(given[3], ()), ("to", "from"), strict=False)
            for name, side, where in sides:
                if _WORD.fullmatch(name) and (own := self._side(name)) and own != side:
                    told = f"{given[3]} copies {where} an array {_NAMES[side]}, but {name} is one {_NAMES[own]}."
                    yield from self._told(found.start(), told)
                    break
            yield from self._bytes(found.start(), given)

    def _bytes(self, place: int, given: list[str]) -> Iterator[CompilerWarning]:
        whole = _SIZEOF.fullmatch(given[2])
        if whole and whole[1] in given[:2] and self._pointed(whole[1]):
            told = f"sizeof({whole[1]}) is 8, the bytes of the pointer: write the bytes of the array."
            yield from self._told(place, told)
            return
        for name in filter(_WORD.fullmatch, given[:2]):
            element = self._pointed(name)
            allocated = re.findall(
                rf"\bcudaMalloc\s*\(\s*(?:\([^()]*\)\s*)?&\s*{name}\s*,([^;]+)\)\s*[;)]", self._words
            )
            if not element or len(allocated) != 1:
                continue
            of_all, copied = "".join(allocated[0].split()), "".join(given[2].split())
            if _elements(of_all) == _elements(copied) and ("sizeof" in of_all) != ("sizeof" in copied):
                counts = "this copy" if "sizeof" in of_all else f"cudaMalloc of {name}"
                size = given[2] if "sizeof" in of_all else allocated[0].strip()
                told = f"{counts} counts bytes, and its size {size} has no sizeof."
                yield from self._told(place, told)
                return

    def _pointed(self, name: str) -> int | None:
        """Return the bytes of an element of a pointer; None if it is none, or its element has one byte."""
        found = re.findall(_POINTER.format(name), self._words)
        element = element_of(self.text, f"{found[0]} *") if len(found) == 1 and f"*{name}[" not in self._words else None
        return element.size if element and element.size > 1 else None

    def _side(self, name: str) -> str | None:
        """Return where the one array of this name lies: "host", "device", or None if that is not certain."""
        if len(re.findall(rf"(?:\w\s*[*&]|\b\w+\s)\s*{name}\s*(?=[=;,)\[])", self._words)) > 1:
            return None  # perhaps several of this name
        host = re.search(_OF_HOST.format(name), self._words) is not None
        device = re.search(_OF_GPU.format(name), self._words) is not None
        plain = re.search(rf"\bcudaMalloc\s*\([^;]{{0,40}}?&\s*{name}\s*,", self._words) is not None
        assigned = len(re.findall(rf"(?<![\w.]){name}\s*=(?!=)", self._words))
        if host and not device and assigned <= 1:
            return "host"
        return "device" if plain and not host and not assigned else None

    def _numbers(self, words: str, depth: int = 0) -> tuple[int, ...] | None:
        """Return the numbers of a size or of a dim3, if the text alone gives them."""
        made = re.fullmatch(r"dim3\s*[({](.*)[)}]|\{(.*)\}", words, re.DOTALL)
        if made:
            each = [self._number(one, depth + 1) for one in parts(made[1] or made[2] or "")]
            return tuple(one for one in each if one is not None) if each and None not in each else None
        if _WORD.fullmatch(words):
            every = (parts(found[1]) for found in re.finditer(r"\bdim3\s+([^;]{1,300});", self._words))
            named = [each.strip() for listed in every for each in listed if re.match(rf"\s*{words}\b", each)]
            if named or re.search(rf"\bdim3\s*[&*]?\s*{words}\s*[,)]", self._words):
                changed = re.search(rf"\b{words}\s*(?:\.\s*[xyz]\s*)?=(?!\s*dim3)", self._words)
                if changed or len(named) != 1 or depth > _DEEPEST:
                    return None
                given = re.sub(rf"^{words}\s*(?:=\s*dim3\s*)?", "", named[0])
                return self._numbers(f"dim3{given}", depth + 1) if given[:1] in "({" else None
        number = self._number(words, depth)
        return None if number is None else (number,)

    def _number(self, words: str, depth: int) -> int | None:
        if depth > _DEEPEST or re.search(r"[.?^\"']", words):
            return None
        words = re.sub(r"(?<=\d)[uUlL]+\b", "", words)
        words = re.sub(r"\(\s*(?:unsigned|int|size_t|unsigned\s+int)\s*\)", "", words)
        known: dict[str, int] = {}
        for name in {*_WORD.findall(words)}:
            value = self._value(name, depth)
            if value is None:
                return None
            known[name] = value
        try:
            return evaluate(words, known)
        except NotRunnable:
            return None

    def _value(self, name: str, depth: int) -> int | None:
        """Return the value of a macro or of a variable that is set once."""
        macros = re.findall(rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([^\n]+)$", self._uncommented, re.MULTILINE)
        whole = r"(?:int|unsigned|long|size_t|auto|short|u?int(?:32|64)_t)"
        before = r"(?:\w+\s*=[^,;()]{1,40},\s*){0,6}"
        set_once = re.findall(rf"\b{whole}\s+{before}{name}\s*=(?!=)\s*([^;,]{{1,100}})[;,]", self._words)
        own = rf"(?<![\w.]){name}"
        changes = rf"{own}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|{own}\s*(?:\+\+|--)|(?:\+\+|--|&|>>)\s*{name}\b"
        changed = len(re.findall(changes, self._words))
        passed = re.search(rf"\b{whole}\s*[&*]?\s*{name}\s*[,)]", self._words)
        if passed or len(macros) + len(set_once) != 1 or changed != len(set_once):
            return None
        return self._number((macros + set_once)[0].strip(), depth + 1)


def _elements(size: str) -> str:
    """Return the number of elements in a size in bytes."""
    found = _FACTOR.match(size)
    made = (found[1] or found[2]) if found else size
    return made[1:-1] if re.fullmatch(r"\([^()]*\)", made) else made


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"

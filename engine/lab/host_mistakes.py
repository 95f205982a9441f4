"""Mistakes in host code that its text alone shows: nothing compiles it here, and its launches and copies do not run.

host_mistakes(text) -> (CompilerWarning("a block has at most 1,024 threads, and this one has 2,048: ...", 12),)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from math import prod
from pathlib import Path
from unicodedata import name as character_name

from engine.catalogue.entries import MAX_BLOCK
from engine.compile.nvrtc import include_folders
from engine.lab.expressions import evaluate
from engine.lab.launch_mistakes import shared_in_elements, wrong_arguments
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
_POINTER = r"\b(?:unsigned\s+)?(\w+)\s*\*\s*(?:\w+\s*(?:=[^,;]{{0,80}})?,\s*\*\s*){{0,8}}{}\b"
_OF_HOST = (
    r"(?:[\w,]\s*\*|[\s;{{}}(])\s*{0}\s*=\s*(?:(?:\([^()]{{1,40}}\)\s*)?(?:malloc|calloc)\s*\(|new\b)|"
    r"(?<!__)(?<!__ )\b(?:int|float|double|char|long|short|unsigned)\s+{0}\s*\["
)
_OF_GPU = r"\bcuda(?:Malloc\w*|HostAlloc|HostRegister|GetSymbolAddress)\s*\([^;]{{0,80}}?(?<!\w){0}\b"
_OF_BOTH = r"\bcuda(?:MallocManaged|MallocHost|HostAlloc)\s*\([^;]{{0,80}}?(?<!\w){0}\b"
_SIDES = {"cudaMemcpyHostToDevice": ("device", "host"), "cudaMemcpyDeviceToHost": ("host", "device"),
          "cudaMemcpyDeviceToDevice": ("device", "device"), "cudaMemcpyHostToHost": ("host", "host")}  # fmt: skip
_NAMES = {"device": "of the GPU", "host": "of the host"}
_MARKS = ("__global__", "__device__", "__shared__", "__constant__", "__host__")
_MARK = re.compile(r"_+[A-Za-z]+_+")
_OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)
_OF_RUNTIME = re.compile(r"\b[cC][uU][dD][aA][A-Za-z]{3,40}(?=\s*\()|\bcudaMemcpy[A-Za-z]{4,40}\b")
_IN_KERNELS_ONLY = re.compile(r"(?<![\w.])(?:(threadIdx|blockIdx)\s*\.\s*[xyz]\b|(__sync(?:threads|warp))\s*\()")


def host_mistakes(text: str) -> tuple[CompilerWarning, ...]:
    """Return a sentence for each mistake in the host code of a text, in the order of lines.

    Only what the text says by itself counts: a size that a function, the command line or a loop gives is unknown.
    """
    host = _Host(text)
    found = {one for mistakes in _KINDS for one in mistakes(host)} if host.kernels else set()
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
    def _named_kernels(self) -> frozenset[str]:
        return frozenset(kernels_in(self.text))

    @cached_property
    def _with_dynamic_memory(self) -> dict[str, str]:
        """The kernels with an array of dynamic shared memory in their own body, and the body."""
        bodies = (one for one in self._every if one.called and one.body and "__global__" in one.words)
        return {
            function_name(self.text, one): body for one in bodies
            if re.search(r"\bextern\s+__shared__", body := self._uncommented[one.start : one.end])
        }  # fmt: skip

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
    def _functions(self) -> list[Declaration]:
        """The host functions with a body."""
        return [one for one in declarations(self.code) if one.called and one.body]

    @cached_property
    def _bodies(self) -> list[tuple[int, int]]:
        """The places of the bodies of host functions."""
        return [(body_start(self.code, one), one.end) for one in self._functions]

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
        for found in re.finditer(rf"(?<![\w.:])({names})\s*<<<[^;{{}}>]{{1,200}}>>?(?!>)\s*\(", self.code):
            told = f"a launch has three brackets on each side: {found[1]}<<<blocks, threads>>>(...)."
            yield from self._told(found.start(), told)
        for found in re.finditer(rf"(?<![\w.:])({names})\s*<<<[^;{{}}<>]{{1,99}};[^;{{}}<>]{{1,99}}>>>", self.code):
            told = f"the sizes of a launch are separated by commas: {found[1]}<<<blocks, threads>>>(...)."
            yield from self._told(found.start(), told)
        yield from self._unmarked()

    def _unmarked(self) -> Iterator[CompilerWarning]:
        """Return functions that are launched and no kernels, misspelt marks, and kernels in another function."""
        launched = {*re.findall(r"(\w+) ?(?:<[^<>;]*> ?)?<<<", self._words)}
        defined = re.findall(r"#\s*define\s+(\w+)", self.text)
        for one in self._every:
            near = {
                word: get_close_matches(word, _MARKS, n=1, cutoff=0.8) for word in one.words if _MARK.fullmatch(word)
            }
            wrong = [(word, meant[0]) for word, meant in near.items() if meant and word not in (*_MARKS, *defined)]
            name = function_name(self.text, one) if one.called and one.body else ""
            if wrong:
                yield from self._told(one.start, f"perhaps `{wrong[0][1]}` was meant by `{wrong[0][0]}`.")
            elif name in launched and "__global__" not in one.words and name not in self._named_kernels:
                yield from self._told(one.start, f"`{name}` is launched, but lacks __global__ in front of it.")
        for found in re.finditer(r"\b__global__\b", self.code):
            around = next((start for start, end in self._bodies if start < found.start() < end), None)
            if around is not None:
                line = self.text.count("\n", 0, around) + 1
                told = f"this kernel stands inside the braces of line {line}, where none can be; move it out."
                yield from self._told(found.start(), told)

    def words(self) -> Iterator[CompilerWarning]:
        """Return what host code does not have: names of kernels alone, misspelt ones, and characters of no language."""
        for start, end in self._bodies:
            body = self.code[start:end]
            if "__device__" in body or not ("<<<" in body or re.search(r"\bmain\s*\([^{]*$", self.code[:start])):
                continue
            for found in _IN_KERNELS_ONLY.finditer(body):
                word = found[1] or found[2]
                if not re.search(rf"[\w}}] {word} ?[;,={{(\[]", self._words):
                    yield from self._told(start + found.start(), f"`{word}` exists in kernels only.")
        for found in () if _OWN_HEADER.search(self.text) else _OF_RUNTIME.finditer(self.code):
            word = found[0]
            if word in runtime_names():
                continue
            own = re.search(rf"#\s*define\s+{word}\b|[\w>*&] ?{word} ?[(=;,]", self.text)
            near = [] if own else get_close_matches(word, runtime_names(), n=1, cutoff=0.85)
            if near:
                yield from self._told(found.start(), f"CUDA has no `{word}`; perhaps `{near[0]}` was meant.")
        strange = next((one for one in re.finditer(r"[^\x00-\x7f]", self.code) if not one[0].isalnum()), None)
        if strange:
            called = character_name(strange[0], "no name")
            yield from self._told(strange.start(), f"U+{ord(strange[0]):04X}, {called}, is no character of C++.")
        for found in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(=[ \t]*\w+)", self._uncommented, re.MULTILINE):
            if re.search(rf"\b{found[1]}\b", self.code):
                yield from self._told(found.start(), f"the macro {found[1]} stands for `{found[2]}`, with its =.")
        number = r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:\d[\w.]*|\([^()\n]*\))[ \t]*;)[ \t]*\r?$"
        for found in re.finditer(number, self._uncommented, re.MULTILINE):
            if re.search(rf"\b{found[1]}\b[ \t]*[^;}}\s\w]", self.code):
                yield from self._told(found.start(), f"the macro {found[1]} stands for `{found[2]}`, with its ;.")

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
            macro = any(re.search(rf"#\s*define\s+{each}\b[^\n]*,", self.text) for each in named)
            if len(sizes) == 2 and name in self._with_dynamic_memory and not macro:
                told = f"`{name}` has an extern __shared__ array: the launch gives its bytes as the third size."
                yield from self._told(found.start(), told)
            elif len(sizes) > 2 and name in self._with_dynamic_memory and "sizeof" not in found[2]:
                block, size = self._numbers(sizes[1]), self._number(sizes[2], 0)
                if sizes[1] == sizes[2]:
                    block = block or (size,) if size else block
                if (
                    block
                    and size
                    and (sentence := shared_in_elements(self.text, self._with_dynamic_memory[name], prod(block), size))
                ):
                    yield from self._told(found.start(), sentence)
            variable = kernel.template or any("=" in one or "..." in one for one in kernel.written)
            compares = re.search(r"<|(?<!-)>", "".join(given)) is not None
            if not variable and not compares and len(given) != len(kernel.parameters):
                has, passes = _counted(len(kernel.parameters), "parameter"), _counted(len(given), "argument")
                told = f"`{name}` has {has}, and this launch passes {passes}."
                yield from self._told(found.start(), told)
            elif not variable and not compares:
                for sentence in wrong_arguments(self.text, self._words, name, kernel.written, given):
                    yield from self._told(found.start(), sentence)
            for each in given:
                plain = each.strip()[1:].strip() if each.strip().startswith("&") else ""
                if plain and self._side(plain) == "device" and not re.search(r"\*\s*\*|&", " ".join(kernel.written)):
                    told = f"`{plain}` is the address on the GPU: pass it without the &."
                    yield from self._told(found.start(), told)
                if _WORD.fullmatch(each.strip()) and self._side(each.strip()) == "host":
                    told = f"`{each.strip()}` is an array of the host: pass {name} a copy that is made with cudaMalloc."
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

    def _calls(self, names: str) -> Iterator[tuple[int, list[str]]]:
        """Return the place and the arguments of each call of a function of these names."""
        for found in re.finditer(rf"(?<![\w.>])(?:{names})\s*\(", self.code):
            given = self.code[found.end() : max(closing_bracket(self.code, found.end()) - 1, found.end())]
            yield found.start(), [one.strip() for one in parts(given)]

    def allocations(self) -> Iterator[CompilerWarning]:
        """Return calls of cudaMalloc with other arguments than the address of the pointer and the bytes."""
        for place, given in self._calls("cudaMalloc"):
            first = re.sub(r"^\(\s*void\s*\*\s*\*\s*\)", "", given[0]).strip() if len(given) == 2 else ""
            if len(given) == 1 or (len(given) == 2 and re.match(r"&|\(\s*void\s*\*\s*\*\s*\)", given[1])):
                yield from self._told(place, "`cudaMalloc` gets the address of the pointer, then the bytes.")
            elif _WORD.fullmatch(first) and self._pointed(first):
                yield from self._told(place, f"`cudaMalloc` gets the address of the pointer: &{first}.")

    def copies(self) -> Iterator[CompilerWarning]:
        """Return copies whose direction or number of bytes does not fit their arrays."""
        for place, given in self._calls("cudaMemcpy"):
            if len(given) == 3:
                told = "`cudaMemcpy` has a fourth argument, the direction, such as cudaMemcpyHostToDevice."
                yield from self._told(place, told)
            if len(given) != 4:
                continue
            sides = zip(given, _SIDES.get(given[3], ()), ("to", "from"), strict=False)
            for name, side, where in sides:
                if _WORD.fullmatch(name) and (own := self._side(name)) and own != side:
                    told = f"`{given[3]}` copies {where} an array {_NAMES[side]}, but {name} is one {_NAMES[own]}."
                    yield from self._told(place, told)
                    break
                if side == "device" and name[:1] == "&" and self._side(name[1:].strip()) == "device":
                    told = f"`{name[1:].strip()}` is the address on the GPU: write it without the &."
                    yield from self._told(place, told)
            yield from self._bytes(place, given)

    def arrays(self) -> Iterator[CompilerWarning]:
        """Return what the host does to arrays of the GPU, and the other way round: elements, free, memcpy, memset."""
        for place, given in self._calls("free"):
            if len(given) == 1 and self._side(given[0]) == "device":
                yield from self._told(place, f"`{given[0]}` is an array of the GPU: cudaFree frees it.")
        for place, given in self._calls("cudaFree"):
            if len(given) == 1 and self._side(given[0]) == "host":
                yield from self._told(
                    place, f"`{given[0]}` is an array of the host: cudaFree frees those of cudaMalloc."
                )
        for place, given in self._calls(r"(?:std\s*::\s*)?mem(?:cpy|set|move)"):
            for each in given[:2]:
                if _WORD.fullmatch(each) and self._side(each) == "device":
                    told = f"`{each}` is an array of the GPU: cudaMemcpy and cudaMemset reach it, and memcpy does not."
                    yield from self._told(place, told)
        for place, given in self._calls("cudaMemset"):
            size = self._pointed(given[0]) if len(given) == 3 and _WORD.fullmatch(given[0]) else None
            value = re.fullmatch(r"([1-9]\d?)(?:\.0?f?)?", given[1]) if size else None
            if size and value:
                element = "0x" + f"{int(value[1]):02x}" * size
                told = f"`cudaMemset` sets each byte to {value[1]}: an element of {size} bytes becomes {element}."
                yield from self._told(place, told)
            if len(given) == 3:
                yield from self._bytes(place, given, "call")
        for start, end in self._bodies:
            body = self.code[start:end]
            for found in () if "__device__" in body else re.finditer(r"(?<![\w.>])([A-Za-z_]\w*)\s*\[", body):
                before = body[max(0, found.start() - 40) : found.start()].rstrip("( ")[-6:]
                if (
                    found[1] in self._allocated
                    and before[-1:] != "&"
                    and before != "sizeof"
                    and self._side(found[1]) == "device"
                ):
                    told = f"`{found[1]}` is an array of the GPU: host code reaches its elements with cudaMemcpy."
                    yield from self._told(start + found.start(), told)

    def symbols(self) -> Iterator[CompilerWarning]:
        """Return uses of the GPU's variables of the file in host functions."""
        for name in self._of_gpu:
            uses = rf"(?<![\w.>&]){name}\s*(?:\[|[-+*/]?=(?!=)|\+\+|--)"
            calls = [(place, each) for place, given in self._calls("cudaMemcpy|cudaMemset|printf") for each in given]
            found = [one.start() for one in re.finditer(uses, self.code)]
            found += [place for place, each in calls if re.search(rf"(?<![\w.>&]){name}\b", each)]
            declared = rf"\b[\w>]+[\s*&]+{name}\s*[=;,\[)({{]"
            for one in self._functions:
                for place in found:
                    whole = " ".join(self.code[one.start : one.end].split())
                    if one.start < place < one.end and not re.search(declared, whole):
                        told = (
                            f"`{name}` is a variable of the GPU: the host writes it with cudaMemcpyToSymbol and reads "
                            "it with cudaMemcpyFromSymbol."
                        )
                        yield from self._told(place, told)
            for place, given in self._calls("cudaMemcpyToSymbol(?:Async)?"):
                if given and given[0].replace(" ", "") == f"&{name}":
                    yield from self._told(
                        place, f"`cudaMemcpyToSymbol` gets the variable itself: {name} without the &."
                    )
        for quoted in re.finditer(r"\bcudaMemcpy(?:To|From)Symbol(?:Async)?\s*\([^;\n]*?\"(\w+)\"", self.text):
            if self.code[quoted.start()] == "c":
                told = f"CUDA has names of variables in quotes no more: write {quoted[1]} without them."
                yield from self._told(quoted.start(), told)

    @cached_property
    def _of_gpu(self) -> list[str]:
        """The names of the file's `__device__` and `__constant__` variables that host code cannot name."""
        named: list[str] = []
        for one in self._every:
            if (
                one.kind == "variable"
                and {"__device__", "__constant__"} & {*one.words}
                and "__managed__" not in one.words
            ):
                head = re.match(r"[^=\[;{]*", self.text[one.start : one.end])
                words = _WORD.findall(head[0]) if head else []
                constant = {"const", "constexpr"} & {*words} and "=" in self.text[one.start : one.end]
                named += words[-1:] if not constant else []
        return [name for name in named if named.count(name) == 1]

    def _bytes(self, place: int, given: list[str], what: str = "copy") -> Iterator[CompilerWarning]:
        whole = _SIZEOF.fullmatch(given[2])
        if whole and whole[1] in given[:2] and self._pointed(whole[1]):
            told = f"`sizeof({whole[1]})` is 8, the bytes of the pointer: write the bytes of the array."
            yield from self._told(place, told)
            return
        for name in filter(_WORD.fullmatch, given[:2]):
            element = self._pointed(name)
            if not element:
                continue
            allocated = re.findall(
                rf"\bcudaMalloc\s*\(\s*(?:\([^()]*\)\s*)?&\s*{name}\s*,([^;]+)\)\s*[;)]", self._words
            )
            if len(allocated) != 1:
                continue
            of_all, copied = (self._written_out("".join(each.split())) for each in (allocated[0], given[2]))
            if _elements(of_all) == _elements(copied) and ("sizeof" in of_all) != ("sizeof" in copied):
                counts = f"this {what}" if "sizeof" in of_all else f"`cudaMalloc` of {name}"
                size = given[2] if "sizeof" in of_all else allocated[0].strip()
                told = f"{counts} counts bytes, and its size {size} has no sizeof."
                yield from self._told(place, told)
                return

    def _written_out(self, size: str) -> str:
        """Return a size, or the bytes that its variable is set to once."""
        if not size.isidentifier():
            return size
        values = re.findall(rf"(?<![\w.]){size} ?=(?!=) ?([^;,]{{1,100}})[;,]", self._words)
        return "".join(values[0].split()) if len(values) == 1 and "sizeof" in values[0] else size

    def _pointed(self, name: str) -> int | None:
        """Return the bytes of an element of a pointer; None if it is none, or its element has one byte."""
        found = re.findall(_POINTER.format(name), self._words)
        element = element_of(self.text, f"{found[0]} *") if len(found) == 1 and f"*{name}[" not in self._words else None
        return element.size if element and element.size > 1 else None

    @cached_property
    def _single(self) -> frozenset[str]:
        """The names of `_allocated` that are no arrays of pointers anywhere."""
        return self._allocated - {*re.findall(r"\* ?(\w+) ?\[", self._words)}

    @cached_property
    def _allocated(self) -> frozenset[str]:
        """The names in whose address cudaMalloc writes."""
        return frozenset(re.findall(r"\bcudaMalloc ?\([^;]{0,40}?& ?(\w+) ?,", self._words))

    @cached_property
    def _sides(self) -> dict[str, str | None]:
        return {}

    def _side(self, name: str) -> str | None:
        """Return where the one array of this name lies: "host", "device", or None if that is not certain."""
        if name not in self._sides:
            self._sides[name] = self._find_side(name) if _WORD.fullmatch(name) else None
        return self._sides[name]

    def _find_side(self, name: str) -> str | None:
        if len(re.findall(rf"(?:\w ?[*&] ?|, ?\* ?|\w ){name} ?(?=[=;,)\[])", self._words)) > 1:
            return None  # perhaps several of this name
        host = re.search(_OF_HOST.format(name), self._words) is not None
        device = re.search(_OF_GPU.format(name), self._words) is not None
        plain = name in self._allocated and not re.search(_OF_BOTH.format(name), self._words)
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

    @cached_property
    def _values(self) -> dict[str, int | None]:
        return {}

    def _value(self, name: str, depth: int) -> int | None:
        """Return the value of a macro or of a variable that is set once."""
        if name not in self._values:
            self._values[name] = self._find_value(name, depth)
        return self._values[name]

    def _find_value(self, name: str, depth: int) -> int | None:
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


_KINDS = (_Host.calls, _Host.words, _Host.launches, _Host.allocations, _Host.copies, _Host.arrays, _Host.symbols)


@lru_cache(maxsize=1)
def runtime_names() -> frozenset[str]:
    """Return the names of the runtime's functions and constants, from its headers."""
    headers = ("cuda_runtime_api.h", "driver_types.h", "cuda_runtime.h")
    paths = [Path(folder) / each for folder in include_folders() for each in headers]
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in paths if path.is_file())
    return frozenset(name for text in texts for name in re.findall(r"\bcuda[A-Z]\w+", text))


def _elements(size: str) -> str:
    """Return the number of elements in a size in bytes."""
    found = _FACTOR.match(size)
    made = (found[1] or found[2]) if found else size
    return made[1:-1] if re.fullmatch(r"\([^()]*\)", made) else made


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"

"""A whole .cu file, as it was written for nvcc, becomes what the device compiler takes: the host's part is blanked.

Lines keep their numbers. Host functions go at once, for they are known by their lack of `__device__`; types and
constants stay, as kernels use them, and go one by one where they do not compile because of something of the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from engine.compile.includes import check_includes
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, Compiled, compiled_here, include_folders
from engine.lab.top_level import Declaration, blanked, declarations, directives, members
from engine.records import CompileError, Source

_OF_DEVICE = frozenset(("__global__", "__device__", "__constant__", "__managed__", "__shared__"))
_IN_LAYOUT = frozenset(("virtual", "override", "final"))  # an object has room for what these are called by
_CONSTANT = frozenset(("const", "constexpr", "static_assert", "concept"))
# Headers that hold something for kernels. Any other in angle brackets is the host's: NVRTC has what a kernel can use.
_FOR_KERNELS = re.compile(
    r"(?:cooperative_groups|cuda/|cub/|thrust/(?!host_vector|device_vector)|cuda_(?:fp|bf|pipeline|awbarrier)|cuComplex|"
    r"math_constants|helper_math\.h|cufft(?:Xt)?\.h|mma\.h|curand_(?!host)|nv/|crt/mma|(?:std(?:io|lib|int|def|bool)|assert|string|limits|float|math)\.h$|"
    r"c(?:stdio|stdlib|assert|string|stddef|stdint|limits|float|math)$)"
)
_LIBRARIES = ("cub", "thrust")  # seconds to compile, and most of it is for the host
_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")")
_OF_SAMPLES = re.compile(
    r"(?:.*/)?(?:helper_(?!math)\w+|cuda_runtime\w*|device_launch_parameters|cuda|cuda_profiler_api)\.h"
)
# What nvcc includes or declares by itself and kernels use.
HEAD = (
    "#include <cstdint>\n#include <climits>\n#include <cfloat>\n#include <cmath>\n"
    "typedef unsigned char uchar;\ntypedef unsigned short ushort;\n"
    "typedef unsigned int uint;\ntypedef unsigned long ulong;\n"
    "typedef unsigned long long CUtexObject;\ntypedef unsigned long long CUsurfObject;\n"
)
_OWN = re.compile(r"\.(?:h|hh|hpp|cuh|cu|inl)$")
# Member functions of a struct need no __device__; what nvcc knows on Linux; and what it takes with a warning.
_OPTIONS = ("-default-device", "-D__linux__", "-Dregister=")
_GLUED = re.compile(r'\bextern[ \t]("C(?:\+\+)?")(?=\w)')  # as if it were a literal with a suffix
_MOST_BLANKED = 40
_WARNING = re.compile(r"\((\d+)\): warning(?: #[\w-]+)?: (.+)$", re.MULTILINE)
_CPP = frozenset(("struct", "class", "union", "enum", "typedef", "using", "template", "typename", "const", "constexpr",
                  "static", "inline", "namespace", "std", "int", "float", "double", "char", "void"))  # fmt: skip


def device_part(text: str) -> str:
    """`text` without host functions, host variables and host headers."""
    text = _GLUED.sub(r"extern\1 ", text)
    for one in declarations(text):
        if not _kept(one):
            text = blanked(text, one.start, one.end)
    for start, end in directives(text):
        found = _INCLUDE.match(text, start)
        if found is not None and not _included(found[1], found[2], text):
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def _included(angled: str | None, quoted: str | None, text: str) -> bool:
    """Whether a header is for kernels; one of CUB's or Thrust's only where what is left of the text names them."""
    name = angled or quoted or ""
    library = name.partition("/")[0]
    if library in _LIBRARIES and not re.search(rf"\b{library}\b\s*::", text):
        return False
    return not _OF_SAMPLES.fullmatch(name) and (angled is None or _FOR_KERNELS.match(name) is not None)


def _kept(one: Declaration) -> bool:
    words = set(one.words)
    if words & _OF_DEVICE:
        return True
    if one.kind == "function":
        return bool(words & {"constexpr", "static_assert"}) and "__host__" not in words
    return one.kind == "type" or bool(words & _CONSTANT)


def without_own_headers(text: str) -> tuple[str, dict[int, str]]:
    """`text` without the headers that lie beside the file where it was written, and their names by line.

    They are nowhere here; as a rule they hold macros that check the host's calls. Nothing is read of them: a name that
    is no header's, or an absolute path, stays, to be refused.
    """
    passed: dict[int, str] = {}
    for start, end in directives(text):
        found = _INCLUDE.match(text, start)
        name = found[2] if found is not None else None
        if name and _OWN.search(name) and not name.startswith(("/", "\\")) and not _here(name):
            if not _OF_SAMPLES.fullmatch(name):
                passed[text.count("\n", 0, start) + 1] = name
            text = text[:start] + " " * (end - start) + text[end:]
    return text, passed


def _here(name: str) -> bool:
    return ".." not in name and any((Path(folder) / name).is_file() for folder in include_folders())


def compiled_for_device(name: str, text: str, names: tuple[str, ...] = ()) -> tuple[Source, Compiled]:
    """The source that compiles, and what came of it. CompileError: the first error that is not the host's.

    `names`: the C++ names of the kernels that are wanted.
    """
    text, passed = without_own_headers(text)
    check_includes(Source(name, text, ""), include_folders())
    source = Source(name, device_part(text), "", head=HEAD, names=names, options=_OPTIONS, foreign=True)
    dropped: dict[str, CompileError] = {}  # what was declared there -> why it went
    for _ in range(_MOST_BLANKED):
        try:
            return source, compiled_here(source, EMULATED_ARCHITECTURE)
        except CompileError as error:
            of_host = None if error.line is None else _of_host(source.text, error.line)
            if of_host is None:
                missed = _missed(source.text, error, dropped)
                raise _lacking(name, passed, missed) if passed else missed from None
            dropped |= {word: error for word in of_host.words if word not in _CPP}
            source = replace(source, text=blanked(source.text, of_host.start, of_host.end))
    raise next(iter(dropped.values()))


def _lacking(name: str, passed: dict[int, str], error: CompileError) -> CompileError:
    """What does not compile without a header of the file's own."""
    line, header = next(iter(passed.items()))
    sentence = f'{name} does not compile: line {line}: "{header}" is not here, and without it '
    sentence += str(error).removeprefix(f"{name} does not compile: ")
    return CompileError(sentence, error.log, error.line)


def _missed(text: str, error: CompileError, dropped: dict[str, CompileError]) -> CompileError:
    """`error`, or why something went that stands in its line and was no affair of the host."""
    line = text.splitlines()[error.line - 1] if error.line else ""
    return next((dropped[word] for word in re.findall(r"\w+", line) if word in dropped), error)


def warnings_of(source: Source, log: str) -> tuple[str, ...]:
    """The compiler's warnings in the file's own functions for the device, a sentence each."""
    own = [(int(line), what) for line, what in _WARNING.findall(log) if f"{source.name}({line})" in log]
    return tuple(f"line {line}: {what.rstrip('.')}." for line, what in own if _of_host(source.text, line) is None)


def _of_host(text: str, line: int) -> Declaration | None:
    """The declaration at a line that may be the host's: it does not say that it is the device's. Of a type, the
    function there alone, if the type stays the same without it."""
    for one in _at(declarations(text), text, line):
        if not set(one.words) & _OF_DEVICE and "__global__" not in text[one.start : one.end]:
            own = _at(members(text, one), text, line) if one.kind == "type" else ()
            return next((each for each in own if _left_out(each)), one)
    return None


def _left_out(member: Declaration) -> bool:
    return member.kind == "function" and member.body and not set(member.words) & (_OF_DEVICE | _IN_LAYOUT)


def _at(found: Iterable[Declaration], text: str, line: int) -> Iterator[Declaration]:
    """Those that stand, or partly, in a line."""
    for one in found:
        first, last = (text.count("\n", 0, place) + 1 for place in (one.start, one.end))
        if first <= line <= last:
            yield one

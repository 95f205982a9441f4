"""A whole .cu file, as it was written for nvcc, becomes what the device compiler takes: the host's part is blanked.

Lines keep their numbers. Host functions go at once, for they are known by their lack of `__device__`; types and
constants stay, as kernels use them, and go one by one where they do not compile because of something of the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, Compiled, check_includes, compiled_here, include_folders
from engine.lab.signatures import bare
from engine.lab.top_level import Declaration, blanked, declarations, directives, members
from engine.records import CompileError, Source

_OF_STD = re.compile(r'namespace "std" has no (?:actual )?member "(\w+)"')
_NAME = re.compile(r'(?:identifier|incomplete type) "(\w+)" is (?:undefined|not allowed)')
_STD = (
    ("limits", r"numeric_limits"),
    ("algorithm", r"min|max|clamp"),
    ("utility", r"pair|make_pair|swap|exchange|declval|(?:make_)?i\w+_sequence(?:_for)?|as_const|byte"),
    ("tuple", r"(?:make_)?tuple\w*|get|tie|apply|ignore"),
    ("array", r"array"),
    ("complex", r"complex|norm|conj|polar|real|imag|arg"),
    ("functional", r"plus|minus|multiplies|divides|modulus|negate|less\w*|greater\w*|(?:not_)?equal_to|logical_\w+"),
    ("type_traits", r"is_\w+|conditional\w*|enable_if\w*|remove_\w+|add_\w+|make_(?:un)?signed\w*|decay\w*|void_t|"
     r"integral_constant|bool_constant|true_type|false_type|underlying_type\w*|invoke_result\w*|common_type\w*"),
)  # fmt: skip
_NUMBERS = (
    ("cuda_fp16.h", r"(?:__)?half2?|__(?:float|u?int|u?short|lows?|highs?)2?half\w*|__half\w+|__h[a-z]+2?"),
    ("cuda_bf16.h", r"(?:__)?nv_bfloat162?|__\w*bfloat16\w*"),
    ("cuComplex.h", r"cu(?:Float|Double)?Complex|make_cu\w*Complex|cuC(?:add|mul|sub|div|abs|fma|real|imag|onj)f?"),
)  # fmt: skip


def missed_name(sentence: str) -> str | None:
    """The name that an error of the compiler's says is unknown."""
    found = _NAME.search(sentence)
    return found[1] if found else None


def header_for(sentence: str, passed_over: bool) -> str | None:
    """The header that declares what the error lacks. `passed_over`: some headers of the file's are not here."""
    of_std, name = _OF_STD.search(sentence), missed_name(sentence)
    table, wanted = (_STD, of_std[1]) if of_std else (_NUMBERS if passed_over else (), name or "")
    return next((header for header, names in table if re.fullmatch(names, wanted)), None)


_OF_DEVICE = frozenset(("__global__", "__device__", "__constant__", "__managed__", "__shared__"))
_IN_LAYOUT = frozenset(("virtual", "override", "final"))  # an object has room for what these are called by
_CONSTANT = frozenset(("const", "constexpr", "static_assert", "concept"))
# Headers that hold something for kernels. Any other in angle brackets is the host's: NVRTC has what a kernel can use,
# and does not take Thrust's algorithms.
_FOR_KERNELS = re.compile(
    r"(?:cooperative_groups|cuda/|cub/|thrust/(?:complex|functional|pair|tuple|iterator/)|"
    r"cuda_(?:fp|bf|pipeline|awbarrier)|cuComplex|math_constants|helper_math\.h|cufft(?:Xt)?\.h|mma\.h|curand_(?!host)|nv/|crt/mma|(?:std(?:io|lib|int|def|bool)|assert|string|limits|float|math)\.h$|"
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
_LESS = ("--Ofast-compile=mid",)  # a fifth of the time, where loops unroll to a megabyte
_GLUED = re.compile(r'\bextern[ \t]("C(?:\+\+)?")(?=\w)')  # as if it were a literal with a suffix
_MOST_BLANKED = 40
# What nvcc takes and nobody here can compile: such a kernel is refused alone.
NOT_HERE = re.compile(r"cannot be compiled here|a texture reference")
_SAYS_ENOUGH = re.compile(rf"{NOT_HERE.pattern}|since Volta|#error directive")
# A header of somebody's library: <cute/tensor.hpp>.
_LIBRARY = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<((?!cuda/|cub/|thrust/|cooperative_groups/|sys/)\w+/[^>\n]+)>", re.MULTILINE
)
_ANY_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)
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


@dataclass(frozen=True)
class DevicePart:
    """What compiles of a file. `source.names`: the kernels that are left of those that were wanted; `refused`: the
    others, which nvcc would take and which cannot be compiled here, each with a sentence."""

    source: Source
    compiled: Compiled
    refused: tuple[tuple[str, str], ...] = ()


def compiled_for_device(name: str, text: str, names: tuple[str, ...] = (), hurried: bool = False) -> DevicePart:
    """The file's part for the device. CompileError: the first error that is not the host's, unless only some of the
    kernels cannot be compiled here.

    `names`: the C++ names of the kernels that are wanted. `hurried`: with less optimisation.
    """
    whole, (text, passed) = text, without_own_headers(text)
    check_includes(Source(name, text, ""), include_folders())
    source = Source(name, device_part(text), "", head=HEAD, names=names, options=_OPTIONS, foreign=True)
    source = replace(source, options=(*_OPTIONS, *(_LESS if hurried else ())))
    dropped: dict[str, CompileError] = {}  # what was declared there -> why it went
    refused: dict[str, CompileError] = {}
    for _ in range(_MOST_BLANKED):
        try:
            if any("<" in each for each in names):  # NVRTC was seen to crash over an instance of what has errors
                compiled_here(replace(source, names=()), EMULATED_ARCHITECTURE)
            made = compiled_here(source, EMULATED_ARCHITECTURE)
            return DevicePart(source, made, tuple((each, str(error)) for each, error in refused.items()))
        except CompileError as failed:
            header = header_for(str(failed), _passed_over(whole, source.text))
            if header and f"<{header}>" not in source.head:
                source = replace(source, head=f"{source.head}#include <{header}>\n")
                continue
            gone = None if failed.line is None else _of_host(source.text, failed.line)
            if gone is not None:
                dropped |= {word: failed for word in gone.words if word not in _CPP}
            else:
                error = _missed(source.text, failed, dropped, whole)
                gone = _of_device(source.text, failed.line) if NOT_HERE.search(str(error)) else None
                lost = [each for each in source.names if gone and bare(each) in gone.words]
                if gone is None or len(lost) == len(source.names):
                    raise _lacking(whole, passed, error) from None
                refused |= dict.fromkeys(lost, error)
                dropped |= {} if lost else {_called(source.text, gone): error}
                source = replace(source, names=tuple(each for each in source.names if each not in lost))
            source = replace(source, text=_without(source.text, gone))
    raise next(iter(dropped.values()))


def _passed_over(whole: str, text: str) -> bool:
    """Whether the text has lost a header that the whole file includes."""
    return len(_ANY_INCLUDE.findall(text)) < len(_ANY_INCLUDE.findall(whole))


def _lacking(whole: str, passed: dict[int, str], error: CompileError) -> CompileError:
    """`error`, or what does not compile without a header of the file's own, or of a library that is not here."""
    of_library = _LIBRARY.search(whole)
    if _SAYS_ENOUGH.search(str(error)) or not (passed or of_library):
        return error
    name, _, what = str(error).rstrip(".").partition(" does not compile: ")
    if of_library and not passed:
        line, header, way_out = whole.count("\n", 0, of_library.start()) + 1, of_library[1], "use CUDA's own"
    else:
        (line, header), way_out = next(iter(passed.items())), "paste its text in its place"
    sentence = f'{name} does not compile: line {line}: "{header}" is not here, and without it {what}; {way_out}.'
    return CompileError(sentence, error.log, error.line)


def _missed(text: str, error: CompileError, dropped: dict[str, CompileError], whole: str) -> CompileError:
    """`error`, or why something went that stands in its line and was no affair of the host, or what it is if it is a
    texture reference."""
    line = text.splitlines()[error.line - 1] if error.line else ""
    cause = next((dropped[word] for word in re.findall(r"\w+", line) if word in dropped), None)
    name = missed_name(str(error))
    if cause is None and name and re.search(rf"\btexture\s*<[^;]{{1,200}}>\s*{name}\b", whole):
        sentence = str(error).rstrip(".") + ": a texture reference, which CUDA 12 ended; read an array in its place."
        return CompileError(sentence, error.log, error.line)
    return cause or error


def _of_device(text: str, line: int | None) -> Declaration | None:
    """The function for the device at a line."""
    found = _at(declarations(text), text, line) if line is not None else ()
    return next((one for one in found if one.called and set(one.words) & {"__global__", "__device__"}), None)


def _without(text: str, one: Declaration) -> str:
    """The text without a declaration, and of a function without what only announces it."""
    name = _called(text, one) if one.called and one.body else ""
    text = blanked(text, one.start, one.end)
    for each in declarations(text) if name else ():
        if each.called and not each.body and _called(text, each) == name:
            text = blanked(text, each.start, each.end)
    return text


def _called(text: str, one: Declaration) -> str:
    """The name of a function."""
    found = re.search(r"(\w+)\s*\(", text[one.start : one.end])
    return found[1] if found else ""


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

"""Turn a .cu file written for nvcc into device code: blank its host part.

Lines keep their numbers. Host functions are removed first: they lack `__device__`. Types and constants stay, because
kernels use them; one that does not compile because of host code is removed alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engine.compile.errors import messages
from engine.compile.includes import check_includes
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, Compiled, compile_here, include_folders
from engine.lab.error_reasons import LACKS, OF_DEVICE, USES_STD, better_reason, header_for
from engine.lab.marks import CompilerWarning
from engine.lab.signatures import bare, function_name
from engine.lab.top_level import (
    EXPLICIT,
    Declaration,
    blanked,
    body_start,
    declarations,
    directives,
    members,
    open_branch,
    template_parameters,
    uncommented,
)
from engine.records import CompileError, Source
from engine.records.words import source_lines

_IN_LAYOUT = frozenset(("virtual", "override", "final"))  # a class with these member names
_CONSTANT = frozenset(("const", "constexpr", "static_assert", "concept"))
# Headers with content for kernels. Any other header in angle brackets is host code: NVRTC has everything that a
# kernel can use, and does not compile Thrust's algorithms.
_FOR_KERNELS = re.compile(
    r"(?:cooperative_groups|cuda/|cub/|thrust/(?:complex|functional|pair|tuple|iterator/)|"
    r"cuda_(?:fp|bf|pipeline|awbarrier)|cuComplex|math_constants|helper_math\.h|cufft(?:Xt)?\.h|mma\.h|curand_(?!host)|nv/|crt/mma|(?:std(?:io|lib|int|def|bool)|assert|string|limits|float|math)\.h$|"
    r"c(?:stdio|stdlib|assert|string|stddef|stdint|limits|float|math)$)"
)
_LIBRARIES = ("cub", "thrust")  # takes seconds to compile, mostly for the host
_INCLUDE = re.compile(r"[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|\"([^\"\n]+)\")")
_OF_SAMPLES = re.compile(
    r"(?:.*/)?(?:helper_(?!math)\w+|cuda_runtime\w*|device_launch_parameters|cuda|cuda_profiler_api)\.h"
)
# NVRTC names an unnamed namespace by a function of the file, or without one by the process that compiles it.
_HEAD = 'extern "C" __device__ void _of_the_file() {}\n'
_OWN = re.compile(r"\.(?:h|hh|hpp|hxx|cuh|cu|inl|c|cc|cpp|cxx)$")
# Member functions of a struct need no __device__; nvcc's predefined macros on Linux; errors that nvcc only warns of.
_OPTIONS = (
    "-default-device", "--device-int128", "-D__linux__", "-D__unix__", "-D__NVCC__", "-Dregister=", "-D__asm__=asm",
    "-D__const__=const", "-D__const=const", "-D__signed__=signed", "-D__extension__=",
)  # fmt: skip
_NEWER = ("--std=c++20",)  # nvcc takes some of C++20 without this option
_CPP_20 = re.compile(
    r"\b(?:concept|requires|consteval|constinit)\b|<=>|\]\s*<\s*(?:typename|class|int)\b|[{,]\s*\.\w+\s*[={]|"
    r"[(,]\s*(?:const\s+)?auto\s*[&*]*\s*\w+\s*[,)]"
)
_LESS = ("--Ofast-compile=mid",)  # a fifth of the time if loops unroll to a megabyte
_GLUED = re.compile(r'\bextern[ \t]("C(?:\+\+)?")(?=\w)')  # like a literal with a suffix
_OF_LIBRARY = re.compile(r"\b__declspec[ \t]*\([ \t]*dll(?:im|ex)port[ \t]*\)")  # of Windows
_OF_INSTANCE = re.compile(r"__nv_name_map\((\d+)\): error: ([^\n]+)")
_UNSEEN_SPACE = 'error: name followed by "::" must be'
_UNNAMED = re.compile(r'__nv_name_map\(\d+\): error: .*?"(\w+)" (?:is undefined|must)')
_MOST_BLANKED = 40
_NOT_OF_STD = re.compile(r'\((\d+)\): error: (namespace "std" has no (?:actual )?member (?:class )?"\w+")')
_INCOMPLETE = re.compile(r'incomplete type "\w+" \(aka "(\w+)"\)')  # a type that CUDA's own headers only declare
_DECLARED_ONLY = re.compile(r"\b(__nv_bfloat162?|__half2?)\b")
_COMPUTED = "dynamic initialization is not supported"
_TWICE = "has already been defined"
_ASSERTED = "static assertion failed"
OVERLOADED = re.compile(r'cannot determine which instance of overloaded function "(?:\w+::)*(\w+)"')
# Errors of code that nvcc compiles and NVRTC does not: only the kernel is refused.
NOT_HERE = re.compile(r"cannot be compiled here|a texture or surface reference")
_SAYS_ENOUGH = re.compile(
    rf"{NOT_HERE.pattern}|since Volta|#error directive|CUDA 13|on the host's side|C\+\+ library|overloaded function"
)
# A library's header, such as <cute/tensor.hpp> or <raylib.h>, and those that bring nothing that a kernel needs.
_LIBRARY = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<([\w.+-]+(?:/[^>\n]+|\.(?:h|hh|hpp|hxx|cuh|inl)))>", re.MULTILINE)
_USUAL_HEADER = re.compile(
    r"(?:cuda|cub|thrust|cooperative_groups|sys|nv)/.*|(?:cuda|cublas|curand|cufft|cusolver|cusparse|nv|npp|sm_|host_|helper_|device_|"
    r"vector_|driver_|texture_|surface_|math_|builtin_|channel_|common_functions|x?mm?intrin|[a-z]mmintrin|immintrin|x86intrin).*|"
    r"(?:assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|std\w+|strings?|tgmath|threads|time|"
    r"uchar|wchar|wctype|unistd|pthread|getopt|fcntl|dirent|dlfcn|libgen|sched|semaphore|poll|netdb|termios|regex|"
    r"alloca|malloc|memory|values|error|argp|execinfo|windows|io|conio|direct|process|tchar|intrin|omp|mpi)\.h"
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_MEANT = re.compile(r"; perhaps `\w+` was meant")
_MOST_HEADERS = 3  # that a sentence names
# The headers of C and C++, and the runtime's, bring no types of numbers.
_MAY_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include\b(?![ \t]*[<\"](?:\w+|(?:assert|ctype|errno|float|limits|math|std\w+|string|time|unistd|"
    r"sys/time|cuda|cuda_runtime(?:_api)?|device_launch_parameters)\.h)[>\"])",
    re.MULTILINE,
)
_CPP = frozenset(("struct", "class", "union", "enum", "typedef", "using", "template", "typename", "const", "constexpr",
                  "static", "inline", "namespace", "std", "int", "float", "double", "char", "void"))  # fmt: skip


def device_part(text: str) -> str:
    """Return `text` without host functions, host variables and host headers."""
    text = _OF_LIBRARY.sub(lambda found: " " * len(found[0]), _GLUED.sub(r"extern\1 ", text))
    for one in declarations(text):
        if not _kept(one):
            text = blanked(text, one.start, one.end)
    for start, end in directives(text):
        found = _INCLUDE.match(text, start)
        if found is not None and not _included(found[1], found[2], text):
            text = text[:start] + " " * (end - start) + text[end:]
    return text


def alone(text: str, kernel: str) -> str:
    """Return `text` without the bodies of the other kernels, and without explicit instances of any."""
    found = [one for one in declarations(text) if "__global__" in one.words and one.called]
    named = {function_name(text, one) for one in found}
    for one in found if kernel in named else ():
        if EXPLICIT.match(text, one.start):
            text = blanked(text, one.start, one.end)
        elif one.body and function_name(text, one) != kernel:
            opened = body_start(text, one)
            if text[opened] == "{":
                text = blanked(f"{text[:opened]};{text[opened + 1 :]}", opened + 1, one.end)
            else:  # a macro makes the whole kernel
                text = blanked(text, one.start, one.end)
    return text


def _included(angled: str | None, quoted: str | None, text: str) -> bool:
    """Return whether a header is for kernels; CUB's and Thrust's only if the remaining text names them."""
    if quoted and re.fullmatch(r"\w+", quoted):  # a header of the C++ library, as "vector"
        angled = quoted
    name = angled or quoted or ""
    library = name.partition("/")[0]
    if library in _LIBRARIES and not re.search(rf"\b{library}\b\s*::", text):
        return False
    return not _OF_SAMPLES.fullmatch(name) and (angled is None or _FOR_KERNELS.match(name) is not None)


def _kept(one: Declaration) -> bool:
    words = set(one.words)
    if words & OF_DEVICE:
        return True
    if one.kind == "function":
        return bool(words & {"constexpr", "consteval", "static_assert"}) and "__host__" not in words
    return one.kind == "type" or bool(words & _CONSTANT)


def without_own_headers(text: str) -> tuple[str, dict[int, str]]:
    """Return `text` without the headers that lie beside the original file, and their names by line.

    They are not available here; most hold macros that check host calls. Nothing is read: a name without the ending of
    a header or of a source, or an absolute path, stays and is refused.
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
    try:
        return ".." not in name and any((Path(folder) / name).is_file() for folder in include_folders())
    except OSError:  # a name that no file can have
        return False


@dataclass(frozen=True)
class DevicePart:
    """The part of a file that compiles. `source.names`: the wanted kernels that are left; `refused`: kernels that only
    nvcc compiles, each with a sentence; `left_out`: sentences on functions that nobody calls."""

    source: Source
    compiled: Compiled
    refused: tuple[tuple[str, str], ...] = ()
    left_out: tuple[CompilerWarning, ...] = ()


def compiled_for_device(name: str, text: str, names: tuple[str, ...] = (), hurried: bool = False) -> DevicePart:
    """Return the file's device part. CompileError: the first error that is not host code's, unless it concerns only
    some kernels.

    `names`: the C++ names of the wanted kernels. `hurried`: with less optimisation.
    """
    whole, (text, passed) = text, without_own_headers(text)
    check_includes(Source(name, text, ""))
    source = Source(name, device_part(text), "", head=_HEAD, names=names, options=_OPTIONS, foreign=True)
    newer = _NEWER if _CPP_20.search(uncommented(text)) else ()
    source = replace(source, options=(*_OPTIONS, *newer, *(_LESS if hurried else ())))
    left_out: list[CompilerWarning] = []
    dropped: dict[str, CompileError] = {}  # removed declaration -> reason
    refused: dict[str, CompileError] = {}
    unopened: CompileError | None = None  # of the first header that is not here
    for _ in range(_MOST_BLANKED):
        try:
            if any("<" in each for each in names):  # NVRTC was seen to crash over an instance of code with errors
                compile_here(replace(source, names=()), EMULATED_ARCHITECTURE)
            made = compile_here(source, EMULATED_ARCHITECTURE)
            said = tuple((each, str(error)) for each, error in refused.items())
            return DevicePart(source, made, said, tuple(left_out))
        except CompileError as failed:
            latest = failed
            if "C++20" in str(failed) and _NEWER[0] not in source.options:
                source = replace(source, options=(*source.options, *_NEWER))
                continue
            mended = _as_nvcc(source.text, failed)
            if mended != source.text:
                source = replace(source, text=mended)
                continue
            unseen = _unseen(source, failed, whole)
            if unseen is not None:
                refused |= unseen
                source = replace(source, names=tuple(each for each in source.names if each not in unseen))
                if not source.names:
                    raise next(iter(unseen.values())) from None
                continue
            without, words = _without_host_library(source.text, failed)
            if without != source.text:  # many at once, because a compilation with such headers takes a second
                source = replace(source, text=without)
                dropped |= dict.fromkeys(words, failed)
                continue
            incomplete = _INCOMPLETE.search(failed.log)
            if not incomplete and "complete object type" in str(failed):
                incomplete = _DECLARED_ONLY.search(source.text)
            what = f'identifier "{incomplete[1]}" is undefined' if incomplete else str(failed)
            header = header_for(what, _passed_over(whole, source.text), USES_STD.search(whole) is not None)
            if header and f"<{header}>" not in source.head:
                source = replace(source, head=f"{source.head}#include <{header}>\n")
                continue
            if _ASSERTED in str(failed):
                raise  # a static_assert holds for nvcc's host code, too
            without, header = _without_unopened(source.text, failed)
            if header:  # the wanted kernels may need none of it
                unopened = unopened or failed
                left_out.append(missing_header(header, failed.line))
                source = replace(source, text=without)
                continue
            if (used := _used(source, failed, left_out, whole)) != source.text:
                source = replace(source, text=used)
                continue
            gone = None if failed.line is None else _of_host(source.text, failed.line)
            if gone is not None:
                dropped |= dict.fromkeys(_names(source.text, gone), failed)
            else:
                error = better_reason(source.text, failed, dropped, whole)
                gone = _of_device(source.text, failed.line, str(failed))
                if not NOT_HERE.search(str(error)):
                    gone = None
                lost = [each for each in source.names if gone and bare(each) in gone.words]
                if gone is None or len(lost) == len(source.names):
                    if unopened and LACKS.search(str(error)):
                        raise unopened from None
                    raise _lacking(whole, passed, error, source) from None
                refused |= dict.fromkeys(lost, error)
                dropped |= {} if lost else {function_name(source.text, gone): error}
                source = replace(source, names=tuple(each for each in source.names if each not in lost))
            source = replace(source, text=_without(source.text, gone))
    raise next(iter(dropped.values()), latest)


def _as_nvcc(text: str, error: CompileError) -> str:
    """Return the text with what nvcc takes and NVRTC does not in another form; the same text if the error is none of
    these.

    A constant that is computed from others becomes a `constexpr`, a function that stands twice in the same words
    stands once, and of several kernels of one name the first one stays.
    """
    overloaded = OVERLOADED.search(str(error))
    if overloaded:
        alike = [one for one in declarations(text) if "__global__" in one.words and one.called]
        alike = [one for one in alike if function_name(text, one) == overloaded[1]]
        kept = next((one for one in alike if one.body), alike[0])
        for one in alike:
            text = text if one is kept else blanked(text, one.start, one.end)
    elif error.line and _TWICE in str(error):
        twice = _of_device(text, error.line)
        words = text[twice.start : twice.end].split() if twice else []
        if twice and any(text[one.start : one.end].split() == words for one in declarations(text[: twice.start])):
            text = blanked(text, twice.start, twice.end)
    elif _COMPUTED in str(error):
        for one in reversed(declarations(text)):
            if one.kind == "variable" and {"const"} < {*one.words} and {"float", "double"} & {*one.words}:
                written = text[one.start : one.end]
                plain = "=" in written and not re.search(r"[*&\[]", written.partition("=")[0])
                made = re.sub(r"\bconst\b", "constexpr", written, count=1) if plain else written
                text = text[: one.start] + made + text[one.end :]
    return text


def _without_host_library(text: str, error: CompileError) -> tuple[str, set[str]]:
    """Return the text without the host's functions and types in whose lines the compiler misses a name of the C++
    library that kernels cannot have, such as a vector or a stream; and their words."""
    words: set[str] = set()
    lines = {int(line) for line, what in _NOT_OF_STD.findall(error.log) if not header_for(what, False)}
    for line in sorted(lines, reverse=True):
        gone = _of_host(text, line) if source_lines(text)[line - 1].strip() else None  # else it is gone already
        if gone is not None:
            words |= _names(text, gone)
            text = _without(text, gone)
    return text, words


def _names(text: str, one: Declaration) -> set[str]:
    """Return the names of a declaration: of a function its own, and no types of its parameters; of an operator all, as
    an error names its operands."""
    name = function_name(text, one) if one.kind == "function" and "operator" not in one.words else ""
    return {name} if name else {*one.words} - _CPP


def missing_header(name: str, line: int | None) -> CompilerWarning:
    """Return the warning about a header that is not here."""
    return CompilerWarning(f'"{name}" is missing and was skipped.', line)


def _without_unopened(text: str, error: CompileError) -> tuple[str, str]:
    """Return the text without the header in angle brackets that the compiler cannot open, and its name; "" for another
    error."""
    for start, end in directives(text) if "cannot open source file" in str(error) else ():
        found = _INCLUDE.match(text, start)
        if found and found[1] and text.count("\n", 0, start) + 1 == error.line:
            return text[:start] + " " * (end - start) + text[end:], found[1]
    return text, ""


def _own_words(text: str, one: Declaration) -> set[str]:
    """Return the words outside a declaration's braces that are not C++'s, nor parameters of its template."""
    given = {word for each in template_parameters(text, one) for word in _IDENTIFIER.findall(each)}
    return {*one.words} - _CPP - given


def _used(source: Source, error: CompileError, left_out: list[CompilerWarning], whole: str) -> str:
    """Return the text without the types and functions that have an error and that no wanted kernel uses, by itself or
    by way of others. Add a warning about each function of the device."""
    text, every = source.text, declarations(source.text)
    types = {word for one in every if one.kind == "type" for word in _own_words(text, one)}
    made = [
        {name} if one.called and (name := function_name(text, one)) and "operator" not in one.words
        else _own_words(text, one) & types if one.called
        else _own_words(text, one)
        for one in every
    ]  # fmt: skip
    uses: dict[str, list[set[str]]] = {}  # name -> the words of each declaration and macro of that name
    for one, names in zip(every, made, strict=True):
        words = set(_IDENTIFIER.findall(uncommented(text[one.start : one.end])))
        for name in names:
            uses.setdefault(name, []).append(words)
    for words in (set(_IDENTIFIER.findall(text[start:end])) for start, end in directives(text)):
        for name in words:
            uses.setdefault(name, []).append(words)
    kernels = {function_name(text, one) for one in every if "__global__" in one.words}
    reached = {word for each in source.names for word in _IDENTIFIER.findall(each)} or kernels  # with its arguments
    following = [*reached]
    while following:
        more = set[str]().union(*uses.pop(following.pop(), ())) - reached
        reached |= more
        following += more
    logged = (one for one in reversed(messages(source.name, error.log, text)) if one.kind == "error")
    faults = {one.line: one.words for one in logged}
    breaks = [found.start() for found in re.finditer("\n", text)]
    for one, names in zip(every, made, strict=True):
        first, last = (bisect_left(breaks, place) + 1 for place in (one.start, one.end))
        line = next((each for each in sorted(faults) if first <= each <= last), None)
        if line is None or names & reached or one.kind == "variable":
            continue
        if "__device__" in one.words:
            failed = CompileError(f"{source.name} does not compile: line {line}: {faults[line]}.", error.log, line)
            reason = str(better_reason(text, failed, {}, whole)).partition(f": line {line}: ")[2]
            told = f"the function {function_name(text, one)} does not compile and is left out: {reason}"
            left_out.append(CompilerWarning(told, line))
        text = blanked(text, one.start, one.end)
    return text


def _passed_over(whole: str, text: str) -> bool:
    """Return whether the text has lost a header that the whole file includes and that may include others of CUDA."""
    return len(_MAY_INCLUDE.findall(text)) < len(_MAY_INCLUDE.findall(whole))


def _taken(source: Source, lines: Iterable[int]) -> set[int]:
    """Return those of the lines that the preprocessor reaches."""
    text = source.text.split("\n")
    for line in lines:
        text[line - 1] = "#warning"
    try:
        log = compile_here(replace(source, text="\n".join(text), names=()), EMULATED_ARCHITECTURE).warnings
    except CompileError as failed:
        log = failed.log
    own = re.compile(rf"^{re.escape(source.name)}\((\d+)\): warning.*#warning", re.MULTILINE)
    return {int(line) for line in own.findall(log)}


def _lacking(whole: str, passed: dict[int, str], error: CompileError, source: Source) -> CompileError:
    """Return `error` with the headers (the file's own, or a library's) that are not here and may be its reason."""
    if error.line is None and source.names:
        error = _of_arguments(source, error)
    named = {whole.count("\n", 0, found.start()) + 1: found[1] for found in _LIBRARY.finditer(whole)}
    libraries = {line: name for line, name in named.items() if not _USUAL_HEADER.fullmatch(name) and not _here(name)}
    if _SAYS_ENOUGH.search(str(error)) or not (passed or libraries):
        return error
    taken = _taken(source, passed | libraries)
    missing = [(line, header) for line, header in sorted((passed | libraries).items()) if line in taken]
    if not missing:
        return error
    name, _, what = str(error).rstrip(".").partition(" does not compile: ")
    what = _MEANT.sub("", what)  # the name that is near is another one if a header declares this one
    (line, first), *others = missing
    more = [f'"{header}" (line {each})' for each, header in others[: _MOST_HEADERS - 1]]
    more += [f"{len(missing) - _MOST_HEADERS} more"] * (len(missing) > _MOST_HEADERS)
    also = (
        f", nor {'are' if len(others) > 1 else 'is'} {' and '.join([*filter(None, [', '.join(more[:-1])]), more[-1]])}"
        if more
        else ""
    )
    them, their = ("them", "their") if others else ("it", "its")
    way_out = f"paste {their} text in {their} place" if passed else f"paste what the kernel needs of {them}"
    sentence = (
        f'{name} does not compile: line {line}: "{first}" is not here{also}, and perhaps for lack of {them} {what}; '
        f"{way_out}."
    )
    return CompileError(sentence, error.log, error.line)


def _of_arguments(source: Source, error: CompileError) -> CompileError:
    """Return `error`, or the kernel whose template arguments, as the file launches it, the compiler refuses."""
    if (found := _OF_INSTANCE.search(error.log)) is None:
        return error
    wanted = source.names[min(int(found[1]), len(source.names)) - 1]
    sentence = (
        f"{source.name} does not compile: the template arguments with which it launches {bare(wanted)} cannot be read "
        f"from this file alone ({found[2].strip()})."
    )
    return CompileError(sentence, error.log)


def _unseen(source: Source, error: CompileError, whole: str) -> dict[str, CompileError] | None:
    """Return the wanted kernels that the compiler does not see, each with the reason; None: it sees all."""
    names = set(_UNNAMED.findall(error.log)) if error.line is None else set()
    if error.line is None and _UNSEEN_SPACE in error.log:
        names |= {wanted.partition("::")[0] for wanted in source.names if "::" in wanted}
    found: dict[str, CompileError] = {}
    for wanted in source.names if names else ():
        if names & {*re.findall(r"\w+", wanted.partition("<")[0])}:
            named = (one for one in declarations(whole) if one.called and function_name(whole, one) == bare(wanted))
            one = next(named, None)
            branch = open_branch(whole, one.start) if one else None
            if branch is None:
                return None
            line, directive = branch
            sentence = (
                f"{source.name}, line {line}: the kernel {bare(wanted)} is behind `{directive}`, which leaves it out."
            )
            found[wanted] = CompileError(sentence, sentence, line)
    return found or None


def _of_device(text: str, line: int | None, said: str = "") -> Declaration | None:
    """Return the device function at a line; of several there, the first that has what the error `said` names."""
    found = _at(declarations(text), text, line) if line is not None else ()
    own = [one for one in found if one.called and set(one.words) & {"__global__", "__device__"}]
    named = "<<<" if "device-side kernel launch" in said else next(iter(re.findall(r'"(\w+)"', said)), "")
    return next((one for one in own if named in text[one.start : one.end]), next(iter(own), None))


def _without(text: str, one: Declaration) -> str:
    """Return the text without a declaration, and without a function's forward declarations."""
    name = function_name(text, one) if one.called and one.body else ""
    text = blanked(text, one.start, one.end)
    for each in declarations(text) if name else ():
        if each.called and not each.body and function_name(text, each) == name:
            text = blanked(text, each.start, each.end)
    return text


def warnings_of(source: Source, log: str) -> tuple[CompilerWarning, ...]:
    """Return the compiler's warnings in the file's own device functions, a sentence each."""
    own = [one for one in messages(source.name, log, source.text) if one.kind == "warning"]
    return tuple(CompilerWarning(f"{one.words}.", one.line) for one in own if _of_host(source.text, one.line) is None)


def _of_host(text: str, line: int) -> Declaration | None:
    """Return the declaration at a line that can be host code, because nothing marks it as device code.

    Of a type, return only the function there if the type stays the same without it.
    """
    for one in _at(declarations(text), text, line):
        if not set(one.words) & OF_DEVICE and "__global__" not in text[one.start : one.end]:
            own = _at(members(text, one), text, line) if one.kind == "type" else ()
            return next((each for each in own if _left_out(each)), one)
    return None


def _left_out(member: Declaration) -> bool:
    return member.kind == "function" and not set(member.words) & (OF_DEVICE | _IN_LAYOUT)


def _at(found: Iterable[Declaration], text: str, line: int) -> Iterator[Declaration]:
    """Return the declarations that overlap a line."""
    for one in found:
        first, last = (text.count("\n", 0, place) + 1 for place in (one.start, one.end))
        if first <= line <= last:
            yield one

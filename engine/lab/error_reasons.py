"""The reasons behind compiler errors of a pasted file: what kernels lack, and what takes its place.

better_reason(text, error, dropped, whole) -> CompileError("mine.cu does not compile: line 3: vector belongs to ...")
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from unicodedata import name as character_name

from engine.lab.signatures import function_name
from engine.lab.top_level import declarations, uncommented
from engine.records import CompileError, NotRunnable
from engine.records.words import source_lines

OF_DEVICE = frozenset(("__global__", "__device__", "__constant__", "__managed__", "__shared__"))
LACKS = re.compile(r"is undefined|has no (?:actual )?member|not a template|incomplete type|not allowed|followed by")
_VALUES = re.compile(r"=[^,;]*")  # of variables
USES_STD = re.compile(r"\busing\s+namespace\s+std\s*;")
_OF_STD = re.compile(r'namespace "std" has no (?:actual )?member (?:class )?"(\w+)"')
_NAME = re.compile(r'(?:identifier|incomplete type) "(\w+)" is (?:undefined|not allowed)')
_STD = (
    ("limits", r"numeric_limits"),
    ("algorithm", r"min|max|clamp"),
    ("utility", r"pair|make_pair|swap|exchange|declval|(?:make_)?i\w+_sequence(?:_for)?|as_const|byte"),
    ("tuple", r"(?:make_)?tuple\w*|get|tie|apply|ignore"),
    ("array", r"array"),
    ("concepts", r"(?:(?:un)?signed_)?integral|floating_point|same_as|convertible_to|derived_from|invocable|regular"),
    ("bit", r"bit_cast|popcount|has_single_bit|bit_(?:ceil|floor|width)|rot[lr]|count[lr]_(?:zero|one)"),
    ("span", r"span"),
    ("complex", r"complex|norm|conj|polar|real|imag|arg"),
    ("cstdio", r"printf"),
    ("cstring", r"mem(?:cpy|set)"),
    ("cstdlib", r"malloc|free|ll?abs"),
    ("functional", r"plus|minus|multiplies|divides|modulus|negate|less\w*|greater\w*|(?:not_)?equal_to|logical_\w+"),
    ("type_traits", r"is_\w+|conditional\w*|enable_if\w*|remove_\w+|add_\w+|make_(?:un)?signed\w*|decay\w*|void_t|"
     r"aligned_\w+|alignment_of\w*|integral_constant|bool_constant|true_type|false_type|underlying_type\w*|invoke_result\w*|common_type\w*"),
)  # fmt: skip
_NUMBERS = (
    ("cuda_fp16.h", r"(?:__)?half2?|__(?:float|u?int|u?short|lows?|highs?)2?half\w*|__half\w+|__h[a-z]+2?"),
    ("cuda_bf16.h", r"(?:__)?nv_bfloat162?|__\w*bfloat16\w*"),
    ("cuComplex.h", r"cu(?:Float|Double)?Complex|make_cu\w*Complex|cuC(?:add|mul|sub|div|abs|fma|real|imag|onj)f?"),
)  # fmt: skip
_DRIVER = (
    ("cuda.h", r"CU\w+"),
    ("builtins.h", r"__builtin_\w+"),
    ("programmatic_launch.h", r"cudaGridDependencySynchronize|cudaTriggerProgrammaticLaunchCompletion"),
)

# Names that CUDA's own C++ library lacks too, with what takes their place in a kernel.
_HOST_LIBRARY = (
    (r"vector|string|(?:unordered_)?(?:multi)?(?:map|set)|deque|(?:forward_)?list|(?:priority_)?queue|stack|"
     r"(?:device|host)_vector", "pass a pointer to its elements in its place"),
    (r"cout|cerr|clog|endl", "print with printf in its place"),
    (r"make_(?:unique|shared)|(?:unique|shared)_ptr", "use a plain pointer in its place"),
    (r"function", "pass a struct with operator() in its place"),
    (r"[io]?f?stream|[io]?stringstream|cin|thread|(?:recursive_)?mutex|lock_guard|random_device|mt19937\w*|"
     r"f(?:open|close|read|write|scanf|gets)|scanf|getchar|time|clock_gettime|gettimeofday", "leave it to host code"),
    (r"fprintf|stderr|stdout|puts|putchar", "print with printf in its place"),
    (r"s?rand|random|[dl]rand48|RAND_MAX", "fill an array with random numbers on the host, or use curand_kernel.h"),
    (r"exit|abort|quick_exit", "leave the kernel with return, or stop it with __trap()"),
    (r"(?:stable_|partial_)?sort|qsort|accumulate|iota|fill(?:_n)?|copy(?:_n)?|for_each|transform|reduce|find(?:_if)?|"
     r"count(?:_if)?|reverse|max_element|min_element|nth_element|unique|"
     r"str(?:n?c(?:at|mp|py)|len|r?chr|str|tok\w*|to\w+)|mem(?:chr|cmp|move)|ato(?:[fil]|ll)|s?n?printf|"
     r"is(?:alnum|alpha|digit|lower|space|upper)|to(?:lower|upper)", "write a loop in its place"),
)  # fmt: skip
# Headers of CUDA for device code that a file has to include itself.
_DEVICE_HEADERS = (
    ("curand_kernel.h", r"curand\w*"), ("cooperative_groups.h", r"cooperative_groups|cg"), ("mma.h", r"nvcuda|wmma"),
    ("cub/cub.cuh", r"cub"), ("cuda_pipeline.h", r"__pipeline\w+"),
    ("helper_math.h", r"(?:clamp|lerp|dot|normalize|length)"),
)  # fmt: skip
_SPACE = re.compile(r"\b(\w+)\s*::")
_INCLUDED = r"^[ \t]*#[ \t]*include[ \t]*<{}>"
_OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"', re.MULTILINE)
_QUALIFIED = re.compile(r"\b(?:std|thrust)\s*::\s*(\w+)")
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_LAUNCHED, _THREAD = re.compile(r"(\w+)\s*(?:<[^<>;]*>)?\s*<<<"), re.compile(r"\b(?:threadIdx|blockIdx)\b")
_NO_TEMPLATE = re.compile(r": (\w+) is not a template")


def missed_name(sentence: str) -> str | None:
    """Return the unknown name of a compiler error."""
    found = _NAME.search(sentence)
    return found[1] if found else None


def header_for(sentence: str, passed_over: bool, uses_std: bool = False) -> str | None:
    """Return the header that declares the unknown name of the error. `passed_over`: some headers of the file are
    missing here; `uses_std`: the file has `using namespace std`."""
    of_std, name = _OF_STD.search(sentence), missed_name(sentence)
    if of_std:
        table, wanted = _STD, of_std[1]
    else:
        table, wanted = (*_DRIVER, *(_NUMBERS if passed_over else ()), *(_STD if uses_std else ())), name or ""
    return next((header for header, names in table if re.fullmatch(names, wanted)), None)


def _instead(error: CompileError, reason: str) -> CompileError:
    """Return the error of the same line with another reason."""
    name = str(error).partition(" does not compile: ")[0]
    return CompileError(f"{name} does not compile: line {error.line}: {reason}", error.log, error.line)


def _of_the_host(whole: str, error: CompileError) -> CompileError | None:
    """Return the error for a function or a variable of the file's host code; None: another error."""
    name = missed_name(str(error))
    for one in declarations(whole) if name else ():
        if set(one.words) & OF_DEVICE or one.kind == "type":
            continue
        head = whole[one.start : one.end].partition("{")[0]
        if (one.called and one.body and function_name(whole, one) == name) or (
            one.kind == "variable" and re.search(rf"\b{name}\s*(?:[\[=;,{{]|$)", _VALUES.sub("=", head))
        ):
            what = "function" if one.called else "variable"
            line = whole.count("\n", 0, one.start) + 1
            number = not one.called and re.match(r"[^\[=]*=", whole[one.start : one.end]) is not None
            words = "const in front of it, or __device__ if it changes" if number else "__device__ in front of it"
            return _instead(error, f"`{name}` of line {line} is a {what} on the host's side; write {words}.")
    return None


def _of_device_below(whole: str, error: CompileError) -> CompileError | None:
    """Return the error for a device function that stands below its use; None: another error."""
    name = missed_name(str(error))
    for one in declarations(whole) if name and error.line else ():
        line = whole.count("\n", 0, one.start) + 1
        if one.called and set(one.words) & OF_DEVICE and line > (error.line or 0) and function_name(whole, one) == name:
            return _instead(error, f"`{name}` stands only below, in line {line}; declare it above its first use.")
    return None


def _of_missing_include(whole: str, error: CompileError) -> CompileError | None:
    """Return the error with the header of CUDA that the text has to include; None: another error."""
    if not error.line or _OWN_HEADER.search(whole) or not LACKS.search(str(error)):
        return None
    named = missed_name(str(error))
    spaces = _SPACE.findall(source_lines(uncommented(whole))[error.line - 1]) if "followed by" in str(error) else []
    for each in [named] if named else spaces:
        found = ((header, space) for header, space in (*_NUMBERS, *_DEVICE_HEADERS) if re.fullmatch(space, each))
        for header, _ in found:
            there = re.search(_INCLUDED.format(re.escape(header)), whole, re.MULTILINE)
            if there and each == "cg":
                return CompileError(
                    f"{str(error).rstrip('.')}; write `namespace cg = cooperative_groups;` above.",
                    error.log,
                    error.line,
                )
            if not there:
                return CompileError(
                    f"{str(error).rstrip('.')}; `#include <{header}>` declares it.", error.log, error.line
                )
    return None


def _of_host_library(whole: str, error: CompileError) -> CompileError | None:
    """Return the error for a type or an object of the C++ library that only host code has; None: another error."""
    if not error.line or not LACKS.search(str(error)):
        return None
    of_std, bare_name = _OF_STD.search(str(error)), _NO_TEMPLATE.search(str(error))
    uses_std = USES_STD.search(whole) is not None
    bare_names = uses_std or not _OWN_HEADER.search(whole)  # else the header of the file may declare them
    own = (bare_name[1] if bare_name else missed_name(str(error))) if bare_names else ""
    written = _QUALIFIED.findall(source_lines(uncommented(whole))[error.line - 1])
    for each in [of_std[1]] if of_std else [own or "", *written]:
        advice = next((said for names, said in _HOST_LIBRARY if re.fullmatch(names, each)), None)
        if advice:
            return _instead(error, f"`{each}` belongs to the host's C++ library, which kernels do not have; {advice}.")
    return None


def better_reason(text: str, error: CompileError, dropped: Mapping[str, CompileError], whole: str) -> CompileError:
    """Return `error`, or a better reason: that of a declaration in its line that was removed, or what host code alone
    has."""
    line = source_lines(text)[error.line - 1] if error.line else ""
    cause = next((dropped[word] for word in re.findall(r"\w+", line) if word in dropped), None)
    strange = next((one for one in line if not one.isascii()), "")
    if strange and "unrecognized token" in str(error):
        called = character_name(strange, "no name")
        sentence = f"{str(error).rstrip('.')}: U+{ord(strange):04X}, {called}, is no character of C++."
        return CompileError(sentence, error.log, error.line)
    name = missed_name(str(error))
    if cause is None and name and re.search(rf"\b(?:texture|surface)\s*<[^;]{{1,200}}>\s*{name}\b", whole):
        sentence = (
            str(error).rstrip(".")
            + ": a texture or surface reference, which CUDA 12 removed; read an array in its place."
        )
        return CompileError(sentence, error.log, error.line)
    error = cause or error
    for reason in (_of_device_below, _of_the_host, _of_host_library, _of_missing_include):
        if (better := reason(whole, error)) is not None:
            return better
    return error


def why_no_kernel(file_name: str, text: str) -> NotRunnable:
    """Return the refusal of a text without a kernel: with the function that was perhaps meant to be one."""
    code = uncommented(text)
    words = {word: code.count("\n", 0, found.start()) + 1 for found in _WORD.finditer(code) if (word := found[0])}
    near = get_close_matches("__global__", words, n=1, cutoff=0.75)
    if near and near[0] != "__global__":
        line = words[near[0]]
        return NotRunnable(
            f"{file_name}, line {line}: there is no kernel; perhaps `__global__` was meant by `{near[0]}`.", line
        )
    at = code.find("__global__")
    for one in declarations(text) if at >= 0 else ():
        if one.start < at < one.end:
            line, opened = (code.count("\n", 0, place) + 1 for place in (at, one.start))
            return NotRunnable(
                f"{file_name}, line {line}: this kernel stands inside the braces of line {opened}, where none can be; "
                "move it out, or close them above.",
                line,
            )
    launched = _LAUNCHED.findall(code)
    for one in declarations(text):
        name = function_name(text, one) if one.called and one.body else ""
        if name in launched or (name and _THREAD.search(text, one.start, one.end)):
            line = text.count("\n", 0, one.start) + 1
            why = "is launched" if name in launched else "asks for its thread"
            return NotRunnable(f"{file_name}, line {line}: {name} {why}, but lacks __global__ in front of it.", line)
    return NotRunnable(f"{file_name} has no kernel: no function with __global__.")

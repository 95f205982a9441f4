"""Calls of host functions in device code: NVRTC takes them with an option, but nvcc, at home, does not.

calls_of_host_functions(source) -> (CompilerWarning("this call does not compile with nvcc: `P::get` of ..."),)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, UNOPTIMISED, compile_here
from engine.lab.marks import CompilerWarning
from engine.lab.top_level import Declaration, body_start, declarations, is_left_out, members, uncommented
from engine.records import CompileError, Source

UNMARKED_ARE_OF_DEVICE = "-default-device"  # the option
_KEY = "of the host, line"
_SHOWN = r"[^\n]*\n  ([^\n]*)\n  ( *)\^"  # the line and the place in it
_UNMARKED = r"^{}\((\d+)\): error: A function without execution space annotations" + _SHOWN
_CALLED = (
    r'^{}\((\d+)\): warning[^\n]*: function "([^\n]*?)" was declared deprecated \("' + _KEY + r' (\d+)(c?)"' + _SHOWN
)
_MARK = re.compile(rf' \[\[deprecated\("{_KEY} \d+c?"\)\]\]')
_DECLARED = re.compile(
    r"(?:\w+\s*::\s*)*(?:operator\s*(?:\(\s*\)|\[\s*\]|[^\w\s(]{1,3}|[\w:][\w\s:*&]*?)|~?\w+)(?=\s*\()"
)
_CONSTEXPR = re.compile(r"\bconstexpr\b[^;{}]*$")
_OF_STD = re.compile(
    r"\bstd\s*::\s*(max|min|clamp|make_pair|make_tuple|numeric_limits\s*<[\w\s:]{1,40}>\s*::\s*\w+)(?=\s*\()"
)
_CONSTEXPR_ONLY = "this call needs nvcc's option --expt-relaxed-constexpr"
_PARAMETERS = re.compile(r"(?<!operator)\(.*")
_MARKS = {"__device__", "__global__", "__host__"}
_OTHER_FUNCTIONS = re.compile(r"\b(?:class|struct|union|operator)\b|\]\s*[({]|^[ \t]*#[ \t]*define\b.*\{", re.MULTILINE)


def calls_of_host_functions(source: Source) -> tuple[CompilerWarning, ...]:
    """Return a warning for each call in a device function of one that has no `__device__`, in the order of lines.

    `source`: a text that compiles if functions without a mark are the device's. It is compiled twice, without
    optimisation, if it has such functions, and once if it may have some.
    """
    found = {*_calls(source), *_calls_of_std(source.text)}
    return tuple(sorted(found, key=lambda one: (one.line or 0, one.message)))


def _calls(source: Source) -> Iterator[CompilerWarning]:
    text = source.text
    if _every_function_is_marked(text):
        return
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    options = tuple(each for each in source.options if each != UNMARKED_ARE_OF_DEVICE)
    log = _log(replace(source, options=(*options, UNOPTIMISED)))
    made, length = [], 0
    for found in re.finditer(_UNMARKED.format(re.escape(source.name)), log, re.MULTILINE):
        line, place = int(found[1]), starts[int(found[1]) - 1] + len(found[3])
        name = _DECLARED.match(text, place)
        if name and text.startswith(found[2], starts[line - 1]):
            constant = "c" if _CONSTEXPR.search(text, 0, place) else ""
            made.append((name.end(), f' [[deprecated("{_KEY} {line}{constant}")]]'))
    marked = ""
    for place, mark in sorted(set(made)):
        marked += text[length:place] + mark
        length = place
    if not made:
        return
    log = _log(replace(source, text=marked + text[length:], options=(*source.options, UNOPTIMISED)))
    for found in re.finditer(_CALLED.format(re.escape(source.name)), log, re.MULTILINE):
        line, before = int(found[1]), _MARK.sub("", found[5][: len(found[6])])
        if _function_around(text, starts[line - 1] + len(before)) is None:
            continue
        called = f"`{_PARAMETERS.sub('', found[2])}` of line {found[3]}"
        if found[4]:
            told = f"{_CONSTEXPR_ONLY}: {called} is constexpr and lacks __device__; write __device__ in front of it."
        else:
            told = f"this call does not compile with nvcc: {called} lacks __device__; write __device__ in front of it."
        yield CompilerWarning(told, line)


def _every_function_is_marked(text: str) -> bool:
    """Return whether the text alone shows that no function lacks a mark: it has no types, lambdas or macros that might
    make one."""
    called = (one.words for one in declarations(text) if one.called)
    return not _OTHER_FUNCTIONS.search(uncommented(text)) and all(_MARKS.intersection(words) for words in called)


def _log(source: Source) -> str:
    try:
        return compile_here(source, EMULATED_ARCHITECTURE).warnings
    except CompileError as error:
        return error.log


def _calls_of_std(text: str) -> Iterator[CompilerWarning]:
    """Return the calls of the host's C++ library that are constexpr there."""
    for found in _OF_STD.finditer(uncommented(text)):
        if _function_around(text, found.start()) and not is_left_out(text, found.start()):
            name = "".join(found[1].split())
            line = text.count("\n", 0, found.start()) + 1
            yield CompilerWarning(f"{_CONSTEXPR_ONLY}: `std::{name}` is a constexpr function of the host.", line)


def _function_around(text: str, place: int) -> Declaration | None:
    """Return the device function in whose body an index lies; None for one that is the host's too: there nvcc only
    warns."""
    around = [one for one in declarations(text) if one.start <= place < one.end]
    while around and around[0].kind == "type":
        around = [one for one in members(text, around[0]) if one.start <= place < one.end]
    if not around or not around[0].called or "__host__" in around[0].words:
        return None
    of_device = {"__device__", "__global__"} & {*around[0].words}
    return around[0] if of_device and place > body_start(text, around[0]) else None

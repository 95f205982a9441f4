"""The compiler's log as sentences: where each message belongs, what it is about, and what was perhaps meant.

first_error(source, log) -> CompileError("mine.cu does not compile: line 2: expected a ";" at its end.")
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from engine.compile.limits import SENTENCE
from engine.records import CompileError, Source, shortened
from engine.records.words import source_lines

Kind = Literal["error", "warning"]
# CUDA headers from separate packages: one is small and required, the other has 60 MB.
_PACKAGES = {"crt/mma.h": "nvidia-cuda-crt", "curand_kernel.h": "nvidia-curand"}
# The compiler's first message about a parameter of unknown type; the next message names the type.
_CONSEQUENCE = re.compile(r'attribute "__\w+__" does not apply here|incomplete type "void" is not allowed')
_MESSAGE = r"^(?:{}\((\d+)\)|(At end of source)): (?:catastrophic |internal )?(error|warning)(?: #[\w-]+)?: (.+)$"
_IN_PTX = r"^warning: {}\((\d+)\): Warning: (.+)$"  # of the part of the compiler behind the language
_ERROR = re.compile(r"(?:^|: )(?:catastrophic |internal )?error(?: #[\w-]+)?: (.+)$", re.MULTILINE)
_DETAIL = re.compile(r"\s{8,}(?:(?:operand|argument) types are: )(.+)|\s{8,}(variable .+)")
_OPENED = re.compile(r'\((\d+)\): note[^\n]*to match this "\{"')
_CANDIDATE = re.compile(r'^(?:.*: )?[Nn]ote[^\n]*function "(\w+\([^"]*\))"', re.MULTILINE)
_MOST_CANDIDATES = 3  # that a sentence names
_AT_END = re.compile(r'expected a "[;)\]]"')
_NOTHING = re.compile(r"\s*(?:__\w+__\s*)*")  # attributes, which the compiler passes over
_UNDEFINED = re.compile(r'^identifier "(\w+)" is undefined')
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n/]+)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_NO_MEMBER = re.compile(r'has no member "(\w)"')
# Words of CUDA that a text may misspell.
BUILT_IN = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "__syncthreads", "__syncwarp", "__shfl_sync",
    "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__ballot_sync", "__any_sync", "__all_sync",
    "__threadfence", "__threadfence_block", "atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicExch",
    "atomicCAS", "atomicAnd", "atomicOr", "__shared__", "__global__", "__device__", "__constant__", "__restrict__",
    "sqrtf", "fminf", "fmaxf", "printf",
)  # fmt: skip
_FUNCTION = re.compile(
    r"^\s*(?:template\s*<.*>\s*)?(?:(?:static|inline|extern \"C\")\s+)*(?:__\w+__\s+)*[\w:]+[\s*&]+\w+\s*\("
)
# The compiler's words, a pattern of the line, and what follows the words. The first advice that fits is given.
_ADVICE = tuple((re.compile(words), re.compile(line), advice) for words, line, advice in (
    (r'"(__(?:shfl|shfl_up|shfl_down|shfl_xor|any|all|ballot))" is undefined', "", r"; since Volta it is \1_sync"),
    (r"^device-side kernel launch", "", "; a kernel that launches kernels cannot be compiled here"),
    (r'^identifier "cuda[A-Z]\w+" is undefined', "", "; a kernel that calls the runtime cannot be compiled here"),
    (r'^more than one instance of overloaded function "(?:std::)?'
     r"(a?(?:sin|cos|tan)h?|atan2|ceil|floor|trunc|round|l?l?r(?:ound|int)|nearbyint|sqrt|cbrt|hypot|fabs|"
     r'fm(?:ax|in|od)|exp(?:2|m1)?|log(?:2|10|1p)?|erfc?|[lt]gamma)" matches', "",
     r"; there is one for float and one for double: convert a whole number, as in \1((float)n)"),
    (r'^more than one instance of overloaded function "(?:std::)?(max|min)" matches', "",
     r"; convert the arguments of \1 to one type"),
    (r'^identifier "__builtin_ctz" is undefined', "", "; a kernel has __ffs(x) - 1 in its place"),
    (r'^identifier "__builtin_ctzll" is undefined', "", "; a kernel has __ffsll(x) - 1 in its place"),
    (r'^identifier "__builtin_parity" is undefined', "", "; a kernel has __popc(x) & 1 in its place"),
    (r'^identifier "__builtin_bswap32" is undefined', "", "; a kernel has __byte_perm(x, 0, 0x0123) in its place"),
    (r"^no valid std::\w+_ordering type", "", "; kernels lack the host's <compare>: write operator<"),
    (r'^identifier "alloca" is undefined', "", "; NVRTC has none: declare an array of a fixed size in its place"),
    (r'^namespace "cub" has no member "Max"', "", "; CUDA 13 has cuda::maximum<> in its place"),
    (r'^namespace "cub" has no member "Min"', "", "; CUDA 13 has cuda::minimum<> in its place"),
    (r'^namespace "cub" has no member "Sum"', "", "; CUDA 13 has cuda::std::plus<> in its place"),
    (r'^namespace "(cub|thrust)" has no member "\w+"', "", r"; CUDA 13's \1 does not have it"),
    (r"(?:u?int3|dim3|class type)", r"\b(threadIdx|blockIdx|blockDim|gridDim)\b(?!\s*\.)",
     r"; perhaps `\1.x` was meant"),
    (r'^no instance of overloaded function "__\w+_sync"', "",
     "; the first argument is the mask of the lanes, as 0xffffffff"),
    (r"must have a constant value", r"__shared__\s+([\w:\s]+\w)\s*\[",
     r"; a shared array has a constant size, or it is `extern __shared__ \1[]` and the launch gives its bytes"),
    (r"must have a constant value", r"^\s*[\w:]+[\s*]+\w+\s*\[", "; the size of an array is a constant"),
    (r'^incomplete type "[^"]*\[\]"', r"__shared__",
     "; write extern in front of __shared__, or the number of elements"),
    (r"modifiable lvalue", r"\b(?:if|while)\s*\([^=)]*[^=!<>)]=[^=]", "; perhaps == was meant"),
    (r"modifiable lvalue", "", "; nothing can be stored there: it is const, or no variable"),
    (r"must have pointer-to-object type", r"\]\s*\[", "; a pointer takes one index, as in a[row * width + column]"),
    (r"must have integral", r"\^", "; ^ is the exclusive or of whole numbers, and no power: multiply, or call powf"),
    (r"must have integral", r"%", "; % is the rest of whole numbers: fmodf is that of floats"),
    (r"must have integral", r"\[", "; an index is a whole number"),
    (r"^initializer not allowed for __shared__", "", "; let threads store the first values, then call __syncthreads()"),
    (r'^explicit type is missing|^identifier "(?:shared|device|constant|global)" is',
     r"\b(shared|device|constant|global)\b", r"; CUDA's word is `__\1__`"),
    (r"^expression must have class type but it has type .*\*", r"\.\s*(?:size|length)\s*\(",
     "; a pointer does not know its length: pass it as a parameter"),
    (r"^expected a", r"\b(?:And|AND|Or|OR|Not|NOT)\b", "; C++ has &&, || and !"),
    (r"^expected a", r"\brestrict\b", "; CUDA's word is `__restrict__`"),
    (r'already been declared|expected a ";"', r"\bfor\s*\((?:[^;:()]*;)?[^;:()]*\)",
     "; the three parts of a `for` are separated by ;"),
    (r"^expected a declaration", r"^\s*\}", "; perhaps there is one } too many above"),
    (r"^expression has no effect", r"(__sync\w+)\s*;", r"; call it: `\1();`"),
    (r"^expression has no effect", r"^[^=!<>;]*[\])\w]\s*==[^=;]*;", "; perhaps = was meant"),
    (r"^expression has no effect", r"\[[^\]\[]*,([^\]\[]*)\]",
     r"; `[i,\1]` is the same as [\1]: compute row * width + column"),
    (r"^pointless comparison of unsigned", "", "; an unsigned number is never below 0"),
    (r"^shift count is too large", r"(?<![\w.])(\d+)\s*<<", r"; \1 is an int of 32 bits: \1LL has 64"),
    (r"^shift count is too large", "", "; a shift by all bits of the type or more gives no number to rely on"),
    (r"^division by zero", r"/=?\s*\(?(?:\d*\.0*|0+e\d+)f?(?!\w)", "; the result is infinite, or no number"),
    (r'^(?:division by zero|right operand of "%" is zero)', "", "; the result is undefined"),
    (r"^integer operation result is out of range", "", "; an int ends at 2,147,483,647, a long long at 9.2e18"),
    (r"^integer conversion resulted in (?:truncation|a change of sign)", "",
     "; the number does not fit the type that it is converted to"),
    (r"void return type", "", "; a kernel hands its results back through a pointer"),
))  # fmt: skip


@dataclass(frozen=True)
class Message:
    """A message of the compiler in the file's own lines. `line`: where a reader mends it; `words`: with their advice;
    `consequence`: another message at this line is its cause."""

    line: int
    kind: Kind
    words: str
    consequence: bool = False


def messages(name: str, log: str, text: str = "") -> tuple[Message, ...]:
    """Return the messages of a log about the file `name`, in the log's order; `text`: the file's, for advice."""
    lines, found = text.split("\n"), list(re.finditer(_MESSAGE.format(re.escape(name)), log, re.MULTILINE))
    made = []
    for one, rest in zip(found, _blocks(log, found), strict=True):
        line = int(one[1]) if one[1] else max(1, len(text.rstrip("\n").split("\n")))
        words = one[4].rstrip(".: ")
        detail = _DETAIL.match(rest.lstrip("\n"))
        if detail and one[4].endswith(":") and detail[2]:
            words += f" {detail[2]}"
        words = _readable(words)
        written = lines[line - 1] if line <= len(lines) else ""
        if one[2]:
            opened = _OPENED.search(rest)
            words += " before the file ends" + (f"; the {{ of line {opened[1]} is not closed" if opened else "")
        elif _AT_END.fullmatch(words) and (above := _line_above(rest, lines, line)):
            line, words = above, f"{words} at the end of this line"
        elif words == "unrecognized token" and written.startswith("```"):
            words = "``` begins or ends a block of Markdown and is not CUDA; delete the line"
        elif words == 'expected a ";"' and _FUNCTION.match(written) and _is_open("\n".join(lines[: line - 1])):
            words += "; a function cannot begin inside another one: perhaps a } is missing above"
        else:
            words = _advised(words, rest, written, text)
        kind: Kind = "error" if one[3] == "error" else "warning"
        made.append(Message(line, kind, words, _CONSEQUENCE.match(words) is not None))
    later = re.findall(_IN_PTX.format(re.escape(name)), log, re.MULTILINE)
    return (*made, *(Message(int(line), "warning", words.rstrip(". ")) for line, words in later))


def _readable(words: str) -> str:
    """Return the beginning of words that are too long for a sentence, and of each that is too long itself."""
    words = shortened(words)
    return words if len(words) <= SENTENCE else f"{words[:SENTENCE]} …"


def _is_open(text: str) -> bool:
    return text.count("{") > text.count("}")


def _blocks(log: str, found: list[re.Match[str]]) -> Iterator[str]:
    """Return what the log says after each message: its details, the line, and notes."""
    starts = [*(each.start() for each in found), len(log)]
    for one, following in zip(found, starts[1:], strict=True):
        yield log[one.end() : following]


def _line_above(rest: str, lines: list[str], line: int) -> int | None:
    """Return the last line with code above `line`, if the compiler points to the first word there; else None."""
    shown = rest.lstrip("\n").split("\n")
    if len(shown) < 2 or shown[1].strip() != "^" or not _NOTHING.fullmatch(shown[0][: shown[1].index("^")]):
        return None
    code = _COMMENT.sub(lambda piece: re.sub(r"[^\n]", " ", piece[0]), "\n".join(lines[: line - 1])).split("\n")
    return next((at for at in range(len(code), 0, -1) if code[at - 1].strip()), None)


def _advised(words: str, rest: str, written: str, text: str) -> str:
    """Return the compiler's words with the types that they are about, and what was perhaps meant."""
    detail = _DETAIL.match(rest.lstrip("\n"))
    types = f": {detail[1]}" if detail and detail[1] else ""
    for asked, of_line, advice in _ADVICE:
        found, there = asked.search(f"{words}{types}"), of_line.search(written)
        if found and there:
            return f"{words}{types}{(there if of_line.groups else found).expand(advice)}"
    if "no instance of function template" in words and "failed deduction" in rest:
        return f"{words}{types}; its template arguments do not follow from these: write them, as in f<float, 32>(a)"
    candidates = list(dict.fromkeys(_CANDIDATE.findall(rest)))
    if types and candidates:
        more = len(candidates) - _MOST_CANDIDATES
        listed = ", ".join([*candidates[:_MOST_CANDIDATES], *([f"{more} more"] if more > 0 else [])])
        return f"{words}{types}; there are {listed}"
    return f"{words}{types}{_of_macro(words, written, text)}{meant(words, text)}"


def _of_macro(words: str, written: str, text: str) -> str:
    """Return what a macro of the line stands for, if that has a sign too many."""
    for name, body in ((one[1], one[2].strip()) for one in _DEFINED.finditer(text)):
        if words.startswith("expected") and re.search(rf"\b{name}\b", written) and re.match(r"=|[^;{}()]+;$", body):
            return f"; the macro {name} stands for `{body}`, with its {'=' if body.startswith('=') else ';'}"
    return ""


def meant(what: str, text: str) -> str:
    """Return what was perhaps meant, if an error names a word that differs a little from one of CUDA or of the text."""
    if (member := _NO_MEMBER.search(what)) and member[1].lower() in ("x", "y", "z"):
        return f"; perhaps `{member[1].lower()}` was meant"
    if not (found := _UNDEFINED.search(what)):
        return ""
    wrong = found[1]
    own = re.findall(r"(?a:\b[A-Za-z_]\w*\b)", _COMMENT.sub(" ", text))
    words = {word.lower(): word for word in (*own, *BUILT_IN) if word != wrong}
    near = get_close_matches(wrong.lower(), words, n=1, cutoff=0.8)
    return f"; perhaps `{words[near[0]]}` was meant" if near else ""


def first_error(source: Source, log: str) -> CompileError:
    """Return the first error of the log in one sentence, preferably one in the file's own lines."""
    own = [one for one in messages(source.name, log, source.text) if one.kind == "error"]
    lines = [text for text in log.splitlines() if _ERROR.search(text)]
    line: int | None = None
    if own:
        first = min(own, key=lambda one: one.consequence)  # of equal ones the first
        line, what = first.line, first.words
    else:
        written = lines[0] if lines else log.strip().partition("\n")[0]
        found = _ERROR.search(written)
        what = (found[1] if found else written).rstrip(".: ")
        what = _readable(what)
    words = set(re.findall(r"\w+", source_lines(source.text)[line - 1])) if line and what.startswith("expected") else ()
    macro = next((macro for macro, _ in source.defines if macro in words), None)
    what += f"; `{macro}` is a macro with the launch's value, so yours needs another name" if macro else ""
    package = next((package for header, package in _PACKAGES.items() if f'"{header}"' in what), None)
    if package is not None:
        what += f", which the Python package {package} brings (pip install {package})"
    where = f"line {line}: " if line else ""
    return CompileError(f"{source.name} does not compile: {where}{what}.", log, line)

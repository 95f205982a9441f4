"""The files that a source may reach: the headers of the include folders, and no other.

Two independent checks hold also on a computer that cannot confine a process. The text itself is checked before the
compilation, and the compiler's own list of opened files after it. A refusal never tells whether a file exists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from engine.records import CompileError, Source

LISTING = ("-Xcudafe", "--trace_includes")  # it writes the name of each file that it includes to the error stream
_BUILT_IN = frozenset(("__nv_nvrtc_builtin_header.h", "__nv_name_map"))
_OUTSIDE = "only headers of the include folders can be included"
_BY_NAME = "whether a header is there can be asked by its name only"

# A line splice, also inside a word. The compiler takes a backslash before blanks for none, others do: both are checked.
_SPLICES = (re.compile(r"\\\r?\n"), re.compile(r"\\[ \t\r\f\v]*\n"))
_GAP = r"(?:[ \t\r\f\v]|/\*(?s:.*?)\*/)*"
_INCLUDES = re.compile(rf"(?:#|%:|\?\?=){_GAP}(?:include(?:_next)?|import|embed)\b{_GAP}(?=(.*))")
_NAMED = re.compile(r'"([^"\n]*)"|<([^>\n]*)>')
# Questions whether a header is there: the compiler lists no file for them, so only the usual lines are allowed.
_QUESTION = re.compile(r"(?i:has_include)|__has_embed")
_ASKED = re.compile(
    r"(?<=def)[ \t]+__has_include\b|\bdefined[ \t]*(?:\([ \t]*__has_include[ \t]*\)|[ \t]__has_include\b(?![ \t]*\())|"
    r'\b__has_include(?:_next)?[ \t]*\([ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)[ \t]*\)'
)
_TERM = r"[ \t(!]*(?:defined[ \t]*\([ \t]*\w+[ \t]*\)|defined[ \t]+\w+|\w+(?:[ \t]*(?:[<>!=]=|[<>])[ \t]*\w+)?)[ \t)]*"
_USUAL = re.compile(rf"[ \t]*(?:#|%:)[ \t]*(?:ifn?def 1[ \t]*|(?:el)?if\b{_TERM}(?:(?:&&|\|\|){_TERM})*)(?://.*)?")
_COMMENTED = re.compile(r'[ \t]*//(?:(?!\*/)[^"])*$')
_IFS = re.compile(rf"(?:#|%:|\?\?=){_GAP}(?:el)?if\b(.*)")
_MACROS = re.compile(rf"(?:#|%:|\?\?=){_GAP}define\b{_GAP}(\w+)(.*)")
_PLAIN, _CALLED = re.compile(r"[ \t]*(?:\d\w*)?[ \t]*(?://.*)?"), re.compile(r"\w[ \t\r\f\v]*\(")
_DEFINED = re.compile(r"\bdefined[ \t]*(?:\([ \t]*\w+[ \t]*\)|[ \t]\w+)")
_PASTED = ("__has_include", "__has_include_next", "_CCCL_HAS_INCLUDE")  # the last is a macro of CUDA's own headers
_UNOPENED = re.compile(r'cannot open source file "([^"\n]*)"')
_INLINE = re.compile(r"// begin inline asm\n(.*?)// end inline asm", re.DOTALL)
_DIRECTIVE = re.compile(r"(?:^|[;{}])\s*(\.[a-z]\w*)", re.MULTILINE)
_IN_A_BODY = frozenset((".reg", ".local", ".shared", ".param", ".pragma", ".loc", ".branchtargets", ".calltargets",
                        ".callprototype"))  # fmt: skip
_LOCATION = re.compile(r"^\s*\.loc\s+\d+\s+(\d+)", re.MULTILINE)


def check_includes(source: Source) -> None:
    """Raise CompileError, with its line, for an #include of a path outside the include folders, and for a question
    about one, in the text or in the name of a kernel."""
    names = "\n".join(source.names)
    for splice in _SPLICES:
        spliced = splice.sub("\0", source.text)  # keeps the line numbers
        text = spliced.replace("\0", "")
        for find, judge in ((_INCLUDES, _refused_include), (_QUESTION, _refused_question)):
            for found in find.finditer(text):
                reason = judge(found)
                if reason is not None:
                    raise _refusal(source, reason, _line_of(spliced, found.start()))
        words = set(re.findall(r"\w+", names)) | (_words_in_ifs(text) if _expands_in_if(text) else set())
        if any(_can_be_joined(name, words - {name}) for name in _PASTED):
            raise _refusal(source, _BY_NAME, _line_of(spliced, max(0, text.find("##"), text.find("%:%:"))))
    if _QUESTION.search(names) or "\n" in "".join(source.names):
        raise _refusal(source, _BY_NAME)


def _refused_include(found: re.Match[str]) -> str | None:
    before = _before(found).rstrip()
    if before and not before.endswith("*/"):
        return None  # a directive is the first word of its line
    named = _NAMED.match(found[1])
    if named is None:
        return "an #include must name its file itself, and not by a macro" if found[1].strip() else None
    return _outside(named)


def _refused_question(found: re.Match[str]) -> str | None:
    before = _before(found)
    if _COMMENTED.match(before):
        return None
    line = before + found.string[found.start() :].partition("\n")[0]
    usual = _USUAL.fullmatch(_ASKED.sub(" 1", line))
    if usual is None or _QUESTION.search(usual[0].partition("//")[0]):
        return _BY_NAME
    return next(filter(None, map(_outside, _ASKED.finditer(line))), None)


def _before(found: re.Match[str]) -> str:
    """Return the text before it in its line."""
    return found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.start()]


def _outside(named: re.Match[str]) -> str | None:
    name = named[2] if named[1] is None else named[1]
    return f"{_OUTSIDE}, not {name}" if name and _leads_outside(name) else None


def _leads_outside(name: str) -> bool:
    return bool(re.match(r"\s*(?:[/\\]|\w:)", name)) or ".." in re.split(r"[/\\]", name)


def _expands_in_if(text: str) -> bool:
    """Return whether an #if, the only place for such a question, may expand a macro to more than a number."""
    unclear = {name for name, body in _MACROS.findall(text) if not _PLAIN.fullmatch(body)}
    for found in _IFS.finditer(text):
        asked = _DEFINED.sub(" ", found[1].partition("//")[0])
        if "/*" in asked or _CALLED.search(asked) or unclear & set(re.findall(r"\w+", asked)):
            return True
    return False


def _words_in_ifs(text: str) -> set[str]:
    """Return the words that the macros of a text may join in an #if: its own, and those of the macros that it names."""
    asked = [found[1] for found in _IFS.finditer(text)]
    if any("/*" in one for one in asked):  # it may go on in the lines below
        return set(re.findall(r"\w+", text))
    bodies: dict[str, set[str]] = {}
    for name, body in _MACROS.findall(text):
        bodies.setdefault(name, set()).update(re.findall(r"\w+", body))
    words = {word for one in asked for word in re.findall(r"\w+", one)}
    fresh = set(words)
    while fresh:
        fresh = {word for name in fresh & {*bodies} for word in bodies[name]} - words
        words |= fresh
    return words


def _can_be_joined(name: str, words: set[str]) -> bool:
    """Return whether some of the words, one after the other, are the name."""
    ends = {0}
    for at in range(len(name)):
        if at in ends:
            ends |= {at + len(word) for word in words if name.startswith(word, at)}
    return len(name) in ends


def _line_of(text: str, place: int) -> int:
    """Return the line of an index into `text`, in which a NUL stands for each splice."""
    parts = text.split("\0")
    line, at = 1, 0
    for number, part in enumerate(parts):
        inside = part[: place - at] if place - at < len(part) or number == len(parts) - 1 else part
        line += inside.count("\n")
        at += len(part)
        if at > place:
            break
        line += 1
    return line


def _refusal(source: Source, reason: str, line: int | None = None) -> CompileError:
    where = f"line {line}: " if line else ""
    sentence = f"{source.name} does not compile: {where}{reason}."
    return CompileError(sentence, sentence, line)


@contextmanager
def list_opened(found: list[str]) -> Iterator[None]:
    """Add to `found` the files that a compilation with LISTING includes. Takes the process's error stream meanwhile."""
    kept, listed = os.dup(2), os.memfd_create("includes")
    try:
        os.dup2(listed, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        with os.fdopen(listed, "rb") as file:
            file.seek(0)
            found += [name for line in file.read().decode(errors="replace").splitlines() if (name := line.strip())]


def check_opened(source: Source, opened: Iterable[str], log: str, folders: Sequence[str]) -> None:
    """Raise CompileError, without the compiler's log, if it included another file than a header, or was asked for
    one."""
    within = tuple(f"{folder}/" for folder in folders)
    read = (os.path.normpath(Path(name).absolute()) for name in opened if name not in _BUILT_IN)
    others = (path for path in read if not path.startswith(within))
    if any(others) or any(_leads_outside(name) for name in _UNOPENED.findall(log)):
        raise _refusal(source, _OUTSIDE)


def check_inline(source: Source, ptx: str) -> None:
    """Raise CompileError with its line for inline PTX with a directive that has no place in a kernel, as `.incbin`."""
    for block in _INLINE.finditer(ptx):
        for directive in _DIRECTIVE.findall(block[1]):
            if directive not in _IN_A_BODY:
                found = _LOCATION.findall(ptx, 0, block.start())
                reason = f"inline PTX of a kernel cannot contain {directive}"
                raise _refusal(source, reason, int(found[-1]) if found else None)

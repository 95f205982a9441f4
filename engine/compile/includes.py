"""Which headers a source may include: those of the include folders. No other file of this computer is read.

A message of the compiler shows the line that it does not understand, so that it could show any file. What is refused
here never gets to it. Comments are not parsed, as who hides an #include from us might fool a parser: only lines that
are a comment from their start are passed over.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.records import CompileError, Source

_SPLICE = re.compile(r"\\[ \t]*\r?\n")  # joins two lines, also within a word
_GAP = r"(?:[ \t]|/\*(?s:.*?)\*/)*"
_ASKS = re.compile(
    rf"(?:#|%:|\?\?=){_GAP}(?:include(?:_next)?|import|embed)\b{_GAP}(.*)|\b__has_(?:include(?:_next)?|embed)\b{_GAP}(.*)"
)
_NAMED = re.compile(r'"([^"\n]*)"|<([^>\n]*)>')
_MENTIONED = re.compile(r"(?:#|%:)\s*(?:ifdef|ifndef)\s*$|\bdefined\s*\(?\s*$")  # whether __has_include is there
_COMMENTED = re.compile(r"\s*//(?:(?!\*/).)*$")


def check_includes(source: Source, folders: tuple[str, ...]) -> None:
    """CompileError, with its line, for an #include of an absolute path, of a parent folder, of a name that a macro
    makes, or of a file that lies in the current folder and not in one of `folders`."""
    text = _SPLICE.sub(lambda splice: "\0", source.text)  # so that lines can still be counted
    for asked in _ASKS.finditer(text.replace("\0", "")):
        reason = _refused(asked, source, folders)
        if reason is not None:
            line = _line_of(text, asked.start())
            sentence = f"{source.name} does not compile: line {line}: {reason}."
            raise CompileError(sentence, sentence, line)


def _refused(asked: re.Match[str], source: Source, folders: tuple[str, ...]) -> str | None:
    before = asked.string[asked.string.rfind("\n", 0, asked.start()) + 1 : asked.start()]
    if _COMMENTED.match(before):
        return None
    named = _NAMED.search(asked[1] or asked[2] or "")
    if asked[1] is None and _MENTIONED.search(before):
        return None
    if asked[1] is None and (named is None or not asked[2].startswith("(")):
        return "whether a header is there can be asked by its name only"
    if named is None:
        return "an #include must name its file itself, and not by a macro" if (asked[1] or "").strip() else None
    name = named[1] if named[1] is not None else named[2]
    if re.match(r"\s*(?:[/\\]|\w:)", name) or ".." in re.split(r"[/\\]", name):
        return f"only headers of the include folders can be included, not {name}"
    beside = any((folder / name).is_file() for folder in (Path(), Path(source.name).parent))
    if beside and not any((Path(folder) / name).is_file() for folder in folders):
        return f'cannot open source file "{name}"'
    return None


def _line_of(text: str, place: int) -> int:
    """The line of a place in `text` without its splices, each of which is one NUL."""
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

"""PTX text -> statements, each with the line of the .cu file that it came from.

Code of a header that was inlined belongs to the .cu line that called it, because that is the line a student can see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_IGNORED = (".version", ".target", ".address_size", ".file", ".pragma", ".weak_alias", ".alias")
_LABEL = re.compile(r"([$%A-Za-z_][\w$]*)\s*:(?!:)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_LAST_LINE = 1 << 30  # beyond is what a #line says, and no line of a file
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")


class Statements:
    """The statements of a text: without `;`, scope braces, labels with their `:`, function headers with their `{`.

    `line` and `place` are those of the statement that was given last: its line in the .cu file, 0 if unknown, and in
    the PTX. `main_name`: what the .cu file was called.
    """

    def __init__(self, text: str, main_name: str) -> None:
        files = _FILE.findall(text)
        self._main = next((number for number, path in files if main_name and path.endswith(main_name)), "1")
        self._text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S) if "/*" in text else text
        self._origin: dict[tuple[str, str, str], int] = {}
        self._depth = 0  # open braces of the function
        self.line = self.place = 0

    def __iter__(self) -> Iterator[str]:
        pending, skip = "", False
        for place, raw in enumerate(self._text.split("\n"), 1):
            self.place, line = place, raw.strip()
            if skip:  # the body of a `.section`
                skip = line != "}"
                continue
            if not line or line.startswith("//"):
                continue
            if not pending:
                if line.startswith(".loc") and line[4:5].isspace():
                    self._location(line)
                    continue
                if line.startswith(".section"):
                    skip = True
                    continue
                if line.startswith(_IGNORED):
                    continue
            if "//" in line:
                line = line[: line.index("//")].rstrip()
            pending = f"{pending} {line}" if pending else line
            while pending:
                statement, pending = self._take(pending)
                if statement is None:
                    break
                self._follow(statement)
                yield statement

    def _follow(self, statement: str) -> None:
        """Into functions and their scopes, and out of them."""
        if self._depth:
            self._depth += (statement == "{") - (statement == "}")
        elif statement.endswith("{") and re.search(r"\.(entry|func)\b", statement):
            self._depth, self.line = 1, 0

    def _take(self, pending: str) -> tuple[str | None, str]:
        """The first whole statement of `pending` and the rest; (None, pending) while it is not whole."""
        first = pending[0]
        if first in "{}":
            return first, pending[1:].lstrip()
        if first == ";":
            return "", pending[1:].lstrip()
        label = _LABEL.match(pending)
        if label:
            return label[1] + ":", pending[label.end() :].lstrip()
        if not self._depth and first == ".":
            found = re.search(r"[;{]", pending) if re.search(r"\.(entry|func)\b", pending) else re.search(";", pending)
        else:
            found = re.search(";", pending)
        if not found:
            return None, pending
        keep = found.end() if found[0] == "{" else found.start()
        return pending[:keep].strip(), pending[found.end() :].lstrip()

    def _location(self, line: str) -> None:
        found = _LOC.match(line)
        if not found:
            return
        file, number, column, *outer = found.groups()
        if int(number) > _LAST_LINE:
            return
        if file == self._main:
            self.line = int(number) or self.line
        elif outer[0] is not None:
            at = (outer[0], outer[1], outer[2])
            self.line = self._origin.get(at) or (int(outer[1]) if outer[0] == self._main else self.line)
        self._origin[(file, number, column)] = self.line

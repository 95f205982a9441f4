"""The entries of a TOML file, read one by one: a value of another type is refused with its place and its name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.records import NotRunnable
from engine.records.words import reason_text

_REQUIRED = object()


class Table:
    """The entries of one table; `where` begins every refusal. `end` refuses entries that were never read."""

    def __init__(self, where: str, entries: Mapping[str, Any]) -> None:
        self.where = where
        self._entries = dict(entries)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the entries that were not read yet."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def text(self, name: str, otherwise: Any = _REQUIRED) -> str:
        """Return a text."""
        return str(self._take(name, (str,), "a text", otherwise))

    def flag(self, name: str) -> bool:
        """Return true or false; false if the entry is missing."""
        return bool(self._take(name, (bool,), "true or false", False))

    def number(self, name: str, otherwise: Any = _REQUIRED) -> float:
        """Return a number."""
        return float(self._take(name, (int, float), "a number", otherwise))

    def one_of(self, name: str, kinds: tuple[type, ...], meant: str, otherwise: Any = _REQUIRED) -> Any:
        """Return a value of one of several types, or `otherwise` if the entry is missing; `meant` names the types."""
        return self._take(name, kinds, meant, otherwise)

    def several(
        self, name: str, kind: type | tuple[type, ...], meant: str, otherwise: Sequence[Any]
    ) -> tuple[Any, ...]:
        """Return a value or a list of values; `otherwise` if the entry is missing."""
        if name not in self._entries:
            return tuple(otherwise)
        found = self._entries.pop(name)
        values = found if isinstance(found, list) else [found]
        if not all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            raise self.refusal(f"`{name}` is {meant}, or a list of them")
        return tuple(values)

    def table(self, name: str) -> Table:
        """Return a table below this one; empty if it is missing."""
        return Table(f"{self.where}, [{name}]", self._take(name, (dict,), "a table", {}))

    def tables(self, name: str) -> list[Table]:
        """Return the tables of a list, `[[name]]`."""
        found = self._take(name, (list,), f"a list of tables, [[{name}]]", [])
        if not all(isinstance(each, dict) for each in found):
            raise self.refusal(f"`{name}` is a list of tables, [[{name}]]")
        return [Table(f"{self.where}, [[{name}]] {place}", each) for place, each in enumerate(found, start=1)]

    def end(self) -> None:
        """Raise NotRunnable if an entry without a meaning is left."""
        if self._entries:
            raise self.refusal(f"there is no such entry: {', '.join(self._entries)}")

    def refusal(self, why: str) -> NotRunnable:
        """Return the error with its place and reason."""
        return NotRunnable(f"{self.where}: {why}.")

    def _take(self, name: str, kinds: tuple[type, ...], meant: str, otherwise: Any) -> Any:
        if name not in self._entries:
            if otherwise is _REQUIRED:
                raise self.refusal(f"`{name}` is missing")
            return otherwise
        value = self._entries.pop(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.refusal(f"`{name}` is {meant}")
        return value


def table_in(path: Path, where: str) -> Table:
    """Return the entries of a TOML file; `where` begins every refusal. NotRunnable: it cannot be read."""
    try:
        return Table(where, tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise NotRunnable(f"{where} cannot be read: {reason_text(error)}.") from None

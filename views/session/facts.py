"""What is known about the rungs of a ladder: made once, and shared by all browsers that look at the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from engine.catalogue import LADDERS
from engine.history import tables
from engine.history.history import Known
from engine.records import Settled
from views.session import work
from views.session.page import KEPT, Page


@dataclass(frozen=True, eq=False)
class Facts:
    """`known`: about each rung; `frame`: the table made of it, `rows`: the same as one mapping a rung.

    Equal to itself alone, so that what is made of it can be kept for whoever asks again.
    """

    known: Sequence[Known]
    frame: pd.DataFrame
    rows: Sequence[Mapping[str, Any]]


class Same:
    """Measurements that are the very same ones: a new run makes a new one, and what was recorded stays."""

    def __init__(self, known: Sequence[Known]) -> None:
        self.known = known
        self._ids = tuple((id(one.live), id(one.recorded)) for one in known)

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._ids == other._ids


def facts_of(page: Page) -> Facts:
    """What is known by now about every rung on the page."""
    known = [work.outcome(choice, run) for choice, run in zip(page.choices, page.runs, strict=True)]
    return _made(page.ladder.name, page.choices, Same(known))


@lru_cache(maxsize=KEPT)
def _made(ladder: str, choices: tuple[Settled, ...], same: Same) -> Facts:
    frame = tables.ladder_table(LADDERS[ladder], choices, same.known)
    return Facts(same.known, frame, frame.to_dict("records"))

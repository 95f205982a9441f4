"""Where the lecture is: what the presenter's page shows, for browsers that follow it, and for the presenter to go on
with after a restart.

While somebody presents, the page's address is kept in the store, under a number that grows with every change, also with
a run's result. On a page that follows, `views/html/browser.js` asks for another number than it has seen, and goes to
the address.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from engine.store import presentation

NAME = "now"  # in the store, which could have several
OWN = ("present", "follow")  # of an address: whose window it is
FRESH_S = 0.25  # how long what another server process writes may go unseen
LASTS = timedelta(hours=12)  # after which a lecture is over that nobody ended

TURN = threading.RLock()  # of the pages that follow
_lock = threading.Lock()
_found: Lecture | None = None
_looked = -FRESH_S


@dataclass(frozen=True)
class Lecture:
    """`address`: the choices of the ladder page, as a query. `seen`: when what it shows was measured; "" if it was not.
    `going`: whether somebody presents."""

    number: int
    address: str
    seen: str
    going: bool
    utc: str

    @property
    def choices(self) -> dict[str, str]:
        """The address, name by name."""
        return dict(parse_qsl(self.address))


def now() -> Lecture | None:
    """The lecture that goes on, or was the last; None where there was none lately."""
    global _found, _looked
    with _lock:
        if time.monotonic() - _looked >= FRESH_S:
            kept = presentation.load(NAME)
            _found, _looked = (_read(kept) if kept else None), time.monotonic()
        found = _found
    return found if found and datetime.now(UTC) - datetime.fromisoformat(found.utc) < LASTS else None


def show(choices: Mapping[str, str], seen: str) -> None:
    """The presenter's page is at these choices, and shows what was measured at `seen`."""
    address = urlencode({name: value for name, value in choices.items() if name not in OWN})
    last = now()
    if last is None or not last.going or (last.address, last.seen) != (address, seen):
        _keep(address, seen, going=True)


def end() -> None:
    """Nobody presents any more."""
    last = now()
    if last is not None and last.going:
        _keep(last.address, last.seen, going=False)


def is_at_hand() -> bool:
    """Whether `now` answers without a look into the store."""
    return time.monotonic() - _looked < FRESH_S


def turn(*, waiting: bool) -> AbstractContextManager[object]:
    """Held by a page that follows, one after the other, as all of them are led at once: the first ones then show a step
    early, and nobody else's click waits for a hall. Nothing for another page, and for one that is `waiting` for a run:
    it would hold up everybody."""
    return TURN if is_followed() and not waiting else nullcontext()


def is_followed() -> bool:
    """Whether this page goes where the lecture goes. For a run of the script."""
    return st.session_state.get("follow") == "1"


def mark() -> str:
    """HTML that says what a page shows that follows; "" of any other."""
    found = now() if is_followed() else None
    return f'<i class="follows" data-number="{found.number if found and found.going else 0}"></i>' * is_followed()


def _keep(address: str, seen: str, *, going: bool) -> None:
    global _found, _looked
    # A number of its own for whatever is shown, over restarts and server processes: it only has to be another one.
    number, utc = time.time_ns() // 1_000_000, datetime.now(UTC).isoformat(timespec="seconds")
    with _lock:
        presentation.save(NAME, {"number": number, "address": address, "seen": seen, "going": going, "utc": utc})
        _found, _looked = Lecture(number, address, seen, going, utc), time.monotonic()


def _read(kept: Mapping[str, object]) -> Lecture | None:
    """None for what another version of this program kept."""
    try:
        return Lecture(**kept)  # type: ignore[arg-type]
    except TypeError:
        return None

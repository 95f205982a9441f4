"""The live presentation: the page that the presenter shows, for browsers that follow it, and for the presenter to
resume after a restart.

While somebody presents, the store keeps the page's address under a number that grows with every change or result. A
page that follows asks (`views/html/browser.js`) for a number other than the last one it has seen, and opens the
address.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from engine.store import presentation as store
from views.shared import presence

NAME = "now"  # in the store, which could hold several presentations
OWN = ("present", "follow", "theme")  # names of an address that belong to one window
FRESH_S = 0.25  # longest delay until another server process's change is seen
LASTS = timedelta(hours=12)  # an abandoned presentation is over after this time
PAUSE = timedelta(minutes=10)  # who presents again within this time after the end continues the same lecture

TURN = threading.RLock()  # held by pages that follow
_lock = threading.Lock()
_found: Presentation | None = None
_looked = -FRESH_S
_leader = ""  # session of the page that presents
_dated: tuple[Presentation, timedelta, float] | None = None  # its age at a moment, and that moment


@dataclass(frozen=True)
class Presentation:
    """A presentation. `address`: the choices of the ladder page, as a query; `seen`: when the shown result was
    measured, or ""; `going`: whether it has not been ended; `lecture`: the number with which it began."""

    number: int
    address: str
    seen: str
    going: bool
    utc: str
    lecture: int

    @property
    def choices(self) -> dict[str, str]:
        """Return the choices in the address."""
        return dict(parse_qsl(self.address))


def now() -> Presentation | None:
    """Return the current or the last presentation; None if there was none recently."""
    global _found, _looked
    with _lock:
        if time.monotonic() - _looked >= FRESH_S:
            kept = store.load(NAME)
            _found, _looked = (_read(kept) if kept else None), time.monotonic()
        found = _found
    return found if found and _age(found) < LASTS else None


def show(choices: Mapping[str, str], seen: str, leader: str = "") -> None:
    """Publish the choices of the presenter's page, and the time of the shown measurement (`seen`). `leader`: the
    session of that page."""
    global _leader
    address = urlencode({name: value for name, value in choices.items() if name not in OWN})
    last = now()
    if last is None or not last.going or (last.address, last.seen, _leader) != (address, seen, leader):
        _leader = leader
        _keep(last, address, seen, going=True)


def end() -> None:
    """End the presentation."""
    last = now()
    if last is not None and last.going:
        _keep(last, last.address, last.seen, going=False)


def is_led() -> bool:
    """Return whether the page that presents is connected to this process; a tab may be closed without an end."""
    return presence.is_here(_leader)


def may_be_ended_by(session: str) -> bool:
    """Return whether no other page presents: of several, the last one to step leads."""
    return _leader == session or not is_led()


def is_at_hand() -> bool:
    """Return whether `now` answers without reading the store."""
    return time.monotonic() - _looked < FRESH_S


def turn(*, waiting: bool) -> AbstractContextManager[object]:
    """Return a lock for a page that follows.

    All followers step at the same moment. One after the other, the first ones show the step early, and clicks of other
    browsers need not wait for all of them. Other pages need no lock, nor does a page `waiting` for a run, which would
    block the rest.
    """
    return TURN if is_followed() and not waiting else nullcontext()


def is_followed() -> bool:
    """Return whether this page follows the presentation. For a run of the script."""
    return st.session_state.get("follow") == "1"


def mark() -> str:
    """Return HTML with the number that a page which follows shows, 0 if it shows another place; "" for other pages."""
    if not is_followed():
        return ""
    found, shown = now(), st.session_state
    # The lecture may have gone on since the page was asked for this place.
    here = found and found.going and all(str(shown.get(name)) == value for name, value in found.choices.items())
    return f'<i class="follows" data-number="{found.number if found and here else 0}"></i>'


def _keep(last: Presentation | None, address: str, seen: str, *, going: bool) -> None:
    global _found, _looked
    # The number must differ from all before it, over restarts and server processes.
    number, now = time.time_ns() // 1_000_000, datetime.now(UTC)
    lecture = last.lecture if last is not None and (last.going or _age(last) < PAUSE) else number
    made = Presentation(number, address, seen, going, now.isoformat(timespec="seconds"), lecture)
    _age(made)
    with _lock:
        store.save(NAME, asdict(made))
        if going:
            store.add_step(str(lecture), address)
        _found, _looked = made, time.monotonic()


def _age(found: Presentation) -> timedelta:
    """Return how old it is. The computer's clock, which may be set meanwhile, counts at the first look only."""
    global _dated
    dated = _dated
    if dated is None or dated[0] != found:
        age = max(datetime.now(UTC) - datetime.fromisoformat(found.utc), timedelta(0))
        dated = _dated = (found, age, time.monotonic())
    return dated[1] + timedelta(seconds=time.monotonic() - dated[2])


def _read(kept: Mapping[str, object]) -> Presentation | None:
    """Return None for a record of another version of this program."""
    try:
        return Presentation(**kept)  # type: ignore[arg-type]
    except TypeError:
        return None

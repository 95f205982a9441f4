"""The live state of the lecture for light clients, such as phones: what the presenter's page has drawn, in parts.

Each change of a part gets the next number. A client waits for a number beyond the last one that it has seen, and
receives the parts that have changed since, as one event. All clients with the same number receive the same bytes.

`PARTS` lists the parts. The store keeps them, so a restart of the server loses at most one step.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from engine.store import presentation as store

NAME = "room"  # in the store
# `lecture`: its id, "" before the first one; `phase`: before, during or after it; `slide`: HTML of the presenter's
# slide; `moment`: of its block in motion; `question`: the open question; `ended`: where the lecture ended.
PARTS = {"lecture": "", "phase": "before", "slide": None, "moment": None, "question": None, "ended": None}
LASTS = timedelta(hours=12)  # a state in the store is void after this time
BEAT_S = 4.0  # longest silence of a stream: a client that hears nothing for longer has lost its connection
PACE_S = 0.1  # least time between two events of a client; changes meanwhile come as one, such as votes
LOOK_S = 1.0  # between two looks for changes of other server processes
_KEPT = 64  # events that are kept for clients with other numbers


class Feed:
    """The parts of the state, and the clients that wait for their next change. `clock`: milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._clock = clock
        self._lock, self._saving = threading.Lock(), threading.Lock()
        self._parts: dict[str, tuple[int, Any]] | None = None  # name -> (the number of its change, its value)
        self._waiting: dict[asyncio.AbstractEventLoop, asyncio.Event] = {}
        self._events: dict[tuple[int, int], bytes] = {}  # (seen, number) -> the event
        self._guests: dict[str, int] = {}  # name -> open streams
        self._closed = False
        self._watching: asyncio.Task[None] | None = None

    def publish(self, name: str, value: Any) -> None:
        """Replace a part by a JSON value and wake all clients; an equal value changes nothing. For any thread."""
        self.publish_parts({name: value})

    def publish_parts(self, values: Mapping[str, Any]) -> None:
        """Replace several parts by one change. KeyError for a name that is none of PARTS.

        A moment of a block in motion may come after the step to a slide with a plot: it is dropped.
        """
        with self._lock:
            parts = self._loaded()
            slide = parts["slide"][1]
            if values.get("moment") is not None and isinstance(slide, Mapping) and slide.get("plot"):
                return
            changed = {name: value for name, value in values.items() if parts[name][1] != value}
            if not changed:
                return
            # A number must differ from all before it, over restarts of the server.
            number = max(_number(parts) + 1, self._clock())
            parts |= {name: (number, value) for name, value in changed.items()}
            self._events.clear()
            self._wake()
        self._save()

    def state(self) -> dict[str, Any]:
        """Return all parts, the `number` of the last change, and the number of `followers`."""
        with self._lock:
            parts = self._loaded()
            values = {name: value for name, (_, value) in parts.items()}
            return {"number": _number(parts), **values, "followers": len(self._guests)}

    def number(self) -> int:
        """Return the number of the last change."""
        with self._lock:
            return _number(self._loaded())

    def followers(self) -> int:
        """Return how many browsers have a stream open."""
        with self._lock:
            return len(self._guests)

    def event(self, seen: int) -> tuple[int, bytes]:
        """Return the last number, and the event with the parts that have changed since `seen`; b"" if none has."""
        with self._lock:
            parts = self._loaded()
            number = _number(parts)
            if seen == number:
                return number, b""
            if (kept := self._events.get((seen, number))) is None:
                since = seen if seen < number else -1
                changed = {name: value for name, (at, value) in parts.items() if at > since}
                text = json.dumps({"number": number, **changed}, ensure_ascii=False)
                kept = f"id: {number}\ndata: {text}\n\n".encode()
                if len(self._events) < _KEPT:
                    self._events[seen, number] = kept
            return number, kept

    def part(self, name: str) -> tuple[int, Any]:
        """Return the number of a part's last change, and its value."""
        with self._lock:
            return self._loaded()[name]

    async def change(self, name: str, seen: int) -> None:
        """Wait until the part's number is another one than `seen`."""
        changed = self._next_change()
        while self.part(name)[0] == seen and not self._closed:
            await changed.wait()
            changed = self._next_change()

    async def stream(self, seen: int, guest: str) -> AsyncGenerator[bytes]:
        """Yield an event for each change after `seen`, and a beat with the number of followers in every silence."""
        with self.follows(guest):
            if self._watching is None or self._watching.done():
                self._watching = asyncio.create_task(self._watch())
            yield b": hello\n\n"  # the browser knows that it is connected
            while not self._closed:
                changed = self._next_change()
                seen, event = self.event(seen)
                if event:
                    yield event
                    await asyncio.sleep(PACE_S)
                    continue
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), BEAT_S)
                    continue
                yield f"event: beat\ndata: {self.followers()}\n\n".encode()

    async def wait(self, seen: int, seconds: float) -> None:
        """Wait until the number differs from `seen`, but no longer than this."""
        changed = self._next_change()
        if self.number() == seen:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), seconds)

    @contextmanager
    def follows(self, name: str) -> Iterator[None]:
        """Count a browser among the followers meanwhile, once for all of its streams."""
        with self._lock:
            self._guests[name] = self._guests.get(name, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._guests[name] -= 1
                if not self._guests[name]:
                    del self._guests[name]

    async def _watch(self) -> None:
        """Take over the changes of other server processes, while anybody follows here."""
        while self._guests and not self._closed:
            await asyncio.sleep(LOOK_S)
            found = await asyncio.to_thread(_kept)
            with self._lock:
                if _number(found) > _number(self._loaded()):
                    self._parts = found
                    self._events.clear()
                    self._wake()

    def close(self) -> None:
        """End all streams, because the server ends and waits for every answer."""
        with self._lock:
            self._closed = True
            self._wake()

    def _save(self) -> None:
        with self._saving:  # the last write has the last state
            with self._lock:
                parts = dict(self._loaded())
            store.save(NAME, {"utc": datetime.now(UTC).isoformat(timespec="seconds"), "parts": parts})

    def _next_change(self) -> asyncio.Event:
        """Return what is set by the next change, for all clients of this event loop."""
        with self._lock:
            return self._waiting.setdefault(asyncio.get_running_loop(), asyncio.Event())

    def _wake(self) -> None:
        for loop, event in self._waiting.items():
            with suppress(RuntimeError):  # a loop that has ended
                loop.call_soon_threadsafe(event.set)
        self._waiting = {}

    def _loaded(self) -> dict[str, tuple[int, Any]]:
        """Return the parts, at first those of the store."""
        if self._parts is None:
            self._parts = _kept()
        return self._parts


def _kept() -> dict[str, tuple[int, Any]]:
    """Return the parts in the store."""
    kept = store.load(NAME) or {}
    fresh = "utc" in kept and datetime.now(UTC) - datetime.fromisoformat(kept["utc"]) < LASTS
    found = kept["parts"] if fresh else {}
    return {name: tuple(found.get(name, (0, default))) for name, default in PARTS.items()}


def _number(parts: dict[str, tuple[int, Any]]) -> int:
    return max(number for number, _ in parts.values())


FEED = Feed()


def publish(name: str, value: Any) -> None:
    """Replace a part of the live state and wake all clients. For any thread."""
    FEED.publish(name, value)


def publish_parts(values: Mapping[str, Any]) -> None:
    """Replace several parts by one change."""
    FEED.publish_parts(values)


def state() -> dict[str, Any]:
    """Return the live state: its parts, the `number` of the last change, the number of `followers`."""
    return FEED.state()

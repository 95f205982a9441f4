"""Phones that follow a lecture at /f, while the presenter steps and half of them lose their connection.

A phone speaks the protocol of `views/room/room.js`, and draws nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.load.browser import Browser, Failure
from tests.load.following import EVERY_S, SLIDE
from tests.load.process import cpu_s

AWAY_S = 30.0  # for which half of the phones have no connection
BACK_S = 5.0  # within which all of them are back


@dataclass
class Followed:
    """`cores`: of the server; `waits`: seconds from each press until each phone had the step; `steps`: until the
    presenter had it; `back`: from the end of the cut until each phone had the state; `failures`."""

    cores: float = 0.0
    waits: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    back: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Phone:
    """A phone at /f. `state`: the parts that it has received; `away`: it has no connection."""

    def __init__(self, address: str, on_change: Callable[[], None]) -> None:
        parts = urllib.parse.urlsplit(address)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._on_change = on_change
        self._cookie = ""
        self._writer: asyncio.StreamWriter | None = None
        self.state: dict[str, Any] = {"number": -1}
        self.away = False

    async def follow(self) -> None:
        """Open the page and follow, until cancelled."""
        reader, writer = await self._ask("/f")
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        cookie = re.search(rb"set-cookie: (kernel-ladder-guest=[^;]+)", head)
        if cookie is None:
            raise Failure(f"/f: {head[:100]!r}")
        self._cookie = cookie[1].decode()
        while True:
            if not self.away:
                with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                    await self._receive()
            await asyncio.sleep(0.3 + 0.9 * random.random())

    def cut(self) -> None:
        """Lose the connection, until `away` is False again."""
        self.away = True
        if self._writer is not None:
            self._writer.transport.abort()

    async def _receive(self) -> None:
        reader, self._writer = await self._ask(f"/f/stream?seen={self.state['number']}")
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise Failure(f"/f/stream: {head[:100]!r}")
        while True:
            event = await reader.readuntil(b"\n\n")
            if b"data: {" in event:
                self.state |= json.loads(event[event.index(b"data: ") + 6 :])
                self._on_change()

    async def _ask(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=2**20)
        cookie = f"Cookie: {self._cookie}\r\n" if self._cookie else ""
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n{cookie}\r\n".encode())
        return reader, writer


async def followed(address: str, process: int, phones: int, seconds: float, ladder: str) -> Followed:
    """Let phones follow a presenter that steps forth and back; then cut half of them off for a while."""
    found = Followed()
    lecturer = Browser(address, SLIDE.format(ladder))
    await lecturer.open()
    arrived: list[float] = []
    hall = [Phone(address, lambda: arrived.append(time.perf_counter())) for _ in range(phones)]
    going = [asyncio.create_task(phone.follow()) for phone in hall]
    await _until(lambda: all("slide" in phone.state for phone in hall), EVERY_S)
    before, began = cpu_s(process), time.perf_counter()
    for turn in range(max(1, round(seconds / EVERY_S))):
        await _step(lecturer, turn, arrived, phones, found)
    found.cores = (cpu_s(process) - before) / (time.perf_counter() - began)
    await _cut(lecturer, hall, found)
    for task in going:
        task.cancel()
    ended = await asyncio.gather(*going, return_exceptions=True)
    found.failures += [repr(end) for end in ended if not isinstance(end, asyncio.CancelledError)]
    await lecturer.close()
    return found


async def _step(lecturer: Browser, turn: int, arrived: list[float], phones: int, found: Followed) -> None:
    arrived.clear()
    stepped = time.perf_counter()
    try:
        found.steps.append(await lecturer.press(("next", "previous")[turn % 2]))
    except (Failure, OSError, TimeoutError) as failure:
        found.failures.append(f"step {turn}: {failure!r}")
    await asyncio.sleep(max(0.0, stepped + EVERY_S - time.perf_counter()))
    if len(arrived) != phones:
        found.failures.append(f"step {turn}: {len(arrived)} of {phones} followed it")
    found.waits += [at - stepped for at in arrived] or [EVERY_S]


async def _cut(lecturer: Browser, hall: list[Phone], found: Followed) -> None:
    """Cut half of the phones off while the lecture goes on; they must have the same state as the rest afterwards."""
    cut, rest = hall[::2], hall[1::2] or hall
    for phone in cut:
        phone.cut()
    for action in ("next", "next"):
        await lecturer.press(action)
    await asyncio.sleep(AWAY_S)
    for phone in cut:
        phone.away = False
    began = time.perf_counter()
    waiting = set(cut)

    def all_back() -> bool:
        for phone in [phone for phone in waiting if phone.state == rest[0].state]:
            waiting.remove(phone)
            found.back.append(time.perf_counter() - began)
        return not waiting

    await _until(all_back, 2 * BACK_S)
    found.failures += [f"{len(waiting)} phones are not back, or lost a change"] * bool(waiting)
    found.back += [2 * BACK_S] * len(waiting)


async def _until(reached: Callable[[], bool], patience_s: float) -> None:
    ends = time.perf_counter() + patience_s
    while not reached() and time.perf_counter() < ends:
        await asyncio.sleep(0.01)

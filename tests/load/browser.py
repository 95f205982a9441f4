"""A browser without a screen: it requests the page and its scripts, keeps a connection, and presses keys.

It speaks Streamlit's protocol and caches messages as a browser does, but draws nothing, so a hundred of them take
little of the machine that they share with the server.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX
from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 60.0  # then a missing answer is a failure
CONNECTIONS = 6  # to one server at once, as browsers have
GOING_AWAY = 1001  # code with which a browser closes the connection of a page that it leaves
NAMED = re.compile(rb'(?:src|href)="\./(static/(?:js|css)/[^"]+)"')
KEYBOARD = "kernel_ladder_browser"  # the component that sends pressed keys
EDITOR = "kernel_ladder_editor"  # the one that sends the student's text


class Failure(Exception):
    """The server reported an error or did not answer."""


class Browser:
    """One tab. `open` and `press` return the seconds until the page has been drawn."""

    def __init__(self, address: str, path: str) -> None:
        """`address`: http://host:port; `path`: the page and its query."""
        parts = urllib.parse.urlsplit(address + path)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self._page, self._query = parts.path.strip("/"), parts.query
        self._connection: ClientConnection | None = None
        self._script = ""  # the server's name of this page
        self._keyboard = ""
        self._pressed: list[dict[str, object]] = []
        self._editor, self._draft = "", dict[str, Any]()  # its id, and what the server has told it
        self._asked: WidgetState | None = None  # a press of Check, sent once
        self._popped: dict[str, object] = {}  # the last address that the page's own script led to
        self._chosen: dict[str, WidgetState] = {}  # the menus' values, sent with every click
        self._bodies: dict[tuple[int, ...], str] = {}  # HTML by place on the page
        self._kept: dict[str, ForwardMsg] = {}  # messages that the server sends by hash only

    async def open(self, *, scripts: bool = True) -> float:
        """Open the page with an empty cache; return the seconds that it took. `scripts`: fetch the page's scripts."""
        began = time.perf_counter()
        async with asyncio.timeout(PATIENCE_S):
            page = await _fetched(self._host, self._port, [f"/{self._page}?{self._query}"])
            if scripts:
                names = [f"/{name.decode()}" for name in dict.fromkeys(NAMED.findall(page))]
                shares = [names[first::CONNECTIONS] for first in range(CONNECTIONS)]
                await asyncio.gather(*(_fetched(self._host, self._port, share) for share in shares if share))
            self._connection = await connect(
                f"ws://{self._host}:{self._port}/_stcore/stream",
                origin=f"http://{self._host}:{self._port}",  # type: ignore[arg-type]
                subprotocols=["streamlit"],  # type: ignore[list-item]
                compression=None,
                max_size=None,
            )
            await self._rerun()
        return time.perf_counter() - began

    async def press(self, action: str) -> float:
        """Press the key of an action ("next", "run"); return the seconds until its result is shown."""
        number = int(str(self._pressed[-1]["number"])) + 1 if self._pressed else 1
        self._pressed = [*self._pressed, {"name": action, "number": number}][-20:]
        return await self._answered()

    async def check(self, text: str) -> float:
        """Press Check with this text in the editor; return the seconds until its result is shown."""
        known = self._draft
        press = {"action": "check", "number": known["heard"] + 1, "draft": known["draft"], "file": known["file"],
                 "reset": known["reset"], "at": known["at"] + 1, "text": text}  # fmt: skip
        events = json.dumps([{"event": "asked", "value": press}])
        self._asked = WidgetState(id=f"{STREAMLIT_INTERNAL_KEY_PREFIX}_{self._editor}__events",
                                  json_trigger_value=events)  # fmt: skip
        return await self._answered()

    async def follow(self, on_step: Callable[[], None]) -> None:
        """Follow the lecture as `views/html/browser.js` does, until cancelled; call `on_step` after each step."""
        seen = self._followed()
        while True:
            found = json.loads(await _fetched(self._host, self._port, [f"/lecture?seen={seen}"]))
            if found and str(found["number"]) != self._followed():
                number = int(str(self._popped.get("number", 0))) + 1
                self._popped = {"number": number, "search": f"?{found['address']}&follow=1"}
                await self._answered()
                on_step()
            seen = str(found.get("number", 0))

    def _followed(self) -> str:
        return self.text('class="follows"').rpartition('data-number="')[2].partition('"')[0]

    async def listen(self) -> None:
        """Receive messages, and wait for a lecture to begin, until cancelled or the connection ends."""
        assert self._connection is not None
        waiting = asyncio.create_task(self._await_lecture())
        try:
            async for message in self._connection:
                self._take(ForwardMsg.FromString(bytes(message)))  # type: ignore[arg-type]
        finally:
            waiting.cancel()

    async def _await_lecture(self) -> None:
        lecture = 0
        while True:
            found = json.loads(await _fetched(self._host, self._port, [f"/lecture?lecture={lecture}"]))
            lecture = found.get("lecture", 0)

    async def close(self) -> None:
        """Leave the page."""
        if self._connection is not None:
            await self._connection.close(GOING_AWAY)

    def text(self, mark: str) -> str:
        """Return the HTML element that contains `mark`; "" if there is none."""
        return next((body for body in self._bodies.values() if mark in body), "")

    async def _answered(self) -> float:
        """Request a run of the page's script; return the seconds until it has ended."""
        began = time.perf_counter()
        async with asyncio.timeout(PATIENCE_S):
            await self._rerun()
        return time.perf_counter() - began

    async def _rerun(self) -> None:
        """Request a run of the page's script and receive its messages until it has ended."""
        assert self._connection is not None
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self._query, self._page
        state.cached_message_hashes.extend(self._kept)
        state.page_script_hash = self._script
        state.context_info.timezone, state.context_info.locale = "Europe/Berlin", "de-DE"
        state.widget_states.widgets.extend(self._chosen.values())
        if self._pressed or self._popped:
            value = json.dumps({"pressed": self._pressed, "popped": self._popped})
            state.widget_states.widgets.append(WidgetState(id=self._keyboard, json_value=value))
        if self._asked is not None:
            state.widget_states.widgets.append(self._asked)
            self._asked = None
        await self._connection.send(message.SerializeToString())
        begun = False
        while True:
            found = ForwardMsg.FromString(bytes(await self._connection.recv(decode=False)))
            self._take(found)
            begun |= found.HasField("new_session")
            if begun and found.HasField("script_finished"):
                if found.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return
                if found.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise Failure("the script does not compile")

    def _take(self, message: ForwardMsg) -> None:
        if message.HasField("ref_hash"):
            cached = ForwardMsg()
            cached.CopyFrom(self._kept[message.ref_hash])
            cached.metadata.CopyFrom(message.metadata)
            message = cached
        elif message.metadata.cacheable:
            self._kept[message.hash] = message
        if message.HasField("page_info_changed"):
            self._query = message.page_info_changed.query_string
        if message.HasField("new_session"):
            self._script = message.new_session.page_script_hash
            self._chosen = {}
        if message.HasField("navigation"):
            self._script = message.navigation.page_script_hash
        if message.HasField("delta") and message.delta.HasField("new_element"):
            self._see(message.delta.new_element, tuple(message.metadata.delta_path))

    def _see(self, element: Element, place: tuple[int, ...]) -> None:
        if element.HasField("exception"):
            raise Failure(f"{element.exception.type}: {element.exception.message}")
        if element.HasField("html"):
            self._bodies[place] = element.html.body
        elif element.HasField("bidi_component") and KEYBOARD in element.bidi_component.component_name:
            self._keyboard = element.bidi_component.id
        elif element.HasField("bidi_component") and EDITOR in element.bidi_component.component_name:
            self._editor, self._draft = element.bidi_component.id, json.loads(element.bidi_component.json)
        elif element.HasField("selectbox"):
            menu = element.selectbox
            value = menu.raw_value if menu.set_value else menu.options[menu.default]
            self._chosen[menu.id] = WidgetState(id=menu.id, string_value=value)
        elif element.HasField("button_group"):
            buttons = element.button_group
            pressed = [buttons.options[i].content for i in buttons.default]
            state = WidgetState(id=buttons.id)
            state.string_array_value.data.extend(buttons.raw_values if buttons.set_value else pressed)
            self._chosen[buttons.id] = state


async def _fetched(host: str, port: int, paths: list[str]) -> bytes:
    """Fetch paths one after the other over one connection and return their bodies."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        bodies = [await _asked(reader, writer, host, port, path) for path in paths]
    finally:
        writer.close()
    return b"".join(bodies)


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int, path: str) -> bytes:
    """Fetch one path over an open connection and return its body."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept-Encoding: gzip\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", head)
    if not head.startswith("http/1.1 200") or length is None:
        raise Failure(f"{path}: {head.partition(chr(13))[0]}")
    return await reader.readexactly(int(length[1]))

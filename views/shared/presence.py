"""The connected browsers. Runs of a browser that has left are cancelled, so they hold up nobody.

A browser reports a closed tab or a left page, and its runs are cancelled at once. After a lost connection its runs go
on for a few seconds, because it may come back.
"""

from __future__ import annotations

import threading
import uuid

import streamlit as st
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.service import service
from views.access import visitor

GRACE_S = 5.0
GOING_AWAY = 1001  # sent by a browser that leaves a page
_LOST = 1006  # the connection was lost, not closed
_KEY = "sec-websocket-key"  # a number for every connection

_lock = threading.Lock()
_open: dict[str, str | None] = {}  # connection -> its session, once it has asked for a run


def session() -> str:
    """Return the name of this tab's session, which owns its runs. For a run of the script, and for callbacks."""
    name = str(st.session_state.setdefault("session", uuid.uuid4().hex))
    connection = st.context.headers.get(_KEY)
    with _lock:
        if connection in _open:
            _open[connection] = name
    browser = visitor.browser()
    if browser is not None:
        service.ALLOWANCES.enrol(name, browser, visitor.rights().limits)
    return name


def session_of_click() -> str:
    """Return the session's name for a new click, and cancel this tab's runs that no worker has taken yet."""
    name = session()
    service.leave(name, waiting_only=True)
    return name


def is_here(name: str) -> bool:
    """Return whether the browser of this session is connected."""
    with _lock:
        return name in _open.values()


def browsers() -> int:
    """Return the number of connected pages."""
    with _lock:
        return len(_open)


class Presence:
    """ASGI middleware: watches the connections that pages keep open."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on; when a page's connection ends, cancel its runs."""
        connection = dict(scope["headers"]).get(_KEY.encode(), b"").decode() if scope["type"] == "websocket" else ""
        if not connection:
            await self.app(scope, receive, send)
            return
        code = _LOST

        async def heard() -> Message:
            nonlocal code
            message = await receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code", _LOST)
            return message

        with _lock:
            _open[connection] = None
        try:
            await self.app(scope, heard, send)
        finally:
            _over(connection, code)


def _over(connection: str, code: int) -> None:
    with _lock:
        name = _open.pop(connection, None)
    if name is not None:
        # In another thread: the event loop serves every browser.
        timer = threading.Timer(0.0 if code == GOING_AWAY else GRACE_S, _leave, (name,))
        timer.daemon = True
        timer.start()


def _leave(name: str) -> None:
    if not is_here(name):
        service.leave(name)

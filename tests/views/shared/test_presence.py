"""A tab that is closed ends its runs at once; a connection that is lost has a few seconds to come back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from engine.service import service
from views.shared import presence

TIMEOUT_S = 60.0


class Gone:
    """The sessions that were given up, as they come."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._changed = threading.Condition()

    def leave(self, name: str) -> None:
        with self._changed:
            self.names.append(name)
            self._changed.notify_all()

    def wait_for(self, count: int) -> list[str]:
        with self._changed:
            self._changed.wait_for(lambda: len(self.names) >= count, TIMEOUT_S)
        return self.names


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gone]:
    found = Gone()
    monkeypatch.setattr(service, "leave", found.leave)
    monkeypatch.setattr(presence, "GRACE_S", 0.05)
    yield found


def tab(connection: str, state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> str:
    """What `session` says in a run of the script with this connection and this session's state."""
    headers = {"sec-websocket-key": connection}
    monkeypatch.setattr(presence, "st", SimpleNamespace(session_state=state, context=SimpleNamespace(headers=headers)))
    return presence.session()


def connected(connection: str, inside: Any, code: int | None) -> None:
    """A connection that ends with `code`; None: without a word. `inside` is called while it is there."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        inside()
        if code is not None:
            await receive()

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.disconnect", "code": code}

    async def send(message: dict[str, Any]) -> None: ...

    scope = {"type": "websocket", "headers": [(b"sec-websocket-key", connection.encode())]}
    # In a thread: there may be an event loop in this one.
    thread = threading.Thread(target=lambda: asyncio.run(presence.Presence(app)(scope, receive, send)))
    thread.start()
    thread.join(TIMEOUT_S)


def test_a_closed_tab_loses_its_runs_at_once(gone: Gone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "GRACE_S", 1000.0)
    names: list[str] = []

    def asked() -> None:
        names.append(tab("one", {}, monkeypatch))
        assert presence.is_here(names[0])

    connected("none", lambda: None, presence.GOING_AWAY)
    connected("one", asked, presence.GOING_AWAY)
    assert gone.wait_for(1) == names and not presence.is_here(names[0])


@pytest.mark.parametrize("code", [1006, 1005, None])
def test_a_lost_connection_is_given_up_after_a_while(
    code: int | None, gone: Gone, monkeypatch: pytest.MonkeyPatch
) -> None:
    state: dict[str, Any] = {}
    connected("one", lambda: tab("one", state, monkeypatch), code)
    assert gone.wait_for(1) == [state["session"]]


class Waiting:
    """In place of a timer: `over` is called when the time is over, by hand."""

    made: ClassVar[list[Waiting]] = []

    def __init__(self, _seconds: float, then: Callable[[str], None], args: tuple[str]) -> None:
        self.over = lambda: then(*args)
        self.daemon = False

    def start(self) -> None:
        self.made.append(self)


def test_a_connection_that_is_back_is_not_given_up(gone: Gone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "threading", SimpleNamespace(Timer=Waiting))
    monkeypatch.setattr(Waiting, "made", [])
    mine: dict[str, Any] = {}
    other: dict[str, Any] = {}
    connected("first", lambda: tab("first", mine, monkeypatch), 1006)
    connected("others", lambda: tab("others", other, monkeypatch), 1006)

    def back() -> None:
        assert tab("second", mine, monkeypatch) == mine["session"]
        for waiting in Waiting.made:
            waiting.over()
        assert gone.names == [other["session"]]  # who did not come back

    connected("second", back, presence.GOING_AWAY)
    Waiting.made[-1].over()
    assert gone.names == [other["session"], mine["session"]]


def test_without_a_server_a_session_has_a_name_and_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {}
    name = tab("unknown", state, monkeypatch)
    assert name == state["session"] == tab("unknown", state, monkeypatch) and not presence.is_here(name)

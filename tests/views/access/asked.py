"""A request to an ASGI app, and what it answers, without a server."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """`status` 0: nothing was answered here, the app behind was asked."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def cookies(self) -> list[str]:
        return [value for key, value in self.headers if key == "set-cookie"]


async def behind(scope: Any, receive: Any, send: Any) -> None:
    """The app that a middleware stands before: it says that it was reached."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"set-cookie", b"own=1; Path=/")]})
    await send({"type": "http.response.body", "body": b"reached"})


async def answer(
    app: Any,
    path: str = "/",
    *,
    method: str = "GET",
    query: str = "",
    body: bytes = b"",
    kind: str = "http",
    client: str = "127.0.0.1",
    version: str = "1.1",
    scheme: str = "http",
    **headers: str,
) -> Answer:
    """What `app` answers, in this event loop. `headers`: with _ for -."""
    named = {"host": "127.0.0.1:8501", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope: dict[str, Any] = {
        "type": kind, "path": path, "raw_path": path.encode(), "query_string": query.encode(), "scheme": scheme,
        "client": (client, 5000), "server": ("127.0.0.1", 8501), "http_version": version, "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }  # fmt: skip
    if kind == "http":
        scope["method"] = method
    sent: list[dict[str, Any]] = []

    received: list[None] = []

    async def receive() -> dict[str, Any]:
        if received and kind == "http":
            await asyncio.Event().wait()  # the browser stays
        received.append(None)
        return {"type": "http.request", "body": body} if kind == "http" else {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if sent and sent[0]["type"] == "websocket.close":
        return Answer(403, (), "")
    start = sent[0]
    told = tuple((name.decode(), value.decode()) for name, value in start["headers"])
    return Answer(start["status"], told, b"".join(message.get("body", b"") for message in sent[1:]).decode())


def asked(app: Any, path: str = "/", **more: Any) -> Answer:
    """What `app` answers, in a thread: there may be an event loop in this one."""
    found: list[Answer] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(answer(app, path, **more))))
    thread.start()
    thread.join(60.0)
    return found[0]

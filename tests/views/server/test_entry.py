"""The first page brings the browser's own script along, whole, and tells no older age than its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from views.server import assets
from views.server.components import library
from views.server.entry import PARTS, SCRIPT, STYLES, EntryPage, parts

PAGE = b'<html><head><title>Streamlit</title></head><body><div id="root"></div></body></html>'


def answer(path: str = "/", kind: bytes = b"text/html; charset=utf-8", status: int = 200) -> tuple[list[Any], Any]:
    sent: list[Any] = []
    asked: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing to receive")

    async def beyond(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)
        headers = [(b"content-type", kind), (b"etag", b"x"), (b"content-length", str(len(PAGE)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE[:9], "more_body": True})
        await send({"type": "http.response.body", "body": PAGE[9:]})

    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": [(b"if-none-match", b"x"), (b"accept-encoding", b"gzip"), (b"host", b"h")],
    }
    asyncio.run(EntryPage(beyond)(scope, receive, send))
    return sent, asked[0]


def test_the_script_comes_before_streamlits_own() -> None:
    (start, body), asked = answer()
    assert f"<head><script>{SCRIPT.read_text()}".encode() in body["body"]
    assert body["body"].endswith(PAGE.partition(b"<body>")[2])
    headers = dict(start["headers"])
    allowed = headers.pop(b"content-security-policy").decode()
    assert allowed.count("'sha256-") == 1  # the script that stands in the page
    assert "'unsafe-eval'" not in allowed.replace("'wasm-unsafe-eval'", "")
    assert headers == {
        b"content-type": b"text/html; charset=utf-8",
        b"content-length": str(len(body["body"])).encode(),
    }
    assert asked["headers"] == [(b"host", b"h")]


def test_the_style_stands_behind_streamlits_and_before_a_pages_own() -> None:
    (_, body), _ = answer()
    styles = "".join(f"<style>{file.read_text()}</style>" for file in STYLES)
    assert f'</head><body>{styles}<div id="root">'.encode() in body["body"]


def test_every_part_is_fetched_ahead_once_and_plotly_runs_ahead() -> None:
    (_, body), _ = answer()
    names = parts()
    assert len(names) == len(PARTS) and set(names).isdisjoint(assets.named())
    for name in names:
        assert body["body"].count(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'.encode()) == 1
    plotly = library("plotly-basic.min.js")
    assert f'<script type="module" async crossorigin src="{plotly}"></script></head>'.encode() in body["body"]


@pytest.mark.parametrize("changes", [{"path": "/static/index.html"}, {"kind": b"text/css"}, {"status": 304}])
def test_nothing_else_is_touched(changes: dict[str, Any]) -> None:
    sent, _ = answer(**changes)
    assert b"".join(message.get("body", b"") for message in sent) == PAGE

"""The first page brings the browser's own script along, whole, and tells no older age than its own."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from views.access import policy
from views.server import assets
from views.server.entry import CONNECTION, PARTS, SCRIPT, STYLE, EntryPage, parts

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
    assert f"<head><script>{CONNECTION.read_text()}{SCRIPT.read_text()}".encode() in body["body"]
    assert body["body"].endswith(PAGE.partition(b"<body>")[2])
    headers = dict(start["headers"])
    allowed = headers.pop(b"content-security-policy").decode()
    assert allowed.count("'sha256-") == 2  # the script that stands in the page, and the map of scripts
    assert "'unsafe-eval'" not in allowed.replace("'wasm-unsafe-eval'", "")
    assert headers == {
        b"content-type": b"text/html; charset=utf-8",
        b"content-length": str(len(body["body"])).encode(),
    }
    assert asked["headers"] == [(b"host", b"h")]


def test_the_style_stands_behind_streamlits_and_before_a_pages_own() -> None:
    (_, body), _ = answer()
    assert f'</head><body><style>{STYLE.read_text()}</style><div id="root">'.encode() in body["body"]


def test_the_map_of_scripts_comes_before_the_first_of_them() -> None:
    (_, body), _ = answer()
    page = body["body"]
    assert 0 < page.index(b'<script type="importmap">') < page.index(b"modulepreload")
    ((theirs, ours),) = json.loads(page.partition(b'"importmap">')[2].partition(b"<")[0])["imports"].items()
    assert ours.encode() in page.partition(b"</script>")[2].partition(b"modulepreload")[2]
    assert theirs.endswith(".js") and f'href="{theirs}"'.encode() not in page


def test_plotly_begins_before_the_script_of_charts_asks_for_it() -> None:
    (_, body), _ = answer()
    library = assets.library(assets.PLOTLY.name)
    assert f'<script type="module" async crossorigin src="{library}"></script></head>'.encode() in body["body"]
    made = assets.chart()
    assert made is not None and made[2].startswith(
        f'import $plotly from"{library.replace("./static", "..")}";'.encode()
    )


def test_every_part_is_fetched_ahead_with_all_that_it_needs() -> None:
    theirs, ours, _ = assets.chart() or ("", "", b"")
    fetched = {theirs if name == ours else name for name in parts()}
    assert all(fetched >= {file.name for file in assets.scripts(part)} != set() for part in PARTS)
    for name in {*fetched, *assets.named()}:
        assert set(assets.imported(name)) <= {*fetched, *assets.named()}
    (_, body), _ = answer()
    assert body["body"].count(b"modulepreload") == len(fetched) and fetched.isdisjoint(assets.named())


def test_who_signs_in_with_an_account_is_asked_for_when_streamlit_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "current", lambda: policy.Policy("account", ""))
    (_, body), _ = answer()
    assert f"<head><script>{SCRIPT.read_text()}".encode() in body["body"]


@pytest.mark.parametrize("changes", [{"path": "/static/index.html"}, {"kind": b"text/css"}, {"status": 304}])
def test_nothing_else_is_touched(changes: dict[str, Any]) -> None:
    sent, _ = answer(**changes)
    assert b"".join(message.get("body", b"") for message in sent) == PAGE

"""Assets go out compressed once, and nothing but assets goes out."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest

from views.server.assets import ASSETS, LIBRARIES, PLOTLY, chart, library
from views.server.compressed import CompressedAssets

SCRIPT = next((ASSETS / "static" / "js").glob("index.*.js"))
PATH = f"/static/js/{SCRIPT.name}"


def answer(path: str, *, encodings: bytes = b"gzip, br", method: str = "GET") -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing to receive")

    async def beyond(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "beyond"})

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"accept-encoding", encodings)]}
    asyncio.run(CompressedAssets(beyond)(scope, receive, send))
    return sent


def test_a_script_comes_compressed_and_whole() -> None:
    start, body = answer(PATH)
    headers = dict(start["headers"])
    assert start["status"] == 200 and headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(body["body"]) == SCRIPT.read_bytes()
    assert len(body["body"]) < SCRIPT.stat().st_size / 2


@pytest.mark.parametrize("begin", ["", "/ladder"])  # the second: where the server's addresses begin with a name
def test_a_library_of_our_own_comes_beside_streamlits_scripts(begin: str) -> None:
    address = library("codemirror.min.js")
    start, body = answer(f"{begin}{address.removeprefix('.').partition('?')[0]}")
    assert dict(start["headers"])[b"content-encoding"] == b"gzip" and len(address.partition("?")[2]) == 16
    assert gzip.decompress(body["body"]) == LIBRARIES["codemirror.min.js"].read_bytes()


def test_charts_bring_the_part_of_plotly_that_the_figures_use() -> None:
    made = chart()
    assert made is not None, "Streamlit builds its script otherwise: see views/server/assets.py"
    theirs, ours, text = made
    (whole,) = (file for file in SCRIPT.parent.iterdir() if file.name == theirs)
    assert not (ASSETS / "static" / "js" / ours).exists()
    start, body = answer(f"/static/js/{ours}")
    assert dict(start["headers"])[b"content-type"].startswith(b"text/javascript")
    assert gzip.decompress(body["body"]) == text
    assert len(text) + PLOTLY.stat().st_size < whole.stat().st_size / 3
    head, tail = whole.read_bytes()[:4000], whole.read_bytes()[-4000:]  # what Streamlit has around Plotly
    assert head in text[:5000] and text.endswith(tail)
    _, body = answer(f"/static/{PLOTLY.name}")
    assert gzip.decompress(body["body"]) == PLOTLY.read_bytes()


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        (PATH, {"encodings": b"identity"}), (PATH, {"method": "HEAD"}), ("/static/none.js", {}), ("/", {}),
        ("/static/../../__init__.py", {}), ("/static/../../../../../../etc/hosts.js", {}), ("/_stcore/health", {}),
    ],
)  # fmt: skip
def test_everything_else_goes_on_to_streamlit(path: str, changes: dict[str, Any]) -> None:
    assert answer(path, **changes) == [{"type": "beyond"}]

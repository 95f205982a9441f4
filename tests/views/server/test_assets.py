"""Assets go out compressed once, and nothing but assets goes out."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest

from views.server.assets import CompressedAssets
from views.server.components import LIBRARIES, library
from views.server.streamlit_internals import SCRIPTS

SCRIPT = next(SCRIPTS.glob("index.*.js"))
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


@pytest.mark.parametrize("begin", ["", "/ladder"])  # the second: the server's addresses begin with a name
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_comes_whole_after_one_line_that_compiles_it_ahead(name: str, begin: str) -> None:
    address = library(name)
    start, body = answer(f"{begin}{address.removeprefix('.').partition('?')[0]}")
    assert dict(start["headers"])[b"content-encoding"] == b"gzip" and len(address.partition("?")[2]) == 16
    hint, _, text = gzip.decompress(body["body"]).partition(b"\n")
    assert hint == b"//# allFunctionsCalledOnLoad" and text == LIBRARIES[name].read_bytes()


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        (PATH, {"encodings": b"identity"}), (PATH, {"method": "HEAD"}), ("/static/none.js", {}), ("/", {}),
        ("/static/../../__init__.py", {}), ("/static/../../../../../../etc/hosts.js", {}), ("/_stcore/health", {}),
        (f"/static/{'a' * 5000}.js", {}), ("/static/\0.js", {}),
    ],
)  # fmt: skip
def test_everything_else_goes_on_to_streamlit(path: str, changes: dict[str, Any]) -> None:
    assert answer(path, **changes) == [{"type": "beyond"}]

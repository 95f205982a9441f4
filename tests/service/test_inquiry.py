"""The doctor sends the key in the environment to a running server, and names the variable if it is missing."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.service.health import KEY, NEEDS_KEY, server_readiness

FOUND = {"reasons": [], "queue": {"workers": {"emulator": 3}, "running": {"emulator": 1}, "waiting": {"emulator": 0}}}


answers = [json.dumps(FOUND).encode()]


class Asking(BaseHTTPRequestHandler):
    """A server that answers requests with the key."""

    def do_GET(self) -> None:
        self.send_response(200 if self.headers["authorization"] == "Bearer a-good-key" else 401)
        self.end_headers()
        self.wfile.write(answers[-1])

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def asking() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Asking) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_server_that_asks_for_a_key_gets_the_one_in_the_environment(
    asking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server_readiness(asking) == (False, NEEDS_KEY)
    monkeypatch.setenv(KEY, "a-good-key")
    assert server_readiness(asking) == (True, "emulator: 3 workers, 1 jobs running, 0 waiting")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"[" * 100_000, b'{"reasons": [], "queue": 1}'])
def test_another_program_at_the_address_is_said(asking: str, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "a-good-key")
    monkeypatch.setattr(f"{__name__}.answers", [body])
    ready, told = server_readiness(asking)
    assert not ready and told.startswith(asking) and told.count("\n") == 0

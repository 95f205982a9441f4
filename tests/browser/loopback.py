"""A small HTTP server of a test's own on the loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

T = TypeVar("T")


class Quiet(BaseHTTPRequestHandler):
    """Answers with texts, and logs nothing: a test's output is its own."""

    def tell(self, text: str, kind: str = "application/json") -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def lead_to(self, address: str) -> None:
        self.send_response(302)
        self.send_header("location", address)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def answering(make: Callable[[str], T], handler: Callable[[T], type[Quiet]]) -> Iterator[T]:
    """What `make` makes of the server's address; its `handler` answers until the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    made = make(f"http://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = handler(made)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

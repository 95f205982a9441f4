"""The endpoint of the editor: whose page shows the draft may have its text compiled."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from engine.catalogue import KERNELS
from views.access import policy
from views.server import compiled

TEXT = KERNELS["reduce_strided"].text.replace("threadIdx", "threadIDx", 1)
CHOICE = {"kernel": "reduce_strided", "n": 4096, "block_size": 128, "dtype": "int32", "combine": None}


def request(body: bytes) -> Request:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "method": "POST", "headers": [], "path": "/compiled"}, receive)


def answer(**changes: Any) -> Response:
    asked = {"draft": "a1", "proof": policy.proof_of(policy.COMPILE, "a1"), "text": TEXT, "file": "mine.cu",
             "choice": CHOICE} | changes  # fmt: skip
    return asyncio.run(compiled._answer(request(json.dumps(asked).encode())))


def test_the_marks_of_a_text_are_answered() -> None:
    (mark, *_) = json.loads(bytes(answer().body))["marks"]
    assert mark["kind"] == "error" and mark["line"] > 1


@pytest.mark.parametrize(
    "changes",
    [{"proof": ""}, {"draft": "a2"}, {"proof": "é"}, {"draft": "a1é"}, {"proof": "\ud800"}, {"draft": "\ud800"}],
)
def test_another_page_is_refused(changes: dict[str, str]) -> None:
    assert answer(**changes).status_code == 403


@pytest.mark.parametrize("choice", [
    {"kernel": "no_such"}, {"n": "many"}, {"n": 2**60}, {"block_size": 7}, {"dtype": "text"}, {"combine": "wish"},
])  # fmt: skip
def test_what_only_a_check_can_refuse_has_no_mark(choice: dict[str, object]) -> None:
    assert json.loads(bytes(answer(choice=CHOICE | choice).body)) == {"marks": []}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"draft": "a1"}',
        b"[" * 100_000,
        b'{"draft": ' * 60_000,
        b'{"draft": NaN}',
        b"x" * (compiled.LARGEST + 1),
    ],
)
def test_a_request_that_is_none_is_an_answer(body: bytes) -> None:
    assert asyncio.run(compiled._answer(request(body))).status_code == 400


def test_a_busy_server_says_so_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_waiting", compiled.MOST_WAITING)
    assert answer().status_code == 503

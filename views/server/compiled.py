"""The endpoint that compiles a text while it is typed: the editor marks its lines without a run of the page's script.

The compiler runs in a process of its own, one text after the other. If several texts wait already, the server refuses
the next one, and the editor asks again after the next pause.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.compile.limits import SOURCE_BYTES
from engine.lab.checking import compiled_marks
from engine.records import Choice, NotRunnable
from views.access.policy import COMPILE, proof_of
from views.access.sign_in import received_json
from views.room.phone import FRESH, refused

LARGEST = 6 * SOURCE_BYTES + 1000  # bytes of a request: JSON may write a letter in six
MOST_WAITING = 4
_waiting = 0


async def _answer(request: Request) -> Response:
    """Answer {draft, proof, text, file, choice} with the compiler's marks; `proof`: of the page that shows the draft.
    `choice`: of the rung in whose place the text stands, or null."""
    global _waiting
    try:
        asked = await received_json(request, LARGEST)
        draft, text, file = (str(asked[name]) for name in ("draft", "text", "file"))
        proof, chosen = str(asked["proof"]).encode(), asked["choice"]
    except (ValueError, KeyError, TypeError):
        return Response(status_code=400, headers=FRESH)
    if not hmac.compare_digest(proof, proof_of(COMPILE, draft).encode()):
        return refused()
    if _waiting >= MOST_WAITING:
        return Response(status_code=503, headers=FRESH)
    _waiting += 1
    try:
        found = await asyncio.to_thread(_marks, text, file, chosen)
    finally:
        _waiting -= 1
    return JSONResponse({"marks": found}, headers=FRESH)


def _marks(text: str, file: str, chosen: Any) -> list[dict[str, object]]:
    """Return the marks; none for what only *Check* can refuse in words."""
    try:
        return [asdict(mark) for mark in compiled_marks(text, file, _choice(chosen) if chosen else None)]
    except (NotRunnable, ValueError, KeyError, TypeError):
        return []


def _choice(chosen: Mapping[str, Any]) -> Choice:
    return Choice(
        kernel=str(chosen["kernel"]), n=int(chosen["n"]), block_size=int(chosen["block_size"]),
        dtype=str(chosen["dtype"]), combine=chosen["combine"] and str(chosen["combine"]), device="emulator",
    )  # fmt: skip


ROUTES = (Route("/compiled", _answer, methods=["POST"]),)

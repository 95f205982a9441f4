"""The question of the slide and the votes on it: asked, closed, asked again, and answered by the rung's numbers.

The room's live state has the question; phones vote at /f/vote. While a round is open, nobody can read its votes: only
their number is told, and the store alone has the rest.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.lectures.questions import Question
from engine.store import votes as store
from views.room import feed, tickets
from views.room.phone import FRESH, received, refused

LONGEST = 200  # bytes of a vote
TELL_S = 0.4  # the number of votes is told this long after the first new one
MOST_HANDS = 10_000

_telling: set[asyncio.Task[None]] = set()
_changing = threading.Lock()  # a change reads the question first


def now() -> dict[str, Any] | None:
    """Return the question of the slide, or None.

    `name`: of the rung; `text`, `choices`: what is asked; `round`: from 1; `open`: whether it takes votes; `votes`: how
    many this round has; `counts`: of each closed round, the votes for each answer; `right`, `because`: None until the
    rung's numbers are shown.
    """
    found = feed.state()["question"]
    return dict(found) if found else None


def ask(lecture: str, name: str, question: Question) -> None:
    """Open the next round of a rung's question."""
    record = {"text": question.text, "choices": list(question.choices)}
    store.ask(lecture, name, record | {"right": question.right, "because": question.because})
    with _changing:
        before = now()
        counts = before["counts"] if before is not None and before["name"] == name else []
        asked = {"name": name, **record, "round": len(counts) + 1, "open": True, "counts": counts}
        feed.publish("question", asked | {"votes": 0, "right": None, "because": None})


def close(lecture: str) -> None:
    """Close the round, and tell its votes."""
    with _changing:
        asked = now()
        if asked is None or not asked["open"]:
            return
        counts = store.counts(lecture, asked["name"], asked["round"], len(asked["choices"]))
        told = {"open": False, "votes": sum(counts), "counts": [*asked["counts"], list(counts)]}
        feed.publish("question", asked | told)


def answer(question: Question) -> None:
    """Tell the right answer of a closed question: the rung's numbers are shown."""
    with _changing:
        asked = now()
        if asked is not None and not asked["open"] and asked["right"] is None:
            feed.publish("question", asked | {"right": question.right, "because": question.because})


def withdraw() -> None:
    """End the question, as for another slide; its votes stay in the store."""
    with _changing:
        feed.publish("question", None)


def count_hands(lecture: str, hands: Sequence[int]) -> None:
    """Add hands that the lecturer has counted, one number for each answer, to the open round. ValueError."""
    asked = now()
    if asked is None or not asked["open"]:
        raise ValueError("No question takes votes now.")
    if len(hands) != len(asked["choices"]) or not 0 < sum(hands) <= MOST_HANDS or min(hands) < 0:
        raise ValueError(f"Type {len(asked['choices'])} numbers, one for each answer: 12 30 5 3.")
    voters = [choice for choice, number in enumerate(hands) for _ in range(number)]
    key = secrets.token_hex(4)
    store.cast(lecture, asked["name"], asked["round"], {f"hand {key} {i}": c for i, c in enumerate(voters)})
    _tell(lecture)


async def vote(request: Request) -> Response:
    """Take a guest's vote: {name, round, choice}. The last one of a round counts."""
    guest = tickets.guest_of(request)
    if guest is None or not guest.lecture:
        return refused()
    try:
        given = json.loads(await received(request, LONGEST) or b"")
        name, round, choice = str(given["name"]), int(given["round"]), int(given["choice"])
    except (ValueError, KeyError, TypeError):
        return PlainTextResponse("This is no vote.", 400, FRESH)
    asked = now()
    if asked is None or (asked["name"], asked["round"]) != (name, round) or not asked["open"]:
        return PlainTextResponse("This question is closed.", 409, FRESH)
    if not 0 <= choice < len(asked["choices"]):
        return PlainTextResponse("The question has no such answer.", 400, FRESH)
    await asyncio.to_thread(store.cast, guest.lecture, name, round, {guest.name: choice})
    if not _telling:
        task = asyncio.create_task(_tell_soon(guest.lecture))
        _telling.add(task)
        task.add_done_callback(_telling.discard)
    return Response(status_code=204, headers=FRESH)


async def number(request: Request) -> Response:
    """Answer with the number of votes of the open round, to guests, to presenters and to those with the ticket."""
    if not (
        tickets.guest_of(request) or tickets.is_admitted(request) or tickets.opens(request.query_params.get("t", ""))
    ):
        return refused()
    asked = now()
    return JSONResponse(asked["votes"] if asked else 0, headers=FRESH)


async def _tell_soon(lecture: str) -> None:
    await asyncio.sleep(TELL_S)
    await asyncio.to_thread(_tell, lecture)


def _tell(lecture: str) -> None:
    """Publish the number of votes of the open round."""
    with _changing:
        asked = now()
        if asked is not None and asked["open"]:
            feed.publish("question", asked | {"votes": store.count(lecture, asked["name"], asked["round"])})


ROUTES = (Route("/f/vote", vote, methods=["POST"]), Route("/f/votes", number))

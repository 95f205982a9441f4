"""The question of the slide and the votes on it: asked, closed, asked again, and answered by the rung's numbers.

The room's live state has the question; phones vote at /f/vote. While a round is open, nobody can read its votes: only
their number is told, and the store alone has the rest. Votes that come at the same time are written together.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine.lectures.questions import Question
from engine.store import votes as store
from views.access.sign_in import received_json
from views.room import feed, tickets
from views.room.phone import FRESH, refused

LONGEST = 200  # bytes of a vote
GATHER_S = 0.25  # a vote waits so long for others, to be written and told with them
MOST, WITHIN_S = 10, 10.0  # votes of one guest in so many seconds
MOST_HANDS = 10_000
ELSEWHERE = "ended: another page presents now"

Round = tuple[str, str, int]  # a lecture, the name of its question, the number of the round
_gathering: dict[Round, tuple[dict[str, int], asyncio.Task[bool]]] = {}  # the votes that wait, and their writing
_recent: dict[str, deque[float]] = {}  # when each guest has voted on the question
_changing = threading.Lock()  # a change reads the question first


def now() -> dict[str, Any] | None:
    """Return the question of the slide, or None.

    `lecture`; `name`: ladder~rung~n~block size; `text`, `choices`: what is asked; `edges`: between its bands; `round`:
    from 1; `open`: whether it takes votes; `votes`: how many this round has; `counts`: of each closed round, the votes
    for each answer; `right`, `because`: None until the rung's numbers are shown.
    """
    found = feed.state()["question"]
    return dict(found) if found else None


def ask(lecture: str, name: str, question: Question) -> None:
    """Open the next round of a rung's question. A question that was asked before stays as it was asked."""
    with _changing:
        _end()
        _recent.clear()
        record = store.ask(lecture, name, asdict(question))
        counts = [list(round.counts) for round in store.rounds(lecture, name)]
        asked = {"lecture": lecture, "name": name, **{part: record[part] for part in ("text", "choices", "edges")}}
        asked |= {"round": len(counts) + 1, "open": True, "counts": counts, "votes": 0}
        feed.publish("question", asked | {"right": None, "because": None})


def close() -> None:
    """Close the round, and tell its votes."""
    with _changing:
        if ended := _end():
            feed.publish("question", ended)


def _end() -> dict[str, Any] | None:
    """Close the open round in the store; return the question with its votes, or None if no round is open."""
    asked = now()
    if asked is None or not asked["open"]:
        return None
    counts = store.close(*_round(asked), len(asked["choices"]))
    return asked | {"open": False, "votes": sum(counts), "counts": [*asked["counts"], list(counts)]}


def answer(question: Question) -> None:
    """Tell the right answer of a closed question: the rung's numbers are shown. `question`: as they answer it."""
    with _changing:
        asked = now()
        if asked is None or asked["open"] or asked["right"] is not None:
            return
        record = asdict(question)
        if list(question.choices) == asked["choices"]:
            store.correct(asked["lecture"], asked["name"], record)
        else:  # the run that is shown gives another question
            record = store.kept(asked["lecture"], asked["name"])
        feed.publish("question", asked | {"right": record["right"], "because": record["because"]})


def withdraw() -> None:
    """End the question, as for another slide; its votes stay in the store."""
    with _changing:
        _end()
        feed.publish("question", None)


def count_hands(hands: Sequence[int]) -> None:
    """Add hands that the lecturer has counted, one number for each answer, to the open round. ValueError."""
    asked = now()
    if asked is None or not asked["open"]:
        raise ValueError("No question takes votes now.")
    if len(hands) != len(asked["choices"]) or not 0 < sum(hands) <= MOST_HANDS or min(hands) < 0:
        raise ValueError(f"Type {len(asked['choices'])} numbers, one for each answer: 12 30 5 3.")
    voters = [choice for choice, number in enumerate(hands) for _ in range(number)]
    key = secrets.token_hex(4)
    if not _write_all(_round(asked), {f"hand {key} {i}": choice for i, choice in enumerate(voters)}):
        raise ValueError("The question was closed meanwhile.")


async def vote(request: Request) -> Response:
    """Take a guest's vote: {name, round, choice}. The last one of a round counts."""
    guest = tickets.guest_of(request)
    if guest is None or not guest.lecture:
        return refused()
    try:
        given = await received_json(request, LONGEST)
        name, round, choice = str(given["name"]), int(given["round"]), int(given["choice"])
    except (ValueError, KeyError, TypeError):
        return PlainTextResponse("This is no vote.", 400, FRESH)
    asked = now()
    if asked is None or not asked["open"] or _round(asked) != (guest.lecture, name, round):
        return PlainTextResponse("This question is closed.", 409, FRESH)
    if not 0 <= choice < len(asked["choices"]):
        return PlainTextResponse("The question has no such answer.", 400, FRESH)
    if _is_hasty(guest.name):
        return PlainTextResponse("Wait a few seconds before you change your vote.", 429, FRESH)
    if not await _keep((guest.lecture, name, round), guest.name, choice):
        return PlainTextResponse("This question is closed.", 409, FRESH)
    return Response(status_code=204, headers=FRESH)


def _is_hasty(guest: str) -> bool:
    """Note a vote of the guest; return whether it has voted too often."""
    times, instant = _recent.setdefault(guest, deque(maxlen=MOST)), time.monotonic()
    if len(times) == MOST and instant - times[0] < WITHIN_S:
        return True
    times.append(instant)
    return False


async def _keep(round: Round, guest: str, choice: int) -> bool:
    """Write a vote with those that come at the same time; return False if the round is closed."""
    if round not in _gathering:
        votes: dict[str, int] = {}
        _gathering[round] = votes, asyncio.create_task(_write(round, votes))
    votes, written = _gathering[round]
    votes[guest] = choice
    return await asyncio.shield(written)  # a guest that leaves does not stop the others' votes


async def _write(round: Round, votes: dict[str, int]) -> bool:
    try:
        await asyncio.sleep(GATHER_S)
    finally:
        del _gathering[round]  # votes from now on are written later
    return await asyncio.to_thread(_write_all, round, dict(votes))


def _write_all(round: Round, votes: dict[str, int]) -> bool:
    kept = store.cast(*round, votes)
    _tell()
    return kept


async def number(request: Request) -> Response:
    """Answer with the number of votes of the open round, to guests, to presenters and to those with the ticket; to a
    slide whose `question` has given way to another page's slide, with a sentence."""
    if not (
        tickets.guest_of(request) or tickets.is_admitted(request) or tickets.opens(request.query_params.get("t", ""))
    ):
        return refused()
    asked, on_slide = now(), request.query_params.get("question")
    if on_slide and (asked is None or asked["name"] != on_slide):
        return JSONResponse(ELSEWHERE, headers=FRESH)
    return JSONResponse(asked["votes"] if asked else 0, headers=FRESH)


def _tell() -> None:
    """Publish the number of votes of the open round."""
    with _changing:
        asked = now()
        if asked is not None and asked["open"]:
            feed.publish("question", asked | {"votes": store.count(*_round(asked))})


def _round(asked: Mapping[str, Any]) -> Round:
    return asked["lecture"], asked["name"], asked["round"]


ROUTES = (Route("/f/vote", vote, methods=["POST"]), Route("/f/votes", number))

"""The live state of a lecture: its numbers, its events, and its clients."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from engine.store import database
from views.room.feed import PARTS, Feed


@pytest.fixture
def feed() -> Iterator[Feed]:
    numbers = count(1000, 10)
    yield Feed(lambda: next(numbers))


def parts(event: bytes) -> dict[str, Any]:
    return json.loads(event.decode().partition("data: ")[2])


def test_each_change_gets_a_larger_number_and_an_equal_value_none(feed: Feed) -> None:
    assert feed.state() == {"number": 0, **PARTS, "followers": 0}
    feed.publish("phase", "during")
    first = feed.state()
    feed.publish("phase", "during")
    assert feed.state() == first and first["phase"] == "during"
    feed.publish("slide", {"title": "Two loads"})
    assert feed.state()["number"] > first["number"] > 0
    with pytest.raises(KeyError):
        feed.publish("no such part", 1)


def test_numbers_grow_even_if_the_clock_stands_still() -> None:
    feed = Feed(lambda: 5)
    numbers = []
    for moment in range(4):
        feed.publish("moment", moment)
        numbers.append(feed.number())
    assert numbers == [5, 6, 7, 8]


def test_a_client_receives_the_parts_that_it_has_not_seen_and_all_clients_the_same_bytes(feed: Feed) -> None:
    feed.publish("phase", "during")
    number, whole = feed.event(-1)
    assert parts(whole).keys() == {"number", *PARTS} and f"id: {number}\n".encode() in whole
    feed.publish("moment", "step 2")
    after, event = feed.event(number)
    assert parts(event) == {"number": after, "moment": "step 2"}
    assert feed.event(number)[1] is event and feed.event(after) == (after, b"")
    assert parts(feed.event(after + 1)[1]).keys() == {"number", *PARTS}, "a number of another server"


def test_a_moment_that_comes_after_the_step_to_a_plot_is_dropped(feed: Feed) -> None:
    feed.publish_parts({"slide": {"plot": ""}, "moment": "step 1"})
    feed.publish_parts({"slide": {"plot": "<svg>"}, "moment": None})
    feed.publish("moment", "step 2")
    assert feed.state()["moment"] is None
    feed.publish("slide", {"plot": ""})
    feed.publish("moment", "step 3")
    assert feed.state()["moment"] == "step 3"


def test_after_a_restart_the_state_is_there(feed: Feed) -> None:
    feed.publish("phase", "during")
    feed.publish("slide", {"title": "Two loads"})
    database.close()
    again = Feed()
    assert again.state() == feed.state()
    again.publish("moment", "step 2")
    assert again.number() > feed.number()


def test_waiting_clients_wake_at_once_and_a_closed_feed_ends_them(feed: Feed) -> None:
    async def followed() -> tuple[list[dict[str, Any]], list[int]]:
        seen: list[dict[str, Any]] = []
        counts: list[int] = []
        opened = asyncio.Event()

        async def client(name: str) -> None:
            async for event in feed.stream(-1, name):
                if b"data" in event:
                    seen.append(parts(event))
                    opened.set()

        going = [asyncio.create_task(client(name)) for name in ("a", "b", "b")]
        await opened.wait()
        counts.append(feed.followers())
        for step in range(3):
            seen.clear()
            publishing = threading.Thread(target=feed.publish, args=("slide", {"step": step}))
            publishing.start()
            while len(seen) < 3:
                await asyncio.sleep(0.001)
            publishing.join()
        feed.close()
        await asyncio.gather(*going)
        counts.append(feed.followers())
        return seen, counts

    seen, counts = asyncio.run(followed())
    assert [one["slide"] for one in seen] == [{"step": 2}] * 3
    assert counts == [2, 0], "a browser counts once"


def test_a_silent_stream_beats(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("views.room.feed.BEAT_S", 0.01)

    async def first() -> list[bytes]:
        events = []
        async for event in feed.stream(0, "a"):
            events.append(event)
            if len(events) == 3:
                return events
        return events

    assert asyncio.run(first())[1:] == [b"event: beat\ndata: 1\n\n"] * 2


def test_a_change_by_another_server_process_arrives(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("views.room.feed.LOOK_S", 0.001)
    other = Feed()

    async def received() -> dict[str, Any]:
        async for event in feed.stream(feed.number(), "a"):
            if b"data: {" in event:
                return parts(event)
            other.publish("moment", {"words": "line 7"})
        return {}

    assert asyncio.run(received()) == {"number": other.number(), "moment": {"words": "line 7"}}


def test_many_changes_at_once_come_as_few_events(feed: Feed) -> None:
    async def received() -> list[dict[str, Any]]:
        events = []
        async for event in feed.stream(feed.number(), "a"):
            if b"data: {" in event:
                events.append(parts(event))
                if events[-1]["question"] == {"votes": 50}:
                    return events
            for votes in range(51) if not events else ():
                feed.publish("question", {"votes": votes})
        return events

    assert len(asyncio.run(received())) <= 2

"""A queue shared by the tests of a module that leave it unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.service.queue import JobQueue
from tests.service.jobs import queue_with


@pytest.fixture(scope="module")
def shared() -> Iterator[JobQueue]:
    with queue_with() as made:
        yield made

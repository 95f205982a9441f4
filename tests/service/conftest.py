"""One queue for the tests that leave it as they found it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.service.queue import JobQueue
from tests.service.jobs import queue_with


@pytest.fixture(scope="module")
def shared() -> Iterator[JobQueue]:
    with queue_with() as made:
        yield made

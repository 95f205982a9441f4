"""The pages through Streamlit's own test runner; runs go to a real worker on the emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.service import service


@pytest.fixture(scope="session", autouse=True)
def _worker_ends_with_the_tests() -> Iterator[None]:
    yield
    service.disconnect()

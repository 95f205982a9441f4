"""The pages through Streamlit's own test runner; runs go to a real worker on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.history import history
from engine.service import service


@pytest.fixture(scope="session", autouse=True)
def _worker_ends_with_the_tests() -> Iterator[None]:
    yield
    service.disconnect()


@pytest.fixture(autouse=True)
def _own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    history.forget()

"""What presses keys and buttons of a page's own HTML."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from views.shared import keyboard

PRESS = Callable[..., AppTest]


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> PRESS:
    """What presses keys, one after the other, by the names of views/server/keys.py; each runs the script."""
    waiting: list[str] = []
    listen = keyboard.listen

    def heard() -> None:
        listen()
        while waiting:
            st.session_state["key actions"][waiting.pop(0)]()

    monkeypatch.setattr(keyboard, "listen", heard)

    def pressed(app: AppTest, *names: str, together: bool = False) -> AppTest:
        for several in [names] if together else [[name] for name in names]:
            waiting.extend(several)
            app.run()
            assert not app.exception
        return app

    return pressed

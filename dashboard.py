"""The frame: the list of pages and what they share. No measuring, no plotting.

    python dashboard.py          or          streamlit run dashboard.py

A browser's session runs this file as a script; started as a program, it serves the app.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import get_script_run_ctx

from views.session import keyboard, state
from views.session.compressed import CompressedAssets

FOLDER = Path(__file__).parent


def frame() -> None:
    """What every page has in common, then the page itself."""
    st.set_page_config(page_title="Kernel Ladder", page_icon=str(FOLDER / "views" / "html" / "icon.svg"), layout="wide")
    page = st.navigation(
        [
            st.Page("views/ladder.py", title="Ladder", icon=":material/stairs:", default=True),
            st.Page("views/sweep.py", title="Sweep", icon=":material/grid_on:"),
            st.Page("views/inside.py", title="Inside", icon=":material/frame_inspect:"),
            st.Page("views/machine.py", title="This machine", icon=":material/memory:"),
        ],
        position="top",
    )
    state.recall(page.url_path)
    state.restore()
    st.html(FOLDER / "views" / "html" / "style.css")
    keyboard.listen()
    page.run()


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[None]:
    """While the server lives: the workers are warm before the first click, and ended with it."""
    from engine.service import service

    await asyncio.to_thread(lambda: service.connect().warm())
    yield
    await asyncio.to_thread(service.disconnect)


if get_script_run_ctx(suppress_warning=True) is not None:
    frame()
else:
    app = st.App(Path(__file__), middleware=[Middleware(CompressedAssets)], lifespan=serving)
    if __name__ == "__main__":
        app.run()

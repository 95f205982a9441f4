"""The frame: the list of pages and what they share. No measuring, no plotting.

    python dashboard.py [--help]          or          streamlit run dashboard.py

A browser's session runs this file as a script; started as a program, it serves the app.
"""

from __future__ import annotations

import gc
import sys
from contextlib import ExitStack
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from views.access import badge, visitor
from views.access.browser_name import BrowserName
from views.access.gate import Gate
from views.access.headers import Headers
from views.access.return_address import ReturnAddress
from views.rung import desk
from views.session import keyboard, lecture, navigation, server, state, work
from views.session.assets import CompressedAssets, compress_ahead
from views.session.endpoints import ROUTES
from views.session.entry import EntryPage, parts
from views.session.page import WORK
from views.session.presence import Presence
from views.session.streamlit_internals import in_script_run

LADDER = ""  # the address of its page


def frame(turn: ExitStack) -> None:
    """What every page has in common, then the page itself. `turn`: of one that follows; other pages give it up."""
    st.set_page_config(page_title="Kernel Ladder", page_icon=navigation.icon(), layout="wide")
    if visitor.role() is None:
        badge.ask()
        return
    ladder, *others = navigation.pages()
    page = st.navigation([ladder, *others], position="top")
    if page.url_path != LADDER:
        turn.close()
    keyboard.listen()
    if keyboard.present_asked():  # on a page that has nothing to present of its own
        state.keep("", {"present": "1", **({"show": "motion"} if page.url_path == "inside" else {})})
        st.switch_page(ladder)
    state.recall(page.url_path)
    state.restore(page.url_path)
    st.html('<button class="showkeys corner" type="button" title="Keys (?)" aria-label="Keys">?</button>')
    page.run()


def prepare() -> None:
    """What the first page needs, made before a browser asks for it."""
    compress_ahead(parts())
    desk.prepare()
    gc.collect()
    gc.freeze()  # what is there by now stays: no later collection goes through it


if in_script_run():
    with ExitStack() as turn:
        if state.shown() == LADDER:
            turn.enter_context(lecture.turn(waiting=work.busy(WORK)))
        frame(turn)
else:
    app = st.App(
        Path(__file__),
        middleware=[
            Middleware(kind)
            for kind in (Headers, Gate, ReturnAddress, BrowserName, Presence, CompressedAssets, EntryPage)
        ],
        routes=ROUTES,
        lifespan=server.serving(prepare),
    )
    if __name__ == "__main__":
        server.serve(Path(__file__), sys.argv[1:])

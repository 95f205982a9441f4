"""The frame: the list of pages and what they share. No measuring, no plotting.

    python dashboard.py [--help]          or          streamlit run dashboard.py

A browser's session runs this file as a script; started as a program, it serves the app.
"""

from __future__ import annotations

import gc
import sys

if "streamlit" not in sys.modules:  # as a program: until `prepare` nothing that is made can be collected
    gc.disable()

from contextlib import ExitStack
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from views.access import visitor
from views.access.gate import Gate, ReturnAddress
from views.access.headers import Headers
from views.access.visitor import BrowserName
from views.ladder import desk
from views.ladder.view import WORK
from views.server import navigation, server
from views.server.assets import CompressedAssets, compress_ahead
from views.server.endpoints import ROUTES
from views.server.entry import EntryPage, parts
from views.server.streamlit_internals import in_script_run
from views.shared import address, keyboard, presentation, work
from views.shared.presence import Presence

LADDER = ""  # the address of its page


def frame(turn: ExitStack) -> None:
    """Show the parts that every page has, then the page itself. `turn`: lock held by a page that follows a presenter;
    others release it."""
    st.set_page_config(page_title="Kernel Ladder", page_icon=navigation.icon(), layout="wide")
    if visitor.role() is None:
        visitor.ask_to_sign_in()
        return
    ladder, *others = navigation.pages()
    page = st.navigation([ladder, *others], position="top")
    if page.url_path != LADDER:
        turn.close()
    keyboard.listen()
    if keyboard.present_asked():  # on a page that cannot be presented
        address.keep("", {"present": "1", **({"show": "motion"} if page.url_path == "inside" else {})})
        st.switch_page(ladder)
    address.recall(page.url_path)
    address.restore(page.url_path)
    st.html('<button class="showkeys corner" type="button" title="Keys (?)" aria-label="Keys">?</button>')
    page.run()


def prepare() -> None:
    """Make the parts of the first page before a browser asks for it."""
    compress_ahead(parts())
    desk.prepare()
    gc.collect()
    gc.freeze()  # later collections skip the objects that exist by now
    gc.enable()


if in_script_run():
    with ExitStack() as turn:
        if address.shown() == LADDER:
            turn.enter_context(presentation.turn(waiting=work.busy(WORK)))
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

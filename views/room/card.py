"""The card of the room, over the presenter's slide: a QR code with the ticket, the address and the code to type, and
how many browsers follow."""

from __future__ import annotations

import socket
from functools import lru_cache
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import segno
import streamlit as st

from views.access.policy import is_loopback
from views.room import feed, tickets
from views.shared import work

STYLE = Path(__file__).with_name("card.css")
_OPEN = "slide with the room's card"


def toggle() -> None:
    """Open the card over this slide, or close it. For callbacks."""
    if not close() and work.is_presenting():
        st.session_state[_OPEN] = _slide()


def close() -> bool:
    """Close the card; return whether it was open. For callbacks."""
    return st.session_state.pop(_OPEN, None) == _slide()


def show() -> None:
    """Draw the card if it is open, and let the presenter's browser publish the moments of the block in motion."""
    lecture = tickets.lecture()
    if not lecture or not work.is_presenting():
        return
    st.html(STYLE)
    card = _card(address(), lecture) if st.session_state.get(_OPEN) == _slide() else ""
    st.html(f'<div class="room" data-key="{tickets.presenters(lecture)}">{card}</div>')


def _slide() -> tuple[object, ...]:
    """Return what tells a slide from others: a step to another one closes the card."""
    return tuple(st.session_state.get(name) for name in ("ladder", "rung", "reveal"))


def _card(page: str, lecture: str) -> str:
    code, short = tickets.code(lecture), page.partition("://")[2]
    here = (
        ""
        if _is_reachable(page)
        else "<p>This server listens only to its own computer: open it in a second window.</p>"
    )
    return (
        f'<section class="roomcard" aria-label="Follow on a phone">'
        f'<img src="{_qr(f"{page}?t={tickets.ticket(lecture)}")}" alt="QR code that opens {escape(short)}">'
        f'<div><h2>Follow on your phone</h2><p class="address">{escape(short)}</p>'
        f'<p>Code <b class="code">{code[:3]} {code[3:]}</b></p>{here}'
        f'<p class="count"><b data-ticket="{tickets.ticket(lecture)}">{feed.FEED.followers()}</b> follow now</p>'
        "</div></section>"
    )


@lru_cache(maxsize=8)
def _qr(text: str) -> str:
    """Return a QR code as a picture's address, black on white in every theme."""
    return str(segno.make(text, error="m", micro=False).svg_data_uri(scale=8, border=4, dark="#000", light="#fff"))


def address() -> str:
    """Return the address of the page for phones, as other computers reach it."""
    given = urlsplit(st.context.url or f"http://{st.context.headers.get('host') or 'localhost'}")
    host, port = given.hostname or "localhost", f":{given.port}" if given.port else ""
    if is_loopback(host) and not is_loopback(st.get_option("server.address")):
        host = own_address() or host  # the presenter's browser runs on the server
    host = f"[{host}]" if ":" in host else host
    return f"{given.scheme}://{host}{port}{given.path.rpartition('/')[0]}/f"


def _is_reachable(page: str) -> bool:
    return not is_loopback(urlsplit(page).hostname)


def own_address() -> str:
    """Return this computer's address in its network, or ""; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation
        except OSError:
            return ""
        return str(probe.getsockname()[0])

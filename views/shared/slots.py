"""Places on a page that are drawn anew with each result.

The old contents stay until the new ones arrive: an empty element in between would blank the page, and make it jump.
"""

from __future__ import annotations

import streamlit as st

NOTHING = "<span></span>"  # for a place without contents


class RawHtml:
    """HTML to be sent as it is. In plain text Streamlit looks for the common indentation of all lines, which takes
    longer than everything else that it does with a long text."""

    def __init__(self, body: str) -> None:
        self._body = body

    def _repr_html_(self) -> str:
        return self._body


class Slot:
    """A place on the page for HTML."""

    def __init__(self, key: str) -> None:
        self._element = st.container(key=key)
        self._drawn = ""

    def html(self, body: str) -> None:
        """Replace the HTML in this place by `body`, unless it is the same."""
        if body and body != self._drawn:
            # What a container returns for its first element is a place of its own: the next one goes there.
            self._element, self._drawn = self._element.html(RawHtml(body)), body

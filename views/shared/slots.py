"""Containers of a page that are drawn again for each result.

The old contents stay until the new ones arrive: an empty element in between would blank the page, and make it jump.
"""

from __future__ import annotations

import streamlit as st

NOTHING = "<span></span>"  # for a place without contents


class RawHtml:
    """HTML that Streamlit sends unchanged. In plain text Streamlit looks for the common indentation of all lines, which
    takes longer than the rest of its work on a long text."""

    def __init__(self, body: str) -> None:
        self._body = body

    def _repr_html_(self) -> str:
        return self._body


class Slot:
    """A container for HTML."""

    def __init__(self, key: str) -> None:
        self._element = st.container(key=key)
        self._drawn = ""

    def html(self, body: str) -> None:
        """Replace the HTML of this container by `body`, unless it is the same."""
        if body and body != self._drawn:
            # A container returns a container for its first element: the next body goes there.
            self._element, self._drawn = self._element.html(RawHtml(body)), body

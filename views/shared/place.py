"""Places on a page whose contents are drawn anew with each result.

What stood there stays until its successor comes: an empty element in between would blank the page, and make it jump.
"""

from __future__ import annotations

import streamlit as st

NOTHING = "<span></span>"  # for a place that holds nothing any more


class Ready:
    """HTML to be sent as it is: in a text, Streamlit looks for what all lines are indented by, which takes longer than
    all else that it does with one of a page's length."""

    def __init__(self, body: str) -> None:
        self._body = body

    def _repr_html_(self) -> str:
        return self._body


class Place:
    """A place for HTML."""

    def __init__(self, key: str) -> None:
        self._element = st.container(key=key)
        self._drawn = ""

    def html(self, body: str) -> None:
        """Draw `body` in the place of what was drawn before; nothing, if it stands there already."""
        if body and body != self._drawn:
            # What a container returns for its first element is a place of its own: the next one goes there.
            self._element, self._drawn = self._element.html(Ready(body)), body

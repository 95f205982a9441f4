"""Places on a page whose contents are drawn anew with each result.

What stood there stays until its successor comes: an empty element in between would blank the page, and make it jump.
"""

from __future__ import annotations

import streamlit as st

NOTHING = "<span></span>"  # for a place that holds nothing any more


class Place:
    """A place for HTML."""

    def __init__(self, key: str) -> None:
        self._element = st.container(key=key)
        self._drawn = ""

    def html(self, body: str) -> None:
        """Draw `body` in the place of what was drawn before; nothing, if it stands there already."""
        if body and body != self._drawn:
            # What a container returns for its first element is a place of its own: the next one goes there.
            self._element, self._drawn = self._element.html(body), body

"""Sentences with code in them."""

from __future__ import annotations

import re
from html import escape


def code_in(sentence: str) -> str:
    """The sentence as HTML; what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(sentence))

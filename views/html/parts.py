"""Small pieces of HTML: tiles with big numbers, and sentences with code in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_CODE = re.compile(r"(?<!\w)(?:&#x27;.*?&#x27;|&quot;.*?&quot;)(?!\w)|`([^`]+)`")


def tile(title: str, value: str, *, unit: str = "", below: str = "", tip: str = "", dim: bool = False) -> str:
    """Return a tile with one number; "" shows a dash. `dim`: in a lighter colour; `unit` and `below`: HTML."""
    kind = "tile none" if dim else "tile"
    said = f' title="{escape(tip)}"' if tip else ""
    shown = f"<label>{escape(title)}</label><strong>{escape(value) or '–'}{unit}</strong>{below}"
    return f'<div class="{kind}"{said}>{shown}</div>'


def tiles(many: Iterable[str], kind: str = "") -> str:
    """Return tiles in rows. `kind`: "counted" for counters."""
    return f'<div class="{f"tiles {kind}".strip()}">{"".join(many)}</div>'


def code_in(sentence: str) -> str:
    """Return the sentence as HTML; text between backticks is code, but quoted text, which a reader may have typed,
    stays as it is."""
    return _CODE.sub(lambda found: f"<code>{found[1]}</code>" if found[1] else found[0], escape(sentence))


def sentence_case(words: str) -> str:
    """Return the words with a capital letter, unless they begin with code: `threadIdx.x`, `h_k`, `atomicInc`."""
    first = words.partition(" ")[0].rstrip(".,:;")
    return words if re.search(r"[A-Z0-9_.()\[\]=*]", first[1:]) else words[:1].upper() + words[1:]


def whole_dates(words: str) -> str:
    """Return the words as HTML in which no date is broken over two lines."""
    return re.sub(r"\d{4}-\d\d-\d\d", r"<time>\g<0></time>", words)

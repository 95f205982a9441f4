"""Big numbers beside each other: each with what it is, and with what it is to be compared with below."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def tile(title: str, value: str, *, unit: str = "", below: str = "", tip: str = "", dim: bool = False) -> str:
    """One number as it is written; "" where there is none, and `dim`: less is to be seen of it. `unit` and `below` are
    HTML."""
    kind = "tile none" if dim else "tile"
    said = f' title="{escape(tip)}"' if tip else ""
    shown = f"<label>{escape(title)}</label><strong>{escape(value) or '–'}{unit}</strong>{below}"
    return f'<div class="{kind}"{said}>{shown}</div>'


def tiles(many: Iterable[str], kind: str = "") -> str:
    """Tiles in rows. `kind`: "counted" for what was counted."""
    return f'<div class="{f"tiles {kind}".strip()}">{"".join(many)}</div>'

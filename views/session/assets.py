"""Streamlit's own files for the browser, and its script of charts with as much of Plotly as the pages use.

All of Plotly is 4.7 MB of script: of the first page's time on the browser's main thread, half. `engine/figures` has
three kinds of traces. So a copy of Streamlit's script holds the part that draws those, and the page says so in an
import map; where that part cannot be put in, because Streamlit has built its script otherwise, the page says nothing
and all of Plotly comes as ever.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import streamlit

ASSETS = Path(streamlit.__file__).parent / "static"
PLOTLY = Path(__file__).parents[1] / "chart" / "plotly.min.js"
CHART = "PlotlyChart"
# Between the two stands all of Plotly, as a function of a CommonJS module `t`.
_BEGIN, _END = "=n(((e,t,n)=>{", "return window.Plotly=e,e})}))"


def scripts(part: str) -> list[Path]:
    """Streamlit's script of a part of its pages; none where it has no such part."""
    return list((ASSETS / "static" / "js").glob(f"{part}.*.js"))


@lru_cache(maxsize=1)
def chart() -> tuple[str, str, bytes] | None:
    """(name of Streamlit's script of charts, name of ours, its text); None where Streamlit's is built otherwise.

    Its name is another one, with a digest: browsers keep both for good, and another program at this address, now or
    later, may want Streamlit's.
    """
    found = scripts(CHART)
    whole = found[0].read_text() if len(found) == 1 else ""
    if whole.count(_BEGIN) != 1 or whole.count(_END) != 1:
        return None
    before, _, rest = whole.partition(_BEGIN)
    module = "let module={exports:{}},exports=module.exports;" + PLOTLY.read_text() + "\n;t.exports=module.exports}))"
    ours = (before + _BEGIN + module + rest.partition(_END)[2]).encode()
    digest = hashlib.sha256(ours).hexdigest()[:16]
    return found[0].name, f"{found[0].stem}.{digest}.js", ours

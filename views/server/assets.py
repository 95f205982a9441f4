"""Streamlit's own files for the browser, and libraries of ours beside them: its script of charts takes one of these.

All of Plotly is 4.7 MB of script: of the first page's time on the browser's main thread, half. `engine/figures` has
three kinds of traces. So a copy of Streamlit's script imports the part that draws those, which may begin before
Streamlit does, and the page says so in an import map; where Streamlit has built its script otherwise, the page says
nothing and all of Plotly comes as ever.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

import streamlit

ASSETS = Path(streamlit.__file__).parent / "static"
_VIEWS = Path(__file__).parents[1]
PLOTLY = _VIEWS / "chart" / "plotly.min.js"
# What is ours under Streamlit's address of scripts, which would come with every answer as part of a component; the
# address of each is `library`.
LIBRARIES = {file.name: file for file in (_VIEWS / "editor" / "codemirror.min.js", PLOTLY)}
CHART = "PlotlyChart"
# Between the two stands all of Plotly, as a function of a CommonJS module `t`.
_BEGIN, _END = "=n(((e,t,n)=>{", "return window.Plotly=e,e})}))"


def scripts(part: str) -> list[Path]:
    """Streamlit's script of a part of its pages; none where it has no such part."""
    return list((ASSETS / "static" / "js").glob(f"{part}.*.js"))


@lru_cache(maxsize=1)
def named() -> tuple[str, ...]:
    """The names of the scripts that Streamlit's page asks for itself."""
    return tuple(re.findall(r"static/js/([\w.-]+\.js)", (ASSETS / "index.html").read_text()))


def imported(name: str) -> list[str]:
    """The names of the scripts without which this one of Streamlit's does not begin."""
    return re.findall(r"\b(?:from|import)\"\./([\w.-]+\.js)\"", (ASSETS / "static" / "js" / name).read_text())


@lru_cache(maxsize=8)
def library(name: str) -> str:
    """The address of one of LIBRARIES, relative to a page, with a digest, as browsers keep it for good."""
    return f"./static/{name}?{hashlib.sha256(LIBRARIES[name].read_bytes()).hexdigest()[:16]}"


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
    plotly = library(PLOTLY.name).replace("./static", "..")  # as scripts see it, which are in a folder of it
    ours = f'import $plotly from"{plotly}";{before}{_BEGIN}t.exports=$plotly}})){rest.partition(_END)[2]}'.encode()
    digest = hashlib.sha256(ours).hexdigest()[:16]
    return found[0].name, f"{found[0].stem}.{digest}.js", ours

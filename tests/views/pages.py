"""What the page tests share: open a page at an address, with Streamlit's own test runner, and read what stands on it.

Runs go to a real worker on the emulator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from plotly import graph_objects
from streamlit.components.v2 import manifest_scanner
from streamlit.source_util import PageInfo
from streamlit.testing.v1 import AppTest

# Streamlit reads the metadata of all installed packages for every app. Once is enough: that takes half of a test.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

PATIENCE_S = 200  # a busy machine's run of a page
DASHBOARD = Path(__file__).parents[2] / "dashboard.py"


def opened(page: str = "", **address: str) -> AppTest:
    """The dashboard at this address, run once; `page` is a folder of views/."""
    app = AppTest.from_file(str(DASHBOARD), default_timeout=PATIENCE_S)
    if page:
        app._registered_pages = registered_pages()  # as after a first run, which would draw the ladder page
        app.switch_page(f"views/{page}/page.py")
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, [entry.value for entry in app.exception]
    for figure in figures_of(app):
        graph_objects.Figure(json.loads(figure))  # ValueError for what Plotly would ignore in a browser
    return app


@cache
def registered_pages() -> dict[str, PageInfo]:
    """The pages that the dashboard registers when it runs."""
    return AppTest.from_file(str(DASHBOARD), default_timeout=PATIENCE_S).run()._registered_pages


def html_of(app: AppTest) -> str:
    """All HTML on the page."""
    return "\n".join(entry.proto.body for entry in app.get("html"))


def messages_of(app: AppTest, kind: str = "error") -> list[str]:
    """The sentences of the page's messages of a kind: error, warning or info."""
    found = re.findall(rf'<div class="message {kind}" role="\w+">(.*?)</div>', html_of(app), re.DOTALL)
    return [unescape(re.sub("</?code>", "`", body)) for body in found]


def markdown_of(app: AppTest) -> Iterator[str]:
    """Every text on the page that Streamlit reads as Markdown."""
    blocks: list[Any] = [app.main, app.sidebar]
    while blocks:
        one = blocks.pop()
        blocks += one.children.values() if hasattr(one, "children") else ()
        proto = getattr(one, "proto", None)
        for part in (proto, getattr(proto, "expandable", None), getattr(proto, "popover", None)):
            for name in ("label", "help", "text", *(["body"] if one.type in ("markdown", "caption", "alert") else [])):
                yield str(getattr(part, name, ""))


def figures_of(app: AppTest) -> list[str]:
    """The JSON of each chart on the page; of a chart that was drawn several times, of the last drawing."""
    charts = [entry.proto for entry in app.get("bidi_component") if entry.proto.component_name == "kernel_ladder_chart"]
    last = {re.split("-| ", chart.id, maxsplit=3)[2]: json.loads(chart.json)["figure"] for chart in charts}
    return list(last.values())


def asked(app: AppTest) -> dict[str, str]:
    """The address that the page wrote."""
    return {name: value[-1] if isinstance(value, list) else value for name, value in app.query_params.items()}

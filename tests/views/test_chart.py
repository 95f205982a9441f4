"""Charts: what is sent of a figure, when one is drawn anew, and the part of Plotly that draws them."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import plotly.graph_objects
import pytest
from plotly.basedatatypes import BaseTraceType
from streamlit.testing.v1 import AppTest

from tests.views.pages import figures_of
from views.chart import component
from views.server.components import LIBRARIES

ROOT = Path(__file__).parents[2]
PLOTLY = LIBRARIES["plotly-basic.min.js"]
BASIC = {"bar", "pie", "scatter"}  # the kinds of traces in Plotly's basic bundle
KINDS = {
    name.lower()
    for name, kind in ((name, getattr(plotly.graph_objects, name)) for name in plotly.graph_objects.__all__)
    if isinstance(kind, type) and issubclass(kind, BaseTraceType)
}


def one_chart() -> None:
    import streamlit as st

    from views.chart.component import Chart

    chart = Chart(st.container(), "plot")
    for value in st.session_state.get("values", [1]):
        chart.draw({"data": [{"type": "bar", "y": [value]}], "layout": {}}, alt=f"A bar of {value}", origin="A test")


def drawn(app: AppTest) -> list[tuple[str, str]]:
    """(key, description) of each drawing."""
    charts = [entry.proto for entry in app.get("bidi_component")]
    return [(chart.id.partition("-")[2].partition("-")[2], json.loads(chart.json)["alt"]) for chart in charts]


def test_a_figure_that_has_not_changed_is_left_alone() -> None:
    app = AppTest.from_function(one_chart).run()
    before = drawn(app)
    app.session_state["values"] = [1, 1, 1]
    assert drawn(app.run()) == before and len(before) == 1


def test_the_last_figure_of_a_run_keeps_its_key_in_the_next_run() -> None:
    app = AppTest.from_function(one_chart)
    app.session_state["values"] = [1, 2, 1, 2, 3]
    many = drawn(app.run())
    assert not app.exception and [alt for _, alt in many] == [f"A bar of {value}" for value in (1, 2, 1, 2, 3)]
    assert len({key for key, _ in many}) == 5
    app.session_state["values"] = [3]
    assert drawn(app.run()) == many[-1:]
    assert json.loads(figures_of(app)[0])["data"][0]["y"] == [3]


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        component.chart({"data": [{"type": "bar", "y": [float("nan")]}]}, key="bar", alt="A bar", origin="A test")


def kinds_of_traces(text: str) -> set[str]:
    """The kinds of Plotly's traces that dicts in a module's text have as their type."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "type" and isinstance(value, ast.Constant):
                    found.add(str(value.value))
    return found & KINDS


@pytest.mark.thorough
def test_every_kind_of_trace_that_a_figure_has_is_in_the_basic_bundle() -> None:
    kinds = set()
    for folder in ("engine", "views"):
        for file in (ROOT / folder).rglob("*.py"):
            kinds |= kinds_of_traces(file.read_text())
    assert {"bar", "scatter"} <= kinds <= BASIC


def test_the_bundle_is_the_version_that_checks_the_figures_and_has_its_licence() -> None:
    head, python = PLOTLY.read_text()[:200], Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    version = re.search(r"plotly\.js \(basic - minified\) v([\d.]+)\n", head)
    assert version is not None and f"plotly.js v{version[1]}\n" in python.read_text()[:200]
    licence = PLOTLY.with_name("plotly.licence.txt").read_text()
    assert licence.startswith("MIT License") and "Plotly" in licence


@pytest.mark.release
def test_the_bundle_is_the_one_that_npm_has(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("There is no npm here.")
    version = re.search(r" v([\d.]+)\n", PLOTLY.read_text()[:200])
    assert version is not None
    command = [npm, "pack", f"plotly.js-basic-dist-min@{version[1]}"]
    got = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(f"The package cannot be had here: {got.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(next(tmp_path.glob("*.tgz"))) as packed:
        for ours, theirs in ((PLOTLY, PLOTLY.name), (PLOTLY.with_name("plotly.licence.txt"), "LICENSE")):
            file = packed.extractfile(f"package/{theirs}")
            assert file is not None and file.read() == ours.read_bytes()

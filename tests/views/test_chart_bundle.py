"""The committed part of Plotly is what its build makes, of the right version, with all that figures use."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import plotly.graph_objects
import pytest
from plotly.basedatatypes import BaseTraceType

from tests.views.bundles import assert_made_by_its_build, locked_packages
from views.server.assets import CHART, PLOTLY, scripts

CHARTS = PLOTLY.parent
BUILD = CHARTS / "build"
MADE = ("plotly.min.js", "plotly.licences.txt")
ALWAYS = {"scatter"}  # in any part of Plotly
KINDS = {
    name.lower()
    for name, kind in ((name, getattr(plotly.graph_objects, name)) for name in plotly.graph_objects.__all__)
    if isinstance(kind, type) and issubclass(kind, BaseTraceType)
}
ROOT = Path(__file__).parents[2]


def kinds_of_traces(text: str) -> set[str]:
    """The kinds of Plotly's traces that dicts in a module's text have as their type."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "type" and isinstance(value, ast.Constant):
                    found.add(str(value.value))
    return found & KINDS


def test_every_kind_of_trace_that_a_figure_has_is_in_it() -> None:
    bundled = set(re.findall(r"plotly\.js/lib/(\w+)", (BUILD / "plotly.cjs").read_text())) - {"core"} | ALWAYS
    drawn = set()
    for folder in ("engine", "views"):
        for file in (ROOT / folder).rglob("*.py"):
            drawn |= kinds_of_traces(file.read_text())
    assert drawn == bundled


def test_it_is_the_version_that_checks_the_figures_and_streamlits_kind() -> None:
    asked = json.loads((BUILD / "package.json").read_text())["devDependencies"]["plotly.js"]
    python = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    (script,) = scripts(CHART)
    theirs = re.search(r"src/version\.js.{1,20}version=`([\d.]+)`", script.read_text())
    assert f"plotly.js v{asked}\n" in python.read_text()[:200] and f'"{asked}"' in PLOTLY.read_text()
    assert theirs is not None and theirs[1].partition(".")[0] == asked.partition(".")[0]


def test_every_package_is_locked_and_free() -> None:
    asked = json.loads((BUILD / "package.json").read_text())["devDependencies"]
    locked_packages(BUILD)
    licences = (CHARTS / "plotly.licences.txt").read_text()
    assert "Plotly Technologies Inc." in licences and f"plotly.js {asked['plotly.js']} (MIT)" in licences
    named = re.findall(r"^(?:\S+ [\d.]+) \((.*)\)$", licences, flags=re.MULTILINE)
    assert len(named) > 10 and set(named) <= {"MIT", "BSD-3-Clause", "ISC", "Zlib"}


@pytest.mark.release
def test_the_bundle_is_what_the_build_makes(tmp_path: Path) -> None:
    assert_made_by_its_build(CHARTS, MADE, tmp_path)

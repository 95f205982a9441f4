"""Streamlit still has each name that the dashboard uses beyond its documented interface, and no other is used."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import click
import pytest
import streamlit
from streamlit import net_util

from tests.browser.conftest import running
from views.server import streamlit_internals as internals

ROOT = Path(__file__).parents[3]
LIST = Path(internals.__file__)
PRODUCT = [*(ROOT / "engine").rglob("*.py"), *(ROOT / "views").rglob("*.py"), ROOT / "dashboard.py"]
FOR_BROWSERS = [*(ROOT / "views").rglob("*.css"), *(ROOT / "views").rglob("*.js"), *(ROOT / "views").rglob("*.html")]
DROPPED = f"Streamlit {streamlit.__version__} has no {{}} any more: see views/server/streamlit_internals.py."


def imports(file: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of each import from within Streamlit; the name is empty if the whole module is imported."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "streamlit":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("streamlit."))


@lru_cache(maxsize=1)
def scripts() -> str:
    """All of Streamlit's scripts for the browser."""
    return "\n".join(file.read_text(encoding="utf-8") for file in internals.SCRIPTS.glob("*.js"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of Streamlit's own."""
    folder = tmp_path_factory.mktemp("streamlit")
    script = folder / "empty.py"
    script.touch()
    with running(folder, script=str(script)) as (address, _):
        yield address


@pytest.mark.parametrize(("module", "name"), sorted(set(imports(LIST))))
def test_streamlit_has_the_name(module: str, name: str) -> None:
    try:
        found = hasattr(importlib.import_module(module), name)
        if not found:
            importlib.import_module(f"{module}.{name}")
    except ImportError:
        pytest.fail(DROPPED.format(f"{module}.{name}"))


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        ("runtime.scriptrunner.get_script_run_ctx", {"suppress_warning"}),
        ("web.bootstrap.load_config_options", {"flag_options"}),
        ("config.is_manually_set", {"option_name"}),
    ],
)
def test_streamlit_takes_the_parameters(function: str, parameters: set[str]) -> None:
    module, _, name = f"streamlit.{function}".rpartition(".")
    taken = set(inspect.signature(getattr(importlib.import_module(module), name)).parameters)
    assert parameters <= taken, DROPPED.format(f"{function}({', '.join(sorted(parameters))})")


def test_streamlit_run_is_a_command_with_its_script_as_target() -> None:
    from streamlit.web import cli

    assert {"target", "args", "server_port"} <= {parameter.name for parameter in cli.main_run.params}


@pytest.mark.parametrize("part", internals.PARTS)
def test_streamlit_has_one_script_for_the_part(part: str) -> None:
    assert len(list(internals.SCRIPTS.glob(f"{part}.*.js"))) == 1, DROPPED.format(f"script of {part}")


@pytest.mark.parametrize("text", [internals.ROOT, b"<head>", b"</head>"])
def test_streamlits_page_has_the_element_once(text: bytes) -> None:
    assert internals.PAGE.read_bytes().count(text) == 1, DROPPED.format(text.decode())


@pytest.mark.sampled(quick=0)
@pytest.mark.parametrize(
    "path", [internals.HEALTH, internals.METRICS, *(f"{path}none" for path in internals.PATHS[1:3])]
)
def test_streamlits_server_answers_at_the_path(server: str, path: str) -> None:
    """At any other path its page comes."""
    try:
        with urllib.request.urlopen(f"{server}{path}") as answer:
            kind = answer.headers.get_content_type()
    except urllib.error.HTTPError as missing:
        kind = missing.headers.get_content_type()
    assert kind != "text/html", DROPPED.format(f"path {path}")


@pytest.mark.thorough
def test_streamlits_server_has_its_scripts_below_the_static_path(server: str) -> None:
    script = next(internals.SCRIPTS.glob("index.*.js"))
    with urllib.request.urlopen(f"{server}{internals.STATIC_PATH}js/{script.name}") as answer:
        assert answer.read() == script.read_bytes(), DROPPED.format(f"path {internals.STATIC_PATH}")


@pytest.mark.parametrize("name", [*internals.CLASSES, *internals.TEST_IDS])
def test_streamlits_elements_have_the_class_or_test_id(name: str) -> None:
    marks = "`\"' "
    assert any(f"{a}{name}{b}" in scripts() for a in marks for b in marks), DROPPED.format(f"class or test id {name}")


def test_nothing_else_is_used() -> None:
    documented = {("streamlit", ""), ("streamlit", "st")}
    for file in PRODUCT:
        if file != LIST:
            assert set(imports(file)) <= documented, f"{file} imports from within Streamlit"
    classes, test_ids = set(), set()
    for file in FOR_BROWSERS:
        if ".min." not in file.name:
            text = file.read_text(encoding="utf-8")
            classes |= set(re.findall(r"\.(st[A-Z]\w*)", text))
            test_ids |= set(re.findall(r"data-testid=[\"']?(\w+)", text))
    assert classes == set(internals.CLASSES) and test_ids == set(internals.TEST_IDS)


def test_no_other_computer_is_asked_for_this_ones_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def outside(*_: object, **__: object) -> None:
        raise AssertionError("a request to another computer")

    monkeypatch.setattr(net_util, "get_external_ip", outside)
    monkeypatch.setattr(internals.cli.main_run, "invoke", lambda context: net_util.get_external_ip())
    internals.run(click.Context(click.Command("streamlit run")))

"""Everything that the dashboard uses of Streamlit beyond its documented interface; no other module uses such a name.

tests/views/server/test_streamlit_internals.py looks for each of these in the Streamlit that is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
import streamlit
from streamlit import config, net_util
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web import bootstrap, cli

# The files for the browser.
STATIC = Path(streamlit.__file__).parent / "static"
SCRIPTS = STATIC / "static" / "js"
PAGE = STATIC / "index.html"
ROOT = b'<div id="root">'  # Streamlit draws in it; Streamlit's styles stand before it, those of single pages inside
# Parts of its pages that every page of ours needs: each has a script of its own, with this name and a digest.
PARTS = ("Html", "BidiComponent", "ButtonGroup", "Selectbox", "Button", "DownloadButton")

# The paths that its server answers beside pages.
HEALTH, METRICS = "/_stcore/health", "/_stcore/metrics"
STATIC_PATH, SERVER_PATH = "/static/", "/_stcore/"
PATHS = (STATIC_PATH, "/media/", "/component/", SERVER_PATH)

# The classes and test ids of its elements that our styles and scripts name. Classes `st-key-...` are documented.
CLASSES = ("stApp", "stColumn", "stElementContainer", "stHorizontalBlock", "stHtml", "stMain", "stMainBlockContainer",
           "stProgress", "stSelectbox", "stVerticalBlock")  # fmt: skip
TEST_IDS = (
    "InputInstructions",
    "stCaptionContainer",
    "stFileUploaderDropzone",
    "stHeader",
    "stLayoutWrapper",
    "stMarkdownContainer",
    "stTopNavLink",
)

_NO_OPTIONS = {"target", "args"}  # of `streamlit run`'s parameters: the script, and the script's own arguments


def in_script_run() -> bool:
    """Return whether a browser's session runs this code as its script."""
    return get_script_run_ctx(suppress_warning=True) is not None


def run_context(script: Path, flags: Sequence[str]) -> click.Context:
    """Return the context of `streamlit run SCRIPT FLAGS`, with the options of the environment. click.ClickException for
    a flag that Streamlit lacks. The options hold from now on."""
    context = cli.main_run.make_context("streamlit run", [str(script), *flags])
    bootstrap.load_config_options({name: context.params[name] for name in context.params.keys() - _NO_OPTIONS})
    return context


def run(context: click.Context) -> None:
    """Serve until Ctrl-C, as `streamlit run` does, but ask no other computer for this one's own address."""
    net_util.get_external_ip = lambda: None
    with context:
        cli.main_run.invoke(context)


def is_set(option: str) -> bool:
    """Return whether somebody has set this option: by a flag, a variable or a file."""
    return config.is_manually_set(option)

"""What the page tests share: open a page at an address, with Streamlit's own test runner, and read what stands on it.

Runs go to a real worker on the emulator.
"""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

PATIENCE_S = 200  # a busy machine's run of a page
DASHBOARD = Path(__file__).parents[2] / "dashboard.py"


def opened(page: str = "", **address: str) -> AppTest:
    """The dashboard at this address, run once; `page` is a folder of views/."""
    app = AppTest.from_file(str(DASHBOARD), default_timeout=PATIENCE_S)
    if page:
        app.run()
        app.switch_page(f"views/{page}/page.py")
        app.session_state["choices kept"].clear()  # a browser that opens this address was nowhere before
        app.query_params.clear()
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, [entry.value for entry in app.exception]
    return app


def html_of(app: AppTest) -> str:
    """All HTML on the page."""
    return "\n".join(entry.proto.body for entry in app.get("html"))


def figures_of(app: AppTest) -> list[str]:
    """The figures' JSON."""
    return [entry.proto.spec for entry in app.get("plotly_chart")]


def asked(app: AppTest) -> dict[str, str]:
    """The address that the page wrote."""
    return {name: value[-1] if isinstance(value, list) else value for name, value in app.query_params.items()}

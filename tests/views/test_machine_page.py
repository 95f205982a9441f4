"""The page about this machine: what works, and one fix a line."""

from __future__ import annotations

import pytest

from engine.catalogue import LADDERS
from engine.commands.doctor import doctor
from tests.views.pages import html_of, opened


def test_every_check_of_the_doctor_is_a_line() -> None:
    html = html_of(opened("machine"))
    checks = doctor()
    assert checks
    for check in checks:
        assert check.name in html
    missing = [check for check in checks if not check.ok]
    assert html.count("To fix it") == sum(not check.optional for check in missing)
    assert html.count("not needed") == sum(check.optional for check in missing)


@pytest.mark.thorough
def test_warm_up_runs_every_rung_and_lists_the_ready_ones() -> None:
    app = opened("machine")
    app.selectbox(key="ladder to warm up").select("crovella-order").run()
    app.button(key="warm_up").click().run()
    rungs = len(LADDERS["crovella-order"].rungs)
    html = html_of(app)
    assert f"{rungs} rungs: {rungs} ready." in html and html.count("✓ ready") == rungs

"""The page about this machine: what works, and one fix a line."""

from __future__ import annotations

from engine.doctor import doctor
from tests.views.pages import html_of, opened


def test_every_check_of_the_doctor_is_a_line() -> None:
    html = html_of(opened("machine"))
    for check in doctor():
        assert check.name in html
        if not check.ok and check.fix:
            assert "To fix it" in html

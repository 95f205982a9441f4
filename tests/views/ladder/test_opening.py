"""The page at the bare address, and the drawer of settings."""

from __future__ import annotations

import pytest

from engine.catalogue import LADDERS
from engine.history import history, tables
from engine.records.words import text_of
from engine.service.warm_up import timed_of
from tests.views.pages import asked, html_of, opened
from views.picture import component
from views.shared import keyboard


def test_the_bare_address_shows_a_question_and_every_ladder_but_no_menu() -> None:
    app = opened()
    html = html_of(app)
    assert asked(app) == {}
    assert not app.selectbox
    assert all(f'data-press="ladder {name}"' in html for name in LADDERS)
    first = next(iter(LADDERS.values()))
    choices = [timed_of(first, rung) for rung in first.rungs]
    table = tables.ladder_table(first, choices, [history.look_up(choice) for choice in choices])
    assert f"<b>{text_of('cumulative', table['cumulative'].max())}</b>" in html


def test_its_button_opens_the_second_rung_and_the_menus() -> None:
    app = opened()
    app.button(key="begin").click().run()
    first = next(iter(LADDERS.values()))
    assert (asked(app)["ladder"], asked(app)["rung"]) == (first.name, first.rungs[1].kernel)
    assert {box.key for box in app.selectbox} >= {"ladder", "n", "block", "dtype", "device"}


@pytest.mark.parametrize(("window", "high"), [((1280, 720), 461), ((390, 844), component.STACKED), ((390, 2000), 1280)])
def test_two_blocks_one_above_the_other_have_room_on_a_phone(
    window: tuple[int, int], high: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the height for blocks side by side their rows would overlap."""
    monkeypatch.setattr(keyboard, "window", lambda: window)
    assert component.room(round(0.64 * window[1]), both=True) == high
    assert component.room(300, both=False) == 300

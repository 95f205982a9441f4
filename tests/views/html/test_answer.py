"""The strip of an answer's elements: what differs is marked, and no number is cut."""

from __future__ import annotations

from dataclasses import replace

from tests.history.test_history import measured
from views.html.answer import strip_html


def test_where_an_answer_differs_is_marked() -> None:
    found = measured(result=3, expected=4, error=1, error_bound=0, answer=(1, 2, 3), answer_count=3,
                     answer_expected=(1, 2, 4), answer_off=(2,), status="wrong")  # fmt: skip
    html = strip_html(found)
    assert html.count('class="off"') == 1 and '<span class="off"><u>2</u><b>3</b><s>4</s></span>' in html
    late = replace(found.check, answer=(0,) * 32, count=100, first=(0,) * 31 + (1,), off=(31,))
    shown = strip_html(replace(found, check=late))
    assert shown.count("<u>") == 16 and 'class="off"' in shown, "the strip begins at the first that is off"
    assert strip_html(measured()) == strip_html(None) == ""
    assert "NaN" in strip_html(replace(found, check=replace(found.check, answer=(None, 2, 3))))
    assert "137666<" in strip_html(replace(found, check=replace(found.check, answer=(0.5, 137666.0))))  # a place


def test_a_long_number_of_an_answer_is_whole_in_a_cell_twice_as_wide() -> None:
    found = measured(result=3, expected=3, error=0, error_bound=0, answer=(1, -2110674561, 3) * 8,
                     answer_count=24, answer_expected=(1, -2110674561, 3) * 8, status="ok")  # fmt: skip
    html = strip_html(found)
    assert html.count("<u>") == 8 and "-2110674561" in html and 'class="answer wide"' in html

"""Any value of any name in an address leads to a page without a traceback, and is Markdown nowhere on it."""

from __future__ import annotations

import random

import pytest
from streamlit.testing.v1 import AppTest

from tests.lab.test_debugger import SUM
from tests.views.pages import markdown_of, messages_of, opened
from tests.views.test_debugger_page import CALL
from views.debugger.asked import pack
from views.html.table import code_in
from views.shared.address import NAMES

PAGES = ("", "sweep", "inside", "lab", "sheets", "machine", "compare", "debugger")
# Two words of the address that go with the odd one, as a page has other menus then.
BESIDE = ({}, {"ladder": "harris", "start": "rung", "look": "banks", "sweep": "sizes"},
          {"ladder": "all-memory", "rung": "banks_strided", "sweep": "knob", "look": "lanes", "start": "empty"},
          {"ladder": "cooper", "sweep": "elements", "look": "change", "start": "stencil"},
          {"text": pack(SUM), "launched": CALL, "size": "64", "watch": "stride", "lines": "15-16"})  # fmt: skip
LINK = "[a](https://evil.example)"
LONG = "9" * 5000  # more digits than Python makes a number of
ODD = (
    "", " ", "foo", "a__b", "__", "-1", "0", "1", "3.5", "1e9", "2^64", "2^999999", "9" * 30, "nan", "٣", "²",
    "None", "auto", "gpu", "gpu:", "gpu:NVIDIA T4", "emulator:1", "independent:", "independent:x", "waves:0",
    "waves:-1", "int7", "true",
    ",", ",,", "a,b,c", "32,foo", "1,1,1", "../x", "/etc/passwd", "a/b", "\\", "%00", "\n", "\u202e", "é" * 50,
    "x" * 5000, LONG, f"waves:{LONG}", "<b>", LINK, "`", "$x$", "saxpy(1)", "f<<<1, 1>>>()", "sum(", "{}", "[]", "0x10",
)  # fmt: skip


def opens(app: AppTest, address: dict[str, str]) -> str | None:
    """Go to an address of this page, as Back does; return the traceback's last line, or a text that became a link."""
    app.session_state["led to"] = address
    app.run()
    link = next((text for text in markdown_of(app) if LINK in text), None)
    return f"{address}: {app.exception[0].value if app.exception else link}"[:300] if app.exception or link else None


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(("page", "name", "value"), [
    ("sweep", "device", "foo"), ("sweep", "device", "gpu:"), ("lab", "draft", "a__b"), ("", "device", "foo"),
    ("debugger", "lines", LONG), ("inside", "warp", LONG), ("", "schedule", f"independent:{LONG}"),
])  # fmt: skip
def test_an_odd_value_is_no_traceback(page: str, name: str, value: str) -> None:
    opened(page, **{name: value})


@pytest.mark.sampled(quick=2, thorough=7)
@pytest.mark.parametrize(("page", "name", "value", "beside"), [
    ("", "show", "foo", {}), ("", "counter", "foo", {}), ("", "below", "foo", {"ladder": "cs121-tiling"}),
    ("", "partitions", "100", {"ladder": "cooper"}), ("inside", "heat", "foo", {}), ("lab", "heat", "foo", {}),
    ("sweep", "value", "`foo`", {}),
])  # fmt: skip
def test_an_unknown_value_is_said_and_stays_said(page: str, name: str, value: str, beside: dict[str, str]) -> None:
    app = opened(page, **beside, **{name: value})
    for _ in range(2):
        (said,) = messages_of(app)
        assert repr(value) in said and app.query_params.get(name) != [value]
        app.run()


def test_a_plot_that_this_rung_lacks_is_said_until_the_next_step() -> None:
    app = opened(show="errors", ladder="harris")
    assert len(messages_of(app, "info")) == 1 and not messages_of(app)
    app.run()
    assert len(messages_of(app, "info")) == 1
    app.button("next").click().run()
    assert not messages_of(app, "info")


@pytest.mark.parametrize(("sentence", "count"), [
    ("`a` and `b`", 2), ("there is no '`a`': use `b`", 1), ('not "`a`", but the kernel\'s `b` and a thread\'s `c`', 2),
])  # fmt: skip
def test_quoted_text_keeps_its_backticks(sentence: str, count: int) -> None:
    assert code_in(sentence).count("<code>") == count


@pytest.mark.sampled(quick=0, thorough=14)
@pytest.mark.parametrize("page", PAGES)
def test_any_value_of_any_name_is_no_traceback(page: str) -> None:
    make, found, app = random.Random(page), [], opened(page)
    for name in NAMES:
        for value in (LINK, make.choice(ODD)):
            told = opens(app, {**make.choice(BESIDE), name: value})
            if told:
                found.append(told)
                app = opened(page)
    assert not found

"""The page of the debugger: it opens where it is asked to, and each press is a moment, a thread, or an element."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.lab.test_debugger import ADDED, SUM
from tests.sentences import says
from tests.views.conftest import PRESS
from tests.views.pages import asked, html_of, messages_of, opened
from tests.views.test_lab_page import checked, packed

pytestmark = pytest.mark.sampled(quick=2)

RACE = SUM.replace("s[t] += other;\n        __syncthreads();", "s[t] += other;")
CALL = "sum<<<1, 64>>>(float32[n]=range, float32[1], n)"


def debugger(text: str = SUM, **choices: str) -> AppTest:
    return opened("debugger", **{"text": packed(text), "launched": CALL, "size": "64", **choices})


def test_it_opens_at_the_address_and_steps_in_both_directions(press: PRESS) -> None:
    app = debugger(thread="3", at="40", watch="stride")
    first = html_of(app)
    assert "about to execute line" in html_of(app) and "stride" in first
    assert asked(app)["at"] == "40" and asked(app)["thread"] == "3"
    there = int(asked(press(app, "next"))["at"])
    assert there > 40
    before = html_of(app)
    assert int(asked(press(app, "next"))["at"]) > there
    assert int(asked(press(app, "previous"))["at"]) == there and html_of(app) == before != first
    assert asked(press(app, f"line {ADDED}"))["at"] != "40"
    assert asked(press(app, "thread 17"))["thread"] == "17"
    assert asked(press(app, "element 5"))["place"] == "5"
    write = int(asked(press(app, "write"))["at"])
    assert write and "moment" in html_of(app)
    press(app, "last")
    assert "has ended" in html_of(app) and "The thread has ended." in html_of(app)


def test_several_variables_are_watched_as_numbers_or_as_a_picture_of_the_block(press: PRESS) -> None:
    app = debugger(thread="3", at="40")
    assert "in the 64 threads" not in html_of(app)
    assert asked(press(app, "watch t"))["watch"] == "t"
    assert asked(press(app, "watch stride"))["watch"] == "t,stride"
    assert html_of(app).count("in the 64 threads") == 2 and "differs" in html_of(app)
    assert asked(press(app, "lanes"))["lanes"] == "picture"
    said = html_of(app)
    assert "<code>t</code> in the 64 threads: 0 (light) to 63 (dark)" in said
    assert said.count('class="blockpicture" style="--columns:64"') == 2
    cells = re.findall(r'data-press="thread (\d+)" title="thread \1: (\d+)" style="--share:(\d+)%"', said)[:64]
    assert [int(value) for _, value, _ in cells] == list(range(64))
    assert cells[0][2] == "12" and cells[63][2] == "100" and cells[3][2] < cells[40][2]
    assert asked(press(app, "thread 17"))["thread"] == "17"
    assert asked(press(app, "watch t"))["watch"] == "stride" and html_of(app).count("in the 64 threads") == 1
    press(app, "lanes")
    assert 'class="blockpicture"' not in html_of(app)


def test_the_same_address_shows_the_same_moment_in_another_browser() -> None:
    app = debugger(thread="3", at="40")
    assert html_of(opened("debugger", **asked(app))) == html_of(app)


def test_a_race_of_the_lab_opens_with_both_accesses(press: PRESS) -> None:
    lab = opened("lab", start="saxpy", source=packed(RACE), call=CALL, right="", n="64")
    said = html_of(checked(lab))
    assert 'data-press="step finding 0"' in said
    there = asked(press(lab, "step finding 0"))
    assert there["launched"].startswith("sum<<<") and there["lines"]
    app = opened("debugger", **there)
    assert "writes" in html_of(app) and "reads" in html_of(app)
    one = asked(app)
    other = asked(press(app, "second access"))
    assert one["thread"] != other["thread"] and one["place"] == other["place"] and one["array"] == "s"


def test_a_wrong_element_opens_at_its_last_write(press: PRESS) -> None:
    text = (
        "__global__ void f(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) y[i] = i == 200 ? 0 : 1;\n}\n"
    )
    call = "f<<<4, 64>>>(float32[n], n)"
    lab = opened("lab", start="saxpy", source=packed(text), call=call, right="y = y + 1", n="256")
    assert 'data-press="step element"' in html_of(checked(lab))
    app = press(lab, "step element")
    assert asked(app)["element"] == "y:200"
    assert (asked(app)["thread"], asked(app)["array"], asked(app)["place"]) == ("8", "y", "200")
    assert "block 3" in html_of(app)


def test_a_rung_is_stepped_through(press: PRESS) -> None:
    from engine.catalogue import KERNELS

    app = debugger(KERNELS["reduce_sequential"].text, launched="rung reduce_sequential 128 int32 relaunch", size="4096")
    assert "stride" in html_of(press(app, "barrier"))


def test_what_cannot_be_recorded_is_one_sentence() -> None:
    assert says("debugger.nothing", messages_of(opened("debugger"), "info")[0])
    assert any("does not compile" in one for one in messages_of(debugger("__global__ void sum( {")))
    assert any("There is no block 7" in one for one in messages_of(debugger(inblock="7")))
    assert any("No thread writes" in one for one in messages_of(debugger(element="in:3")))
    assert any("cannot be read" in one for one in messages_of(opened("debugger", text="!", launched=CALL)))
    assert any("no kernel" in one for one in messages_of(debugger(launched="rung nothing 128 int32 none")))

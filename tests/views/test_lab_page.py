"""The lab page: what a draft starts from, what a check shows, and what a link brings."""

from __future__ import annotations

import base64
import string
import zlib
from contextlib import suppress

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from engine.catalogue import KERNELS
from engine.records import NotRunnable
from tests.sentences import refused, says
from tests.views.pages import asked, html_of, messages_of, opened
from views.lab.drafts import Draft, unpack

OFF = KERNELS["reduce_strided"].text.replace("if (index < blockDim.x)", "if (index < 64)")
RACE = """__global__ void twice(int *a, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = s[63 - threadIdx.x];
    printf("done");
}
"""


def draft_of(app: AppTest) -> Draft:
    return app.session_state["drafts"][asked(app)["draft"]]


def field(app: AppTest, label: str) -> TextInput:
    return next(entry for entry in app.text_input if entry.label.startswith(label))


def checked(app: AppTest, text: str | None = None, action: str = "check") -> AppTest:
    """As the editor does it: the browser tells the text, and asks."""
    if text is not None:
        object.__setattr__(draft_of(app), "text", text)
    app.session_state["draft request"] = {"draft": asked(app)["draft"], "action": action, "number": 1}
    app.run()
    assert not app.exception, [entry.value for entry in app.exception]
    return app


def packed(text: str, wbits: int = 15) -> str:
    deflate = zlib.compressobj(wbits=wbits)
    return base64.urlsafe_b64encode(deflate.compress(text.encode()) + deflate.flush()).decode().rstrip("=")


@pytest.mark.parametrize("wbits", [15, -15], ids=["link", "older link"])
def test_a_link_that_was_cut_off_opens_no_part_of_its_text(wbits: int) -> None:
    text = KERNELS["reduce_strided"].text
    link = packed(text, wbits)
    assert unpack(link) == text
    for length in range(1, len(link), 40):
        with refused("lab.no-source", NotRunnable):
            unpack(link[:length])


def test_a_link_with_another_letter_opens_no_other_text() -> None:
    link = packed("__global__ void k(int *a) { a[threadIdx.x] = 7; }\n")
    text = unpack(link)
    for place in range(len(link)):
        for letter in string.ascii_letters + string.digits + "-_":
            with suppress(NotRunnable):
                assert unpack(f"{link[:place]}{letter}{link[place + 1 :]}") == text
    for words in ("", "....", "é", link + link, link + "AAAA"):
        with refused("lab.no-source", NotRunnable):
            unpack(words)


def test_a_rung_is_edited_and_stands_beside_the_rung_itself() -> None:
    app = opened("lab", ladder="harris", rung="reduce_strided", n="4096")
    address = asked(app)
    assert (address["start"], address["rung"]) == ("rung", "reduce_strided") and address["draft"]
    assert draft_of(app).text == KERNELS["reduce_strided"].text
    said = html_of(checked(app))
    assert "✓ Correct" in said and "mine / #2" in said and "#T1" in said
    wrong = html_of(checked(app, OFF))
    assert "✗ Wrong" in wrong and "#T2" in wrong and "changed since the rung" in wrong
    refused = html_of(checked(app, action="run"))
    assert says("lab.no-gpu", refused) and "✗ Wrong" in refused
    assert draft_of(app).text == OFF  # nothing is lost


def test_the_form_of_an_own_launch_is_written_to_the_address() -> None:
    app = opened("lab", start="saxpy", n="1000")
    assert asked(app)["right"] == "y = saxpy(x, y, a)" and "n" in asked(app)["call"]
    assert "✓ Correct" in html_of(checked(app))
    again = opened(
        "lab", **{**asked(app), "call": "saxpy<<<1, 32>>>(3, float32[n]=ones, float32[n]=ones, 32)", "right": ""}
    )
    assert field(again, "Grid").value == "1"
    said = html_of(checked(again))
    assert says("lab.nothing-right", said) and "y: 1,000 x float32" in said
    refused = opened("lab", start="saxpy", n="2^40")
    assert "choose a smaller N" in html_of(checked(refused))


def test_a_line_of_numpy_says_what_is_right() -> None:
    app = opened("lab", start="saxpy", n="1000")
    next(box for box in app.selectbox if box.label == "What is right").select("a line of NumPy").run()
    field(app, "A line of NumPy").set_value("a * x + y").run()
    assert asked(app)["right"] == "y = a * x + y" and "✓ Correct" in html_of(checked(app))
    field(app, "A line of NumPy").set_value("a * x - y").run()
    assert "✗ Wrong" in html_of(checked(app))
    field(app, "A line of NumPy").set_value("a * nosuch(x)").run()
    assert any("no function" in said for said in messages_of(app, "warning")) and asked(app)["right"] == "y = a * x - y"


def test_a_source_in_a_link_becomes_a_draft_with_a_fitting_launch() -> None:
    app = opened("lab", start="empty", source=packed(RACE), n="64")
    assert draft_of(app).text == RACE and "source" not in asked(app)
    assert asked(app)["call"].startswith("twice<<<")
    field(app, "Grid").set_value("1").run()
    field(app, "Block").set_value("64").run()
    said = html_of(checked(app))
    assert "there is no __syncthreads()" in said and '<a href="#L4">line 4</a>' in said and "done" in said
    broken = html_of(checked(app, RACE.replace("int n", "int n, int")))
    assert "Ran" in broken or "✗" in broken
    compile_error = html_of(checked(app, RACE.replace("63 -", "63 - missing -")))
    assert "does not compile" in compile_error and "The whole log" in compile_error
    assert "identifier" in compile_error and "Identifier" not in compile_error, "the mark does not repeat it"


def test_mistakes_in_a_link_or_an_address_are_reported() -> None:
    assert "cannot be read" in messages_of(opened("lab", start="empty", source="!!!"))[0]
    assert "too long" in messages_of(opened("lab", start="empty", source=packed("x" * 300_000)))[0]
    assert "nothing to start from" in messages_of(opened("lab", start="nowhere"))[0]
    assert "'saxpy(1)' is not a launch" in messages_of(opened("lab", start="saxpy", call="saxpy(1)", n="1"))[0]

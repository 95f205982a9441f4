"""The block in motion on the ladder page and in the hall."""

from __future__ import annotations

import json
import time

import pytest
from streamlit.testing.v1 import AppTest

from tests.views.pages import PATIENCE_S, asked, figures_of, html_of, opened
from tests.views.test_inside_page import picture_of


def moving(**address: str) -> AppTest:
    """A page whose picture has come in: in a browser it looks for it again and again."""
    app = opened(**address)
    until = time.monotonic() + PATIENCE_S
    while not mounted(app) and time.monotonic() < until:
        time.sleep(0.2)
        app.run()
    return app


def mounted(app: AppTest) -> bool:
    """Whether there is a picture."""
    return any(entry.proto.component_name == "kernel_ladder_picture" for entry in app.get("bidi_component"))


def test_the_ladder_page_shows_the_block_of_its_rung() -> None:
    app = moving(ladder="harris", rung="reduce_sequential", n="4096", show="motion")
    (shown,) = picture_of(app)["pictures"]
    assert shown["title"].startswith("#3") and json.loads(shown["picture"])["kernel"] == "reduce_sequential"
    assert asked(app)["show"] == "motion" and picture_of(app)["beside"] is False


def test_the_hall_shows_two_rungs_on_one_clock() -> None:
    app = moving(ladder="harris", rung="reduce_sequential", n="4096", show="motion", present="1", beside="1")
    kernels = [json.loads(shown["picture"])["kernel"] for shown in picture_of(app)["pictures"]]
    assert kernels == ["reduce_strided", "reduce_sequential"] and "presenting" in html_of(app)


@pytest.mark.parametrize(("address", "threads", "n"), [({}, 16, 32), ({"whole": "1"}, 128, 4096)])
def test_the_block_has_the_teaching_size_unless_the_whole_one_is_asked_for(address, threads, n) -> None:
    app = moving(ladder="harris", rung="reduce_sequential", n="4096", show="motion", present="1", **address)
    data = picture_of(app)
    (shown,) = data["pictures"]
    assert json.loads(shown["picture"])["threads"] == threads and shown["n"] == n
    assert data["whole"] is bool(address) and data["hall"] is True


def test_a_rung_opens_at_the_line_of_its_moment() -> None:
    (shown,) = picture_of(moving(ladder="harris", rung="reduce_unroll_volatile", show="motion"))["pictures"]
    assert json.loads(shown["picture"])["lines"][str(shown["opening"])] == "partial[tid] += partial[tid + 16];"


def test_a_product_is_small_enough_for_its_tiles_to_be_seen() -> None:
    app = moving(ladder="cs121-tiling", rung="matmul_tiled", show="motion", whole="1")
    (shown,) = picture_of(app)["pictures"]
    columns = {array["name"]: array["columns"] for array in json.loads(shown["picture"])["arrays"]}
    assert columns["M"] == columns["N"] == columns["P"] == 64  # four tiles of 16 along a row


def test_a_rung_of_the_cpu_shows_another_plot() -> None:
    app = opened(ladder="cooper", rung="trapezoid_scalar", show="motion")
    assert not mounted(app) and figures_of(app)

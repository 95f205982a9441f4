"""The comparison page: two sides in one address, their code, numbers with ratios and origins, and their blocks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backends.measure import measure
from engine.history import records
from engine.history.history import Known
from engine.records import NotRunnable
from tests.second_record import NAME, SLOWER, file
from tests.views.pages import asked, html_of, messages_of, opened
from views.compare.numbers import code_html, numbers_html
from views.compare.sides import side_of
from views.shared import work

FIRST = "nvidia-h200"


@pytest.fixture(autouse=True)
def second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    records.add(file(tmp_path))
    yield
    records.forget()


def row(html: str, title: str) -> list[str]:
    """The cells of a row of the table, without tags."""
    (found,) = re.findall(rf"<tr><td[^>]*>{title}.*?</tr>", html)
    return [re.sub("<[^>]+>", " ", each).split("  ")[0].strip() for each in re.findall(r"<td.*?</td>", found)]


def test_an_address_has_six_parts_and_the_last_ones_may_be_missing() -> None:
    assert side_of("harris").text == f"harris~reduce_interleaved~4194304~128~{FIRST}~lockstep"
    text = f"harris~reduce_strided~1048576~256~{NAME}~independent:1"
    assert side_of(text).text == text and side_of(text.replace("1048576", "2^20")).text == text
    assert side_of(text).run.schedule == "independent:1" and side_of(text).run.record is None
    assert side_of(text).choice.record == NAME


@pytest.mark.parametrize("text", [
    "no", "harris~no", "harris~reduce_strided~many", "harris~~~x", "harris~~~~no-gpu", "harris~~~~~sideways",
    "harris~~~~~~more", "~~~~~", "harris~~" + "9" * 50, "<b>~",
])  # fmt: skip
def test_an_odd_side_is_refused_with_a_sentence(text: str) -> None:
    try:
        side = side_of(text)
    except NotRunnable as refused:
        assert str(refused).endswith(".") and "\n" not in str(refused)
    else:
        assert side.n > 2**63  # a number, which the run refuses


def test_two_gpus_stand_beside_each_other_with_their_ratio_and_their_names() -> None:
    sides = {"A": side_of("harris~reduce_strided"), "B": side_of(f"harris~reduce_strided~~~{NAME}")}
    known = {name: work.outcome(side.choice, side.run) for name, side in sides.items()}
    html = numbers_html(sides, known)
    times = row(html, "Time")
    assert times[-1] == f"{SLOWER:.2f}×" and html.count("NVIDIA H200, recorded") == html.count("Test GPU 8 GB, rec")
    assert "lines new or changed" not in code_html(sides)
    side = side_of("harris~reduce_strided~1024")
    counted = {name: Known(live=measure(side.run)) for name in sides}
    html = numbers_html({"A": side, "B": side}, counted)
    assert "Warp instructions (PTX)" in html and "Barriers (PTX)" not in html  # as on the ladder page


@pytest.mark.thorough
def test_the_page_shows_code_numbers_and_blocks_and_writes_both_sides() -> None:
    app = opened("compare", a="harris~reduce_interleaved", b="harris~reduce_strided")
    assert asked(app)["a"] == f"harris~reduce_interleaved~4194304~128~{FIRST}~lockstep"
    html = html_of(app)
    assert "3 lines new or changed since A" in html and row(html, "Time")[-1] == "0.69×"
    (player,) = [e.proto for e in app.get("bidi_component") if e.proto.component_name == "kernel_ladder_picture"]
    assert len(json.loads(player.json)["pictures"]) == 2
    app.selectbox(key="B record").select(NAME).run()
    assert asked(app)["b"].split("~")[4] == NAME
    app.button(key="swap").click().run()
    assert asked(app)["a"].split("~")[4] == NAME and not app.exception


@pytest.mark.thorough
def test_an_odd_address_is_one_sentence_on_the_page_and_a_menu_mends_it() -> None:
    app = opened("compare", a="harris~no~such", b="harris")
    (said,) = messages_of(app)
    assert "Shown instead: #1." in said
    app.selectbox(key="A rung").select("reduce_sequential").run()
    assert not messages_of(app) and asked(app)["a"].split("~")[1] == "reduce_sequential"

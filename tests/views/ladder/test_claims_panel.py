"""The section that says which of a lecture's claims hold here."""

from __future__ import annotations

import pytest

from engine.catalogue import LADDERS
from engine.lectures.judge import claims_of
from tests.cases import case
from tests.sentences import says
from tests.views.pages import html_of, opened


def section(name: str) -> str:
    return html_of(opened(ladder=name, below="claims")).partition('<section class="claims">')[2]


OTHER = "nvidia-h100-80gb-hbm3"  # a record
QUICK = ("harris", "cs121-tiling", "heidelberg-volta", "cooper")
EVERY = [case(name, quick=name in QUICK) for name in LADDERS if claims_of(name)]


@pytest.mark.sampled(quick=4, thorough=3)
@pytest.mark.parametrize("name", EVERY)
def test_every_claim_has_a_row_with_its_words(name: str) -> None:
    html = section(name)
    assert html.count('<td class="text verdict">') == len(claims_of(name))
    assert f"{len(claims_of(name))} claims: " in html


def test_recorded_claims_are_judged_at_once_with_their_origin() -> None:
    html = section("heidelberg")
    assert "✓ holds" in html and "↻ was so then: the" in html and "compiler changed" in html and "recorded" in html
    assert "? a question, answered here" in html
    assert says("claims.direction-only", html)


@pytest.mark.parametrize("below", ["claims", "paper"])
def test_the_chosen_record_judges_and_stands_beside_the_lecture(below: str) -> None:
    for record, gpu, other in (("", "NVIDIA H200", "NVIDIA H100"), (OTHER, "NVIDIA H100", "NVIDIA H200")):
        html = html_of(opened(ladder="harris", below=below, record=record)).partition(f'<section class="{below}')[2]
        table = html.partition("</table>")[0]
        assert gpu in table and other not in table


def test_words_that_no_run_decides_are_not_called_unchecked() -> None:
    html = section("one-launch")
    assert "– not testable here" in html


@pytest.mark.thorough
def test_check_them_decides_every_claim_that_needs_no_gpu() -> None:
    app = opened(ladder="crovella-order", below="claims")
    before = html_of(app).partition('<section class="claims">')[2]
    assert ">not checked<" in before and "3 not checked yet" in before
    app.button(key="check_claims").click().run()
    after = html_of(app).partition('<section class="claims">')[2]
    assert "not checked" not in after and "counted by the emulator" in after and "run on the emulator" in after
    assert not app.exception


def test_a_ladder_without_claims_does_not_offer_them() -> None:
    app = opened(ladder="all-memory", below="claims")
    assert '<section class="claims">' not in html_of(app)

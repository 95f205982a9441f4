"""Every numeric claim of the lectures, against exact counts."""

from dataclasses import replace
from functools import cache

import pytest

from engine.catalogue import KERNELS, LADDERS
from engine.catalogue.claims import CLAIMS, Claim, Count, claims_of, counted, judged
from engine.measure import measure
from engine.records import COUNTERS, Choice

pytestmark = pytest.mark.thorough

measured = cache(measure)
EVERY_CLAIM = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


@EVERY_CLAIM
def test_a_claim_holds_or_the_reason_why_not_is_known(claim: Claim):
    verdict = judged(claim, measured)
    assert verdict.as_known, f"{claim.count.formula} is {verdict.value}"
    assert verdict.holds == (claim.counted is None) == (claim.why == "")


@EVERY_CLAIM
def test_a_claim_belongs_to_a_ladder_with_its_kernel_and_counts_what_is_counted(claim: Claim):
    rungs = [rung.kernel for rung in LADDERS[claim.ladder].rungs]
    assert claim.kernel in rungs and (not claim.against or claim.against in rungs)
    assert claim.count.over in COUNTERS and (claim.count.under in COUNTERS or not claim.count.under)
    assert claim.sentence[-1] in ".!)" and (not claim.why or claim.why.endswith("."))
    knob = KERNELS[claim.kernel].parameter
    assert claim.parameter is None or (knob is not None and claim.parameter in knob.values)


def test_the_names_are_different_and_a_page_finds_its_claims():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.ladder for claim in claims_of("cs121-banks")} == {"cs121-banks"}
    assert claims_of("no such ladder") == ()


def test_a_wrong_claim_does_not_hold():
    wrong = replace(CLAIMS[0], expected=129)
    verdict = judged(wrong, measured)
    assert not verdict.holds and not verdict.as_known and verdict.value == 128


def test_what_was_not_counted_is_an_error_and_not_a_number():
    found = measured(CLAIMS[0].choice())
    with pytest.raises(KeyError, match="no line with 'nowhere'"):
        counted(Count("branches", line="nowhere"), found)
    with pytest.raises(KeyError, match="not counted"):
        counted(Count("branches"), replace(found, counters=None))
    assert counted(Count("global_load_requests"), measured(Choice("copy_offset", 64, 32, device="emulator"))) == 2

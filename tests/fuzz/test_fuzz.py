"""A short slice of the fuzzer; `python -m tests.fuzz.fuzz_emulator --cases 10000` is the whole."""

from __future__ import annotations

import pytest

from tests.fuzz.fuzz_emulator import Case, case, choices, difference, outcome

PER_TEST = 10
SOURCES = range(0, 50, PER_TEST)
PTX = range(0, 100, PER_TEST)


def must_be_answered(this: Case) -> None:
    found = outcome(this)
    assert found.kind != "broken rule", f"{found.text}\n{this.plan.choice} {this.schedule}\n{difference(this)}"


@pytest.mark.sampled(quick=0, thorough=16)
@pytest.mark.parametrize("first", SOURCES)
def test_broken_sources_get_an_answer_or_a_sentence(first: int) -> None:
    for number in range(first, first + PER_TEST):
        must_be_answered(case(5, number, sources=1.1))


@pytest.mark.sampled(quick=0, thorough=16)
@pytest.mark.parametrize("first", PTX)
def test_broken_ptx_gets_an_answer_or_a_sentence(first: int) -> None:
    for number in range(first, first + PER_TEST):
        must_be_answered(case(0, number, sources=0))


@pytest.mark.thorough
def test_a_case_depends_on_its_seed_and_number_alone() -> None:
    assert case(0, 7) == case(0, 7) != case(1, 7)
    again = [outcome(case(3, number)) for number in range(4)]
    assert again == [outcome(case(3, number)) for number in range(4)]


@pytest.mark.thorough
def test_every_kernel_of_the_emulator_is_broken() -> None:
    assert len({choice.kernel for choice in choices()}) > 25

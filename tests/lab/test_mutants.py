"""Small wrong changes of right kernels are found by the checks of the sheets and of the lab."""

from __future__ import annotations

import pytest

from engine.lab.templates import TEMPLATES
from tests.lab.mutants import mutants_of
from tests.lab.mutation_trials import sample, subjects, tried

QUICK, WHOLE, SEED = 16, 200, 1


def missed(count: int) -> list[str]:
    made = (tried(subject, mutant) for subject, mutant in sample(count, SEED))
    return [f"{one.subject}: {one.mutant.rule}, line {one.mutant.line}\n{one.mutant.text}" for one in made
            if one.outcome == "missed"]  # fmt: skip


def test_every_rule_makes_mutants_that_differ_from_the_text() -> None:
    texts = [subject.text for subject in subjects()]
    made = [mutant for text in texts for mutant in mutants_of(text)]
    assert len({mutant.rule for mutant in made}) > 35 and not {mutant.text for mutant in made} & set(texts)
    tile = mutants_of(TEMPLATES["tile"].text)
    assert {"other array", "swapped indices", "no barrier", "y for x"} <= {one.rule for one in tile}


@pytest.mark.thorough
def test_mutants_are_found() -> None:
    assert missed(QUICK) == []


@pytest.mark.release
def test_all_mutants_are_found() -> None:
    assert missed(WHOLE) == []

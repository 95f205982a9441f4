"""Votes of `bar.red`: all groups of a block count together, however late each of them comes to the barrier."""

from __future__ import annotations

import pytest

from tests.ptx import random_programs


def test_a_random_program_whose_groups_vote_one_after_the_other() -> None:
    ways = [name for name, (_, schedule) in random_programs.WAYS.items() if schedule.kind == "independent"]
    assert ways and random_programs.of_ptx(401, ways) == []


@pytest.mark.thorough
def test_a_random_source_whose_groups_vote_one_after_the_other() -> None:
    assert random_programs.of_source(4, 1, list(random_programs.WAYS)) == []

"""Votes of `bar.red`: all groups of a block count together, however late each of them comes to the barrier."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.registers.masks import Masks
from engine.backends.emulator.running.lanes import Barriers, Waiting
from engine.backends.emulator.state.resident import Votes
from tests.backends.emulator import random_programs

THREADS, BLOCKS = 64, 2
T = np.arange(THREADS)


def test_groups_of_one_block_are_counted_together_while_another_block_is_late() -> None:
    masks = Masks(THREADS, THREADS, BLOCKS)
    votes = Votes(THREADS, BLOCKS)
    barriers = Barriers(masks, votes)
    first_block = np.array([True, False])
    gone = []
    for rows, yes in ((T < 32, T[:32] % 2 == 0), (T >= 32, T[32:] % 4 == 0)):
        group = masks.rectangle(rows, first_block)
        votes.cast(group, yes[:, None])
        gone = barriers.arrive(Waiting(group, 1, 0, None, 5), masks.start)
    assert sum(entry.mask.lanes for entry in gone) == THREADS
    assert set(votes.results[:, 0].tolist()) == {16 + 8}
    late = masks.rectangle(np.ones(THREADS, bool), ~first_block)
    votes.cast(late, np.ones((THREADS, 1), bool))
    barriers.arrive(Waiting(late, 1, 0, None, 5), masks.start)
    assert set(votes.results[:, 1].tolist()) == {THREADS | 1 << 30}
    assert set(votes.results[:, 0].tolist()) == {16 + 8}


@pytest.mark.release
def test_a_random_source_whose_groups_vote_one_after_the_other() -> None:
    assert random_programs.of_source(4, 1, list(random_programs.WAYS)) == []

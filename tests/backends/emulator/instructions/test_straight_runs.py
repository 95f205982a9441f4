"""Straight runs that are executed as one generated function give the same bits as one instruction after the other."""

from __future__ import annotations

import pytest

from engine.backends.emulator.instructions import dispatch, straight_runs
from tests.backends.emulator import random_programs


@pytest.mark.parametrize("seed", [100, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(101, 107))])
def test_generated_functions_agree_with_the_oracle(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    made: list[int] = []
    generate = straight_runs._Generator.function

    def counting(self, items):  # type: ignore[no-untyped-def]
        made.append(len(items))
        return generate(self, items)

    monkeypatch.setattr(straight_runs, "_WARM", 0)
    monkeypatch.setattr(dispatch, "LEAST", 1)
    monkeypatch.setattr(straight_runs._Generator, "function", counting)
    assert random_programs.of_ptx(seed, []) == []
    assert max(made) > straight_runs.LEAST

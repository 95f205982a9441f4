"""What runs plans says what it can do, and does it."""

from __future__ import annotations

import pytest

from engine.backends.backend import Backend, backend_of, quiet
from engine.backends.cpu import Cpu
from engine.plan import plan, settle
from engine.records import Choice
from engine.records.words import cpu_badge, cpu_named_in


def backend(kernel: str, **chosen: object) -> Backend:
    return backend_of(plan(settle(Choice(kernel, 1000, 256, device="emulator", **chosen))))  # type: ignore[arg-type]


def test_a_choice_runs_where_it_says() -> None:
    assert type(backend("reduce_sequential")).__name__ == "Emulator"
    assert isinstance(backend("reduce_scalar"), Cpu)
    assert type(backend_of(plan(settle(Choice("reduce_scalar", 1000, 256, device="gpu"))))).__name__ == "Cpu"


@pytest.mark.parametrize("kernel", ["reduce_sequential", "reduce_scalar"])
def test_what_a_backend_says_it_can_do_is_what_it_does(kernel: str) -> None:
    made = plan(settle(Choice(kernel, 1000, 256, device="emulator")))
    runs = backend_of(made)
    run = runs.run(made, quiet)
    assert (run.counts is not None) == runs.counts
    assert runs.times or made.choice.device == "emulator"
    assert made.choice.device == "gpu" or backend_of(made).describe()["name"]


def test_an_order_that_was_asked_for_stands_beside_the_numbers() -> None:
    made = plan(settle(Choice("reduce_sequential", 1000, 256, device="emulator", schedule="waves:2")))
    run = backend_of(made).run(made, quiet)
    assert backend_of(made).ordered
    assert run.badges == ("schedule: waves of 2 blocks",) and run.notes == {"schedule": "waves:2"}


def test_a_badge_of_the_cpu_names_it_again() -> None:
    assert cpu_named_in((cpu_badge("AMD EPYC 9554"), "few samples")) == "AMD EPYC 9554"
    assert cpu_named_in(("few samples",)) is None

"""The door: a choice is settled once, and then runs as it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import plan
from engine.machine.devices import HostGpu
from engine.plan import check_here, key, settle
from engine.records import Choice, NotRunnable, Settled

ASKED = Choice("reduce_sequential", 1000, 128)
ONE = HostGpu("NVIDIA H200", "GPU-aaaa", "580.1")


def test_auto_is_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "gpus", lambda: (ONE,))
    assert settle(ASKED).device == "gpu"
    monkeypatch.setattr(plan, "gpus", lambda: ())
    assert settle(ASKED).device == "emulator"


def test_a_gpu_that_is_not_here_can_be_looked_up_but_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "gpus", lambda: ())
    found = settle(replace(ASKED, device="gpu"))
    assert found.device == "gpu"
    with pytest.raises(NotRunnable, match="no GPU"):
        check_here(found)
    check_here(settle(ASKED))


def test_a_gpu_model_can_be_asked_for_by_a_part_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "gpus", lambda: (ONE, HostGpu("NVIDIA T4", "GPU-bbbb", "580.1")))
    found = settle(replace(ASKED, device="gpu:t4"))
    assert (found.device, found.model) == ("gpu", "NVIDIA T4")
    assert settle(found) == found and settle(replace(ASKED, device="gpu")).model is None
    check_here(found)
    with pytest.raises(NotRunnable, match="There is no A100 to run on"):
        check_here(settle(replace(ASKED, device="gpu:A100")))


def test_what_the_kernel_would_choose_is_named() -> None:
    found = settle(Choice("banks_strided", 1024, 256, device="emulator"))
    assert (found.combine, found.parameter) == ("none", 32)
    assert settle(replace(found, parameter=4)).parameter == 4


def test_a_settled_choice_stays_as_it_is() -> None:
    found = settle(replace(ASKED, device="emulator", schedule="waves:4"))
    assert isinstance(found, Settled) and settle(found) == found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"device": "tpu"}, "no device 'tpu'"),
        ({"device": "emulator:T4"}, "or gpu:MODEL"),
        ({"kernel": "reduce_nothing"}, "no kernel named"),
        ({"device": "gpu", "schedule": "waves:1"}, "A GPU chooses the order"),
    ],
)
def test_what_makes_no_sense_is_refused_at_the_door(change: dict[str, str], words: str) -> None:
    with pytest.raises(NotRunnable, match=words):
        settle(replace(ASKED, **change))


def test_a_key_is_the_same_on_every_device_and_tells_choices_apart() -> None:
    one = settle(replace(ASKED, device="emulator"))
    assert key(one) == key(settle(replace(ASKED, device="gpu")))
    for change in ({"n": 999}, {"block_size": 64}, {"cache": "hot"}, {"combine": "host"}, {"dtype": "float32"}):
        assert key(settle(replace(ASKED, **change))) != key(one)

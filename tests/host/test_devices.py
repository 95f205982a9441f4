"""Which GPUs are there."""

from __future__ import annotations

import pytest

from engine.machine import devices
from engine.machine.devices import HostGpu

ONE, TWO = HostGpu("NVIDIA H200", "GPU-aaaa", "580.1"), HostGpu("NVIDIA H200", "GPU-abbb", "580.1")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, (ONE, TWO)), ("1,0", (TWO, ONE)), ("", ()), ("-1", ()), ("0,7,1", (ONE,)), ("GPU-ab", (TWO,)),
     ("GPU-a", ()), ("1,1", (TWO,))],
)  # fmt: skip
def test_cuda_visible_devices_is_obeyed(setting: str | None, expected: tuple[HostGpu, ...]) -> None:
    assert devices.visible_gpus((ONE, TWO), setting) == expected


def test_device_summary_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: (ONE, TWO))
    assert devices.device_summary() == "2 x NVIDIA H200, driver 580.1"
    monkeypatch.setattr(devices, "gpus", lambda: (ONE,))
    assert devices.device_summary() == "NVIDIA H200, driver 580.1"
    monkeypatch.setattr(devices, "gpus", lambda: ())
    assert devices.device_summary() == "no GPU"


def test_gpus_of_other_computers_take_the_place_of_ones_own() -> None:
    devices.set_gpus((ONE, TWO))
    try:
        assert devices.gpus() == (ONE, TWO) and devices.own_gpus() == ()
    finally:
        devices.set_gpus(None)
    assert devices.gpus() == devices.own_gpus()

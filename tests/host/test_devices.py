"""Which GPUs are there, and on which device a choice runs."""

from __future__ import annotations

import pytest

from engine.host import devices
from engine.host.devices import Gpu
from engine.records import Choice, NotRunnable

ONE, TWO = Gpu("NVIDIA H200", "GPU-aaaa", "580.1"), Gpu("NVIDIA H200", "GPU-abbb", "580.1")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [(None, (ONE, TWO)), ("1,0", (TWO, ONE)), ("", ()), ("-1", ()), ("0,7,1", (ONE,)), ("GPU-ab", (TWO,)),
     ("GPU-a", ()), ("1,1", (TWO,))],
)  # fmt: skip
def test_cuda_visible_devices_is_obeyed(setting: str | None, expected: tuple[Gpu, ...]) -> None:
    assert devices.visible((ONE, TWO), setting) == expected


def test_device_summary_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpus", lambda: (ONE, TWO))
    assert devices.device_summary() == "2 x NVIDIA H200, driver 580.1"
    monkeypatch.setattr(devices, "gpus", lambda: (ONE,))
    assert devices.device_summary() == "NVIDIA H200, driver 580.1"
    monkeypatch.setattr(devices, "gpus", lambda: ())
    assert devices.device_summary() == "no GPU"


def test_the_device_is_settled_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    auto, gpu = (Choice("reduce_sequential", 1000, 128, device=device) for device in ("auto", "gpu"))
    monkeypatch.setattr(devices, "gpus", lambda: (ONE,))
    assert (devices.resolve(auto).device, devices.resolve(gpu).device) == ("gpu", "gpu")
    monkeypatch.setattr(devices, "gpus", lambda: ())
    assert devices.resolve(auto).device == "emulator"
    with pytest.raises(NotRunnable, match="no GPU"):
        devices.resolve(gpu)
    with pytest.raises(NotRunnable, match="no device 'tpu'"):
        devices.resolve(Choice("reduce_sequential", 1000, 128, device="tpu"))

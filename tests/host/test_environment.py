import os
from types import SimpleNamespace

import pytest

from engine.backends.backend import backend_named
from engine.machine import environment


def test_what_is_unknown_is_none_and_never_left_out():
    found = environment.environment()
    assert {"driver", "cuda", "cupy", "python", "commit", "utc", "nvrtc", "throttle_reasons", "sm_clock_now_mhz",
            "temperature_c", "power_w"} <= set(found)  # fmt: skip
    assert found["python"] and found["cupy"] and found["utc"].endswith("+00:00")
    if not environment.has_gpu():
        assert found["driver"] is None and found["power_w"] is None


def test_the_emulator_is_a_device_without_peaks():
    device = backend_named("emulator").describe()
    assert device["kind"] == "emulator" and "peak_bandwidth_gb_s" not in device


@pytest.mark.skipif(environment.has_gpu(), reason="for a machine without a GPU")
def test_without_a_driver_the_reason_is_one_sentence():
    assert environment.driver_state() != "ok" and "\n" not in environment.driver_state()


@pytest.mark.parametrize(
    ("running", "foreign"),
    [
        ([], []),
        (["own"], []),
        (["own", "sibling"], []),
        (["own", "stranger"], ["stranger"]),
        ([77], []),
        ([77, 78], [78]),
    ],
)
def test_only_processes_of_others_count_as_sharing(monkeypatch, running, foreign):
    ids = {"own": os.getpid(), "sibling": 900_001, "stranger": 900_002}
    nvml = SimpleNamespace(
        NVMLError=RuntimeError,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [SimpleNamespace(pid=ids.get(p, p)) for p in running],
    )
    monkeypatch.setitem(__import__("sys").modules, "pynvml", nvml)
    monkeypatch.setattr(environment, "_nvml_handle", lambda: "handle")
    monkeypatch.setattr(environment, "_parent", lambda pid: os.getppid() if pid == 900_001 else 1)
    assert environment.foreign_processes() == [ids.get(p, p) for p in foreign]

"""The calls of the pages: a Choice becomes a Handle, and then a Measurement."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from engine.machine.devices import HostGpu
from engine.plan import settle
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service, slots
from engine.service.queue import Handle, JobQueue
from engine.service.slots import ROOT
from tests.sentences import says
from tests.service.jobs import PATIENCE_S, job

CHOICE = settle(Choice("reduce_sequential", n=1000, block_size=128, device="emulator"))


def test_the_web_process_imports_no_cupy_and_without_a_cluster_no_dask() -> None:
    code = (
        "import sys, engine.service.service as s; s.device_summary(); s.connect().close(); "
        "print({'cupy', 'distributed'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "set()\n"


def test_each_gpu_has_a_slot_and_the_emulator_has_several() -> None:
    found = [HostGpu("NVIDIA H200", f"GPU-{name}", "580.1") for name in ("aaaa", "abbb")]
    made = slots.slots_for(found, emulators=3)
    assert [(slot.device, slot.name) for slot in made] == [("gpu", "NVIDIA H200")] * 2 + [("emulator", "emulator")] * 3
    for slot in made:
        slot.close()


def test_choices_are_measured_in_order_and_a_refused_one_has_a_record_too() -> None:
    asked = [replace(CHOICE, block_size=block_size) for block_size in (64, 33, 128)]
    try:
        found = service.measured(asked, "a")
    finally:
        service.disconnect()
    assert [(one.choice.block_size, one.status) for one in found] == [(64, "ok"), (33, "refused"), (128, "ok")]


@pytest.mark.parametrize(("workers", "at_once"), [(0, 1), (1, 4), (2, 8), (15, 60), (99, 192)])
def test_enough_runs_at_once_to_keep_all_workers_busy(
    workers: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = JobQueue(slots.slots_for((), emulators=workers))
    monkeypatch.setattr(service, "connect", lambda: queue)
    assert service.at_once("emulator") == at_once
    queue.close()


@pytest.mark.parametrize(
    ("cores", "gigabytes", "emulators"), [(1, 8, 2), (2, 8, 3), (4, 8, 5), (16, 128, 17), (16, 8, 6), (4, 1, 1)]
)
def test_there_is_one_emulator_more_than_cores_as_far_as_the_memory_suffices(
    cores: int, gigabytes: int, emulators: int
) -> None:
    assert slots.emulator_count(cores, gigabytes << 30) == emulators


@pytest.mark.parametrize(
    ("name", "args", "status", "reason", "log"),
    [
        ("fail", ("NotRunnable",), "refused", "a power of two.", None),
        ("fail", ("CompileError",), "compile-error", "does not compile: line 3", "a.cu(3): error: expected a ;"),
        ("fail", ("RunFailed",), "deadlock", "Line 7: a barrier", None),
        ("fail", ("ZeroDivisionError",), "crashed", "division by zero", "Traceback"),
        ("endless_loop", (), "timeout", "stopped after 0.3 s", None),
        ("leave", (3,), "crashed", "crashed its process (exit code 3)", None),
    ],
)
def test_every_failure_is_a_record(
    shared: JobQueue, name: str, args: tuple[object, ...], status: str, reason: str, log: str | None
) -> None:
    handle = shared.submit(
        job(name, *args, deadline=0.3 if name == "endless_loop" else PATIENCE_S, device="emulator"), "a"
    )
    measurement = service.measurement_of(handle, CHOICE)
    assert isinstance(measurement, Measurement)
    assert measurement.status == status
    assert measurement.reason is not None
    assert reason in measurement.reason
    assert log is None or log in (measurement.log or "")
    assert (measurement.kernel, measurement.choice.n, measurement.time_us) == (CHOICE.kernel, CHOICE.n, None)
    assert measurement.device["kind"] == "emulator"


def test_a_cancelled_run_is_a_record_too(shared: JobQueue) -> None:
    handle = shared.submit(job("endless_steps", device="emulator"), "a")
    handle.cancel()
    measurement = service.measurement_of(handle, CHOICE)
    assert (measurement.status, measurement.reason) == ("refused", "The run was cancelled.")


def test_a_choice_runs_on_the_emulator_and_its_result_is_cached() -> None:
    handles: list[Handle] = [service.submit(CHOICE, name) for name in ("a", "b")]
    try:
        first, second = (service.measurement_of(handle, CHOICE) for handle in handles)
        assert first.status == "ok", first.reason
        assert first == second
        again = service.submit(CHOICE, "c")
        assert again.kept
        assert says("badge.identical-run", *service.measurement_of(again, CHOICE).badges)
        with pytest.raises(NotRunnable, match="no kernel named"):
            service.submit(settle(Choice("reduce_nothing", 1000, 128)), "a")
    finally:
        service.disconnect()

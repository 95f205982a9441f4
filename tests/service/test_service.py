"""What the pages call: a Choice in, a Handle and at last a Measurement out."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import inf

import pytest

from engine.machine.devices import HostGpu
from engine.plan import settle
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service, slots
from engine.service.handle import Handle
from engine.service.queue import JobQueue
from engine.service.worker_slot import ROOT
from tests.service.jobs import PATIENCE_S, job

CHOICE = settle(Choice("reduce_sequential", n=1000, block_size=128, device="emulator"))


def test_the_web_process_never_imports_cupy_nor_dask_where_no_cluster_is_asked_for() -> None:
    code = (
        "import sys, engine.service.service as s; s.device_summary(); s.connect().close(); "
        "print({'cupy', 'distributed'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "set()\n"


def test_one_slot_a_gpu_and_some_for_the_emulator() -> None:
    found = [HostGpu("NVIDIA H200", f"GPU-{name}", "580.1") for name in ("aaaa", "abbb")]
    made = slots.slots_for(found, emulators=3)
    assert [(slot.device, slot.name) for slot in made] == [("gpu", "NVIDIA H200")] * 2 + [("emulator", "emulator")] * 3
    for slot in made:
        slot.close()


def test_many_choices_are_measured_in_their_order_and_what_cannot_run_has_a_record_too() -> None:
    asked = [replace(CHOICE, block_size=block_size) for block_size in (64, 33, 128)]
    try:
        found = service.measured(asked, "a")
    finally:
        service.disconnect()
    assert [(one.choice.block_size, one.status) for one in found] == [(64, "ok"), (33, "refused"), (128, "ok")]


@pytest.mark.parametrize(("workers", "at_once"), [(0, 1), (1, 4), (2, 8), (15, 60), (99, 192)])
def test_as_many_runs_as_keep_all_workers_busy(workers: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = JobQueue(slots.slots_for((), emulators=workers))
    monkeypatch.setattr(service, "connect", lambda: queue)
    assert service.at_once("emulator") == at_once
    queue.close()


@pytest.mark.parametrize(
    ("cores", "gigabytes", "emulators", "short"),
    [(1, 8, 1, 1), (2, 8, 1, 1), (4, 8, 3, 1), (16, 128, 15, 1), (16, 8, 6, 0), (4, 1, 1, 0)],
)
def test_the_emulators_leave_the_server_a_core_and_fit_into_memory(
    cores: int, gigabytes: int, emulators: int, short: int
) -> None:
    assert slots.longest_runs(cores, gigabytes << 30) == (inf,) * emulators + (slots.SHORT_S,) * short


@pytest.mark.parametrize(
    ("name", "args", "status", "reason", "log"),
    [
        ("fail", ("NotRunnable",), "refused", "Choose a block size that is a power of two.", None),
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


def test_a_choice_runs_on_the_emulator_and_is_kept() -> None:
    handles: list[Handle] = [service.submit(CHOICE, name) for name in ("a", "b")]
    try:
        first, second = (service.measurement_of(handle, CHOICE) for handle in handles)
        assert first.status == "ok", first.reason
        assert first == second
        again = service.submit(CHOICE, "c")
        assert again.kept
        assert any(
            badge.startswith("result of an identical run") for badge in service.measurement_of(again, CHOICE).badges
        )
        with pytest.raises(NotRunnable, match="no kernel named"):
            service.submit(settle(Choice("reduce_nothing", 1000, 128)), "a")
    finally:
        service.disconnect()

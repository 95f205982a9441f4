"""All GPUs of a computer are used, each by a worker of its own that sees no other; through a cluster, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dask
import pytest

from engine.machine.devices import gpus, own_gpus
from engine.plan import settle
from engine.records import Choice
from engine.service import service
from engine.service.failures import JobTimeout
from engine.service.queue import JobQueue
from tests.service import misbehaving
from tests.service.hosts import together
from tests.service.jobs import job, queue_with, until

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def queue() -> Iterator[JobQueue]:
    if len(gpus()) < 2:
        pytest.skip("needs a computer with two GPUs")
    with queue_with(*service.slots_for(gpus(), emulators=0)) as made:
        yield made


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster of one host, this computer, serves the process's own queue."""
    if not gpus():
        pytest.skip("needs a GPU")
    service.disconnect()
    with together(tmp_path) as made, dask.config.set(dask.config.merge(dask.config.config, made.tls())):
        made.start("a")
        monkeypatch.setenv(service.CLUSTER, made.address)
        assert until(lambda: service.connect().state().workers.get("gpu") == len(own_gpus()), 60.0), service.troubles()
        yield
        service.disconnect()


def test_a_cluster_serves_the_gpus_of_its_hosts(cluster: None, tmp_path: Path) -> None:
    assert {gpu.uuid for gpu in gpus()} == {gpu.uuid for gpu in own_gpus()}
    door = tmp_path / "door"
    handles = [service.connect().submit(job("gpu_behind", str(door), deadline=60.0, device="gpu"), "a") for _ in gpus()]
    assert until(lambda: all(handle.position() == 0 for handle in handles))
    door.touch()
    seen = [handle.result(120) for handle in handles]
    assert {count for count, _ in seen} == {1} and len({place for _, place in seen}) == len(gpus())
    asked = settle(Choice("reduce_sequential", 2**20, 256, device=f"gpu:{gpus()[0].name}"))
    found = service.measurement_of(service.submit(asked, "a"), asked)
    assert found.status == "ok" and found.time_us and found.device["name"] == gpus()[0].name, found.reason


def test_runs_at_once_are_on_different_gpus_and_each_worker_sees_one(queue: JobQueue, tmp_path: Path) -> None:
    door = tmp_path / "door"
    handles = [queue.submit(job("gpu_behind", str(door), deadline=60.0), "a") for _ in gpus()]
    assert until(lambda: all(handle.position() == 0 for handle in handles))
    door.touch()
    seen = [handle.result(60) for handle in handles]
    assert {count for count, _ in seen} == {1}
    assert len({place for _, place in seen}) == len(gpus())


def test_an_endless_kernel_on_one_disturbs_no_other(queue: JobQueue) -> None:
    fine = job("gpu_kernel", misbehaving.FINE, "fine", deadline=60.0)
    for handle in [queue.submit(fine, "a") for _ in gpus()]:  # both are warm
        assert handle.result(60) == sum(range(32))
    endless = queue.submit(job("gpu_kernel", misbehaving.ENDLESS, "endless", deadline=5.0), "a")
    assert until(lambda: endless.position() == 0)
    for _ in range(3):
        assert queue.submit(fine, "b").result(4) == sum(range(32))
    assert not endless.done.is_set()
    with pytest.raises(JobTimeout):
        endless.result(60)
    for handle in [queue.submit(fine, "a") for _ in gpus()]:
        assert handle.result(60) == sum(range(32))

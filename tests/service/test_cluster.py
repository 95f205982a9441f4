"""Two hosts in separate network namespaces serve one queue over TLS; hosts and the scheduler may go."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dask
import pytest

from engine.records import NotRunnable
from engine.service.cluster.hosts import Cluster
from engine.service.job import Cancelled, JobTimeout, WorkerDied
from engine.service.queue import JobQueue
from tests.sentences import sentence, wording
from tests.service.hosts import Hosts, apart
from tests.service.jobs import job, until

pytestmark = pytest.mark.thorough

SOON_S = 60.0  # for events that take two seconds on a calm machine


class Served(NamedTuple):
    """A queue, its hosts, and the thread that follows them."""

    hosts: Hosts
    queue: JobQueue
    following: Cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with (
        apart(tmp_path_factory.mktemp("cluster")) as made,
        dask.config.set(dask.config.merge(dask.config.config, made.tls())),
    ):
        queue = JobQueue(())
        following = Cluster(made.address, queue)
        for name in "ab":
            made.start(name)
        try:
            assert until(lambda: serving(queue) == {"a", "b"}, SOON_S), following.troubles
            yield Served(made, queue, following)
        finally:
            queue.close()
            following.close()


@pytest.fixture(autouse=True)
def whole(cluster: Served) -> Iterator[None]:
    yield
    assert until(lambda: serving(cluster.queue) == {"a", "b"}, SOON_S)


def serving(queue: JobQueue) -> set[str]:
    return {one.host for one in queue.state().serving}


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_simultaneous_runs_use_both_hosts(cluster: Served, tmp_path: Path) -> None:
    queue = cluster.queue
    door, trace = tmp_path / "door", tmp_path / "trace"
    handles = [queue.submit(job("gate_in", str(trace), str(door)), "s") for _ in queue.slots]
    assert until(lambda: len(lines(trace)) == len(handles), SOON_S)
    door.touch()
    assert {handle.result(SOON_S) for handle in handles} == {"a", "b"}


def test_a_harmful_job_affects_no_other(cluster: Served) -> None:
    queue = cluster.queue
    for name, arguments, failure in (
        ("read_address_zero", (), WorkerDied),
        ("hang_in_c", (), JobTimeout),
        ("fail", ("NotRunnable",), NotRunnable),
    ):
        deadline = 0.5 if failure is JobTimeout else SOON_S
        bad = queue.submit(job(name, *arguments, deadline=deadline), "bad")
        good = [queue.submit(job("add", number, 1), "good") for number in range(4)]
        with pytest.raises(failure):
            bad.result(SOON_S)
        assert [handle.result(SOON_S) for handle in good] == [1, 2, 3, 4]
    assert serving(queue) == {"a", "b"}


def test_progress_arrives_and_a_cancelled_job_stops_on_its_host(cluster: Served) -> None:
    queue = cluster.queue
    handle = queue.submit(job("endless_steps", deadline=120.0), "a")
    assert until(lambda: handle.progress[1] == "going on", SOON_S)
    handle.cancel()
    with pytest.raises(Cancelled):
        handle.result(0)
    for other in [queue.submit(job("add", 1, 1), "b") for _ in queue.slots]:  # no worker still runs it
        assert other.result(SOON_S) == 2


def test_a_job_of_a_host_that_is_cut_off_runs_once_more_elsewhere(cluster: Served, tmp_path: Path) -> None:
    made, queue, _ = cluster
    door, trace = tmp_path / "door", tmp_path / "trace"
    handle = queue.submit(job("gate_in", str(trace), str(door), deadline=200.0), "s")
    assert until(lambda: len(lines(trace)) == 1, SOON_S)
    (first,) = lines(trace)
    made.cut_off(first)
    try:
        assert until(lambda: len(lines(trace)) == 2, SOON_S)
        assert serving(queue) == {"a", "b"} - {first}
        door.touch()
        assert handle.result(SOON_S) == ({"a", "b"} - {first}).pop()
    finally:
        made.connect_again(first)
    assert until(lambda: serving(queue) == {"a", "b"}, SOON_S)
    assert len(lines(trace)) == 2


def test_no_job_is_lost_when_the_scheduler_is_killed_and_restarted(cluster: Served, tmp_path: Path) -> None:
    made, queue, _ = cluster
    door, trace = tmp_path / "door", tmp_path / "trace"
    gate = job("gate_in", str(trace), str(door), deadline=200.0)
    count = len(queue.slots)
    handles = [queue.submit(gate, "s") for _ in range(2 * count)]
    assert until(lambda: len(lines(trace)) == count, SOON_S)
    made.kill("scheduler")
    assert until(lambda: not serving(queue), SOON_S)
    assert until(lambda: "scheduler" in "".join(cluster.following.troubles), SOON_S)
    assert until(lambda: handles[0].progress == (0.0, wording("queue.no-worker")), SOON_S)
    handles.append(queue.submit(gate, "s"))
    made.start_scheduler()
    door.touch()
    assert {handle.result(SOON_S) for handle in handles} <= {"a", "b"}
    assert len(lines(trace)) == len(handles) + count  # runs that were under way have run twice


def test_the_other_host_serves_while_one_is_killed(cluster: Served, tmp_path: Path) -> None:
    made, queue, _ = cluster
    made.kill("b")
    assert until(lambda: serving(queue) == {"a"}, SOON_S)
    assert queue.submit(job("add", 1, 1), "s").result(SOON_S) == 2
    made.start("b")


def test_a_host_of_another_version_does_not_serve(cluster: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.service.cluster.hosts.program_version", lambda *files: "another")
    assert until(lambda: not serving(cluster.queue), SOON_S)
    assert until(lambda: len(cluster.following.troubles) == 2, SOON_S)
    assert sentence("cluster.other-version", cluster.following.troubles[0])


def test_a_client_without_a_certificate_is_refused(cluster: Served) -> None:
    made = cluster.hosts
    place, _, port = made.address.removeprefix("tls://").partition(":")
    stranger = ssl.create_default_context(cafile=made.certificate)
    stranger.check_hostname = False
    plain = socket.create_connection((place, int(port)), timeout=20)
    with pytest.raises(ssl.SSLError), plain, stranger.wrap_socket(plain) as wrapped:
        wrapped.recv(1)

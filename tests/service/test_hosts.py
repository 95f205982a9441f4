"""Slots come and go: a run whose host is lost runs again elsewhere, once; a run for a GPU model gets that model."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import dask
import pytest

from engine.compile import confinement
from engine.records import NotRunnable, Progress
from engine.service.cluster import check_address, check_certificate
from engine.service.cluster.node import Jobs, run_node
from engine.service.job import HostLost, Job, Outcome, Rejected
from engine.service.queue import JobQueue, Serving, hosts_text
from engine.service.slots import ROOT
from tests.sentences import sentence
from tests.service.jobs import PATIENCE_S, until


class Slot:
    """A slot whose runs wait for `go_on` and return the host's name, or are lost with the host."""

    def __init__(self, host: str, device: str = "gpu", name: str = "H200") -> None:
        self.host, self.device, self.name = host, device, name
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.lost = self.closed = False
        self.runs: list[tuple[str, bool]] = []  # (session, urgent)

    def start(self) -> None:
        pass

    def run(
        self,
        job: bytes,
        deadline_s: float,
        progress: Progress,
        cancelled: Callable[[], bool],
        session: str,
        urgent: bool,
    ) -> Outcome:
        self.runs.append((session, urgent))
        self.begun.set()
        self.go_on.wait()
        if self.lost:
            return Outcome(False, pickle.dumps(HostLost()), lost=True)
        return Outcome(True, pickle.dumps(self.host))

    def interrupt(self) -> None:
        self.go_on.set()

    def lose(self) -> None:
        self.lost = True
        self.go_on.set()

    def close(self) -> None:
        self.closed = True


def asked(model: str | None = None) -> Job:
    return Job("nobody:reads", device="gpu", model=model)


def test_a_run_whose_host_is_lost_runs_again_elsewhere_once() -> None:
    first, second, third = (Slot(name) for name in "abc")
    queue = JobQueue([first])
    handle = queue.submit(asked(), "s")
    assert first.begun.wait(PATIENCE_S)
    queue.add(second)
    first.lose()
    assert second.begun.wait(PATIENCE_S) and not handle.done.is_set()
    assert until(lambda: first.closed)  # it takes no more runs
    assert [one.host for one in queue.state().serving] == ["b"]
    second.lose()
    with pytest.raises(HostLost, match="Two computers were lost"):
        handle.result(PATIENCE_S)
    queue.add(third)
    third.go_on.set()
    assert queue.submit(asked(), "s").result(PATIENCE_S) == "c"
    queue.close()


def test_a_host_gets_the_session_and_the_rank_of_a_run() -> None:
    slot = Slot("a")
    queue = JobQueue([slot])
    slot.go_on.set()
    queue.submit(asked(), "s", urgent=True).result(PATIENCE_S)
    assert slot.runs == [("s", True)]
    queue.close()


def test_a_dropped_slot_ends_its_run_and_takes_no_other() -> None:
    one, two = Slot("a"), Slot("b")
    queue = JobQueue([one])
    handle = queue.submit(asked(), "s")
    assert one.begun.wait(PATIENCE_S)
    waiting = queue.submit(asked(), "s")
    queue.drop(one)
    one.go_on.set()
    assert handle.result(PATIENCE_S) == "a" and until(lambda: one.closed)
    share, words = waiting.progress
    assert share == 0.0 and sentence("queue.no-worker", words)
    assert waiting.expected_wait_s() is None
    queue.add(two)
    two.go_on.set()
    assert waiting.result(PATIENCE_S) == "b"
    queue.close()


def test_a_run_goes_to_the_model_that_it_asks_for_or_to_the_most_common_one() -> None:
    slots = [Slot("a", name="T4"), Slot("b"), Slot("c")]
    queue = JobQueue(slots)
    for slot in slots:
        slot.go_on.set()
    assert {queue.submit(asked(), "s").result(PATIENCE_S) for _ in range(9)} <= {"b", "c"}
    assert queue.submit(asked("T4"), "s").result(PATIENCE_S) == "a"
    with pytest.raises(Rejected, match="no A100"):
        queue.submit(asked("A100"), "s")
    assert hosts_text(queue.state().serving) == "a: 1 x T4; b: 1 x H200; c: 1 x H200"
    queue.close()


def test_runs_that_wait_for_an_absent_model_take_another_or_end() -> None:
    gone, here = Slot("a"), Slot("b", name="T4")
    queue = JobQueue([gone])
    handles = {model: queue.submit(replace(asked(), model=model, key=model), "s") for model in (None, "H200")}
    assert gone.begun.wait(PATIENCE_S)
    queue.add(here)
    queue.drop(gone)
    queue.reassign(60.0)  # it may come back
    assert not handles["H200"].done.is_set()
    third = queue.submit(asked("H200"), "t")
    fourth = queue.submit(asked(), "t")
    gone.lose()
    assert until(lambda: gone.closed)
    queue.reassign(0.0)
    here.go_on.set()
    assert handles[None].result(PATIENCE_S) == fourth.result(PATIENCE_S) == "b"
    for handle in (handles["H200"], third):
        with pytest.raises(Rejected, match="no H200"):
            handle.result(PATIENCE_S)
    queue.close()


def test_the_text_of_the_hosts() -> None:
    serving = [Serving("b", "emulator", "emulator", 3), Serving("a", "gpu", "H200", 2), Serving("b", "gpu", "T4", 1)]
    assert hosts_text(serving) == "a: 2 x H200; b: 1 x T4, 3 x emulator"
    assert hosts_text([]) == ""


WITHOUT = (
    "import sys; sys.modules['distributed'] = None; from engine.commands import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize("command", [["run", "reduce_sequential"], ["host", "tls://127.0.0.1:1"]])
def test_without_dask_a_cluster_is_refused_with_the_package_to_install(command: list[str]) -> None:
    environment = {**os.environ, "DASK_SCHEDULER_ADDRESS": "tls://127.0.0.1:1"}
    done = subprocess.run([sys.executable, "-c", WITHOUT, *command], cwd=ROOT, env=environment, text=True,
                          capture_output=True, timeout=200)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "requirements-cluster.txt" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("address", "safe"),
    [("tls://10.0.0.1:8786", True), ("tcp://127.0.0.1:8786", True), ("tcp://localhost:8786", True),
     ("tcp://10.0.0.1:8786", False), ("10.0.0.1:8786", False), ("tcp://lab-1:8786", False)],
)  # fmt: skip
def test_only_addresses_of_this_computer_may_be_unencrypted(address: str, safe: bool) -> None:
    if safe:
        check_address(address)
    else:
        with pytest.raises(NotRunnable, match="not encrypted"):
            check_address(address)


@pytest.mark.parametrize("address", ["tls://lab-1", "tls://lab-1:x", "tls://lab-1:0", "tcp://localhost:99999"])
def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(NotRunnable, match="no port"):
        check_address(address)


@pytest.mark.parametrize("role", ["worker", "client"])
def test_a_missing_certificate_is_refused_before_the_scheduler_is_looked_for(role: str, tmp_path: Path) -> None:
    check_certificate("tcp://127.0.0.1:1", role)
    with pytest.raises(NotRunnable, match="no certificate"):
        check_certificate("tls://127.0.0.1:1", role)
    named = {
        f"distributed.comm.tls.{key}": str(tmp_path / "none") for key in ("ca-file", f"{role}.cert", f"{role}.key")
    }
    with dask.config.set(named), pytest.raises(NotRunnable, match="No such file"):
        check_certificate("tls://127.0.0.1:1", role)


class Tasks:
    """A Dask worker whose tasks are never cancelled."""

    id = "worker"

    def __init__(self) -> None:
        self.state = SimpleNamespace(tasks=defaultdict(lambda: SimpleNamespace(state="executing")))

    def log_event(self, topic: str, event: object) -> None:
        pass


def test_runs_of_several_dashboards_share_a_hosts_queue() -> None:
    queue = JobQueue([slot := Slot("a")])
    jobs = Jobs(queue)
    jobs.setup(Tasks())

    def asked(session: str, urgent: bool) -> None:
        jobs.run(session, pickle.dumps((f"of:{session}", (), {})), PATIENCE_S, "gpu", None, session, urgent)

    threads = [threading.Thread(target=asked, args=(name, name == "presenter")) for name in ("one", "two", "presenter")]
    threads[0].start()
    assert slot.begun.wait(PATIENCE_S)
    threads[1].start()
    assert until(lambda: queue.state().waiting["gpu"] == 1)
    threads[2].start()
    assert until(lambda: queue.state().waiting["gpu"] == 2)
    slot.go_on.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert [session for session, _ in slot.runs] == ["one", "presenter", "two"]
    assert queue.state().sessions == 0 and not jobs._sessions
    queue.close()


def test_a_host_needs_a_confined_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "missing_confinement", lambda: "No Landlock.")
    with pytest.raises(NotRunnable, match=confinement.UNCONFINED):
        run_node("tls://127.0.0.1:8786", None, 0)

"""Jobs, while their workers are killed at random and the server once; every tenth is one that no worker survives:

    python -m tests.load.chaos [--jobs 200] [--kills 30] [--seed 1] [--gpu] [--cluster]

Whoever asked for a job asks again when its worker was killed, or the server, as a student would. At the end each job
has ended once with the verdict that it deserves, every measurement that was told is in the store, and nothing is left:
no process, no open port, no memory of a GPU. In a cluster of two hosts the scheduler is killed once, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, LADDERS
from engine.history.history import LASTING
from engine.store import database, measurements
from tests.browser.conftest import free_port, running
from tests.home import places
from tests.load.faults import VARIABLE
from tests.load.goals import Goal, machine, told
from tests.load.process import children, command
from tests.load.traced import TRACE
from tests.service.hosts import together
from tests.service.jobs import JOBS, alive
from tests.service.misbehaving import ENDLESS, ILLEGAL_READ

AT_ONCE = 6  # jobs that are asked for at the same time
BAD_EVERY = 10
HANG_S = 1.0
ENDED_S = 15.0  # by then nothing is left
SERVER = "tests/load/chaos_server.py"
KILLED = "SIGKILL"
AGAIN = 20  # times that a job is asked for at most


@dataclass(frozen=True)
class Asked:
    """A job as the server takes it, and how it must end: its status and a word of the reason."""

    body: dict[str, Any]
    status: str
    word: str = ""


@dataclass
class Told:
    """What the server said of each job, and what happened."""

    ends: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    asked: Counter[int] = field(default_factory=Counter)  # how often each was asked for
    cut_off: Counter[int] = field(default_factory=Counter)  # how often the server was killed before it told its end
    cut: Counter[str] = field(default_factory=Counter)  # answers that a kill took away: "worker", "server"
    processes: set[int] = field(default_factory=set)  # every worker there ever was


def planted(gpu: bool) -> list[Asked]:
    """What no worker survives: a hang in C that holds the interpreter's lock, a wild pointer, a sudden exit; and the
    first two as kernels of a GPU."""
    found = [
        Asked({"function": f"{JOBS}:gpu_kernel", "arguments": [ENDLESS, "endless"], "deadline": HANG_S}, "JobTimeout"),
        Asked({"function": f"{JOBS}:gpu_kernel", "arguments": [ILLEGAL_READ, "wild"], "deadline": 30}, "RunFailed"),
    ] * gpu
    return found + [
        Asked({"function": f"{JOBS}:hang_in_c", "arguments": [], "deadline": HANG_S}, "JobTimeout", f"{HANG_S:g} s"),
        Asked({"function": f"{JOBS}:read_address_zero", "arguments": [], "deadline": 30}, "WorkerDied", "SIGSEGV"),
        Asked({"function": f"{JOBS}:leave", "arguments": [3], "deadline": 30}, "WorkerDied", "exit code 3"),
    ]


def jobs(count: int, chance: random.Random, gpu: bool) -> list[Asked]:
    """`count` of them, each another one: rungs of the sums at sizes of their own, and every tenth a planted one."""
    ladder = LADDERS["harris"]
    bad = planted(gpu)
    found = []
    for number in range(count):
        if number % BAD_EVERY == BAD_EVERY - 1:
            found.append(bad[number // BAD_EVERY % len(bad)])
            continue
        kernel = KERNELS[chance.choice(ladder.rungs).kernel]
        body = {"kernel": kernel.name, "n": 4096 + number, "block_size": ladder.block_size}
        found.append(Asked(body, kernel.expect))
    return found


class Servers:
    """The server, and its successor; in a cluster, the scheduler and the hosts too."""

    def __init__(self, home: Path, stack: ExitStack, gpu: bool, cluster: bool, fault: str) -> None:
        self._home, self._stack, self._gpu = home, stack, gpu
        self.cluster = stack.enter_context(together(home)) if cluster else None
        self._environment: dict[str, str] = {VARIABLE: fault} if fault else {}
        if self.cluster:
            for name in "ab":
                self.cluster.start(name)
            self._environment |= self.cluster.environment()
        self.port = free_port()
        self.address, self.process = self._started()

    def _started(self) -> tuple[str, int]:
        server: AbstractContextManager[tuple[str, int]] = running(
            self._home, self.port, SERVER, gpu=self._gpu, **self._environment
        )
        return self._stack.enter_context(server)

    def kill(self) -> None:
        """End it as a failing machine would, and start it anew in the same home and at the same port."""
        os.kill(self.process, signal.SIGKILL)
        self.address, self.process = self._started()

    def processes(self) -> set[int]:
        """All that the server, or the hosts, have started."""
        roots = [self.process, *(self.cluster.processes() if self.cluster else ())]
        return {child for root in roots for child in children(root)}

    def workers(self) -> list[int]:
        """The processes that run jobs."""
        return [child for child in self.processes() if "engine.service.worker" in command(child)]


def answered(address: str, body: dict[str, Any]) -> tuple[str, str]:
    """How a job ended. OSError where nobody says it."""
    request = urllib.request.Request(f"{address}/job", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        said = json.load(answer)
    return said["status"], said["reason"]


async def done(number: int, asked: Asked, servers: Servers, seen: Told) -> None:
    """Ask for a job until it has ended by itself."""
    for _ in range(AGAIN):
        seen.asked[number] += 1
        try:
            status, reason = await asyncio.to_thread(answered, servers.address, asked.body)
        except (OSError, urllib.error.URLError, ValueError) as failure:  # no answer, or half of one
            if isinstance(failure, urllib.error.URLError) and isinstance(failure.reason, ConnectionRefusedError):
                seen.asked[number] -= 1  # nobody heard it
            else:
                seen.cut["server"] += 1
                seen.cut_off[number] += 1
            await asyncio.sleep(0.5)
            continue
        if KILLED in reason:
            seen.cut["worker"] += 1
            continue
        seen.ends.setdefault(number, []).append((status, reason))
        return


async def storm(all_jobs: list[Asked], kills: int, servers: Servers, chance: random.Random) -> Told:
    """All jobs, and meanwhile all kills: each after as many more jobs as chance says, the server's in the middle."""
    seen = Told()
    left = iter(enumerate(all_jobs))
    due = sorted(chance.randrange(len(all_jobs)) for _ in range(kills))
    killed = 0

    async def ask() -> None:
        for number, asked in left:
            await done(number, asked, servers, seen)

    async def kill_workers() -> None:
        nonlocal killed
        while killed < kills:
            workers = servers.workers()
            seen.processes.update(workers)
            if len(seen.ends) >= due[killed] and workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
                killed += 1
            await asyncio.sleep(0.02 * chance.random())

    async def kill_server() -> None:
        while len(seen.ends) < len(all_jobs) // 2:
            await asyncio.sleep(0.02)
        seen.processes.update(servers.processes())
        await asyncio.to_thread(servers.kill)

    async def kill_scheduler() -> None:
        while servers.cluster and len(seen.ends) < len(all_jobs) // 4:
            await asyncio.sleep(0.02)
        if servers.cluster:
            servers.cluster.kill("scheduler")
            servers.cluster.start_scheduler()

    killing = asyncio.create_task(kill_workers())
    await asyncio.gather(kill_server(), kill_scheduler(), *(ask() for _ in range(AT_ONCE)))
    await killing  # what is due with the last job is killed when nothing runs
    seen.processes.update(servers.processes())
    return seen


def lost(all_jobs: list[Asked], seen: Told) -> tuple[int, int]:
    """Measurements that were told and are not in the store; and those that are there more often than it is explained by
    a server that was killed between keeping one and telling it."""
    rows = Counter(json.loads(row.record)["n"] for row in measurements.all_rows())
    kept = {
        job.body["n"]: number
        for number, job in enumerate(all_jobs)
        if "n" in job.body and any(status in LASTING for status, _ in seen.ends.get(number, []))
    }
    twice = sum(max(0, rows[n] - 1 - seen.cut_off[number]) for n, number in kept.items())
    return sum(rows[n] == 0 for n in kept), twice


def unasked(all_jobs: list[Asked], seen: Told, cluster: bool) -> int:
    """How many runs workers began that nobody had asked for. A cluster may begin each once more: its scheduler is
    killed once, and what ran then is run again."""
    trace = database.folder().parent / TRACE
    begun = Counter(int(n) for n in trace.read_text().split()) if trace.exists() else Counter[int]()
    asked = {job.body["n"]: seen.asked[number] for number, job in enumerate(all_jobs) if "n" in job.body}
    return sum(max(0, begun[n] - times - cluster) for n, times in asked.items())


def left_behind(seen: Told, port: int) -> tuple[int, int, int]:
    """Processes, open ports and users of a GPU's memory that are still there after a while."""
    end = time.monotonic() + ENDED_S
    while any(map(alive, seen.processes)) and time.monotonic() < end:
        time.sleep(0.1)
    with closing(socket.socket()) as probe:
        listening = probe.connect_ex(("127.0.0.1", port)) == 0
    users: set[int] = set()
    if program := shutil.which("nvidia-smi"):
        command_line = [program, "--query-compute-apps=pid", "--format=csv,noheader"]
        users = set(map(int, subprocess.run(command_line, capture_output=True, text=True, check=False).stdout.split()))
    return sum(map(alive, seen.processes)), int(listening), len(users & seen.processes)


def figures(
    home: Path, count: int, kills: int, seed: int, gpu: bool = False, cluster: bool = False, fault: str = ""
) -> list[Goal]:
    """What became of the jobs, and what is left. `home`: of the servers, which end in between; `fault`: one that they
    have."""
    chance = random.Random(seed)
    all_jobs = jobs(count, chance, gpu)
    began = time.monotonic()
    with ExitStack() as stack:
        servers = Servers(home, stack, gpu, cluster, fault)
        seen = asyncio.run(storm(all_jobs, kills, servers, chance))
    took = time.monotonic() - began
    once = [number for number in range(count) if len(seen.ends.get(number, [])) == 1]
    wrong = [
        (all_jobs[number], seen.ends[number])
        for number in once
        if seen.ends[number][0][0] != all_jobs[number].status or all_jobs[number].word not in seen.ends[number][0][1]
    ]
    for each in wrong[:10]:
        print(*each)
    missing, twice = lost(all_jobs, seen)
    processes, ports, users = left_behind(seen, servers.port)
    return [
        Goal("jobs", count),
        Goal("workers there were", len(seen.processes)),
        Goal("answers that a killed worker took along", seen.cut["worker"]),
        Goal("answers that the killed server took along", seen.cut["server"]),
        Goal("seconds", took, unit="s"),
        Goal("jobs that did not end once", count - len(once), 0),
        Goal("wrong verdicts", len(wrong), 0),
        Goal("measurements lost", missing, 0),
        Goal("measurements kept twice", twice, 0),
        Goal("runs that nobody asked for", unasked(all_jobs, seen, cluster), 0),
        Goal("processes left", processes, 0),
        Goal("ports left", ports, 0),
        Goal("users of a GPU's memory left", users, 0),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.chaos", description="Jobs, while workers are killed.")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--gpu", action="store_true", help="on this machine's GPU, not on the emulator")
    parser.add_argument("--cluster", action="store_true", help="on two hosts of a cluster, all on this computer")
    asked = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(places(Path(home)))  # where the store is looked for
        goals = figures(Path(home), asked.jobs, asked.kills, asked.seed, asked.gpu, asked.cluster)
        database.close()
    raise SystemExit(told(goals))


if __name__ == "__main__":
    main()

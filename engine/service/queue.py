"""The job queue: fair to all sessions; identical jobs share one run; finished runs are cached.

Each worker slot has a thread that takes the next run and waits for its worker, so `submit` never blocks.
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.service.job import Cancelled, Job, Outcome, Rejected
from engine.service.journal import JobEnd, outcome_word
from engine.service.schedule import DeviceQueue
from engine.service.slots import Slot

SESSION_LIMIT = 256  # unfinished jobs of one session: a whole sweep
QUEUE_LIMIT = 10_000  # waiting runs of all sessions
CACHE_BYTES = 64 << 20


class Run:
    """One execution of a job, shared by one or more handles."""

    def __init__(self, job: Job, session: str, queue: DeviceQueue[Run]) -> None:
        self.job, self.session, self.queue = job, session, queue
        self.message = pickle.dumps((job.function, job.args, dict(job.keywords)))  # now: the caller may change args
        self.holders: set[Handle] = set()
        self.state = "waiting"  # then "running", "done"
        self.progress = (0.0, "Starting")
        self.asked, self.began = time.monotonic(), 0.0
        self.urgent = False
        self.restarted = False  # its first host was lost
        self.outcome: Outcome | None = None
        self.finished_utc: float | None = None  # seconds since 1970

    def report(self, fraction: float, text: str) -> None:
        """Record the progress that the job reports."""
        self.progress = (min(1.0, max(0.0, fraction)), text)

    def abandoned(self) -> bool:
        """Return whether no handle waits for the run any more, so its worker stops it."""
        return not self.holders


class Handle:
    """A submitted job, as one caller sees it.

    `done`: set when the job has ended for this caller. `kept`: the result is that of an earlier, identical run.
    `cancelled`: this caller cancelled the job, or the queue did for its session.
    """

    def __init__(self, queue: JobQueue, run: Run, session: str, kept: bool) -> None:
        self._queue, self.run, self.cancelled = queue, run, False
        self.session, self.kept = session, kept
        self.done = threading.Event()

    @property
    def job(self) -> Job:
        """The submitted job."""
        return self.run.job

    @property
    def finished_utc(self) -> float | None:
        """When the run ended, in seconds since 1970; None before that."""
        return self.run.finished_utc

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction 0..1, current step); for a waiting run, how many runs are ahead."""
        if self.done.is_set():
            return (1.0, "Done")
        place = self.position()
        if place and not self.run.queue.slots:
            return (0.0, "Waiting for a worker: there is none")
        if place:
            ahead = "1 run" if place == 2 else f"{place - 1} runs"
            return (0.0, "Next in the queue" if place == 1 else f"In the queue, {ahead} ahead")
        return self.run.progress

    def position(self) -> int:
        """Return 0 for a run that runs or has ended, 1 for the next, k after k - 1 others."""
        return self._queue.position_of(self.run)

    def expected_wait_s(self) -> float | None:
        """Return the estimated seconds until a worker takes the run; 0 if it does not wait, None if unknown."""
        return self._queue.expected_wait_of(self.run)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the job and return its value, a copy for this caller.

        Raises the engine's exceptions as the job raised them; JobFailed, JobTimeout, WorkerDied, HostLost, Cancelled;
        TimeoutError if the job has not ended after `timeout` seconds.
        """
        if not self.done.wait(timeout):
            raise TimeoutError(f"The run has not ended after {timeout:g} s.")
        if self.cancelled or self.run.outcome is None:
            raise Cancelled
        return self.run.outcome.value()

    def cancel(self) -> None:
        """Cancel the job for this caller; others that share the run still get its result."""
        self._queue.cancel([self])


class ResultCache:
    """Finished runs by key, up to CACHE_BYTES; the least recently used are dropped. The caller holds the lock."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, tuple[Run, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> Run | None:
        """Return the run and mark it as used; None if there is none."""
        if key not in self._runs:
            return None
        self._runs.move_to_end(key)
        return self._runs[key][0]

    def put(self, key: str, run: Run, bytes: int) -> None:
        """Store a run whose result has so many bytes, unless one result would fill an eighth of the cache."""
        if bytes > CACHE_BYTES // 8:
            return
        if key in self._runs:
            self._bytes -= self._runs.pop(key)[1]
        self._runs[key] = run, bytes
        self._bytes += bytes
        while self._bytes > CACHE_BYTES:
            self._bytes -= self._runs.popitem(last=False)[1][1]


@dataclass(frozen=True)
class Serving:
    """The worker slots of one host and device; `name`: the model of a GPU."""

    host: str
    device: str
    name: str
    workers: int


@dataclass(frozen=True)
class QueueState:
    """The queue at one moment, by device. `sessions`: those with an unfinished job. `joined`, `kept`: requests since
    the start that an identical run answered, while it ran or from the cache."""

    serving: tuple[Serving, ...]
    workers: dict[str, int]
    running: dict[str, int]
    waiting: dict[str, int]
    sessions: int
    joined: int
    kept: int


def hosts_text(serving: Iterable[Serving]) -> str:
    """Return the hosts in words: "lab-1: 2 x NVIDIA H200, 15 x emulator; lab-2: ..."; "" if there is none."""
    by_host: dict[str, list[str]] = {}
    for one in sorted(serving, key=lambda one: (one.host, one.device != "gpu", one.name)):
        by_host.setdefault(one.host, []).append(f"{one.workers} x {one.name}")
    return "; ".join(f"{host}: {', '.join(slots)}" for host, slots in by_host.items())


class JobQueue:
    """Runs jobs on worker slots. Any thread may call any method; only `close` blocks.

    `on_end`: called with each job that has ended. `admit`: called with a session and its job before a new run is
    queued; it may raise Rejected.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        on_end: Callable[[JobEnd], None] = lambda _: None,
        admit: Callable[[str, Job], None] = lambda _session, _job: None,
    ) -> None:
        self._on_end, self._admit = on_end, admit
        self._joined = self._answered = 0
        self._changed = threading.Condition()
        self._queues: dict[tuple[str, str | None], DeviceQueue[Run]] = {}  # by device and GPU model
        self._running: dict[Slot, Run] = {}
        self._handles: dict[str, set[Handle]] = {}  # session -> its unfinished handles
        self._keyed: dict[str, Run] = {}  # unfinished runs by key
        self._results = ResultCache()
        self._to_warm: set[Slot] = set()
        self._started: set[Slot] = set()  # slots whose worker is alive or starting
        self._closed = False
        self._threads: dict[Slot, threading.Thread] = {}
        for slot in slots:
            self.add(slot)

    def add(self, slot: Slot) -> None:
        """Add a slot."""
        with self._changed:
            model = slot.name if slot.device == "gpu" else None
            queue = self._queues.setdefault((slot.device, model), DeviceQueue(slot.device, model))
            queue.slots.append(slot)
            thread = threading.Thread(target=self._serve, args=(slot, queue), name=f"slot {slot.name}", daemon=True)
            self._threads[slot] = thread
            thread.start()

    def drop(self, slot: Slot) -> None:
        """Remove a slot; it is closed when its run has ended."""
        with self._changed:
            self._drop(slot)
            self._changed.notify_all()

    def reassign(self, absent_s: float) -> None:
        """Move the runs that wait for a device without slots for so long to another model of it, or end them."""
        ended = []
        with self._changed:
            for kind, queue in list(self._queues.items()):
                if queue.slots or queue.empty_s() < absent_s:
                    continue
                del self._queues[kind]
                for run in queue.waiting:
                    try:
                        run.queue = self._queue_for(run.job)
                        self._enqueue(run)
                    except Rejected as refused:
                        run.outcome, run.finished_utc = Outcome.failure(refused), time.time()
                        ended.append(_end_of(run, run.outcome, len(run.holders)))
                        self._release(run)
        for end in ended:
            self._on_end(end)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All slots."""
        with self._changed:
            return tuple(slot for queue in self._queues.values() for slot in queue.slots)

    @property
    def closed(self) -> bool:
        """Return whether `close` was called."""
        return self._closed

    def submit(
        self, job: Job, session: str, *, fresh: bool = False, supersede: bool = False, urgent: bool = False
    ) -> Handle:
        """Queue a job for a session. Rejected if the queue is full or `admit` refuses; pickle's errors.

        `fresh`: run it although a result is cached. `supersede`: cancel the session's unfinished jobs. `urgent`: before
        all waiting runs that are not.
        """
        with self._changed:
            if self._closed:
                raise Rejected("The job queue is closed: start the dashboard again.")
            run = Run(job, session, self._queue_for(job))
            old = list(self._handles.get(session, ())) if supersede else []
            cached = None if fresh or job.key is None else self._results.get(job.key)
            if cached is not None:
                self._answered += 1
                handle = Handle(self, cached, session, kept=True)
                handle.done.set()
            else:
                same = self._keyed.get(job.key) if job.key is not None else None
                if same is None:
                    self._check_limits(session, without=len(old))
                    self._admit(session, job)
                    run.urgent = urgent
                    self._enqueue(run)
                else:
                    run = same
                    self._joined += 1
                    if urgent and run.state == "waiting":  # it now waits in this session's place
                        run.queue.waiting.remove(run.session, run)
                        run.session = session
                        run.urgent = True
                        self._enqueue(run)
                    run.urgent |= urgent
                handle = Handle(self, run, session, kept=False)
                run.holders.add(handle)
                self._handles.setdefault(session, set()).add(handle)
        self.cancel(old)  # after the new handle has joined: an identical run goes on
        return handle

    def state(self) -> QueueState:
        """Return the queue's state at this moment."""
        serving: Counter[tuple[str, str, str]] = Counter()
        workers, running, waiting = Counter[str](), Counter[str](), Counter[str]()
        with self._changed:
            for queue in self._queues.values():
                serving.update((slot.host, slot.device, slot.name) for slot in queue.slots)
                workers[queue.device] += len(queue.slots)
                running[queue.device] += sum(slot in self._running for slot in queue.slots)
                waiting[queue.device] += len(queue.waiting)
            hosts = tuple(Serving(*slot, count) for slot, count in serving.items())
            return QueueState(hosts, dict(workers), dict(running), dict(waiting), len(self._handles), self._joined,
                              self._answered)  # fmt: skip

    def warm(self) -> None:
        """Start the workers before the first run needs them. Returns at once."""
        with self._changed:
            self._to_warm.update(self._threads)
            self._changed.notify_all()

    def leave(self, session: str, *, waiting_only: bool = False) -> None:
        """Cancel all jobs of a session; `waiting_only`: those that no worker has taken yet."""
        with self._changed:
            own = list(self._handles.get(session, ()))
        self.cancel(own, waiting_only=waiting_only)

    def cancel(self, handles: Iterable[Handle], *, waiting_only: bool = False) -> None:
        """Cancel jobs for these callers; a run that others share goes on."""
        never_ran = []
        with self._changed:
            for handle in handles:
                run = handle.run
                if handle.done.is_set() or (waiting_only and run.state != "waiting"):
                    continue
                handle.cancelled = True
                self._detach(handle)
                if run.holders:
                    continue
                self._forget_key(run)  # no job may join a run that is being stopped
                for slot, other in self._running.items():
                    if other is run:
                        slot.interrupt()
                if run.state == "waiting":
                    run.queue.waiting.remove(run.session, run)
                    run.state = "done"
                    never_ran.append(run)
        for run in never_ran:
            self._on_end(_end_of(run, Outcome.failure(Cancelled())))

    def close(self) -> None:
        """Cancel all jobs and end the workers. A closed queue rejects every job."""
        with self._changed:
            self._closed = True
            unfinished = [handle for handles in self._handles.values() for handle in handles]
            self._changed.notify_all()
            threads = dict(self._threads)
        self.cancel(unfinished)
        for slot in threads:
            slot.interrupt()
        for thread in threads.values():
            thread.join(10.0)

    def position_of(self, run: Run) -> int:
        """Return 0 for a run that runs or has ended, 1 for the next, k after k - 1 others."""
        with self._changed:
            return run.queue.waiting.ahead(run.session, run) + 1 if run.state == "waiting" else 0

    def expected_wait_of(self, run: Run) -> float | None:
        """Return the estimated seconds until a worker takes the run; 0 if it does not wait, None if unknown."""
        with self._changed:
            return run.queue.expected_wait_s(self.position_of(run)) if run.state == "waiting" else 0.0

    def _queue_for(self, job: Job) -> DeviceQueue[Run]:
        """Return the queue of the model that the job asks for, or of the model with most slots. Rejected: none."""
        device = job.device or next((queue.device for queue in self._queues.values()), "worker")
        fit = [queue for queue in self._queues.values() if queue.device == device and job.model in (None, queue.model)]
        if not fit:
            raise Rejected(f"There is no {job.model or device} to run on.")
        return max(fit, key=lambda queue: len(queue.slots))

    def _check_limits(self, session: str, without: int) -> None:
        own = len(self._handles.get(session, ())) - without
        if own >= SESSION_LIMIT:
            raise Rejected(f"You already have {own} runs in the queue: wait for some, or cancel them.")
        if sum(len(queue.waiting) for queue in self._queues.values()) >= QUEUE_LIMIT:
            raise Rejected(f"The queue is full: {QUEUE_LIMIT} runs are waiting. Try again in a minute.")

    def _enqueue(self, run: Run, *, first: bool = False) -> None:
        run.queue.waiting.add(run.session, run, urgent=run.urgent, first=first)
        if run.job.key is not None:
            self._keyed[run.job.key] = run
        self._changed.notify_all()

    def _take(self, slot: Slot, queue: DeviceQueue[Run]) -> Run | None:
        """Return the slot's next run and mark it as running. No worker is started while a started one is idle."""
        waiting = len(queue.waiting)
        if slot not in self._started:
            waiting -= sum(other in self._started and other not in self._running for other in queue.slots)
        if waiting <= 0:
            return None
        run = queue.waiting.take()
        run.state, run.began = "running", time.monotonic()
        self._running[slot] = run
        return run

    def _serve(self, slot: Slot, queue: DeviceQueue[Run]) -> None:
        """Run the slot's jobs, in the slot's thread. Only this thread starts its workers, which end with it."""
        while True:
            with self._changed:
                run = None
                while self._serves(slot, queue) and slot not in self._to_warm and not (run := self._take(slot, queue)):
                    self._changed.wait()
                if run is None and not self._serves(slot, queue):
                    break
                self._to_warm.discard(slot)
                self._started.add(slot)
            if run is not None:
                outcome = slot.run(run.message, run.job.deadline, run.report, run.abandoned, run.session, run.urgent)
                if not self._restart(slot, run, outcome):
                    self._finish(slot, run, outcome)
            if not self._closed:
                with contextlib.suppress(OSError):  # no process can be started: the next run tries again and reports it
                    slot.start()  # at once after a kill, so the next run finds a warm worker
        slot.close()
        with self._changed:
            self._started.discard(slot)
            self._to_warm.discard(slot)
            del self._threads[slot]

    def _serves(self, slot: Slot, queue: DeviceQueue[Run]) -> bool:
        return not self._closed and slot in queue.slots

    def _drop(self, slot: Slot) -> None:
        for queue in self._queues.values():
            queue.drop(slot)

    def _restart(self, slot: Slot, run: Run, outcome: Outcome) -> bool:
        """Queue a run again, before all others of its rank, after its first host was lost."""
        if not outcome.lost:
            return False
        with self._changed:
            self._drop(slot)
            if run.abandoned() or run.restarted or self._closed:
                return False
            del self._running[slot]
            run.restarted, run.state, run.progress = True, "waiting", (0.0, "Starting")
            self._enqueue(run, first=True)
            return True

    def _finish(self, slot: Slot, run: Run, outcome: Outcome) -> None:
        ran_s, readers = time.monotonic() - run.began, len(run.holders)
        with self._changed:
            run.outcome, run.finished_utc = outcome, time.time()
            del self._running[slot]
            if run.holders:  # else it was stopped early
                run.queue.add_duration(ran_s)
            if outcome.ok and run.job.key is not None:
                self._results.put(run.job.key, run, len(outcome.pickled))
            self._release(run)
        self._on_end(_end_of(run, outcome, readers, ran_s))

    def _release(self, run: Run) -> None:
        """Mark a run as done and wake all that wait for it."""
        run.state = "done"
        self._forget_key(run)
        for handle in list(run.holders):
            self._detach(handle)

    def _detach(self, handle: Handle) -> None:
        handle.run.holders.discard(handle)
        own = self._handles.get(handle.session)
        if own is not None:
            own.discard(handle)
            if not own:
                del self._handles[handle.session]
        handle.done.set()

    def _forget_key(self, run: Run) -> None:
        if run.job.key is not None and self._keyed.get(run.job.key) is run:
            del self._keyed[run.job.key]


def _end_of(run: Run, outcome: Outcome, readers: int = 0, ran_s: float | None = None) -> JobEnd:
    """Return the record of a run that ended. `ran_s`: seconds on a worker; None if no worker took it."""
    waited_s = (time.monotonic() if ran_s is None else run.began) - run.asked
    return JobEnd(run.job.function, run.queue.device, run.session, outcome_word(outcome), readers, waited_s, ran_s)

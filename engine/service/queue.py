"""Jobs in, handles out: a queue that is fair between sessions, identical jobs joined, finished ones kept.

One thread a worker slot takes the next job and waits for its worker, so that submitting never blocks.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.service.failures import Rejected
from engine.service.handle import Handle, Run
from engine.service.job import Job
from engine.service.journal import JobEnd, outcome_of
from engine.service.kept import Kept
from engine.service.turns import Turns
from engine.service.waits import Waits
from engine.service.worker_slot import Outcome, WorkerSlot

SESSION_LIMIT = 256  # unfinished jobs of one session: a whole sweep
QUEUE_LIMIT = 10_000  # of all sessions


@dataclass(frozen=True)
class QueueState:
    """The queue at this moment, by device; `sessions`: how many have an unfinished job; `joined` and `kept`: how many
    requests an equal one has answered since the start, that was running or had ended."""

    workers: dict[str, int]
    running: dict[str, int]
    waiting: dict[str, int]
    sessions: int
    joined: int
    kept: int


class JobQueue:
    """Serves jobs on worker slots. Every method may be called from any thread; none but `close` waits.

    `told`: is called, by a thread of the queue, with each job that a worker has ended. `admit`: is called with a
    session and its job that would begin a run, and may raise Rejected.
    """

    def __init__(
        self,
        slots: Sequence[WorkerSlot],
        told: Callable[[JobEnd], None] = lambda _: None,
        admit: Callable[[str, Job], None] = lambda _session, _job: None,
    ) -> None:
        self.slots = tuple(slots)
        self._told, self._admit = told, admit
        self._joined = self._answered = 0
        self._changed = threading.Condition()
        self._waiting: dict[str, Turns[Run]] = {slot.device: Turns() for slot in self.slots}
        self._running: dict[WorkerSlot, Run] = {}
        self._waits = {slot.device: Waits() for slot in self.slots}
        self._handles: dict[str, set[Handle]] = {}  # session -> its unfinished handles
        self._keyed: dict[str, Run] = {}  # unfinished runs by key
        self._kept: Kept[Run] = Kept()
        self._to_warm: set[WorkerSlot] = set()
        self._started: set[WorkerSlot] = set()  # have a worker, or are about to
        self._closed = False
        self._threads = [
            threading.Thread(target=self._serve, args=(slot,), name=f"worker slot {slot.name}", daemon=True)
            for slot in self.slots
        ]
        for thread in self._threads:
            thread.start()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def submit(
        self, job: Job, session: str, *, fresh: bool = False, supersede: bool = False, urgent: bool = False
    ) -> Handle:
        """Queue `job` for `session`. Rejected if the queue is full, or `admit` says so; pickle's error if its arguments
        cannot travel.

        `fresh`: run again although a value is kept. `supersede`: give up the session's unfinished jobs first. `urgent`:
        before all that waits and is not.
        """
        run = Run(job, session, job.device or self.slots[0].device)
        with self._changed:
            if self._closed:
                raise Rejected("The job queue is closed: start the dashboard again.")
            if run.device not in self._waiting:
                raise Rejected(f"This machine has no {run.device} to run on.")
            old = list(self._handles.get(session, ())) if supersede else []
            kept = None if fresh or job.key is None else self._kept.get(job.key)
            if kept is not None:
                self._answered += 1
                handle = Handle(self, kept, session, kept=True)
                handle.done.set()
            else:
                running = self._keyed.get(job.key) if job.key is not None else None
                self._joined += running is not None
                if running is None:
                    self._check_room(session, without=len(old))
                    self._admit(session, job)
                    self._enqueue(run, urgent)
                elif urgent and running.state == "waiting":  # now its place is this session's
                    self._waiting[running.device].remove(running.session, running)
                    running.session = session
                    self._enqueue(running, urgent)
                handle = Handle(self, running or run, session, kept=False)
                handle.run.holders.add(handle)
                handle.run.urgent |= urgent
                self._handles.setdefault(session, set()).add(handle)
        for earlier in old:  # after the new one has joined: an identical run goes on
            earlier.cancel()
        return handle

    def state(self) -> QueueState:
        """What there is to do, and who does it."""
        with self._changed:
            running = Counter(slot.device for slot in self._running)
            return QueueState(
                workers=dict(Counter(slot.device for slot in self.slots)),
                running={device: running[device] for device in self._waiting},
                waiting={device: len(line) for device, line in self._waiting.items()},
                sessions=len(self._handles),
                joined=self._joined,
                kept=self._answered,
            )

    def warm(self, device: str | None = None) -> None:
        """Start the workers (of one device) now, so that the first run need not wait for them. Returns at once."""
        with self._changed:
            self._to_warm.update(slot for slot in self.slots if device in (None, slot.device))
            self._changed.notify_all()

    def leave(self, session: str, *, waiting_only: bool = False) -> None:
        """Give up all that `session` asked for, or of it what no worker has taken yet."""
        with self._changed:
            for handle in list(self._handles.get(session, ())):
                if not waiting_only or handle.run.state == "waiting":
                    self.cancel(handle)

    def close(self) -> None:
        """Cancel everything and end the workers. A closed queue rejects every job."""
        with self._changed:
            self._closed = True
            for handle in [handle for handles in list(self._handles.values()) for handle in handles]:
                self.cancel(handle)
            self._changed.notify_all()
        for slot in self.slots:
            slot.interrupt()
        for thread in self._threads:
            thread.join(10.0)

    def _check_room(self, session: str, without: int) -> None:
        own = len(self._handles.get(session, ())) - without
        if own >= SESSION_LIMIT:
            raise Rejected(f"You already have {own} runs in the queue: wait for some, or cancel them.")
        if sum(map(len, self._waiting.values())) >= QUEUE_LIMIT:
            raise Rejected(f"The queue is full: {QUEUE_LIMIT} runs are waiting. Try again in a minute.")

    def _enqueue(self, run: Run, urgent: bool) -> None:
        self._waiting[run.device].add(run.session, run, urgent=urgent)
        if run.job.key is not None:
            self._keyed[run.job.key] = run
        if urgent:
            self._make_way(run.device)
        self._changed.notify_all()

    def _make_way(self, device: str) -> None:
        """Where every worker of the device is at a run, stop the one that began last and is not urgent."""
        slots = [slot for slot in self.slots if slot.device == device]
        if all(slot in self._running for slot in slots):
            others = [slot for slot in slots if not (self._running[slot].urgent or self._running[slot].made_way)]
            if others:
                last = max(others, key=lambda slot: self._running[slot].began)
                self._running[last].makes_way = self._running[last].made_way = True
                last.interrupt()

    def _take(self, slot: WorkerSlot) -> Run | None:
        """The next run for a slot, which has it from now on. While a worker is idle, no other one is started."""
        idle = self._started - self._running.keys()
        if slot not in idle and len(self._waiting[slot.device]) <= sum(one.device == slot.device for one in idle):
            return None
        run = self._waiting[slot.device].take()
        if run is not None:
            run.state, run.began = "running", time.monotonic()
            self._running[slot] = run
        return run

    def position_of(self, run: Run) -> int:
        """0: running or finished; 1: next; k: after k - 1 others, as the queue stands now."""
        with self._changed:
            return self._waiting[run.device].ahead(run.session, run) + 1 if run.state == "waiting" else 0

    def expected_wait_of(self, run: Run) -> float | None:
        """Seconds until a worker takes it, as the last runs of its device took; 0 for one that does not wait."""
        with self._changed:
            if run.state != "waiting":
                return 0.0
            now, ahead = time.monotonic(), self._waiting[run.device].ahead(run.session, run)
            running = [self._running.get(slot) for slot in self.slots if slot.device == run.device]
            return self._waits[run.device].expected(ahead, [now - other.began if other else 0.0 for other in running])

    def _serve(self, slot: WorkerSlot) -> None:
        """The life of a slot's thread. Only it starts the slot's workers, which end when the thread does."""
        while True:
            with self._changed:
                run = None
                while not self._closed and slot not in self._to_warm and (run := self._take(slot)) is None:
                    self._changed.wait()
                if self._closed:
                    break
                self._to_warm.discard(slot)
                self._started.add(slot)
            if run is not None:
                outcome = self._executed(slot, run)
                if not self._put_back(slot, run, outcome):
                    self._finish(slot, run, outcome)
            if not self._closed:
                with contextlib.suppress(OSError):  # no process to be had: the next run tries again and reports it
                    slot.start()  # at once after a kill: the next run finds a warm worker
        slot.close()

    def _executed(self, slot: WorkerSlot, run: Run) -> Outcome:
        def report(fraction: float, text: str) -> None:
            run.progress = (min(1.0, max(0.0, fraction)), text)

        return slot.run(run.message, run.job.deadline, report, lambda: not run.holders or run.makes_way)

    def _put_back(self, slot: WorkerSlot, run: Run, outcome: Outcome) -> bool:
        """Let a run that was stopped for an urgent one wait again, before all others of its rank."""
        with self._changed:
            if not run.makes_way or outcome.ok or not run.holders or self._closed:
                return False
            del self._running[slot]
            run.state, run.makes_way, run.progress = "waiting", False, (0.0, "Starting")
            self._waiting[run.device].add(run.session, run, first=True)
            self._changed.notify_all()
            return True

    def _finish(self, slot: WorkerSlot, run: Run, outcome: Outcome) -> None:
        ran_s, readers = time.monotonic() - run.began, len(run.holders)
        with self._changed:
            run.outcome, run.finished_utc = outcome, time.time()
            self._running.pop(slot, None)
            if run.holders:  # else it was cut short
                self._waits[slot.device].add(ran_s)
            if outcome.ok and run.job.key is not None:
                self._kept.put(run.job.key, run, len(outcome.pickled))
            self._release(run)
        self._told(
            JobEnd(
                run.job.function, run.device, run.session, outcome_of(outcome), readers, run.began - run.asked, ran_s
            )
        )

    def _release(self, run: Run) -> None:
        """The run is over: tell those who wait."""
        run.state = "done"
        if run.job.key is not None and self._keyed.get(run.job.key) is run:
            del self._keyed[run.job.key]
        for handle in list(run.holders):
            self._let_go(handle)

    def _let_go(self, handle: Handle) -> None:
        handle.run.holders.discard(handle)
        own = self._handles.get(handle.session)
        if own is not None:
            own.discard(handle)
            if not own:
                del self._handles[handle.session]
        handle.done.set()

    def cancel(self, handle: Handle) -> None:
        """Give the job up for this caller. A run that others wait for as well goes on for them."""
        with self._changed:
            if handle.done.is_set():
                return
            handle.cancelled = True
            self._let_go(handle)
            run = handle.run
            if run.holders:
                return
            if run.job.key is not None and self._keyed.get(run.job.key) is run:
                del self._keyed[run.job.key]  # nobody may join a run that is being stopped
            if run.state == "waiting":
                self._waiting[run.device].remove(run.session, run)
                run.state = "done"
            for slot, running in self._running.items():
                if running is run:
                    slot.interrupt()

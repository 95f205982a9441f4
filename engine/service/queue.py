"""Jobs in, handles out: a queue that is fair between sessions, identical jobs joined, finished ones kept.

One thread a worker slot takes the next job and waits for its worker, so that submitting never blocks.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from engine.service import short_runs
from engine.service.durations import wait_s
from engine.service.failures import Cancelled, Rejected
from engine.service.handle import Handle, Run
from engine.service.job import Job
from engine.service.journal import JobEnd, end_of
from engine.service.kept import Kept
from engine.service.line import Line, Lines
from engine.service.queue_state import QueueState, state_of
from engine.service.running import Running
from engine.service.slot import Outcome, Slot

SESSION_LIMIT = 256  # unfinished jobs of one session: a whole sweep
QUEUE_LIMIT = 10_000  # of all sessions


class JobQueue:
    """Serves jobs on worker slots. Every method may be called from any thread; none but `close` waits.

    `told`: is called with each job that has ended, whether a worker had it or not. `admit`: is called with a
    session and its job that would begin a run, and may raise Rejected.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        told: Callable[[JobEnd], None] = lambda _: None,
        admit: Callable[[str, Job], None] = lambda _session, _job: None,
    ) -> None:
        self._told, self._admit = told, admit
        self._joined = self._answered = 0
        self._changed = threading.Condition()
        self._lines: Lines[Run] = Lines()
        self._running = Running()
        self._handles: dict[str, set[Handle]] = {}  # session -> its unfinished handles
        self._keyed: dict[str, Run] = {}  # unfinished runs by key
        self._kept: Kept[Run] = Kept()
        self._to_warm: set[Slot] = set()
        self._started: set[Slot] = set()  # have a worker, or are about to
        self._closed = False
        self._threads: dict[Slot, threading.Thread] = {}
        for slot in slots:
            self.add(slot)

    def add(self, slot: Slot) -> None:
        """Let a slot serve from now on."""
        with self._changed:
            line = self._lines.add(slot)
            thread = threading.Thread(target=self._serve, args=(slot, line), name=f"slot {slot.name}", daemon=True)
            self._threads[slot] = thread
            thread.start()
            short_runs.watch(slot, line, self._running, self._changed, self._serves)

    def drop(self, slot: Slot) -> None:
        """Let a slot serve no more: it is closed when its run has ended."""
        with self._changed:
            self._lines.drop(slot)
            self._changed.notify_all()

    def give_up(self, absent_s: float) -> None:
        """What waits where nobody has served for so long goes to another kind of its device, if it may, or ends."""
        ended = []
        with self._changed:
            for run in self._lines.give_up(absent_s):
                try:
                    run.line = self._lines.fit(run.job)
                    self._enqueue(run, run.urgent)
                except Rejected as refused:
                    run.outcome, run.finished_utc = Outcome.failure(refused), time.time()
                    ended.append(end_of(run, run.outcome, len(run.holders)))
                    self._release(run)
        for end in ended:
            self._told(end)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All that serve."""
        with self._changed:
            return tuple(slot for line in self._lines for slot in line.slots)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def submit(
        self, job: Job, session: str, *, fresh: bool = False, supersede: bool = False, urgent: bool = False
    ) -> Handle:
        """Queue `job` for `session`. Rejected if the queue is full, or `admit` says so; pickle's error.

        `fresh`: run again although a value is kept. `supersede`: give up the session's unfinished jobs first. `urgent`:
        before all that waits and is not.
        """
        with self._changed:
            if self._closed:
                raise Rejected("The job queue is closed: start the dashboard again.")
            run = Run(job, session, self._lines.fit(job))
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
                    running.line.waiting.remove(running.session, running)
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
            return state_of(self._lines, self._running, len(self._handles), self._joined, self._answered)

    def warm(self) -> None:
        """Start the workers now, so that the first run need not wait for them. Returns at once."""
        with self._changed:
            self._to_warm.update(self._threads)
            self._changed.notify_all()

    def leave(self, session: str, *, waiting_only: bool = False) -> None:
        """Give up all that `session` asked for, or of it what no worker has taken yet."""
        with self._changed:
            own = list(self._handles.get(session, ()))
        self._cancel(own, waiting_only=waiting_only)

    def close(self) -> None:
        """Cancel everything and end the workers. A closed queue rejects every job."""
        with self._changed:
            self._closed = True
            unfinished = [handle for handles in self._handles.values() for handle in handles]
            self._changed.notify_all()
            threads = dict(self._threads)
        self._cancel(unfinished)
        for slot in threads:
            slot.interrupt()
        for thread in threads.values():
            thread.join(10.0)

    def _check_room(self, session: str, without: int) -> None:
        own = len(self._handles.get(session, ())) - without
        if own >= SESSION_LIMIT:
            raise Rejected(f"You already have {own} runs in the queue: wait for some, or cancel them.")
        if sum(len(line.waiting) for line in self._lines) >= QUEUE_LIMIT:
            raise Rejected(f"The queue is full: {QUEUE_LIMIT} runs are waiting. Try again in a minute.")

    def _enqueue(self, run: Run, urgent: bool) -> None:
        run.line.waiting.add(run.session, run, run.asked, run.at_best_s, urgent=urgent)
        if run.job.key is not None:
            self._keyed[run.job.key] = run
        if urgent and (slot := self._running.make_way([one for one in run.line.slots if run.at_best_s <= one.most_s])):
            slot.interrupt()
        self._changed.notify_all()

    def _take(self, slot: Slot, line: Line[Run]) -> Run | None:
        """The next run for a slot, which has it from now on. While a worker is idle, no other one is started."""
        idle = self._started.difference(self._running)
        run = self._running.next_for(slot, line.waiting, () if slot in idle else idle.intersection(line.slots))
        if run is not None:
            line.waiting.remove(run.session, run)
            self._running.begin(slot, run)
        return run

    def position_of(self, run: Run) -> int:
        """0: running or finished; 1: next; k: after k - 1 others, as the queue stands now."""
        with self._changed:
            return run.line.waiting.ahead(run.session, run) + 1 if run.state == "waiting" else 0

    def expected_wait_of(self, run: Run) -> float | None:
        """Seconds until a worker takes it, as the queue stands now; 0: it does not wait; None: nothing tells."""
        with self._changed:
            if run.state != "waiting":
                return 0.0
            if not run.line.durations:
                return None
            before = [(each.at_best_s, each.length_s) for each in run.line.waiting.before(run.session, run)]
            return wait_s(before, run.at_best_s, self._running.left_s(run.line.slots))

    def _serve(self, slot: Slot, line: Line[Run]) -> None:
        """The life of a slot's thread. Only it starts the slot's workers, which end when the thread does."""
        while True:
            with self._changed:
                run = None
                while self._serves(slot, line) and slot not in self._to_warm and not (run := self._take(slot, line)):
                    self._changed.wait()
                if run is None and not self._serves(slot, line):
                    break
                self._to_warm.discard(slot)
                self._started.add(slot)
            if run is not None:
                outcome = slot.run(run.message, run.job.deadline, run.report, run.given_up, run.asker)
                if not self._put_back(slot, run, outcome):
                    self._finish(slot, run, outcome)
            if not self._closed:
                with contextlib.suppress(OSError):  # no process to be had: the next run tries again and reports it
                    slot.start()  # at once after a kill: the next run finds a warm worker
        slot.close()
        with self._changed:
            self._started.discard(slot)
            self._to_warm.discard(slot)
            del self._threads[slot]

    def _serves(self, slot: Slot, line: Line[Run]) -> bool:
        return not self._closed and slot in line.slots

    def _put_back(self, slot: Slot, run: Run, outcome: Outcome) -> bool:
        """Let a run wait again, before all others of its rank, that was stopped for another one or lost its host."""
        with self._changed:
            if outcome.lost:
                self._lines.drop(slot)
            if outcome.ok or not run.holders or self._closed or not (run.makes_way or (outcome.lost and not run.moved)):
                return False
            self._running.end(slot)
            run.moved |= outcome.lost
            run.state, run.makes_way, run.progress = "waiting", False, (0.0, "Starting")
            run.line.waiting.add(run.session, run, run.asked, run.at_best_s, urgent=run.urgent, first=True)
            self._changed.notify_all()
            return True

    def _finish(self, slot: Slot, run: Run, outcome: Outcome) -> None:
        ran_s, readers = time.monotonic() - run.began, len(run.holders)
        with self._changed:
            run.outcome, run.finished_utc = outcome, time.time()
            self._running.end(slot)
            if run.holders:  # else it was cut short
                run.line.durations.add(run.job, ran_s)
            if outcome.ok and run.job.key is not None:
                self._kept.put(run.job.key, run, len(outcome.pickled))
            self._release(run)
        self._told(end_of(run, outcome, readers, ran_s))

    def _release(self, run: Run) -> None:
        """The run is over: tell those who wait."""
        run.state = "done"
        self._forget_key(run)
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
        """Give the job up for this caller; for others who wait for the run it goes on."""
        self._cancel([handle])

    def _cancel(self, handles: Iterable[Handle], *, waiting_only: bool = False) -> None:
        never_ran = []
        with self._changed:
            for handle in handles:
                run = handle.run
                if handle.done.is_set() or (waiting_only and run.state != "waiting"):
                    continue
                handle.cancelled = True
                self._let_go(handle)
                if run.holders:  # who wait on
                    continue
                self._forget_key(run)  # nobody may join a run that is being stopped
                for slot in self._running.slots_of(run):
                    slot.interrupt()
                if run.state == "waiting":
                    run.line.waiting.remove(run.session, run)
                    run.state = "done"
                    never_ran.append(run)
        for run in never_ran:
            self._told(end_of(run, Outcome.failure(Cancelled())))

    def _forget_key(self, run: Run) -> None:
        if run.job.key is not None and self._keyed.get(run.job.key) is run:
            del self._keyed[run.job.key]

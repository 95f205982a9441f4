"""The checks of one press, made one after the other while the page stays usable."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from engine.measuring.measure import failed
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service
from engine.sheets.judging import Submission, verdicts
from engine.sheets.runs import measurement_of, submit
from engine.sheets.sheet import Sheet, Verdict
from views.session import presence
from views.session.awaited_run import AwaitedRun

POLL_S = 0.1


class SheetWork:
    """One press of one browser, with `views.session.work.PageWork`'s way of being waited for. `found`: the verdicts so
    far; `number`: the browser's, of this press."""

    def __init__(self, sheet: Sheet, submission: Submission, session: str, number: int) -> None:
        self.sheet, self.submission, self.number = sheet, submission, number
        self.found: list[Verdict] = []
        self.kept = False  # in the progress
        self._session = session
        self._changed = threading.Condition()
        self._seen = 0
        self._run_now: AwaitedRun | None = None
        self._ended = self._stopped = False
        threading.Thread(target=self._judge, name=f"sheet {sheet.name}", daemon=True).start()

    @property
    def finished(self) -> bool:
        """Whether every verdict is there, or the work was stopped."""
        return self._ended or self._stopped

    @property
    def stopped(self) -> bool:
        """Whether somebody gave it up."""
        return self._stopped

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        checks, done = self.sheet.checks, len(self.found)
        if done == len(checks):
            return 1.0, "Done"
        run = self._run_now
        return done / len(checks), f"{done + 1} of {len(checks)}. {run.progress[1] if run else 'Starting'}"

    def advance(self, patience_s: float) -> bool:
        """Wait up to `patience_s` for another verdict; True if one came in."""
        with self._changed:
            self._changed.wait_for(lambda: self.finished or len(self.found) > self._seen, patience_s)
            came, self._seen = len(self.found) > self._seen, len(self.found)
            return came

    def stop(self) -> None:
        """Give up what is left."""
        with self._changed:
            self._stopped = True
            if self._run_now is not None:
                self._run_now.cancel()
            self._changed.notify_all()

    def _judge(self) -> None:
        try:
            for verdict in verdicts(self.sheet, self.submission, self._run, gpu=bool(service.gpus())):
                with self._changed:
                    if self._stopped:
                        return
                    self.found.append(verdict)
                    self._changed.notify_all()
        except service.Cancelled:
            self._stopped = True
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _run(self, choice: Choice) -> Measurement:
        """The run, waited for. Cancelled where it is given up, or its browser has gone."""
        try:
            run = AwaitedRun(self._session, lambda: submit(self.sheet, choice, self._session))
        except NotRunnable as refused:
            return failed(choice, refused)
        with self._changed:
            self._run_now = run
        while not run.wait(POLL_S):
            if self._stopped or (run.handle.cancelled and not presence.is_here(self._session)):
                run.cancel()
                raise service.Cancelled
        if self._stopped:
            raise service.Cancelled
        return measurement_of(self.sheet, run.handle, choice)


def submission_of(sheet: Sheet, text: str, file: str, answers: Mapping[str, str]) -> Submission:
    """What a page hands in; of a sheet without a kernel only the answers."""
    return Submission(text if sheet.function else None, answers, file)

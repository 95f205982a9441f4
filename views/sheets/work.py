"""The checks of one press on a sheet, made one after the other while the page stays usable."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from secrets import randbits

from engine.backends.measure import failed
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service
from engine.sheets.grading import measurement_of
from engine.sheets.grading import submit as submit_run
from engine.sheets.judging import Submission, judging
from engine.sheets.sheet import Sheet, Verdict
from views.shared.work import Work


class SheetWork(Work):
    """The checks of one press, one after the other. `found`: the verdicts so far; `number`: the browser's number of the
    press."""

    def __init__(self, sheet: Sheet, submission: Submission, session: str, number: int) -> None:
        super().__init__(session)
        self.sheet, self.submission, self.number = sheet, submission, number
        self.found: list[Verdict] = []
        self.kept = False  # in the progress
        self._judging = judging(sheet, submission, bool(service.gpus()), randbits(32))
        self._judge(None)

    def _counted(self) -> tuple[int, int]:
        return len(self.found), len(self.sheet.checks)

    def _judge(self, measurement: Measurement | None) -> None:
        """Judge a run's measurement and the checks after it, up to the next run or the last verdict."""
        with suppress(StopIteration):
            while True:
                step = self._judging.send(measurement)
                if isinstance(step, Verdict):
                    self.found.append(step)
                    measurement = None
                    continue
                try:
                    self._run(step)
                    return
                except NotRunnable as refused:
                    measurement = failed(step, refused)

    def _run(self, choice: Choice) -> None:
        """Start the run of a choice. NotRunnable."""
        label = f"{len(self.found) + 1} of {len(self.sheet.checks)}. Running the kernel"
        submit = partial(submit_run, self.sheet, choice, self._session)
        self._start(label, submit, lambda handle: self._judge(measurement_of(self.sheet, handle, choice)))


def submission_of(sheet: Sheet, text: str, file: str, answers: Mapping[str, str]) -> Submission:
    """Return a page's submission; a sheet without a kernel has answers alone."""
    return Submission(text if sheet.function else None, answers, file)

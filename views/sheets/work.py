"""The checks of one press, made one after the other while the page stays usable."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import ClassVar

from engine.backends.measure import failed
from engine.records import Choice, Measurement, NotRunnable
from engine.service import service
from engine.sheets.judging import Submission, judging
from engine.sheets.runs import measurement_of, submit
from engine.sheets.sheet import Sheet, Verdict
from views.shared.work import PageJobs

RUN = "run"  # one at a time


class SheetWork(PageJobs):
    """One press of one browser. `found`: the verdicts so far; `number`: the browser's, of this press."""

    words: ClassVar = {RUN: "Running the kernel"}

    def __init__(self, sheet: Sheet, submission: Submission, session: str, number: int) -> None:
        super().__init__(session)
        self.sheet, self.submission, self.number = sheet, submission, number
        self.found: list[Verdict] = []
        self.kept = False  # in the progress
        self._judging = judging(sheet, submission, gpu=bool(service.gpus()))
        self._judge(None)

    @property
    def progress(self) -> tuple[float, str]:
        """(fraction of the whole, what is being done)."""
        checks, done = len(self.sheet.checks), len(self.found)
        text = super().progress[1]
        return done / checks, f"{done + 1} of {checks}. {text}" if done < checks else text

    def _take(self, name: str, handle: service.Handle) -> None:
        self._judge(measurement_of(self.sheet, handle, self._choice))

    def _judge(self, measurement: Measurement | None) -> None:
        """Go on with what a run gave, until another one is needed or every verdict is there."""
        with suppress(StopIteration):
            while True:
                step = self._judging.send(measurement)
                if isinstance(step, Verdict):
                    self.found.append(step)
                    measurement = None
                elif (refused := self._begin(step)) is None:
                    return
                else:
                    measurement = failed(step, refused)

    def _begin(self, choice: Choice) -> NotRunnable | None:
        self._choice = choice
        try:
            self._add(RUN, partial(submit, self.sheet, choice, self._session))
        except NotRunnable as refused:
            return refused
        return None


def submission_of(sheet: Sheet, text: str, file: str, answers: Mapping[str, str]) -> Submission:
    """What a page hands in; of a sheet without a kernel only the answers."""
    return Submission(text if sheet.function else None, answers, file)

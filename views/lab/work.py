"""The runs of one check or run of a draft: the draft, the rung that it came from and, on a GPU, its time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from engine.backends.measure import failed
from engine.compile.limits import check_text
from engine.history import history
from engine.lab.own_launch import Checked
from engine.lab.setups import Setup
from engine.model.estimate import Estimate
from engine.plan import check_gpu
from engine.records import Choice, Measurement, NotRunnable, Settled
from engine.service import service
from engine.service.service import submit_own, submit_rung, submit_time
from views.shared import work
from views.shared.work import Work


@dataclass(frozen=True)
class Press:
    """A press of Check or Run on a draft. `draft`: its id; `number`: the browser's number of the press.

    The draft of a rung has `rung`, the rung as the emulator runs it, and `timed`, as a GPU does; the draft of a pasted
    kernel has `setup`, `n` and `schedule`.
    """

    draft: str
    text: str
    file: str
    n: int
    number: int = 0
    action: str = "check"
    rung: Settled | None = None
    timed: Settled | None = None
    setup: Setup | None = None
    schedule: str | None = None


class DraftWork(Work):
    """The runs of one press. `checked`: the draft's; `beside`: the unchanged rung's; `ran`: the draft's on a GPU;
    `estimate`: of its time, or why there is none."""

    def __init__(self, asked: Press, session: str) -> None:
        super().__init__(session)
        self.asked = asked
        self.checked: Checked | None = None
        self.beside: Measurement | None = None
        self.ran: Measurement | None = None
        self.estimate: Estimate | str | None = None
        self.kept = False  # among the attempts
        try:
            self._check()
        except NotRunnable as refused:
            self.checked = Checked(failed(self._choice, refused))

    @property
    def _choice(self) -> Choice:
        asked = self.asked
        return asked.rung or Choice(asked.setup.kernel if asked.setup else "", asked.n, 1, device="emulator")

    @property
    def tried(self) -> bool:
        """Return whether the draft's check has ended and, if it was asked for, its run on a GPU."""
        return self.checked is not None and (self.asked.action != "run" or self.ran is not None)

    def _check(self) -> None:
        """Run the draft on the emulator, beside the unchanged rung. NotRunnable."""
        asked, label = self.asked, "Checking your kernel"
        check_text(asked.file, asked.text)
        if asked.rung is not None:
            edited, rung = replace(asked.rung, source=asked.text, source_name=asked.file), asked.rung
            self._start(label, partial(submit_rung, edited, self._session), self._take_draft)
            self._start(
                "Running the rung that it came from",
                partial(service.submit, rung, self._session),
                lambda handle: setattr(self, "beside", work.take_measurement(handle, rung)),
            )
        elif asked.setup is not None:
            own = (asked.setup, asked.n, asked.text, asked.file, asked.schedule, self._session)
            self._start(label, partial(submit_own, *own), self._take_draft)

    def _take_draft(self, handle: service.Handle) -> None:
        try:
            self.checked = handle.result()
        except Exception as error:  # the page shows any failure, as a deadline or a crash
            self.checked = Checked(service.failure_of(self._choice, error))
        if self.asked.action == "run" and self.checked is not None:
            self._run(self.checked)
        if self.checked is not None and self.checked.measurement.status == "ok":
            self._estimate()

    def _estimate(self) -> None:
        """Estimate the draft's time. That of a rung with a recorded time is this time, changed as the model says."""
        asked = self.asked
        try:
            if asked.rung is not None:
                edited = replace(asked.rung, source=asked.text, source_name=asked.file)
                before = history.recorded_for(replace(asked.rung, device="gpu"))
                device = "" if before is None else str(before.device["name"])
                time = None if before is None else before.time_us
                submit = partial(service.submit_estimate, edited, device, self._session, time)
            else:
                assert asked.setup is not None
                own = (asked.setup, asked.n, asked.text, asked.file, self._session)
                submit = partial(service.submit_own_estimate, *own)
            self._start("Estimating its time on a GPU", submit,
                        lambda handle: setattr(self, "estimate", work.take_estimate(handle)))  # fmt: skip
        except NotRunnable as refused:
            self.estimate = str(refused)

    def _run(self, found: Checked) -> None:
        """Run the draft on the GPU, or keep why that is refused."""
        asked = self.asked
        choice = replace(asked.timed or self._choice, device="gpu", source=asked.text, source_name=asked.file)
        try:
            check_gpu()
            if found.barred is not None:
                raise NotRunnable(found.barred)
            if asked.timed is not None:
                submit = partial(service.submit, choice, self._session, fresh=True)
            else:
                submit = partial(submit_time, asked.setup, asked.n, asked.text, asked.file, self._session)
            self._start(
                "Running on the GPU", submit,
                lambda handle: setattr(self, "ran", service.measurement_of(handle, choice)),
            )  # fmt: skip
        except NotRunnable as refused:
            self.ran = failed(choice, refused)


def name_of(draft: str) -> str:
    """Return the name of a draft's work in `views.shared.work`."""
    return f"work on draft {draft}"


def start(asked: Press) -> None:
    """Start a press's work in place of the draft's unfinished work."""
    work.begin(name_of(asked.draft), lambda session: DraftWork(asked, session))


def current(draft: str) -> DraftWork | None:
    """Return the work of a draft's last press, finished or not."""
    made = work.current(name_of(draft))
    return made if isinstance(made, DraftWork) else None

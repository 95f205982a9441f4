"""The jobs of one check or run of a draft: the draft, the rung that it came from and, on a GPU, its time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import streamlit as st

from engine.backends.measure import failed
from engine.compile.limits import check_text
from engine.history import history
from engine.lab.checking import Checked
from engine.lab.setups import Setup
from engine.plan import check_gpu
from engine.records import Choice, Measurement, NotRunnable, Settled
from engine.service import service
from engine.service.drafts import submit_own, submit_rung, submit_time
from views.shared import presence, work
from views.shared.work import PageJobs


@dataclass(frozen=True)
class Asked:
    """What is checked of the draft of that id. `number`: the browser's, of this press.

    Of a rung's draft `rung` is the rung as it is run on the emulator, and `timed` as on a GPU; of a kernel of one's own
    there are `setup`, `n` and `schedule`.
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


class DraftWork(PageJobs):
    """The jobs of one browser. `checked`: the draft's; `beside`: the rung's as it is; `ran`: the draft's on a GPU."""

    words: ClassVar = {
        "draft": "Checking your kernel",
        "beside": "Running the rung that it came from",
        "gpu": "Running on the GPU",
    }

    def __init__(self, asked: Asked, session: str) -> None:
        super().__init__(session)
        self.asked = asked
        self.checked: Checked | None = None
        self.beside: Measurement | None = None
        self.ran: Measurement | None = None
        self.kept = False  # among the tries
        try:
            self._begin()
        except NotRunnable as refused:
            self.checked = Checked(failed(self._choice, refused))

    @property
    def _choice(self) -> Choice:
        asked = self.asked
        return asked.rung or Choice(asked.setup.kernel if asked.setup else "", asked.n, 1, device="emulator")

    @property
    def _on_gpu(self) -> Choice:
        return replace(
            self.asked.timed or self._choice, device="gpu", source=self.asked.text, source_name=self.asked.file
        )

    def _begin(self) -> None:
        asked = self.asked
        check_text(asked.file, asked.text)
        if asked.rung is not None:
            edited = replace(asked.rung, source=asked.text, source_name=asked.file)
            self._add("draft", partial(submit_rung, edited, self._session))
            self._add("beside", partial(service.submit, asked.rung, self._session))
        elif asked.setup is not None:
            own = (asked.setup, asked.n, asked.text, asked.file, asked.schedule, self._session)
            self._add("draft", partial(submit_own, *own))

    def _take(self, name: str, handle: service.Handle) -> None:
        if name == "draft":
            self._take_draft(handle)
        elif name == "beside" and self.asked.rung is not None:
            self.beside = service.measurement_of(handle, self.asked.rung)
            if self.beside.status != "refused":
                history.remember(self.asked.rung, self.beside)
        elif name == "gpu":
            self.ran = service.measurement_of(handle, self._on_gpu)

    def _take_draft(self, handle: service.Handle) -> None:
        try:
            self.checked = handle.result()
        except Exception as error:  # a deadline, a crash: whatever it is, it is said
            self.checked = Checked(service.failure_of(self._choice, error))
        if self.asked.action == "run" and self.checked is not None:
            try:
                self._run(self.checked)
            except NotRunnable as refused:
                self.ran = failed(self._on_gpu, refused)

    def _run(self, found: Checked) -> None:
        """Give the draft to the GPU. NotRunnable: there is none, or it does not run this."""
        asked = self.asked
        check_gpu()
        if found.barred is not None:
            raise NotRunnable(found.barred)
        if asked.timed is not None:
            edited = replace(asked.timed, source=asked.text, source_name=asked.file)
            self._add("gpu", partial(service.submit, edited, self._session, fresh=True))
        elif asked.setup is not None:
            self._add("gpu", partial(submit_time, asked.setup, asked.n, asked.text, asked.file, self._session))


def name_of(draft: str) -> str:
    """What `views.shared.work` knows the checks of a draft by."""
    return f"work on draft {draft}"


def start(asked: Asked) -> None:
    """Begin, in the place of what the page may still be doing with this draft."""
    name = name_of(asked.draft)
    work.stop(name)
    st.session_state[name] = DraftWork(asked, presence.session_of_click())


def current(draft: str) -> DraftWork | None:
    """The last check of a draft, finished or not."""
    made = st.session_state.get(name_of(draft))
    return made if isinstance(made, DraftWork) else None

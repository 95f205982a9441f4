"""The runs that a sheet asks for, in the service's workers.

handle = submit(sheet, choice, session)                    measurement_of(sheet, handle, choice) -> Measurement
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan import settle
from engine.records import Choice, Measurement
from engine.service import drafts, service
from engine.sheets.sheet import Sheet

DEADLINE_S = 20.0  # of one run: the sheets' own take less than one second


def submit(sheet: Sheet, choice: Choice, session: str, deadline: float = DEADLINE_S) -> service.Handle:
    """Run a choice of a sheet: a kernel of the catalogue or a text in its place, or the sheet's own launch of a text.
    NotRunnable where it cannot run."""
    if sheet.launch is None or choice.source is None:
        return service.submit(settle(choice), session, deadline=deadline)
    setup = replace(sheet.launch, block=(str(choice.block_size), *sheet.launch.block[1:]))
    file = choice.source_name or "kernel.cu"
    return drafts.submit_own(setup, choice.n, choice.source, file, choice.schedule, session)


def measurement_of(sheet: Sheet, handle: service.Handle, choice: Choice) -> Measurement:
    """Wait for the run; whatever goes wrong is in its Measurement."""
    if sheet.launch is None or choice.source is None:
        return service.measurement_of(handle, choice)
    try:
        found: Measurement = handle.result().measurement
    except Exception as error:
        return service.failure_of(choice, error)
    return found

"""Who may do what: the one table."""

from __future__ import annotations

from dataclasses import dataclass

from engine.service.limits import Limits


@dataclass(frozen=True)
class Role:
    """`goes_first`: while presenting, its runs go before all others; `prepares`: may warm up a whole ladder;
    `sees_students`: how far each student is; `sees_service`: the doctor's list, and /metrics and /readyz from another
    computer; `limits`: of one browser."""

    name: str
    goes_first: bool
    prepares: bool
    sees_students: bool
    sees_service: bool
    limits: Limits


PRESENTER = Role(
    "presenter", goes_first=True, prepares=True, sees_students=True, sees_service=True,
    limits=Limits("a presenter"),
)  # fmt: skip
ASSISTANT = Role(
    "assistant", goes_first=False, prepares=True, sees_students=True, sees_service=True,
    limits=Limits("an assistant", runs=960, worker_s=240, n=2**28, memory=4 << 30),
)  # fmt: skip
STUDENT = Role(
    "student", goes_first=False, prepares=False, sees_students=False, sees_service=False,
    limits=Limits("a student", runs=240, worker_s=60, n=2**26, memory=1 << 30),
)  # fmt: skip
ROLES = {role.name: role for role in (PRESENTER, ASSISTANT, STUDENT)}

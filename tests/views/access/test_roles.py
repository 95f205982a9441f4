"""What each role may do, and what the pages make of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from engine.catalogue import LADDERS, TOPICS
from engine.plan import settle
from engine.records import Choice
from engine.records.words import size_text
from engine.service import service
from engine.service.limits import Limits
from engine.sheets import progress
from engine.sheets.folder import load, names
from engine.sheets.sheet import Verdict
from engine.store import measurements
from tests.sentences import says, sentence
from tests.views.pages import html_of, opened
from views.access import policy
from views.access.policy import ASSISTANT, KEYS, PRESENTER, ROLES, STUDENT, Role
from views.access.visitor import role_of_account
from views.shared import presence, work

SHEET = load(names()[0])


def come_as(role: Role, browser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next runs of a script are for a browser that has signed in so."""
    keys = ",".join(f"{name}=a-key-of-{name}" for name in ROLES)
    asks = policy.decide_policy("0.0.0.0", {KEYS: keys}, accounts=False)
    monkeypatch.setattr(policy, "_current", asks)
    held = {policy.COOKIE: asks.signer.issue(role.name, browser)}
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: held))


def test_the_table() -> None:
    assert [role.goes_first for role in ROLES.values()] == [True, False, False]
    assert PRESENTER.sees_students and ASSISTANT.sees_students and not STUDENT.sees_students
    assert not any((STUDENT.goes_first, STUDENT.prepares, STUDENT.sees_service))
    assert PRESENTER.limits == replace(PRESENTER.limits, runs=None, worker_s=None, n=None, memory=None)


def row(role: Role) -> str:
    """A role as the table of docs/class.md has it."""
    rights = (role.goes_first, role.prepares, role.sees_students, role.sees_service)
    runs, seconds, n, memory = role.limits.runs, role.limits.worker_s, role.limits.n, role.limits.memory
    limits = (runs, f"{seconds} s", size_text(n or 0), f"{(memory or 0) >> 30} GiB") if runs else ("no limit",) * 4
    return f"| {role.name} | {' | '.join('yes' if may else '' for may in rights)} | {' | '.join(map(str, limits))} |"


def test_the_docs_have_the_same_table() -> None:
    told = (Path(__file__).parents[3] / "docs" / "class.md").read_text()
    assert "\n".join(row(role) for role in ROLES.values()) in told


def test_every_ladder_runs_as_it_opens_for_a_student() -> None:
    for ladder in LADDERS.values():
        for rung in ladder.rungs:
            choice = settle(Choice(rung.kernel, ladder.n, ladder.block_size, dtype=ladder.dtype, combine=rung.combine))
            assert choice.n <= (STUDENT.limits.n or 0) and service.memory_of(choice) <= (STUDENT.limits.memory or 0)
    assert {topic.emulator_max_n <= (STUDENT.limits.n or 0) for topic in TOPICS.values()} == {True}


def test_a_student_sees_neither_others_progress_nor_the_doctors_list(monkeypatch: pytest.MonkeyPatch) -> None:
    progress.remember("Anna", SHEET, [Verdict("answer", True, "Right.")])
    come_as(STUDENT, "0123456789abcdef", monkeypatch)
    app = opened("machine")
    said = html_of(app)
    assert says("machine.role", said)
    assert "Anna" not in said and "NVRTC" not in said
    assert len(app.subheader) == 2 and not app.get("file_uploader")  # the recorded runs, and the estimates of them


def test_a_student_cannot_see_anothers_progress_by_typing_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown(role: Role, browser: str, name: str) -> str:
        come_as(role, browser, monkeypatch)
        return html_of(opened("sheets", sheet=SHEET.name, student=name))

    progress.remember("Anna (aaaa)", SHEET, [Verdict(check.name, True, "Right.") for check in SHEET.checks])
    all_of_them = f"{len(SHEET.checks)} of {len(SHEET.checks)} passed"
    assert all_of_them in shown(STUDENT, "aaaa1111", "Anna")
    assert all_of_them not in shown(STUDENT, "bbbb2222", "Anna")
    assert all_of_them not in shown(STUDENT, "bbbb2222", "Anna (aaaa)")
    assert all_of_them in shown(ASSISTANT, "cccc3333", "Anna (aaaa)")


def test_only_the_role_decides_about_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.st, "session_state", {"present": "1"})
    assert ROLES
    for role in ROLES.values():
        come_as(role, "aaaa1111", monkeypatch)
        assert work.is_presenting() == role.goes_first


def test_the_queue_knows_whose_browser_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    enrolled: list[tuple[str, str, Limits]] = []
    monkeypatch.setattr(service, "ALLOWANCES", SimpleNamespace(enrol=lambda *one: enrolled.append(one)))
    monkeypatch.setattr(presence.st, "session_state", {"session": "tab"})
    come_as(STUDENT, "dddd4444", monkeypatch)
    assert presence.session() == "tab" and enrolled == [("tab", "dddd4444", STUDENT.limits)]
    monkeypatch.setattr(policy, "_current", policy.decide_policy("127.0.0.1", {}, accounts=False))
    presence.session()  # who needs no key has no limits
    assert len(enrolled) == 1


def test_a_run_beyond_the_limit_is_refused_with_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(STUDENT, limits=replace(STUDENT.limits, n=2**10))
    monkeypatch.setitem(ROLES, "student", small)
    come_as(small, "ffff6666", monkeypatch)
    app = opened(ladder="harris", rung="reduce_strided", n="2000", device="emulator")
    app.button(key="run").click().run()
    (toast,) = app.toast
    assert sentence("limits.n-too-large", re.sub("\u2060|\\\\", "", toast.value))
    assert not app.run().toast and measurements.count() == 0


def test_a_page_after_the_end_of_a_sign_in_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    come_as(STUDENT, "eeee5555", monkeypatch)
    monkeypatch.setattr(type(st.context), "cookies", property(lambda _: {}))
    app = opened()
    assert [one.value for one in app.header] == ["Sign in"] and not html_of(app)
    assert "Your sign-in has ended" in app.markdown[0].value


USER = {"is_logged_in": True, "email": "Ada@School.edu", "groups": ["tutors", "staff"]}


@pytest.mark.parametrize(
    ("user", "roles", "found"),
    [
        ({}, {}, None),
        (USER, {}, STUDENT),
        (USER, {"presenter": ["ada@school.edu"]}, PRESENTER),
        (USER, {"presenter": ["bob@school.edu"], "student": ["carol@school.edu"]}, None),
        (USER, {"claim": "groups", "assistant": ["Tutors"]}, ASSISTANT),
        (USER, {"claim": "nothing", "student": ["x"]}, None),
        ({**USER, "email_verified": False}, {"presenter": ["ada@school.edu"]}, None),
    ],
)
def test_an_accounts_role(user: dict[str, object], roles: dict[str, object], found: Role | None) -> None:
    assert role_of_account(user, {"roles": roles}) == found

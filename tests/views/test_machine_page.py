"""The page about this machine: what works, and one fix a line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import streamlit as st

from engine.catalogue import LADDERS
from engine.commands.doctor import doctor
from engine.history import records
from engine.model.fit import judged_runs
from engine.store import database
from tests.second_record import GPU, NAME, file
from tests.views.pages import asked, figures_of, html_of, messages_of, opened
from views.access import visitor
from views.access.policy import STUDENT


def test_every_check_of_the_doctor_is_a_line() -> None:
    html = html_of(opened("machine"))
    checks = doctor()
    assert checks
    for check in checks:
        assert check.name in html
    missing = [check for check in checks if not check.ok]
    assert html.count("To fix it") == sum(not check.optional for check in missing)
    assert html.count("not needed") == sum(check.optional for check in missing)


@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_check_that_fails_is_listed_with_its_fix_and_the_stores_trouble_is_said(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"name": "history", "ok": not status, "detail": "full", "fix": "Make room.", "optional": False}
    told = "" if status == 2 else json.dumps([row])
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], status, told, ""))
    monkeypatch.setattr(database, "trouble", lambda: "It is kept in memory only." if status else None)
    st.cache_data.clear()
    app = opened("machine")
    st.cache_data.clear()
    assert html_of(app).count("<b>To fix it:</b> Make room.") == (status == 1)
    assert len(messages_of(app)) == (status == 2) and len(messages_of(app, "warning")) == bool(status)


@pytest.mark.thorough
def test_warm_up_runs_every_rung_and_lists_the_ready_ones() -> None:
    app = opened("machine")
    app.selectbox(key="ladder to warm up").select("crovella-order").run()
    app.button(key="warm_up").click().run()
    rungs = len(LADDERS["crovella-order"].rungs)
    html = html_of(app)
    assert f"{rungs} rungs: {rungs} ready." in html and html.count("✓ ready") == rungs


def test_a_dropped_file_is_kept_named_offered_and_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    app = opened("machine")
    app.file_uploader[0].upload("x.json.gz", b"hello", "application/gzip").run()
    assert len(messages_of(app)) == 1 and not records.added_folder().exists()
    app.file_uploader[0].upload("x.json.gz", file(tmp_path), "application/gzip").run()
    assert not messages_of(app) and f"<b>{GPU}</b>" in html_of(app)
    records.forget()
    app = opened("sweep", record=NAME, topic="reduction")
    assert app.selectbox(key="record").value == NAME and asked(app)["record"] == NAME
    app = opened("machine")
    app.button(key=f"remove {NAME}").click().run()
    assert GPU not in html_of(app) and NAME not in records.records()
    assert len(messages_of(opened(record=NAME))) == 1, "the address names a record that has gone"


def test_in_a_class_a_student_sees_the_records_and_adds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "role", lambda: STUDENT)
    app = opened("machine")
    assert "NVIDIA H200" in html_of(app) and not app.file_uploader


def test_every_judged_run_is_a_dot_and_the_worst_kernels_have_names() -> None:
    app = opened("machine")
    traces = json.loads(figures_of(app)[0])["data"]
    runs = judged_runs("h200")
    assert sum(len(trace["x"]) for trace in traces if trace["mode"] == "markers") == len(runs)
    off = sorted((run.off for run in runs), reverse=True)
    assert "estimated / recorded" in html_of(app) and off[0] > off[-1]

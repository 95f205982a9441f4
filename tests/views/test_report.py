"""A report is one file with the numbers of the page, and loads nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from engine.catalogue import LADDERS
from engine.lectures.questions import Question
from engine.records.words import text_of
from engine.store import asked as questions
from engine.store import presentation as store
from engine.store import votes
from tests.cases import case
from tests.views.ladder.test_reveal import all_facts
from views.report import report

MOST_BYTES = 3 << 20
LOADS = re.compile(r"<(?:script|link|img|iframe)\b|@import|url\(|\bsrc=")
QUICK = ("harris", "float-truths")


def place(rung: str) -> str:
    return f"ladder=harris&rung={rung}&n=4194304&block=128&dtype=int32&cache=cold-clean&device=auto"


@pytest.mark.sampled(thorough=2)
@pytest.mark.parametrize("name", [case(name, quick=name in QUICK) for name in LADDERS])
def test_a_ladders_report_has_every_number_of_its_table_and_loads_nothing(name: str) -> None:
    ladder = LADDERS[name]
    text = report.ladder_report(report.page_for(ladder, {}))
    assert LOADS.search(text) is None and len(text.encode()) < MOST_BYTES
    articles = text.split('<article class="rung">')[1:]
    for row, article in zip(all_facts(ladder).rows, articles, strict=True):
        for key in ("time_us", "step", "cumulative"):
            assert row[key] is None or f"<strong>{text_of(key, row[key])}</strong>" in article


def test_a_lectures_report_has_its_course_its_votes_and_its_questions(monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(LookupError):
        report.lecture_report("7")
    for rung in ("reduce_strided", "reduce_interleaved", "reduce_strided"):
        store.add_step("7", place(rung))
    store.add_step("8", place("reduce_sequential"))
    question = Question("How much faster?", ("less", "<b>more</b>"), 1, "1.45×.")
    record = {"text": question.text, "choices": list(question.choices), "right": 1, "because": question.because}
    name = "harris~reduce_strided~4194304~128"
    votes.ask("7", name, record)
    votes.cast("7", name, 1, {"a": 1, "b": 0, "c": 1})
    votes.close("7", name, 1, 2)
    votes.cast("7", name, 2, {"a": 0})
    questions.keep("7", "a", "#2", "Why?")
    text = report.lecture_report("7")
    assert [text.count(f"<span>{label}</span>") for label in ("#1", "#2", "#3")] == [1, 1, 0]
    assert text.index("<span>#2</span>") < text.index("<span>#1</span>")
    assert "2 of 3" in text and "Round 2" not in text and "&lt;b&gt;more&lt;/b&gt; ✓" in text and "#2: Why?" in text


def test_the_command_writes_a_file_or_says_why_not(
    monkeypatch: MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / "harris.html"
    assert report.main(["harris", "-o", str(file), "--record", "nvidia-h100-80gb-hbm3"]) == 0
    assert "H100" in file.read_text(encoding="utf-8")
    assert report.main(["--lecture", "-o", str(file)]) == 2 and "No lecture" in capsys.readouterr().err
    assert report.main(["harris", "--n", "x", "-o", str(file)]) == 2

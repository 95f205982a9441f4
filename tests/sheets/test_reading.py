"""A sheet is read strictly: what is missing, unknown or impossible is refused by its place and name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.records import NotRunnable
from engine.sheets.folder import load, of_rung

PAGE = Path(__file__).parents[2] / "docs" / "sheets.md"
GOOD = """
title = "A sheet"
lecture = "Mine"
kernel = "reduce_sequential"
text = "Do it."
hints = "Think."

[start]
rung = "reduce_strided"

[[check]]
kind = "answer"
aim = "Right."
advice = "Look."
n = ["1k", 33]

[[check]]
kind = "question"
name = "why"
aim = "Why?"
advice = "No."
choices = ["one", "two"]
answer = "b"
because = "So."

[[wrong]]
name = "short"
replace = [["stride > 0", "stride > 1"]]
check = "answer"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sheet.toml").write_text(GOOD)
    return tmp_path


def test_a_folder_of_ones_own_is_a_sheet(folder: Path) -> None:
    sheet = load(folder)
    assert sheet.checks[0].runs.n == (1024, 33) and sheet.checks[0].runs.block_size == (128,)
    assert sheet.questions[0].lettered == {"a": "one", "b": "two"}
    assert "stride > 1" in sheet.wrong[0].text and "stride > 0" in sheet.solution
    (folder / "sheet.toml").write_text(GOOD.replace("A sheet", "Another one"))
    assert load(folder).title == "Another one", "it is read again when it was written again"


def test_a_rung_is_handed_out_without_its_header_and_under_the_name_that_is_asked_for(folder: Path) -> None:
    start = load(folder).start
    assert start.startswith('extern "C" __global__ void reduce_sequential(') and "Fixes" not in start
    assert (
        of_rung(KERNELS["trapezoid_global_race"], KERNELS["trapezoid_shared_host"]).count("trapezoid_shared_host") == 1
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('title = "A sheet"', "", "`title` is missing"),
        ('title = "A sheet"', "title = 3", "`title` is a text"),
        ('hints = "Think."', 'hint = "Think."', "there is no such entry: hint"),
        ('"reduce_sequential"', '"reduce_sequentia"', "There is no kernel named 'reduce_sequentia'"),
        ('rung = "reduce_strided"', 'ladder = "x"', "there is no file start.cu"),
        ('rung = "reduce_strided"', 'file = "../other.cu"', "there is no file other.cu"),
        ('kind = "answer"', 'kind = "anwser"', "`kind` is one of answer, findings, counter, time, question"),
        ('n = ["1k", 33]', 'n = "many"', "'many' is no whole number"),
        ('n = ["1k", 33]', "n = [1.5]", "`n` is a whole number, or a list of them"),
        ('name = "why"', 'name = "answer"', "two checks have the same name"),
        ('answer = "b"', 'answer = "c"', "`answer` is the letter of a choice, a to b"),
        ('"stride > 0"', '"tid"', "'tid' stands there 6 times, not once"),
        ('check = "answer"', 'check = "banks"', "there is no check 'banks'"),
        ('kernel = "reduce_sequential"', 'launch = "saxpy"\nright = "y = copy(x)"', "'saxpy' is no launch"),
        ('kernel = "reduce_sequential"', 'launch = "saxpy<<<n, 32>>>(n)"', "`right` is missing"),
        ('lecture = "Mine"', 'launch = "s<<<n, 32>>>(n)"\nright = "y = copy(x)"', "has a `kernel` or a `launch`"),
        ('kernel = "reduce_sequential"', "", "`n` and a `block_size` to run at"),
        ('title = "A sheet"', "title", "cannot be read: Expected '='"),
        ('lecture = "Mine"', 'ladder = "mine"', "there is no ladder 'mine'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(folder: Path, old: str, new: str, sentence: str) -> None:
    (folder / "sheet.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(NotRunnable) as refused:
        load(folder)
    assert sentence in str(refused.value) and str(refused.value)[-1] in ".?"


def test_the_sheet_of_the_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "sheet.toml").write_text(text)
    sheet = load(tmp_path)
    assert [check.name for check in sheet.checks] == ["answer", "banks"] and sheet.lecture.startswith("M. Harris")
    assert sheet.start == sheet.wrong[0].text != sheet.solution


def test_no_such_sheet() -> None:
    with pytest.raises(NotRunnable, match=r"There is no sheet 'homework': there are .*heidelberg-1"):
        load("homework")

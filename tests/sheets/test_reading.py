"""A sheet is read strictly: what is missing, unknown or impossible is refused by its place and name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.commands import main
from engine.records import NotRunnable
from engine.sheets import folder as folder_module
from engine.sheets.folder import faults, load, names, of_rung, titles
from tests.sentences import refused

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


def test_a_sheet_that_an_editor_of_windows_wrote_is_read(folder: Path) -> None:
    (folder / "sheet.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(folder).title == "A sheet"


def test_a_rung_is_handed_out_without_its_header_and_under_the_name_that_is_asked_for(folder: Path) -> None:
    start = load(folder).start
    assert start.startswith('extern "C" __global__ void reduce_sequential(') and "Fixes" not in start
    assert (
        of_rung(KERNELS["trapezoid_global_race"], KERNELS["trapezoid_shared_host"]).count("trapezoid_shared_host") == 1
    )


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('title = "A sheet"', "", "sheet-file.no-title"),
        ('title = "A sheet"', "title = 3", "sheet-file.title-is-a-number"),
        ('hints = "Think."', 'hint = "Think."', "sheet-file.unknown-entry"),
        ('"reduce_sequential"', '"reduce_sequentia"', "sheet-file.unknown-kernel"),
        ('rung = "reduce_strided"', 'ladder = "x"', "sheet-file.no-start"),
        ('rung = "reduce_strided"', 'file = "../other.cu"', "sheet-file.file-outside"),
        ('kind = "answer"', 'kind = "anwser"', "sheet-file.unknown-kind"),
        ('n = ["1k", 33]', 'n = "many"', "sheet-file.n-is-a-word"),
        ('n = ["1k", 33]', "n = [1.5]", "sheet-file.n-is-a-fraction"),
        ('name = "why"', 'name = "answer"', "sheet-file.equal-names"),
        ('answer = "b"', 'answer = "c"', "sheet-file.no-such-choice"),
        ('"stride > 0"', '"tid"', "sheet-file.replaced-often"),
        ('check = "answer"', 'check = "banks"', "sheet-file.unknown-check"),
        ('kernel = "reduce_sequential"', 'launch = "saxpy"\nright = "y = copy(x)"', "sheet-file.no-launch"),
        ('kernel = "reduce_sequential"', 'launch = "saxpy<<<n, 32>>>(n)"', "sheet-file.no-right"),
        ('lecture = "Mine"', 'launch = "s<<<n, 32>>>(n)"\nright = "y = copy(x)"', "sheet-file.kernel-and-launch"),
        ('kernel = "reduce_sequential"', "", "sheet-file.no-size"),
        ('title = "A sheet"', "title", "sheet-file.not-toml"),
        ('lecture = "Mine"', 'ladder = "mine"', "sheet-file.unknown-ladder"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(folder: Path, old: str, new: str, key: str) -> None:
    (folder / "sheet.toml").write_text(GOOD.replace(old, new, 1))
    with refused(key, NotRunnable) as caught:
        load(folder)
    assert str(caught.value)[-1] in ".?"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of sheets in place of the program's: one good sheet and four with a fault."""
    faulty = {
        "a-no-text": GOOD.replace('text = "Do it."', ""),
        "b-syntax": GOOD.replace('title = "A sheet"', "title ="),
        "c-unknown-key": f"difficulty = 3\n{GOOD}",
        "d-bad-check": GOOD.replace("n = [", "m = ["),
        "e-deep": f"title = {'[' * 5000}",
    }
    for name, text in {"good": GOOD, **faulty}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "sheet.toml").write_text(text)
    monkeypatch.setattr(folder_module, "FOLDER", tmp_path)
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    folder_module._listed_at.cache_clear()
    folder_module._GOOD.clear()


def test_a_faulty_sheet_is_left_out_and_named(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert names() == ("good",)
    assert list(faults()) == ["a-no-text", "b-syntax", "c-unknown-key", "d-bad-check", "e-deep"]
    assert all(why.startswith(f"{name}/sheet.toml") for name, why in faults().items())
    for command in ("sheets", "progress"):
        assert main([command]) == 0
        told = capsys.readouterr().out
        assert all(why in told for why in faults().values())
    assert main(["sheets", "a-no-text"]) == 2


def test_sheets_elsewhere_are_listed_and_a_name_that_is_taken_is_named(
    shelf: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    course, missing = tmp_path_factory.mktemp("course"), shelf / "nowhere"
    for name in ("week-1", "good"):
        (course / name).mkdir()
        (course / name / "sheet.toml").write_text(GOOD.replace("A sheet", f"Of the course: {name}"))
    monkeypatch.setenv(folder_module.ELSEWHERE, f"{course}:{missing}")
    assert set(names()) == {"good", "week-1"} and load("week-1").title == "Of the course: week-1"
    assert load("good").title == "A sheet", "the program's own comes first"
    told = list(faults().values())
    assert any("sheet named good already" in why for why in told)
    assert any(f"There is no folder {missing}" in why for why in told)


def test_a_new_and_a_changed_sheet_appear_without_a_restart(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(folder_module, "monotonic", lambda: now[0])
    assert names() == ("good",)
    (shelf / "new").mkdir()
    (shelf / "new" / "sheet.toml").write_text(GOOD.replace("A sheet", "A new one"))
    (shelf / "good" / "sheet.toml").write_text(GOOD.replace("A sheet", "Another title"))
    assert load("good").title == "Another title"
    now[0] = 11.0
    assert set(names()) == {"good", "new"} and titles()["good"] == "Another title"


def test_a_sheet_that_becomes_faulty_stays_as_it_was_read_last(shelf: Path) -> None:
    title = load("good").title
    assert names() == ("good",)
    (shelf / "good" / "sheet.toml").write_text("title = ")
    assert load("good").title == title
    (shelf / "good" / "sheet.toml").unlink()
    assert load("good").title == title


def test_a_sheet_behind_a_link_has_the_links_name(shelf: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "sheet.toml").write_text(GOOD)
    (shelf / "week-1").symlink_to(elsewhere)
    (shelf / "week-2").mkdir()
    (shelf / "week-2" / "sheet.toml").symlink_to(elsewhere / "sheet.toml")
    _forget()
    assert names() == ("good", "week-1", "week-2") and load("week-2").name == "week-2"


VALUES = ("3", "-1.5", '""', "[]", '[["a"], ["b"]]', "{a = 1}", "2026-11-23", "true", '"x"')


def test_no_value_ends_in_anything_but_a_refusal(folder: Path) -> None:
    lines = [line for line in GOOD.splitlines() if "=" in line]
    refusals = 0
    for line, value in itertools.product(lines, VALUES):
        (folder / "sheet.toml").write_text(GOOD.replace(line, f"{line.split('=')[0]} = {value}", 1))
        try:
            load(folder)
        except NotRunnable as refused:
            refusals += 1
            assert "sheet.toml" in str(refused) or "kernel" in str(refused)
    assert refusals > len(lines)


@pytest.mark.parametrize("name", ["sheet.toml", "solution.cu"])
def test_a_file_that_the_system_does_not_read_is_refused_without_a_number(folder: Path, name: str) -> None:
    file = folder / name
    file.unlink(missing_ok=True)
    file.symlink_to("/proc/self/mem")  # it is a file, also for root, and its first byte is none that can be read
    with pytest.raises(NotRunnable) as found:
        load(folder)
    assert "Errno" not in str(found.value) and name in str(found.value)


def test_the_sheet_of_the_page_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "sheet.toml").write_text(text)
    sheet = load(tmp_path)
    assert [check.name for check in sheet.checks] == ["answer", "banks"] and sheet.lecture.startswith("M. Harris")
    assert sheet.start == sheet.wrong[0].text != sheet.solution


def test_no_such_sheet() -> None:
    with pytest.raises(NotRunnable, match=r"There is no sheet 'homework': there are .*heidelberg-1"):
        load("homework")

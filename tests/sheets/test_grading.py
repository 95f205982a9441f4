"""`grade`: a whole folder of submissions, hostile ones among them; each costs its own sentence and nobody else's."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.commands import main
from engine.compile.limits import SOURCE_BYTES
from engine.lab.setups import right_of
from engine.sheets.folder import FOLDER as SHEETS
from engine.sheets.folder import load
from engine.sheets.grading import START, answers_in, handed_in, with_answers, with_names
from tests.sentences import says, sentence, wording

SHEET = "crovella-row-sums"
RIGHT = KERNELS["row_sums_block"].text
HEAD = 'extern "C" __global__ void row_sums_block(const T *in, T *out, unsigned int n)'
BROKEN = {
    "typo": (HEAD + "{ int three = 3 }", 'does not compile: line 1: expected a ";".'),
    "empty": ("", "has no kernel named row_sums_block"),
    "endless": (HEAD + "{ while (n) out[0] += in[0]; }", "this loop never ends"),
    "outside": (HEAD + "{ out[0] = in[n * n + 7]; }", "reads element 8 of `in`, which has 1 element."),
    "password": ('#include "/etc/passwd"\n' + HEAD + "{}", "only headers of the include folders can be included"),
    "trap": (HEAD + '{ asm volatile("trap;"); }', "the kernel stops itself here"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "anna.cu").write_text(RIGHT)
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / "mine.cu").write_text(RIGHT)
    (tmp_path / "ben" / "notes.txt").write_text("answer why: nothing\n")
    (tmp_path / ".hidden.cu").write_text("x")
    return tmp_path


@pytest.mark.thorough
def test_everybody_is_graded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", SHEET, str(folder), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["sheet"] == SHEET and record["status"] == "ok" and record["reason"] is None
    assert [row["name"] for row in record["submissions"]] == ["anna", "ben"]
    assert record["submissions"][1]["files"] == ["mine.cu", "notes.txt"]
    for row in record["submissions"]:
        assert row["passed"] and row["reason"] is None
        assert {verdict["check"]: verdict["passed"] for verdict in row["checks"]} == {
            "answer": True, "findings": True, "coalesced": True, "together": True, "tree": True,
            "shared-work": True, "no-atomic": True, "each-step": True, "faster": True}  # fmt: skip


@pytest.mark.thorough
def test_a_table_of_the_shown_answers_fails_at_the_hidden_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "anna.cu").write_text(RIGHT)
    (tmp_path / "table.cu").write_text(
        RIGHT.replace("column < n;", "column < (n == 1 || n == 33 || n == 100 ? n : 1);")
    )
    seeds = []
    for again in ([], ["--seed", "7"]):
        assert main(["grade", SHEET, str(tmp_path), "--json", *again]) == 1
        record = json.loads(capsys.readouterr().out)
        seeds.append(record["seed"])
        anna, table = ({one["check"]: one["passed"] for one in row["checks"]} for row in record["submissions"])
        assert anna["answer"] and table["answer"] is False
    assert seeds[1] == 7


@pytest.mark.thorough
def test_the_wrong_answers_of_any_folder_are_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tmp_path / "week-3"
    shutil.copytree(SHEETS / SHEET, sheet)
    assert main(["sheets", str(sheet), "--try"]) == 0
    assert all(line.startswith("ok ") for line in capsys.readouterr().out.splitlines())
    text = (sheet / "sheet.toml").read_text()
    (sheet / "sheet.toml").write_text(text.replace('rung = "row_sums"', 'rung = "row_sums_block"'))
    assert main(["sheets", str(sheet), "--try", "--json"]) == 1
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [trial["name"] for trial in trials if not trial["good"]] == [START]
    assert main(["sheets", "--try"]) == 2


@pytest.mark.thorough
def test_a_hostile_submission_costs_its_own_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, (text, _) in BROKEN.items():
        (folder / f"{name}.cu").write_text(text)
    (folder / "big.cu").write_text(" " * (SOURCE_BYTES + 1))
    (folder / "binary.cu").write_bytes(b"\xff\xfe\x00")
    (folder / "link.cu").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.cu")
    (folder / "two").mkdir()
    for name in ("a.cu", "b.cu"):
        (folder / "two" / name).write_text(RIGHT)
    (folder / "red\x1b[31m.cu").write_text("x" * (SOURCE_BYTES + 1))
    assert main(["grade", SHEET, str(folder)]) == 1
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[2:]}
    assert " ok " in lines["anna"] and " ok " in lines["ben"]
    for name, (_, ending) in BROKEN.items():
        assert ending in lines[name]
    for name, ending in (
        ("big", "more than 256 kB."),
        ("binary", wording("grade.no-text")),
        ("link", "link.cu is no plain file."),
        ("pipe", "pipe.cu is no plain file."),
        ("two", "name one crovella-row-sums.cu."),
        ("red?[31m", "more than 256 kB."),
    ):
        assert lines[name].endswith(ending)
    assert lines["2"].startswith("2 of 14 passed.")


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["grade", "homework", "."], "grade.no-sheet"),
        (["grade", SHEET, "nowhere"], "grade.no-folder"),
        (["grade", SHEET, "sheets/heidelberg-1/wrong-empty"], "grade.no-folder-of-a-sheet"),
    ],
)
def test_what_cannot_be_graded_is_refused(arguments: list[str], key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 2
    record = json.loads(capsys.readouterr().out)
    assert record["status"] == "refused" and says(key, record["reason"])


def test_an_empty_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", SHEET, str(tmp_path)]) == 2
    assert says("grade.empty-folder", capsys.readouterr().err)


def test_what_cannot_be_written_is_refused_after_the_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "anna").mkdir()
    (tmp_path / "file").touch()
    for option, place in (("--csv", tmp_path / "no" / "such.csv"), ("--feedback", tmp_path / "file" / "texts")):
        assert main(["grade", SHEET, str(tmp_path / "anna"), str(tmp_path / "file"), option, str(place)]) == 2
        points, refusal = capsys.readouterr()
        assert "anna" in points and str(place) not in points
        assert "Errno" not in refusal and str(place) in refusal


def test_several_paths_are_one_submission_each(folder: Path) -> None:
    found = handed_in(load(SHEET), [folder / "ben", folder / "anna.cu"])
    assert [one.name for one in found] == ["ben", "anna"]
    assert found[0].submission is not None and found[0].submission.answers == {"why": "nothing"}


def test_answers_travel_in_the_file() -> None:
    text = with_answers("kernel", {"why": "b", "how-many": "2^24"})
    assert answers_in(text) == {"why": "b", "how-many": "2^24"} and text.endswith("kernel")
    assert answers_in(" // Answer why = (b) \n# answer x: 1\nthe answer is: no\n") == {"why": "(b)", "x": "1"}


def test_the_sheets_are_listed_and_one_is_shown_without_its_solution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sheets"]) == 0
    assert "heidelberg-1" in capsys.readouterr().out
    assert main(["sheets", SHEET]) == 0
    shown = capsys.readouterr().out
    assert load(SHEET).text.split("\n")[0] in shown and "coalesced: A warp reads" in shown
    assert load(SHEET).start in shown and "stride >>= 1" not in shown
    assert main(["sheets", "heidelberg-1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sheets"]
    assert row["start"] == load("heidelberg-1").start and row["checks"][-1]["choices"].keys() == {"a", "b", "c"}
    assert (row["origin"], row["level"]) == ("lecture", "course")
    assert "because" not in json.dumps(row) and '"answer":' not in json.dumps(row)
    assert main(["sheets", "homework"]) == 2


def test_any_kernel_is_graded_by_the_sheets_own_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole program is taken as it is, host code and all."""
    sheet = load("first-saxpy")
    (tmp_path / "anna.cu").write_text(f"#include <iostream>\n{sheet.solution}\nint main() {{ return 0; }}\n")
    (tmp_path / "ben.cu").write_text(sheet.start)
    (tmp_path / "clara.cu").write_text("__global__ void other(int *a) { a[0] = 1; }\n")
    assert main(["grade", "first-saxpy", str(tmp_path), "--json"]) == 1
    anna, ben, clara = json.loads(capsys.readouterr().out)["submissions"]
    assert anna["passed"] and not ben["passed"] and not clara["passed"]
    assert says("grade.outside-the-array", ben["checks"][0]["sentence"]) and ben["checks"][0]["line"] == 4
    assert sentence("grade.no-such-kernel", clara["checks"][0]["sentence"])


def test_a_submission_commands_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "eve.cu").write_text("__global__ void k() {}\n#error \x1b[2J\x1b]0;owned\x07\n")
    assert main(["check", str(tmp_path / "eve.cu")]) == 2
    told = capsys.readouterr().out
    assert "owned" in told and "\x1b" not in told and "\x07" not in told


@pytest.mark.parametrize(
    ("right", "renamed"),
    [
        ("y = saxpy(x, y, a)", "x = saxpy(in, x, factor)"),
        ("y = stencil(x, 3)", "x = stencil(in, 3)"),
        ("y = a * sum(x) + x.sum() + np.abs(x_2)", "x = factor * sum(in) + in.sum() + np.abs(x_2)"),
    ],
)
def test_what_is_right_is_told_with_the_names_of_a_files_parameters(right: str, renamed: str) -> None:
    assert str(with_names(right_of(right), {"a": "factor", "x": "in", "y": "x"})) == renamed

"""What a learning platform hands out is read, and what it takes is written: points, feedback, and who is alike."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.commands import main
from engine.compile.limits import SOURCE_BYTES
from engine.records import NotRunnable
from engine.sheets.folder import load
from engine.sheets.grading import handed_in
from engine.sheets.submissions import PLATFORMS, Mark, Student, alike, grade_table, student_of, unpack
from tests.sentences import refused, sentence

SHEET = "crovella-row-sums"
RIGHT = KERNELS["row_sums_block"].text
WRONG = RIGHT.replace("column < n;", "column < n - 1;")
MOODLE = "Ada Lovelace_4711_assignsubmission_file"
CANVAS = "boolegeorge_LATE_815_90210_row-sums.cu"
WANTED = (".cu", ".txt")


def archive(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


def test_a_students_name_is_read_as_the_platform_writes_it() -> None:
    assert student_of(MOODLE) == (Student("Ada Lovelace", "4711"), "")
    assert student_of(f"{MOODLE}_mine.cu") == (Student("Ada Lovelace", "4711"), "mine.cu")
    assert student_of(CANVAS) == (Student("boolegeorge", "815", late=True), "row-sums.cu")
    assert student_of("clara.cu") == (Student("clara"), "clara.cu")


@pytest.mark.parametrize(
    "files",
    [{f"{MOODLE}/mine.cu": RIGHT, f"{MOODLE}/notes.txt": "answer why: a"},
     {f"{MOODLE}_mine.cu": RIGHT, f"{MOODLE}_notes.txt": "answer why: a"},
     {f"hw/{MOODLE}/mine.cu": RIGHT, f"hw/{MOODLE}/notes.txt": "x", "hw/.DS_Store": "", "hw/readme.pdf": "x"}],
    ids=["folders", "flat", "in a folder"],
)  # fmt: skip
def test_an_archive_gives_a_folder_for_each_student(tmp_path: Path, files: dict[str, str]) -> None:
    made = archive(tmp_path / "all.zip", files | {CANVAS: WRONG} if len(files) == 2 else files)
    (folder := tmp_path / "out").mkdir()
    unpack(made, folder, WANTED)
    assert {path.name for path in (folder / MOODLE).iterdir()} == {"mine.cu", "notes.txt"}
    assert (folder / MOODLE / "mine.cu").read_text() == RIGHT


def test_an_archive_writes_nothing_outside_and_nothing_large(tmp_path: Path) -> None:
    """A file that leads outside, or elsewhere, is named with its student."""
    link = zipfile.ZipInfo("hw/bob/link.cu")
    link.external_attr = 0o120777 << 16
    large, outside = "x" * (SOURCE_BYTES + 99), {"../out.cu": "x", "/etc/x.cu": "x", "hw/cleo/../../../y.cu": "x"}
    made = archive(tmp_path / "all.zip", outside | {"hw/ann/a.cu": large, "hw\\dora\\mine.cu": RIGHT})
    with zipfile.ZipFile(made, "a") as packed:
        packed.writestr(link, "/etc/passwd")
    (folder := tmp_path / "in").mkdir()
    named = unpack(made, folder, WANTED)
    found = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*.cu")}
    assert found == {"ann/a.cu": SOURCE_BYTES + 1, "dora/mine.cu": len(RIGHT)} and not (tmp_path / "out.cu").exists()
    assert {*named} == {"out", "etc", "cleo", "bob"} and sentence("sheets.link-in-archive", named["bob"])
    assert sentence("sheets.out-of-archive", named["out"])
    assert {named[name].partition(" ")[2] for name in ("out", "etc", "cleo")} == {named["out"].partition(" ")[2]}
    grades = {one.entry: one.reason for one in handed_in(load(SHEET), [folder], named)}
    assert named.items() <= grades.items() and grades["dora"] is None
    (tmp_path / "no.zip").write_text("no archive")
    with refused("sheets.no-archive", NotRunnable):
        unpack(tmp_path / "no.zip", folder, WANTED)


def test_files_of_one_name_and_names_that_are_too_long_are_said(tmp_path: Path) -> None:
    """Each concerns one student, and the others are read."""
    name = f"{SHEET}.cu"
    made = archive(tmp_path / "all.zip", {
        f"ann/a/{name}": RIGHT, f"ann/b/{name}": WRONG, "bob/mine.cu": RIGHT, f"bob/{'x' * 300}.cu": WRONG,
        f"cleo/{'x' * 300}.cu": RIGHT, "y" * 300 + ".cu": RIGHT, "dora/src/mine.cu": RIGHT, "dora/notes.txt": "",
        "eve/mine.cu": RIGHT, "eve/mine.cu/x.cu": WRONG,
    })  # fmt: skip
    with zipfile.ZipFile(made, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("dora/src/mine.cu", WRONG)
    (folder := tmp_path / "in").mkdir()
    found = {one.entry: one for one in handed_in(load(SHEET), [folder], unpack(made, folder, WANTED))}
    text = {entry: one.submission and one.submission.text for entry, one in found.items()}
    assert text == {"ann": None, "bob": RIGHT, "cleo": None, "y" * 240: None, "dora": RIGHT, "eve": RIGHT}
    assert sentence("sheets.several-files", found["ann"].reason) and sentence("sheets.twice", found["dora"].notes[0])
    assert sentence("sheets.long-name", found["cleo"].reason) and found["bob"].notes[0] == found["cleo"].reason
    assert all(len(one.notes) == 1 for entry, one in found.items() if entry in ("bob", "dora", "eve"))
    assert "too long" in str(found["y" * 240].reason)


@pytest.mark.parametrize("first", list("=+-@\t"))
@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_name_is_a_formula(first: str, platform: str) -> None:
    table = grade_table("Sums", [Mark(Student(f"{first}1+1"), 1, 1, {}, f"two\rrows\r{first}1")], platform)
    cells = [cell for row in csv.reader(io.StringIO(table, newline="")) for cell in row]
    assert f"'{first}1+1" in cells and not any(cell.startswith(first) for cell in cells)


def test_a_platform_gets_its_own_columns_and_no_formula() -> None:
    marks = [Mark(Student("=Ada", "4711"), 2.5, 4, {"answer": "ok", "fast": "no"}, "fast (0 of 1): slow.")]
    plain, moodle, canvas = (list(csv.reader(grade_table("Sums", marks, each).splitlines()))
                             for each in ("plain", "moodle", "canvas"))  # fmt: skip
    assert plain[1] == ["'=Ada", "4711", "", "2.5", "4", "ok", "no", "fast (0 of 1): slow."]
    assert dict(zip(*moodle, strict=True)) == {
        "Identifier": "Participant 4711", "Full name": "'=Ada", "Grade": "2.5", "Maximum Grade": "4",
        "Feedback comments": "fast (0 of 1): slow."}  # fmt: skip
    assert canvas[0][-1] == "Sums" and canvas[1][-1] == "4" and canvas[2][1] == "4711" and canvas[2][-1] == "2.5"


@pytest.mark.thorough
def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "all.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x.cu", RIGHT)
    whole = made.read_bytes()
    for place in range(34, 60):  # the compressed bytes of its file
        made.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(NotRunnable, match="cannot be unpacked"):
            unpack(made, tmp_path, WANTED)


def test_an_archive_is_graded_with_points_and_feedback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = archive(tmp_path / "all.zip", {f"{MOODLE}/mine.cu": RIGHT, CANVAS: WRONG})
    files = ["--csv", str(tmp_path / "points.csv"), "--for", "moodle", "--feedback", str(tmp_path / "told"), "--alike"]
    assert main(["grade", SHEET, str(made), "--json", *files]) == 1
    record = json.loads(capsys.readouterr().out)
    ada, george = record["submissions"]
    assert (ada["name"], ada["id"], ada["points"]) == ("Ada Lovelace", "4711", record["points"]) and ada["passed"]
    assert george["late"] and george["points"] < record["points"] and record["alike"] == []
    told = (tmp_path / "told" / "boolegeorge_LATE_815_90210" / "feedback.txt").read_text()
    assert "answer (0 of 1)" in told and f"{george['points']:g} of {record['points']:g} points" in told
    rows = list(csv.DictReader((tmp_path / "points.csv").read_text(encoding="utf-8").splitlines()))
    assert [float(row["Grade"]) for row in rows] == [ada["points"], george["points"]]


OWN = """__global__ void sum(const float *in, float *out, int n) {
    extern __shared__ float parts[];
    float mine = 0;
    for (int at = threadIdx.x; at < n; at += blockDim.x) mine += in[at] * 2.0f;
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}
"""


def test_files_with_other_names_are_alike_and_what_the_sheet_gave_is_not() -> None:
    renamed = OWN.replace("parts", "cache").replace("mine", "total").replace("half", "s").replace("2.0f", "3")
    other = "__global__ void sum(const float *in, float *out, int n) {\n" + "".join(
        f"    if (threadIdx.x == {at}) atomicAdd(out + {at}, in[{at}] - n);\n" for at in range(6)) + "}\n"  # fmt: skip
    texts = {"ann": OWN, "bob": renamed.replace("__syncthreads();\n    for", "__syncthreads(); // here\n    for"),
             "cleo": other}  # fmt: skip
    assert [(pair.one, pair.other) for pair in alike(texts)] == [("ann", "bob")]
    assert alike(texts)[0].share > 0.9 and alike(texts, (OWN,)) == []


@pytest.mark.parametrize("encrypted", [False, True])
def test_an_archive_that_is_empty_or_encrypted_is_refused_by_its_own_name(tmp_path: Path, encrypted: bool) -> None:
    made = tmp_path / "week.zip"
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr("anna.cu" if encrypted else "letter.pdf", "x")
    if encrypted:
        raw = bytearray(made.read_bytes())
        raw[6] |= 1
        raw[raw.rfind(b"PK\x01\x02") + 8] |= 1
        made.write_bytes(raw)
    with pytest.raises(NotRunnable, match=r"week\.zip") as found:
        unpack(made, tmp_path, [".cu"])
    assert "<" not in str(found.value) and str(tmp_path) not in str(found.value)

"""What an operator does with the store: backup and restore, one person's data, the end of a term."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from engine.commands import main
from engine.records import NotRunnable
from engine.sheets.progress import plain_name
from engine.store import database, drafts, keeping, progress
from engine.store.keeping import owner_of_drafts


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def fill() -> None:
    progress.save("Ada", "first-saxpy", "answer", "passed")
    progress.save("Ada (3f2a)", "first-saxpy", "answer", "failed")
    progress.save("Ada Lovelace", "first-saxpy", "answer", "passed")
    progress.save("bob@school.edu", "first-saxpy", "answer", "passed")
    progress.remember_name(owner_of_drafts("ada's browser"), "Ada")
    drafts.save(owner_of_drafts("ada's browser"), "abc", "her text before")
    drafts.save(owner_of_drafts("ada's browser"), "abc", "her text")
    drafts.save(owner_of_drafts("another"), "def", "somebody's text")


def test_a_backup_is_restored_and_what_was_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    (database.folder() / "cookie-secret").write_text("secret")
    file = tmp_path / "monday.zip"
    assert main(["store", "backup", str(file)]) == 0 and "keep it as safe" in capsys.readouterr().out
    assert file.stat().st_mode & 0o077 == 0, "it holds keys"
    progress.save("Ada", "first-saxpy", "answer", "lost")
    (database.folder() / "cookie-secret").write_text("another")
    assert main(["store", "restore", str(file)]) == 0
    assert progress.load("Ada", "first-saxpy") == {"answer": "passed"}, "the server that runs sees it"
    assert (database.folder() / "cookie-secret").read_text() == "secret"
    keeping.restore(database.folder() / "before-restore.zip")
    assert progress.load("Ada", "first-saxpy") == {"answer": "lost"}


def test_a_backup_without_room_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill()
    file = tmp_path / "monday.zip"
    assert main(["store", "backup", str(file)]) == 0
    before = file.read_bytes()
    for what, key in ((OSError(28, "No space left on device"), "No space left on device."),
                      (sqlite3.OperationalError("database or disk is full"), "disk is full.")):  # fmt: skip
        monkeypatch.setattr(zipfile.ZipFile, "write", Mock(side_effect=what))
        capsys.readouterr()
        assert main(["store", "backup", str(file)]) == 2
        assert capsys.readouterr().err.rstrip().endswith(key) and file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"data", "monday.zip"}


def test_what_is_no_backup_is_refused_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "backup", str(tmp_path / "x.zip")]) == 2
    fill()
    bad = {"text.zip": b"hello", "empty.zip": None, "damaged.zip": b"SQLite format 3" + bytes(4000), "later.zip": None}
    for name, content in bad.items():
        with zipfile.ZipFile(tmp_path / name, "w") as made:
            if name == "damaged.zip":
                made.writestr(database.FILE, content or b"")
    (tmp_path / "text.zip").write_bytes(b"hello")
    keeping.back_up(tmp_path / "later.zip")
    later = database.connected(tmp_path / "later.db")
    later.execute(f"PRAGMA user_version = {len(database.MIGRATIONS) + 1}")
    later.close()
    with zipfile.ZipFile(tmp_path / "later.zip", "w") as made:
        made.write(tmp_path / "later.db", database.FILE)
    with zipfile.ZipFile(tmp_path / "flipped.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(database.FILE, bytes(4000))
    raw = (tmp_path / "flipped.zip").read_bytes()
    start = 30 + len(database.FILE)  # of the compressed bytes
    (tmp_path / "flipped.zip").write_bytes(raw[:start] + b"\xff" * 9 + raw[start + 9 :])
    capsys.readouterr()
    assert main(["store", "backup", str(tmp_path / "no" / "x.zip")]) == 2
    assert str(tmp_path / "no" / "x.zip") in capsys.readouterr().err
    for name in (*bad, "missing.zip", "flipped.zip"):
        with pytest.raises(NotRunnable):
            keeping.restore(tmp_path / name)
        assert main(["store", "restore", str(tmp_path / name)]) == 2
    assert progress.load("Ada", "first-saxpy") == {"answer": "passed"}


def test_a_backup_goes_into_a_file_that_cannot_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    assert main(["store", "backup", "/dev/null"]) == 0 and " 0 bytes" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "status"),
    [("history export", 3), ("votes", 3), ("progress", 3), ("store person Ada", 2), ("store person Ada --delete", 2),
     ("store end-term --before 2026-01-01", 2)],
)  # fmt: skip
def test_of_a_damaged_store_no_command_says_that_it_holds_nothing(
    command: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (database.folder()).mkdir(parents=True, exist_ok=True)
    (database.folder() / database.FILE).write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 30)
    assert main(command.split()) == status
    out, errors = capsys.readouterr()
    assert out == "" and "not a database" in errors


def test_a_name_is_found_however_its_accents_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    progress.save(plain_name("Jose\u0301"), "first-saxpy", "answer", "passed")
    for typed in ("Jos\u00e9", "Jose\u0301"):
        assert main(["store", "person", typed]) == 0 and "first-saxpy" in capsys.readouterr().out


def test_one_person_is_shown_and_deleted_and_nobody_else(capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    assert main(["store", "person", "Ada", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row[0] for row in found["sheets"]} == {"Ada", "Ada (3f2a)"} and found["drafts"][0][1] == "her text"
    assert main(["store", "person", "Ada", "--delete"]) == 0
    assert "2 results and 2 texts of drafts deleted" in capsys.readouterr().out
    assert main(["store", "person", "Ada"]) == 1 and "Nothing is kept" in capsys.readouterr().out
    assert found["drafts"][1][1] == "her text before" and drafts.versions(owner_of_drafts("ada's browser"), "abc") == []
    assert progress.name_of(owner_of_drafts("ada's browser")) == ""
    assert progress.load("Ada Lovelace", "first-saxpy") and drafts.load(owner_of_drafts("another"), "def")
    assert keeping.of_person("%").nothing and keeping.of_person("_da").nothing


def test_a_term_ends_and_measurements_stay(capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    assert main(["store", "end-term", "--before", "2020-01-01"]) == 0 and "nothing" in capsys.readouterr().out
    assert main(["store", "end-term", "--before", "2999-01-01"]) == 0
    assert "4 of progress" in capsys.readouterr().out
    assert progress.load("Ada", "first-saxpy") == {} and keeping.of_person("Ada").nothing
    with pytest.raises(SystemExit):
        main(["store", "end-term", "--before", "someday"])

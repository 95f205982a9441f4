"""What is written is found again: after a restart, by another process, and while the file cannot be used."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from engine.store import database, drafts, measurements, presentation, progress
from tests.sentences import refused, says

ROOT = Path(__file__).parents[2]
NOBODY = 65534


def file() -> Path:
    return database.folder() / database.FILE


def in_another_process(code: str, count: int = 1) -> list[str]:
    """What `count` processes at once print, which have this one's file."""
    before = "from engine.store import database, drafts, measurements, presentation, progress\n"
    command = [sys.executable, "-S", "-c", before + code]
    started = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    said = [process.communicate(timeout=200) for process in started]
    assert [process.returncode for process in started] == [0] * count, said
    return [out for out, _ in said]


def test_a_folder_that_cannot_be_made_is_reported_before_the_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert database.trouble() is None
    (tmp_path / "taken").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "taken"))
    assert str(tmp_path / "taken") in str(database.trouble())


def test_a_look_makes_no_file() -> None:
    assert drafts.load("ada", "tile.cu") is None and progress.load("ada", "sums") == {}
    assert presentation.load("monday") is None and measurements.last_id() == 0 and measurements.count() == 0
    assert not file().parent.exists()


def test_a_restart_finds_the_last_of_everything() -> None:
    drafts.save("ada", "tile.cu", "first")
    drafts.save("ada", "tile.cu", "second\n// \N{GREEK SMALL LETTER MU}s")
    progress.save("ada", "sums", "1", "hint 1")
    progress.save("ada", "sums", "1", "right")
    presentation.save("monday", {"ladder": "harris", "rung": 3})
    measurements.add("k", "first")
    measurements.add("k", "second")
    database.close()
    assert drafts.load("ada", "tile.cu") == "second\n// \N{GREEK SMALL LETTER MU}s"
    assert progress.load("ada", "sums") == {"1": "right"}
    assert presentation.load("monday") == {"ladder": "harris", "rung": 3}
    assert measurements.last_of("k") == ("second", None) and measurements.count() == 2
    assert database.trouble() is None


def test_drafts_have_a_common_bound_and_old_drafts_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_BYTES", (3 << 20) + 100)
    megabyte, at = "x" * (1 << 20), ["2026-01-01T10:00:00+00:00"]
    monkeypatch.setattr(drafts, "now", lambda: at[0])
    drafts.save("ada", "old", megabyte)
    for day in range(1, 6):
        at[0] = f"2026-11-0{day}T10:00:00+00:00"
        drafts.save("bob", f"small {day}", "text")
    drafts.save("bob", "one", megabyte)
    drafts.save("bob", "two", megabyte)
    drafts.save("bob", "two", megabyte)  # in the place of what it had
    assert drafts.load("ada", "old") == megabyte
    drafts.save("bob", "three", megabyte)
    assert drafts.load("ada", "old") is None
    assert all(drafts.load("bob", name) == megabyte for name in ("one", "two", "three"))
    with refused("drafts.full", drafts.Full):
        drafts.save("ada", "new", megabyte)
    assert drafts.load("ada", "new") is None and drafts.load("bob", "one") == megabyte
    for day in range(1, 6):  # no browser knows its name of then
        at[0] = f"2028-01-0{day}T10:00:00+00:00"
        drafts.save("ada", f"new {day}", "small")
    assert database.read("SELECT owner, name FROM drafts") == [("ada", f"new {day}") for day in range(1, 6)]


def test_a_clock_that_is_far_ahead_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    at = ["2026-11-01T10:00:00+00:00"]
    monkeypatch.setattr(drafts, "now", lambda: at[0])
    drafts.save("ada", "old", "then")
    drafts.save("ada", "old", "text")
    for day in range(1, 4):
        at[0] = f"2096-11-0{day}T10:00:00+00:00"
        drafts.save("bob", f"day {day}", "text")
    monkeypatch.setattr(drafts, "MOST_BYTES", 20)
    with pytest.raises(drafts.Full):
        drafts.save("bob", "more", "text" * 5)
    assert drafts.load("ada", "old") == "text" and drafts.load("bob", "day 1") == "text"


def test_a_draft_keeps_a_text_a_minute_and_every_one_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    at = ["2026-11-01T10:00:00+00:00"]
    monkeypatch.setattr(drafts, "now", lambda: at[0])
    monkeypatch.setattr(drafts, "MOST_VERSIONS", 3)
    for second, text in enumerate(["one", "two", "three"]):
        at[0] = f"2026-11-01T10:00:0{second}+00:00"
        drafts.save("ada", "tile.cu", text)
    assert [text for _, text, _ in drafts.versions("ada", "tile.cu")] == ["one"]
    drafts.save("ada", "tile.cu", "four", keep=True)
    assert [text for _, text, _ in drafts.versions("ada", "tile.cu")] == ["three", "one"]
    for minute in range(2, 6):
        at[0] = f"2026-11-01T10:0{minute}:00+00:00"
        drafts.save("ada", "tile.cu", f"minute {minute}")
    found = drafts.versions("ada", "tile.cu")
    assert [text for _, text, _ in found] == ["minute 4", "minute 3", "minute 2"]
    assert found[0][2] == "2026-11-01T10:04:00+00:00"
    assert drafts.versions("bob", "tile.cu") == drafts.versions("ada", "other.cu") == []


def test_a_clock_that_is_set_back_loses_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    at = ["2030-01-01T10:00:00+00:00"]
    monkeypatch.setattr(drafts, "now", lambda: at[0])
    for name in ("one", "two"):
        drafts.save("ada", name, "then", most=2)
    drafts.save("ada", "two", "then again", most=2)
    at[0] = "2026-11-01T10:00:00+00:00"
    drafts.save("ada", "two", "now", most=2)
    assert [text for _, text, _ in drafts.versions("ada", "two")] == ["then again", "then"]
    drafts.save("ada", "three", "new", most=2)
    assert drafts.load("ada", "three") == "new" and drafts.load("ada", "one") == "then"


def test_earlier_texts_make_room_before_any_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_BYTES", 3 << 20)
    first, second = "a" * (1 << 20), "b" * (1 << 20)
    drafts.save("ada", "one", first)
    drafts.save("ada", "one", second)
    assert drafts.versions("ada", "one")[0][1] == first
    drafts.save("bob", "two", first)
    assert drafts.versions("ada", "one")
    drafts.save("bob", "three", first)
    assert drafts.versions("ada", "one") == [] and drafts.load("ada", "one") == second


def test_drafts_of_an_earlier_version_have_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    file().parent.mkdir(parents=True)
    before = sqlite3.connect(file())
    for statements in database.MIGRATIONS[:2]:
        for statement in statements:
            before.execute(statement)
    before.execute("INSERT INTO drafts VALUES ('ada', 'tile.cu', 'µs', '2026-11-01T10:00:00+00:00')")
    before.execute("PRAGMA user_version = 2")
    before.commit()
    before.close()
    drafts.save("ada", "other.cu", "text")
    assert database.read("SELECT name, bytes FROM drafts ORDER BY name") == [("other.cu", 4), ("tile.cu", 3)]


def test_a_draft_is_its_owners_own() -> None:
    drafts.save("ada", "tile.cu", "ada's")
    drafts.save("bob", "tile.cu", "bob's")
    assert drafts.load("ada", "tile.cu") == "ada's" and drafts.load("bob", "tile.cu") == "bob's"


def test_progress_in_a_sheet_is_read_by_student() -> None:
    progress.save("ada", "sums", "1", "right")
    progress.save("bob", "sums", "1", "wrong")
    progress.save("bob", "tiles", "1", "right")
    assert progress.of_everybody("sums") == {"ada": {"1": "right"}, "bob": {"1": "wrong"}}


def test_processes_that_make_the_file_together_all_write_into_it_and_see_the_others() -> None:
    code = "import os; measurements.add('k', str(os.getpid())); print(database.trouble(), os.getpid())"
    said = [line.split() for line in in_another_process(code, count=4)]
    assert {word for word, _ in said} == {"None"}
    assert {row.record for row in measurements.all_rows()} == {process for _, process in said}
    before = database.version()
    in_another_process("drafts.save('ada', 'tile.cu', 'from there')")
    assert drafts.load("ada", "tile.cu") == "from there" and database.version() != before


def test_a_store_of_an_earlier_version_is_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    drafts.save("ada", "tile.cu", "kept")
    database.close()
    added = ("CREATE TABLE more (id INTEGER)", "INSERT INTO more VALUES (7)")
    monkeypatch.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, added))
    assert database.read("SELECT id FROM more") == [(7,)] and drafts.load("ada", "tile.cu") == "kept"
    database.close()
    assert database.read("SELECT count(*) FROM more") == [(1,)]


def test_measurements_of_the_first_version_are_there_without_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr(database, "MIGRATIONS", database.MIGRATIONS[:1])
        insert = "INSERT INTO measurements (key, record, utc) VALUES ('k', 'kept', '')"
        database.write(lambda connection: connection.execute(insert))
        database.close()
    assert measurements.last_of("k") == ("kept", None)
    measurements.add("k", "new", "[1]")
    assert measurements.last_of("k") == ("new", "[1]") and measurements.count() == 2


def test_a_file_of_a_later_version_is_left_alone() -> None:
    drafts.save("ada", "tile.cu", "theirs")
    database.close()
    with sqlite3.connect(file()) as connection:
        connection.execute(f"PRAGMA user_version = {len(database.MIGRATIONS) + 1}")
    connection.close()
    drafts.save("ada", "tile.cu", "mine")
    assert drafts.load("ada", "tile.cu") == "mine" and "later version" in str(database.trouble())
    with sqlite3.connect(file()) as connection:
        assert connection.execute("SELECT text FROM drafts").fetchall() == [("theirs",)]
    connection.close()


def test_a_damaged_store_is_reported_once_and_a_new_file_gets_the_later_entries(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file().parent.mkdir(parents=True)
    file().write_bytes(b"no database " * 1000)
    drafts.save("ada", "tile.cu", "one")
    drafts.save("ada", "tile.cu", "two")
    assert drafts.load("ada", "tile.cu") == "two"
    assert str(file()) in str(database.trouble()) and "not a database" in str(database.trouble())
    assert capfd.readouterr().err.count("memory only") == 1
    monkeypatch.setattr(database, "RETRY_S", 0.0)
    progress.save("ada", "sums", "1", "right")  # tried again, and still damaged
    file().rename(file().with_suffix(".damaged"))
    progress.save("ada", "sums", "2", "right")
    assert database.trouble() is None
    database.close()
    assert drafts.load("ada", "tile.cu") == "two" and progress.load("ada", "sums") == {"1": "right", "2": "right"}


FULL_DISK = """
import resource, time
def room(free):  # SQLite sees no difference between this limit and a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1 if free else 4096, -1))
drafts.save("ada", "a.cu", "before")
room(False)
for number in range(5):
    progress.save("ada", "sums", str(number), "right")
assert database.trouble() is not None
"""


def test_what_was_written_while_the_disk_was_full_is_there_after_the_end() -> None:
    in_another_process(f"{FULL_DISK}room(True)")  # nobody writes any more
    assert drafts.load("ada", "a.cu") == "before" and len(progress.load("ada", "sums")) == 5


def test_a_full_disk_is_tried_again_by_a_clock() -> None:
    waits = "end = time.monotonic() + 60\nwhile database.trouble() and time.monotonic() < end:\n    time.sleep(0.01)\n"
    killed = "import os; print(database.trouble(), flush=True); os._exit(0)"
    said = in_another_process(f"database.RETRY_S = 0.05\n{FULL_DISK}room(True)\n{waits}{killed}")[0]
    assert said == "None\n" and len(progress.load("ada", "sums")) == 5


def test_what_a_disk_without_room_loses_is_said() -> None:
    code = f"import sys; sys.stderr = sys.stdout\n{FULL_DISK}database.close()"
    assert "5 entries are lost" in in_another_process(code)[0]


def test_a_file_that_is_damaged_while_it_is_open(capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(200):
        drafts.save("ada", f"{number:03}.cu", "x" * 3000)
    database.close()
    content = bytearray(file().read_bytes())
    content[len(content) // 4 :] = b"\xff" * (len(content) - len(content) // 4)
    file().write_bytes(content)
    for number in range(200):
        drafts.save("ada", f"{number:03}.cu", "anew")
    assert {drafts.load("ada", f"{number:03}.cu") for number in range(200)} == {"anew"}
    assert database.trouble() is not None and capfd.readouterr().err.count("memory only") == 1


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_read_only_file_is_read_and_written_in_memory(folder_too: bool) -> None:
    drafts.save("ada", "tile.cu", "there")
    database.close()
    file().chmod(0o444)
    file().parent.chmod(0o555 if folder_too else 0o755)
    code = (
        f"import os\nif os.getuid() == 0: os.seteuid({NOBODY})\n"  # nothing is read-only to root
        "print(drafts.load('ada', 'tile.cu')); drafts.save('ada', 'tile.cu', 'mine')\n"
        "print(drafts.load('ada', 'tile.cu'), database.trouble())"
    )
    file().parents[2].parent.chmod(0o755)  # the tests' own folder, which is nobody else's to look into
    said = in_another_process(code)[0]
    file().parent.chmod(0o755)
    assert said.startswith("there\nmine ") and says("store.read-only", said)


def test_where_there_can_be_no_folder_everything_goes_on_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    drafts.save("ada", "tile.cu", "text")
    assert drafts.load("ada", "tile.cu") == "text" and database.trouble() is not None


def test_a_wrong_query_is_an_error_and_no_trouble_of_the_store() -> None:
    drafts.save("ada", "tile.cu", "text")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        database.read("SELECT * FROM nobody")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        database.write(lambda connection: connection.execute("DELETE FROM nobody"))
    assert database.trouble() is None and drafts.load("ada", "tile.cu") == "text"


def test_a_transaction_that_fails_changes_nothing() -> None:
    def half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO lectures VALUES ('monday', '{}', '')")
        raise ValueError

    with pytest.raises(ValueError):
        database.write(half)
    assert presentation.load("monday") is None
    presentation.save("monday", {})
    assert presentation.load("monday") == {}


def test_prune_by_count_and_by_age_makes_the_file_smaller() -> None:
    for number in range(1200):
        measurements.add(f"k{number}", "x" * 2000)
    database.close()
    large = file().stat().st_size
    assert measurements.prune(keep=100) == 1100 and measurements.count() == 100
    assert measurements.last_of("k0") is None and measurements.last_of("k1199") is not None
    database.close()
    assert file().stat().st_size < large / 4
    assert measurements.prune(before="2000-01-01") == 0
    assert measurements.prune(before="2999-01-01") == 100 and measurements.count() == 0

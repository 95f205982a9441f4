"""What was measured leaves as JSON or CSV, and less of it is kept where somebody says so."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.commands import main
from engine.history import history
from engine.history.contract import flat
from engine.plan import settle
from engine.records import Choice
from engine.records.files import written_whole
from engine.store import database, measurements
from tests.made import measured
from tests.sentences import says, sentence

CHOICE = settle(Choice("reduce_sequential", 4096, 128, device="gpu"))


@pytest.fixture(autouse=True)
def kept() -> None:
    for n in (1024, 2048, 4096):
        choice = replace(CHOICE, n=n)
        history.remember(choice, measured(choice))
    measurements.add('["gone"]', json.dumps({**flat(measured(CHOICE)), "kernel": "reduce_gone"}))


def test_json_is_every_record_as_it_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "export", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [record["n"] for record in found] == [1024, 2048, 4096, 4096]
    assert found[0] == json.loads(json.dumps(flat(measured(replace(CHOICE, n=1024)))))
    assert main(["history", "export", "--json", "--kernel", "reduce_gone"]) == 0
    assert [record["kernel"] for record in json.loads(capsys.readouterr().out)] == ["reduce_gone"]


def test_exports_leave_out_unknown_entries_and_report_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "export", "--csv", str(tmp_path / "all.csv")]) == 0
    rows = list(csv.DictReader((tmp_path / "all.csv").read_text().splitlines()))
    assert [row["N"] for row in rows] == ["1024", "2048", "4096"]
    assert says("archive.other-version", capsys.readouterr().err)
    assert main(["history", "export"]) == 0
    assert capsys.readouterr().out.count("reduce_sequential") == 3


@pytest.mark.parametrize("command", [["history", "export"], ["votes"]])
def test_a_table_that_cannot_be_written_is_said(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--csv", str(tmp_path / "no" / "such.csv")]) == 2
    assert sentence("commands.no-table", capsys.readouterr().err.strip().rpartition("/")[2])
    (table := tmp_path / "there.csv").write_text("before")
    with pytest.raises(ValueError), written_whole(table) as file:
        file.write(b"half")
        raise ValueError
    assert table.read_text() == "before" and [path.name for path in tmp_path.glob("*.csv*")] == ["there.csv"]
    assert main([*command, "--csv", str(table)]) == 0 and table.read_text() != "before"


def test_only_the_last_days(capsys: pytest.CaptureFixture[str]) -> None:
    database.write(lambda connection: connection.execute("UPDATE measurements SET utc = '2001-01-01' WHERE id < 3"))
    assert main(["history", "export", "--json", "--days", "7"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert main(["history", "prune", "--json", "--days", "7"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": 2, "kept": 2}
    for days in ("99999999", "9" * 30):  # before the year 1
        assert main(["history", "export", "--json", "--days", days]) == 0
        assert len(json.loads(capsys.readouterr().out)) == 2
        assert main(["history", "prune", "--json", "--days", days, "--keep", "9" * 30]) == 0
        assert json.loads(capsys.readouterr().out) == {"removed": 0, "kept": 2}
    assert main(["history", "prune", "--keep", "1"]) == 0
    assert sentence("archive.pruned", capsys.readouterr().out)


def test_prune_asks_how_much_and_removes_nothing_of_a_file_that_it_cannot_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for amount in ("--keep", "--days"):
        with pytest.raises(SystemExit):
            main(["history", "prune", amount, "-1"])
    assert main(["history", "export", "--kernel", "reduce_sequental"]) == 2
    assert main(["history", "prune"]) == 2
    assert "--keep COUNT, --days D" in capsys.readouterr().err
    database.close()
    (database.folder() / database.FILE).write_bytes(b"no database " * 1000)
    assert main(["history", "prune", "--keep", "1"]) == 2
    assert "Nothing was removed." in capsys.readouterr().err

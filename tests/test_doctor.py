import pytest

from engine.commands.doctor import DoctorCheck, _checked, _store, doctor
from engine.store import database, measurements
from tests.sentences import wording


def test_every_check_has_a_detail_and_every_failed_one_a_fix():
    checks = doctor()
    assert [check.name for check in checks][:3] == ["Python", "NVRTC", "CUDA headers"]
    for check in checks:
        assert check.detail and "\n" not in check.detail
        assert check.ok or check.fix


def test_compiler_and_headers_work_without_a_gpu():
    works = {check.name: check.ok for check in doctor()}
    assert works["Python"] and works["NVRTC"] and works["CUDA headers"]


def test_a_check_that_breaks_is_an_answer():
    def broken() -> str:
        raise RuntimeError("first line\nsecond line")

    assert _checked("x", broken) == DoctorCheck("x", False, "RuntimeError: first line", wording("doctor.install-again"))


def test_the_doctor_counts_the_measurements_and_names_a_damaged_file() -> None:
    measurements.add("k", "{}")
    assert _checked("history", _store) == DoctorCheck(
        "history", True, f"1 measurement in {database.folder() / database.FILE}"
    )
    database.close()
    (database.folder() / database.FILE).write_bytes(b"no database " * 1000)
    found = _checked("history", _store)
    assert not found.ok and "cannot be used" in found.detail and "not a database" in str(found.fix)


def test_the_doctor_says_how_a_folder_that_cannot_be_written_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "trouble", lambda: "kept in memory")
    monkeypatch.setattr(database, "can_be_written", lambda folder: False)
    found = _checked("history", _store)
    assert found.detail == "kept in memory" and "XDG_DATA_HOME" in str(found.fix)

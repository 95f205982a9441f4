from engine.commands.doctor import DoctorCheck, _checked, _store, doctor
from engine.store import database, measurements


def test_every_line_says_what_was_found_and_every_missing_line_how_to_fix_it():
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

    assert _checked("x", broken) == DoctorCheck(
        "x", False, "RuntimeError: first line", "pip install -r requirements.txt -c constraints.txt"
    )


def test_what_is_kept_is_counted_and_a_damaged_file_named() -> None:
    measurements.add("k", "{}")
    assert _checked("history", _store) == DoctorCheck(
        "history", True, f"1 measurements in {database.folder() / database.FILE}"
    )
    database.close()
    (database.folder() / database.FILE).write_bytes(b"no database " * 1000)
    found = _checked("history", _store)
    assert not found.ok and "cannot be used" in found.detail and "not a database" in str(found.fix)

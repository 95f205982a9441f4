"""The tests leave the user's home as it is, and what is in it changes none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.catalogue import LADDERS
from engine.history import history
from engine.lectures import published
from tests.history.test_history import measured
from tests.home import places

ROOT = Path(__file__).parents[1]
# One of each kind that has a history: read in the process, and by a page with its worker.
CHOSEN = (
    "tests/lectures/test_paper.py::test_a_live_run_on_a_gpu_comes_before_the_recorded_one",
    "tests/views/test_ladder_page.py::test_a_run_shows_its_answer_and_its_counters",
)


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def used(home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of somebody whose dashboard measured the lectures' ladders, and who set up Streamlit oddly."""
    for name, place in places(home).items():
        monkeypatch.setenv(name, place)
    for device in ("gpu", "emulator"):
        for ladder in published.published_ladders():
            for line in published.lines(LADDERS[ladder], device):
                history.remember(line.choice, measured(line.choice, time_us=1.0))
    history.forget()
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "config.toml").write_text("no = [toml")
    return {**os.environ, "STREAMLIT_SERVER_PORT": "none", "PYTHONDONTWRITEBYTECODE": "1"}


def test_a_second_program_finds_the_compiled_code_of_the_first() -> None:
    command = "import sys; sys.exit(sys.dont_write_bytecode)"
    assert subprocess.run([sys.executable, "-S", "-c", command], check=False).returncode == 0


@pytest.mark.thorough
def test_no_byte_of_a_used_home_changes_and_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = used(tmp_path, monkeypatch)
    before = content(tmp_path)
    assert len(before) == 2
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CHOSEN]
    done = subprocess.run(command, cwd=ROOT, env=user, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert content(tmp_path) == before

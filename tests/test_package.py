"""The wheel: everything that the program reads is in it, and it runs in a folder without the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.machine.environment import ENGINE, KERNELS, program_version
from tests.home import places
from views.server.program import DASHBOARD, command

ROOT = Path(__file__).parents[1]
START_S = 90.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The contents of the wheel, as in site-packages; built from a copy, so nothing is left in the repository."""
    source, made = tmp_path_factory.mktemp("source") / "program", tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "tests"))
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(made), "."]
    done = subprocess.run(build, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(made.glob("*.whl"))) as wheel:
        wheel.extractall(made / "site")
    return made / "site"


@pytest.fixture
def environment(site: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    yield {**os.environ, **places(tmp_path), "PYTHONPATH": str(site)}


def test_a_word_is_a_command_and_an_option_the_dashboards() -> None:
    assert command(["doctor", "--json"])[1:] == ["-m", "engine", "doctor", "--json"]
    assert command([]) == [sys.executable, str(DASHBOARD)] and command(["--port", "9000"])[2:] == ["--port", "9000"]


@pytest.mark.thorough
def test_the_wheel_has_what_the_program_reads_and_no_secret(site: Path) -> None:
    for folder in ("cuda", "notes", "questions", "recorded", "sheets"):
        shipped = {str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob("*") if path.is_file()}
        found = site / "engine" / "shipped" / folder
        assert {str(path.relative_to(found)) for path in found.rglob("*") if path.is_file()} == {
            name for name in shipped if "__pycache__" not in name
        }
    assert [path.name for path in (site / ".streamlit").iterdir()] == ["config.toml"]
    assert not list(site.rglob("*.pyc")) and not (site / "tests").exists()
    names = (site / "kernel_ladder-0.1.0.dist-info" / "METADATA").read_text()
    (wheel,) = site.parent.glob("*.whl")
    assert f"the wheel ({wheel.stat().st_size / 1e6:.0f} MB)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "Requires-Dist: streamlit" in names and "Requires-Dist: pytest" not in names


@pytest.mark.thorough
def test_it_runs_in_a_folder_without_the_repository(environment: dict[str, str], tmp_path: Path) -> None:
    told = (
        "import engine\nfrom engine.machine.environment import ENGINE, KERNELS, program_version\n"
        "from engine.sheets.folder import names\nfrom engine.history.records import records\n"
        "print(program_version(ENGINE, KERNELS), len(names()), *records())"
    )
    (folder := tmp_path / "empty").mkdir()
    for words in (["-c", told], ["-m", "engine", "run", "reduce_sequential", "--n", "5000"]):
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if words[0] == "-c":
            assert done.stdout.split()[0] == program_version(ENGINE, KERNELS) and "nvidia-h200" in done.stdout
        else:
            assert "ok, result" in done.stdout


@pytest.mark.thorough
def test_the_dashboard_listens_to_this_computer_alone(environment: dict[str, str], site: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("w") as out:
        started = [sys.executable, str(site / "dashboard.py"), "--port", "0"]
        server = subprocess.Popen(started, cwd=tmp_path, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + START_S
        while "URL: " not in log.read_text() and time.monotonic() < until and server.poll() is None:
            time.sleep(0.2)
        url = log.read_text().partition("URL: ")[2].split()[0]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url, timeout=START_S) as page:
            assert page.status == 200
    finally:
        server.terminate()
        server.wait(30)

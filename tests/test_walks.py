"""The walks of docs/extending, performed in a copy of the program: their own words and code blocks are the script."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = {page.stem: page for page in sorted((ROOT / "docs" / "extending").glob("*.md"))}
BLOCK = re.compile(r"^([^\n]+:)\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED = ("engine", "cuda", "sheets", "views", "docs", "tests", "dashboard.py", "pyproject.toml", ".streamlit")


@dataclass(frozen=True)
class Step:
    """A sentence of a page that ends with a colon, and the block below it."""

    words: str
    text: str


def steps_of(page: Path) -> list[Step]:
    return [Step(*found) for found in BLOCK.findall(page.read_text(encoding="utf-8"))]


def create(folder: Path, text: str, name: str) -> None:
    file = folder / name
    assert not file.exists(), f"{name} is there already"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")


def insert(folder: Path, text: str, name: str, start: str) -> None:
    _splice(folder / name, text, start, 0)


def replace(folder: Path, text: str, name: str, start: str) -> None:
    _splice(folder / name, text, start, 1)


def _splice(file: Path, text: str, start: str, removed: int) -> None:
    """Put the text where the one line that begins with `start` stands, in place of `removed` lines."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if line.startswith(start)]
    assert len(places) == 1, f"{len(places)} lines of {file.name} start with {start!r}"
    file.write_text("".join([*lines[: places[0]], text, *lines[places[0] + removed :]]), encoding="utf-8")


def append(folder: Path, text: str, name: str) -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{text}")


def prove(folder: Path, text: str) -> None:
    done = shell(folder, text)
    assert done.returncode == 0, done.stdout + done.stderr


def shell(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """The commands, in that folder, with this Python as `python`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], cwd=folder, env={**os.environ, "PATH": path, "PYTHONPATH": ""},
        capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip


ACTIONS: dict[str, Callable[..., None]] = {
    r"New file `(.+)`:": create,
    r"In `(.+)`, before `(.+)`:": insert,
    r"In `(.+)`, in place of `(.+)`:": replace,
    r"In `(.+)`, at the end:": append,
    r"Then:": prove,
}


def perform(folder: Path, step: Step) -> None:
    for pattern, action in ACTIONS.items():
        if found := re.fullmatch(pattern, step.words):
            action(folder, step.text, *found.groups())
            return
    raise AssertionError(f"no way to do what {step.words!r} says")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The program, to be changed; its recordings are read where they are."""
    folder = tmp_path / "program"
    folder.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name)  # compiled modules too: each keeps the time of its source
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / "recorded").symlink_to(ROOT / "recorded")
    return folder


@pytest.mark.sampled(quick=0, thorough=32)
@pytest.mark.parametrize("walk", PAGES)
def test_a_walk_leads_where_its_page_says(copy: Path, walk: str) -> None:
    """And only the walk does: before its steps, its last commands fail."""
    steps = steps_of(PAGES[walk])
    assert steps[-1].words == "Then:"
    assert shell(copy, steps[-1].text).returncode != 0
    for step in steps:
        perform(copy, step)


@pytest.mark.parametrize("walk", PAGES)
def test_no_block_of_a_page_is_passed_over(walk: str) -> None:
    assert len(steps_of(PAGES[walk])) == PAGES[walk].read_text(encoding="utf-8").count("\n```") // 2

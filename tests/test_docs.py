"""The README, CONTRIBUTING and docs/ are true where a program can tell: links, files, commands, pictures, lengths."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import pytest

from docs import library_ratios
from docs.draw_architecture import PICTURE, floors, svg
from engine.__main__ import _parser
from engine.catalogue import KERNELS
from engine.catalogue.kernels_page import PAGE
from engine.records import Choice
from views.server.server import flags

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
LONGEST = 130
SHELL = re.compile(r"[|>&<]+|;")  # where another command begins
FOLDERS = ("engine", "views", "tests", "docs", "cuda", "recorded", "sheets", r"\.ci")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def code_of(page: Path) -> list[str]:
    """All lines of code of a page: of its blocks, and between single backticks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", prose)


def commands_of(page: Path, start: str) -> list[list[str]]:
    """The arguments of each command of a page that starts like this, up to a pipe and the like."""
    found = [re.search(rf"(?:^|[\s/]){re.escape(start)}(?:\s+(.*)|$)", line) for line in code_of(page)]
    return [shlex.split(SHELL.split(match[1] or "")[0], comments=True) for match in found if match]


@each_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).exists(), link


@each_page
def test_every_file_that_is_named_is_there(page: Path) -> None:
    made = set(re.findall(r"^New file `(.+)`:$", page.read_text(encoding="utf-8"), re.MULTILINE))
    for line in code_of(page):
        for name in re.findall(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./-]+", line):
            if "<" not in line:
                assert name in made or (ROOT / name).exists(), name


@each_page
def test_every_page_is_short(page: Path) -> None:
    if page != PAGE:  # a table, which nobody reads from its beginning
        assert len(page.read_text(encoding="utf-8").splitlines()) < LONGEST


@each_page
def test_every_command_is_one(page: Path) -> None:
    """The engine's and the dashboard's own parsers take it; a module that is run is there."""
    for arguments in commands_of(page, "python -m engine"):
        _parser().parse_args(arguments)
    for arguments in commands_of(page, "python dashboard.py"):
        if "-h" not in arguments:
            flags(arguments)
    for line in code_of(page):
        for module in re.findall(r"python -m ((?:tests|docs)[\w.]*)", line):
            assert find_spec(module), module


@each_page
def test_every_name_is_the_programs(page: Path) -> None:
    """A module, or what it holds; and a name that begins as kernels' do is a kernel's, if it is no choice's."""
    known = {*KERNELS, *(field.name for field in fields(Choice))}
    begins = "|".join({kernel.partition("_")[0] for kernel in KERNELS})
    made = set(re.findall(r"^New file `.*?(\w+)\.\w+`:$", page.read_text(encoding="utf-8"), re.MULTILINE))
    for line in code_of(page):
        for name in re.findall(r"(?<![\w./])(?:engine|views|tests|docs)(?:\.\w+)+", line):
            assert resolve_name(name) is not None
        for name in re.findall(rf"(?<![\w./\"-])(?:{begins})(?:_[a-z0-9]+)+(?![\w(./-])", line):
            assert name in known | made, name


def test_the_readme_shows_commands_of_each_kind() -> None:
    assert {arguments[0] for arguments in commands_of(README, "python -m engine")} == {
        "kernels", "run", "sweep", "code", "emulate", "check", "grade", "doctor", "warm", "history", "record",
    }  # fmt: skip
    assert [] in commands_of(README, "python dashboard.py")
    assert ["--port", "9000", "--address", "0.0.0.0"] in commands_of(README, "python dashboard.py")


def test_a_command_that_is_none_is_found_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\n.venv/bin/python -m engine swep x  # no\n```\nSee `python -m engine run`.\n")
    assert commands_of(page, "python -m engine") == [["swep", "x"], ["run"]]
    with pytest.raises(SystemExit):
        test_every_command_is_one(page)


def test_the_pictures_are_there_and_small() -> None:
    text = README.read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^]]+\]\((.+?)\)", text)
    assert text.index(picture) < 1000, "the page opens with it"
    assert 20_000 < (ROOT / picture).stat().st_size < 400_000


def test_the_architecture_is_drawn_from_the_imports() -> None:
    """Which also shows that no room imports another in a circle."""
    assert floors()[-1] == ["engine/__main__", "views"]
    assert PICTURE.read_text(encoding="utf-8") == svg(), "run `python -m docs.draw_architecture`"


def test_whatever_is_asked_for_is_locked_in_a_version_that_fits() -> None:
    lock = dict(re.findall(r"^([\w-]+)==([\w.]+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    locked = {name.lower().replace("_", "-"): version for name, version in lock.items()}
    for file in ROOT.glob("requirements*.txt"):
        for name, least, above in re.findall(r"^([\w-]+)>=([\d.]+),<([\d.]+)", file.read_text(), re.MULTILINE):
            assert numbers(least) <= numbers(locked[name]) < numbers(above), name


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_the_table_of_the_libraries_is_that_of_the_recording() -> None:
    """`python -m docs.library_ratios` writes it."""
    assert library_ratios.PAGE.read_text(encoding="utf-8") == library_ratios.page()

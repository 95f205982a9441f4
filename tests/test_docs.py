"""The README, CONTRIBUTING and docs/ are true where a program can tell: links, files, commands, pictures, lengths."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
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
from views.session.server import flags

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


def links_of(page: Path) -> list[str]:
    """The targets of the links of a page."""
    return re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))


def files_of(page: Path) -> list[str]:
    """The files and folders of the program that a page names."""
    path = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./-]+")
    return [name for line in code_of(page) if "<" not in line for name in path.findall(line)]


def modules_of(page: Path) -> list[str]:
    """The modules of the tests and of docs/ that a page runs."""
    return [name for line in code_of(page) for name in re.findall(r"python -m ((?:tests|docs)[\w.]*)", line)]


def dotted_names_of(page: Path) -> list[str]:
    """The names in the program's modules that a page has."""
    name = re.compile(r"(?<![\w./])(?:engine|views|tests|docs)(?:\.\w+)+")
    return [found for line in code_of(page) for found in name.findall(line)]


def kernels_of(page: Path) -> list[str]:
    """The names of a page that begin as names of kernels do."""
    begins = "|".join({kernel.partition("_")[0] for kernel in KERNELS})
    name = re.compile(rf"(?<![\w./\"-])(?:{begins})(?:_[a-z0-9]+)+(?![\w(./-])")
    return [found for line in code_of(page) for found in name.findall(line)]


@pytest.mark.parametrize("of", [links_of, files_of, modules_of, dotted_names_of, kernels_of])
def test_the_pages_have_something_to_check(of: Callable[[Path], list[str]]) -> None:
    assert sum(len(of(page)) for page in PAGES) >= 5


@each_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links_of(page) if "://" not in link and not (page.parent / link).exists()] == []


@each_page
def test_every_file_that_is_named_is_there(page: Path) -> None:
    made = set(re.findall(r"^New file `(.+)`:$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in files_of(page) if name not in made and not (ROOT / name).exists()] == []


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
    assert [module for module in modules_of(page) if not find_spec(module)] == []


@each_page
def test_every_name_is_the_programs(page: Path) -> None:
    """A module, or what it holds; and a name that begins as kernels' do is a kernel's, if it is no choice's."""
    known = {*KERNELS, *(field.name for field in fields(Choice))}
    made = set(re.findall(r"^New file `.*?(\w+)\.\w+`:$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in dotted_names_of(page) if resolve_name(name) is None] == []
    assert [name for name in kernels_of(page) if name not in known | made] == []


def test_the_readme_shows_commands_of_each_kind() -> None:
    assert {arguments[0] for arguments in commands_of(README, "python -m engine")} == {
        "kernels", "run", "sweep", "code", "emulate", "check", "grade", "doctor", "warm", "history", "record",
    }  # fmt: skip
    assert [] in commands_of(README, "python dashboard.py")
    assert ["--port", "9000", "--address", "0.0.0.0"] in commands_of(README, "python dashboard.py")


def test_a_wrong_command_on_a_page_is_found(tmp_path: Path) -> None:
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


def test_every_requirement_is_locked_in_a_fitting_version() -> None:
    lock = dict(re.findall(r"^([\w-]+)==([\w.]+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    locked = {name.lower().replace("_", "-"): version for name, version in lock.items()}
    asked = [
        bounds
        for file in ROOT.glob("requirements*.txt")
        for bounds in re.findall(r"^([\w-]+)>=([\d.]+),<([\d.]+)", file.read_text(), re.MULTILINE)
    ]
    assert asked
    for name, least, above in asked:
        assert numbers(least) <= numbers(locked[name]) < numbers(above), name


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_the_table_of_the_libraries_is_that_of_the_recording() -> None:
    """`python -m docs.library_ratios` writes it."""
    assert library_ratios.PAGE.read_text(encoding="utf-8") == library_ratios.page()

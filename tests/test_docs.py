"""Check the README, CONTRIBUTING and docs/: links, files, commands, pictures, lengths, examples."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

import engine
from docs import library_ratios
from docs.draw_architecture import PICTURE, floors, svg
from engine.catalogue import KERNELS
from engine.catalogue.kernels_page import PAGE
from engine.commands import _parser
from engine.history.records import records
from engine.records import Choice
from views.server.server import flags

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
NOTES = tuple(sorted((ROOT / "docs" / "notes").glob("*.md")))
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
USER_PAGES = tuple(sorted((ROOT / "docs").glob("*.md")))
LONGEST = 130  # lines of a page
LONGEST_BULLET, LONGEST_PARAGRAPH = 60, 80  # words
SHELL = re.compile(r"[|>&<]+|;")  # the next command begins here
BULLET = re.compile(r"^(?:-|\d+\.) .*(?:\n +\S.*)*", re.MULTILINE)
FOLDERS = ("engine", "views", "tests", "docs", "cuda", "recorded", "sheets", r"\.ci")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks_of(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def prose_of(page: Path) -> str:
    """Return the text of a page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def code_of(page: Path) -> list[str]:
    """Return all lines of code of a page: of its shell blocks, and between single backticks."""
    lines = [line for block in blocks_of(page, "sh") for line in block.splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", prose_of(page))


def links_of(page: Path) -> list[str]:
    """Return the targets of all links of a page, without their anchors."""
    return re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))


def files_of(page: Path) -> list[str]:
    """Return the paths of files and folders that a page names in its code."""
    lines = [line for line in code_of(page) if "<" not in line]
    return [name for line in lines for name in re.findall(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./-]+", line)]


def paragraphs_of(page: Path) -> list[str]:
    """Return the paragraphs of a page: no headings, bullets, tables and code."""
    parts = (part.strip() for part in BULLET.sub("", prose_of(page)).split("\n\n"))
    return [part for part in parts if part and part[0] not in "#|<!"]


def commands_of(page: Path, start: str) -> list[list[str]]:
    """Return the arguments of each command of a page that starts like this, up to a pipe."""
    found = [re.search(rf"(?:^|[\s/]){re.escape(start)}(?:\s+(.*)|$)", line) for line in code_of(page)]
    return [shlex.split(SHELL.split(match[1] or "")[0], comments=True) for match in found if match]


@each_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert [link for link in links_of(page) if "://" not in link and not (page.parent / link).exists()] == []


@each_page
def test_every_file_that_is_named_is_there(page: Path) -> None:
    made = set(re.findall(r"^New file `(.+)`:$", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert [name for name in files_of(page) if name not in made and not (ROOT / name).exists()] == []


@each_page
def test_every_page_is_short(page: Path) -> None:
    if page != PAGE:  # a long table
        assert len(page.read_text(encoding="utf-8").splitlines()) < LONGEST


@each_page
def test_every_bullet_and_every_paragraph_is_short(page: Path) -> None:
    assert [bullet for bullet in BULLET.findall(prose_of(page)) if len(bullet.split()) > LONGEST_BULLET] == []
    assert [part for part in paragraphs_of(page) if len(part.split()) > LONGEST_PARAGRAPH] == []


def test_the_pages_have_something_to_check() -> None:
    """The tests of each page loop over what these functions find."""
    for found in (links_of, files_of, code_of, paragraphs_of, lambda page: BULLET.findall(prose_of(page))):
        assert sum(len(found(page)) for page in PAGES) > 40
    assert sum(len(commands_of(page, "python -m engine")) for page in PAGES) > 40


def test_the_reading_order_leads_to_pages() -> None:
    part = README.read_text(encoding="utf-8").split("\n## Reading order\n")[1].split("\n## ")[0]
    order = [link for bullet in BULLET.findall(part) for link in re.findall(r"\]\((.+?)\)", bullet)]
    assert [Path(link).name for link in order] == ["architecture.md", "kernel.md", "measuring.md", "emulator.md"]
    assert [link for link in order if not (ROOT / link).is_file()] == []


def test_the_readme_leads_to_every_page_of_a_user() -> None:
    assert len(USER_PAGES) == 18
    assert [page.name for page in USER_PAGES if f"docs/{page.name}" not in links_of(README)] == []


def test_every_laboratory_note_says_that_it_is_one() -> None:
    firsts = {note.name: note.read_text(encoding="utf-8").splitlines()[2] for note in NOTES}
    assert (
        len(firsts) > 5 and [name for name, first in firsts.items() if not first.startswith("*Laboratory note")] == []
    )
    index = links_of(ROOT / "docs" / "notes" / "README.md")
    assert [name for name in firsts if name != "README.md" and name not in index] == []


def test_the_races_of_the_emulators_page_are_found_at_their_lines() -> None:
    examples = [block for block in blocks_of(ROOT / "docs" / "emulator.md", "cuda") if "// a finding" in block]
    assert len(examples) == 2
    head = "#include <cuda_pipeline.h>\n__global__ void example(const int *in, int *out) {"
    for block in examples:
        kernel = engine.kernel(f"{head}__shared__ int s[64]; int t = threadIdx.x;\n{block}}}\n", "example")
        numbers = np.arange(64, dtype=np.int32)
        run = kernel.run((1,), (64,), (numbers, numbers))
        assert [finding.line for finding in run.findings] == [
            number for number, line in enumerate(block.splitlines(), 3) if "// a finding" in line
        ]


@each_page
def test_every_command_is_one(page: Path) -> None:
    """The parsers of the engine and the dashboard accept it; a module that it runs exists."""
    for arguments in commands_of(page, "python -m engine"):
        _parser().parse_args(arguments)
    for arguments in commands_of(page, "python dashboard.py"):
        if "-h" not in arguments:
            flags(arguments)
    modules = [name for line in code_of(page) for name in re.findall(r"python -m ((?:tests|docs)[\w.]*)", line)]
    assert [module for module in modules if not find_spec(module)] == []


@each_page
def test_every_name_is_the_programs(page: Path) -> None:
    """A dotted name is a module or a part of one; a name that begins like a kernel's is a kernel or a choice."""
    known = {*KERNELS, *(field.name for field in fields(Choice))}
    begins = "|".join({kernel.partition("_")[0] for kernel in KERNELS})
    made = set(re.findall(r"^New file `.*?(\w+)\.\w+`:$", page.read_text(encoding="utf-8"), re.MULTILINE))
    text = "\n".join(code_of(page))
    dotted = re.findall(r"(?<![\w./])(?:engine|views|tests|docs)(?:\.\w+)+", text)
    assert [name for name in dotted if resolve_name(name) is None] == []
    kernels = re.findall(rf"(?<![\w./\"-])(?:{begins})(?:_[a-z0-9]+)+(?![\w(./-])", text)
    assert [name for name in kernels if name not in known | made] == []


def test_the_readme_shows_commands_of_each_kind() -> None:
    assert {arguments[0] for arguments in commands_of(README, "python -m engine")} == {
        "kernels", "run", "sweep", "code", "emulate", "check", "grade", "doctor", "warm", "claims", "history", "record",
    }  # fmt: skip
    assert [] in commands_of(README, "python dashboard.py")
    assert ["--port", "9000", "--address", "0.0.0.0"] in commands_of(README, "python dashboard.py")


def test_an_unknown_command_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\n.venv/bin/python -m engine swep x  # no\n```\nSee `python -m engine run`.\n")
    assert commands_of(page, "python -m engine") == [["swep", "x"], ["run"]]
    with pytest.raises(SystemExit):
        test_every_command_is_one(page)


def test_the_pictures_are_there_and_small() -> None:
    text = README.read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^]]+\]\((.+?)\)", text)
    assert text.index(picture) < 1000, "the page begins with it"
    assert 20_000 < (ROOT / picture).stat().st_size < 1_500_000  # half a minute


def test_the_architecture_is_drawn_from_the_imports() -> None:
    """Drawing it also shows that no folder imports another in a circle."""
    assert floors()[-1] == ["engine/__main__"] and "views" in floors()[-2]
    assert PICTURE.read_text(encoding="utf-8") == svg(), "run `python -m docs.draw_architecture`"


def test_every_requirement_is_locked_in_a_version_that_fits() -> None:
    locks = "\n".join(path.read_text() for path in sorted(ROOT.glob("constraints*.txt")))
    lock = dict(re.findall(r"^([\w-]+)==([\w.]+)$", locks, re.MULTILINE))
    locked = {name.lower().replace("_", "-"): version for name, version in lock.items()}
    asked = [
        bounds
        for file in ROOT.glob("requirements*.txt")
        for bounds in re.findall(r"^([\w-]+)>=([\d.]+),<([\d.]+)", file.read_text(), re.MULTILINE)
    ]
    assert len(asked) > 5
    for name, least, above in asked:
        assert numbers(least) <= numbers(locked[name]) < numbers(above), name


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def test_the_table_of_the_libraries_is_that_of_the_recording() -> None:
    """`python -m docs.library_ratios` writes it."""
    assert library_ratios.PAGE.read_text(encoding="utf-8") == library_ratios.page()


def test_the_records_have_as_many_rows_as_the_page_of_measuring_says() -> None:
    told = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    own = [record for record in records().values() if not record.added]
    assert len(own) == 2 and [one.name for one in own if f"{len(one.recording.rows):,} rows" not in told] == []

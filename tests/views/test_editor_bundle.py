"""The committed bundle of the editor is what its build makes, and nothing in it is without its licence."""

from __future__ import annotations

import filecmp
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

EDITOR = Path(__file__).parents[2] / "views" / "editor"
BUILD = EDITOR / "build"
MADE = ("codemirror.min.js", "codemirror.licences.txt")


def locked_packages(build: Path) -> dict[str, dict[str, Any]]:
    """What the lock file says of every package, those that the build asks for being locked at the version asked for."""
    asked = json.loads((build / "package.json").read_text())["devDependencies"]
    locked: dict[str, dict[str, Any]] = json.loads((build / "package-lock.json").read_text())["packages"]
    for name, version in asked.items():
        assert locked[f"node_modules/{name}"]["version"] == version and version[0].isdigit()
    return locked


def assert_made_by_its_build(folder: Path, made: tuple[str, ...], scratch: Path) -> None:
    """The files `made` in `folder` are those that folder/build makes. Skips where npm or its packages are missing."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("There is no npm here.")
    build = scratch / "build"
    shutil.copytree(folder / "build", build, ignore=shutil.ignore_patterns("node_modules"))
    got = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=build, capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.skip(f"The packages cannot be had here: {got.stderr.strip().splitlines()[-1:]}")
    subprocess.run([node, "build.mjs"], cwd=build, check=True)
    assert filecmp.cmpfiles(folder, scratch, made, shallow=False) == (list(made), [], [])


def test_every_package_is_locked_and_free() -> None:
    locked = locked_packages(BUILD)
    licences = (EDITOR / "codemirror.licences.txt").read_text()
    for name, package in locked.items():
        assert not name or (package["license"] == "MIT" and package["integrity"])
    assert "Marijn Haverbeke" in licences and "@codemirror/view" in licences


@pytest.mark.thorough
def test_the_bundle_is_what_the_build_makes(tmp_path: Path) -> None:
    assert_made_by_its_build(EDITOR, MADE, tmp_path)

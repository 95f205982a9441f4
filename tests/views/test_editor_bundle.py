"""The committed bundle of the editor is what its build makes, and nothing in it is without its licence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.views.bundles import assert_made_by_its_build, locked_packages

EDITOR = Path(__file__).parents[2] / "views" / "editor"
BUILD = EDITOR / "build"
MADE = ("codemirror.min.js", "codemirror.licences.txt")


def test_every_package_is_locked_and_free() -> None:
    locked = locked_packages(BUILD)
    licences = (EDITOR / "codemirror.licences.txt").read_text()
    for name, package in locked.items():
        assert not name or (package["license"] == "MIT" and package["integrity"])
    assert "Marijn Haverbeke" in licences and "@codemirror/view" in licences


@pytest.mark.thorough
def test_the_bundle_is_what_the_build_makes(tmp_path: Path) -> None:
    assert_made_by_its_build(EDITOR, MADE, tmp_path)

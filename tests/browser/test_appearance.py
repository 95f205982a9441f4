"""The pages look as they were approved. `python -m tests.browser.appearance` approves them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from tests.browser.appearance import FOLDER, PAGES, apart, approved, picture, window

# Of one page two pictures differ by 3 greys at most in any of the 3,600 cells. A source of 60 pixels is seen in 333
# cells of the ladder page, bars that are missing in 206, 12 pixels of shift in 853; letters 0.1 pixels wider in 22
# of a slide's.
GREYS, SHARE = 10, 0.02
LARGEST = 60_000  # bytes of an approved picture


@pytest.mark.release
@pytest.mark.parametrize("name", PAGES)
def test_a_page_looks_as_it_was_approved(browser: Browser, address: str, tmp_path: Path, name: str) -> None:
    page = window(browser)
    found = picture(page, f"{address}{PAGES[name]}")
    page.close()
    off = apart(approved(name), found) > GREYS
    if off.mean() > SHARE:
        seen = Path(os.environ.get("LOOKS", tmp_path)) / f"{name}.png"
        found.save(seen)
        rows, columns = off.any(axis=1).nonzero()[0], off.any(axis=0).nonzero()[0]
        where = f"x {16 * columns.min()} to {16 * columns.max() + 16}, y {16 * rows.min()} to {16 * rows.max() + 16}"
        pytest.fail(f"{name}: {off.sum()} of {off.size} cells differ, {where}. Look at {seen}; if it is meant so, "
                    "run python -m tests.browser.appearance.")  # fmt: skip


def test_every_page_has_a_small_approved_picture() -> None:
    assert {path.stem for path in FOLDER.glob("*.png")} == set(PAGES)
    assert all(path.stat().st_size < LARGEST for path in FOLDER.glob("*.png"))


def test_a_part_that_is_missing_or_has_moved_is_seen() -> None:
    ladder = approved("ladder")
    empty, moved = ladder.copy(), Image.new("L", ladder.size, 255)
    empty.paste(255, (20, 240, 320, 360))  # where the source stands
    moved.paste(ladder, (0, 15))
    for other in (empty, moved):
        assert (apart(ladder, other) > GREYS).mean() > SHARE
    assert (apart(ladder, ladder) > GREYS).mean() == 0

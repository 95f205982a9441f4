"""Film the README's half minute anew, from the page itself:  python -m docs.make_film

Serves the dashboard from an empty home and without a GPU, as on a newcomer's laptop: the times are recorded ones. Steps
through the first rungs as a lecturer would, and keeps a picture of every moment that differs from the one before, for
as long as it stood.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, served

FILM = Path(__file__).parent / "images" / "ladder.webp"
WINDOW, SCALE = {"width": 1280, "height": 720}, 0.75
PICTURE_MS, QUALITY = 200, 70
# The keys of the film, each with the seconds that its result is seen.
SCENES = (("k", 7), ("ArrowRight", 4), ("r", 3), ("ArrowRight", 3), ("p", 3), ("PageDown", 1), ("k", 5), ("r", 4))


def pictures(page: Page, seconds: float) -> Iterator[bytes]:
    """Return pictures of so many seconds of the page, one every PICTURE_MS."""
    for _ in range(round(1000 * seconds / PICTURE_MS)):
        began = time.monotonic()
        yield page.screenshot()
        page.wait_for_timeout(max(0.0, PICTURE_MS - 1000 * (time.monotonic() - began)))


def main() -> None:
    """Film the scenes, and save them as one moving picture."""
    frames: list[bytes] = []
    durations: list[int] = []
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=WINDOW, device_scale_factor=SCALE, color_scheme="light")
        expect.set_options(timeout=60_000)
        page.goto(address)
        expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
        page.mouse.move(0, 0)
        page.wait_for_timeout(2000)  # fonts, and the first block in motion
        for key, seconds in SCENES:
            if key:
                page.keyboard.press(key)
            for picture in pictures(page, seconds):
                if frames and picture == frames[-1]:
                    durations[-1] += PICTURE_MS
                else:
                    frames.append(picture)
                    durations.append(PICTURE_MS)
        browser.close()
    images = [Image.open(io.BytesIO(frame)).convert("RGB") for frame in frames]
    images[0].save(FILM, save_all=True, append_images=images[1:], duration=durations, loop=0, quality=QUALITY)
    print(f"{FILM}: {len(frames)} pictures, {sum(durations) / 1000:.0f} s, {FILM.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""Take the README's picture anew, from the page itself:  python -m docs.make_picture

Serves the dashboard from an empty home and without a GPU, as on a newcomer's laptop, and opens it in Chromium: the
times are recorded ones, the counters those of a run on the emulator.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, served

PICTURE = Path(__file__).parent / "images" / "ladder.png"
WINDOW, SCALE = {"width": 1600, "height": 900}, 0.8  # the picture has 1280 x 720 pixels
PAGE = "/?ladder=harris&rung=reduce_sequential&n=2%5E22&block=128&dtype=int32&show=rate"


def main() -> None:
    """Open Harris's ladder at a rung with a recorded time, and save what is seen."""
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport=WINDOW, device_scale_factor=SCALE, color_scheme="light")
        expect.set_options(timeout=60_000)
        page.goto(address + PAGE)
        expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
        expect(page.locator(".chart .main-svg").first).to_be_visible()
        page.locator(".st-key-run button").first.click()
        expect(page.locator(".tiles.counted").last).to_contain_text(re.compile(r"\d"))
        expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
        page.mouse.move(0, 0)
        page.wait_for_timeout(1000)  # fonts, and the plot's own transition
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

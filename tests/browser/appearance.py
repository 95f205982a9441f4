"""What the pages look like, as small grey pictures; the approved ones lie in tests/browser/approved/.

python -m tests.browser.appearance          take all of them anew, after a look at what changed
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, served
from tests.browser.test_dashboard import opened

FOLDER = Path(__file__).parent / "approved"
PAGES = {
    "ladder": "/?ladder=harris&rung=reduce_sequential&show=rate",
    "present": "/?ladder=harris&rung=reduce_sequential&show=rate&present=1",
    "sweep": "/sweep?topic=reduction&sweep=blocks",
    "inside": "/inside?ladder=harris&n=4096&rung=reduce_strided&look=lanes",
    "machine": "/machine",
    "lab": "/lab",
}
WINDOW = {"width": 1280, "height": 720}
KEPT = (640, 360)  # pixels of an approved picture
GREYS = 64
CELLS = (80, 45)  # what is compared: each the mean of 16 x 16 pixels of the window, so that letters are a grey alone
# What another machine or another day says otherwise, or the mouse brings, keeps its place unseen; what it has more or
# less of is gone.
UNSEEN = """.st-key-numbers .outcome, .insideanswer, .st-key-undertable { visibility: hidden }
  .st-key-bar, .stElementContainer:has(.lecturekept) { display: none }
  * { caret-color: transparent !important }"""


def picture(page: Page, url: str) -> Image.Image:
    """The page at rest, in grey."""
    opened(page, url)
    if "/machine" in url:
        page.add_style_tag(content="table.ladder tbody { display: none }")
    page.add_style_tag(content=UNSEEN)
    if "/inside" in url:
        expect(page.locator(".insideanswer")).to_contain_text("Correct")
    if not url.endswith(("/machine", "/lab")) and "/sweep" not in url:
        expect(page.locator(".chart .main-svg").first).to_be_visible()
    app = page.locator("[data-testid=stApp]")
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)
    page.mouse.move(0, 0)
    before = b""
    while (taken := page.screenshot(animations="disabled")) != before:  # until it is at rest
        before = taken
        page.wait_for_timeout(500)
        expect(app).to_have_attribute("data-test-script-state", "notRunning")
    return Image.open(io.BytesIO(taken)).convert("L")


def approved(name: str) -> Image.Image:
    """The picture that was approved."""
    return Image.open(FOLDER / f"{name}.png").convert("L")


def apart(one: Image.Image, other: Image.Image) -> np.ndarray:
    """How far the cells of two pictures are from each other, in greys of 255; of shape (45, 80)."""
    cells = [np.asarray(image.resize(KEPT, Image.Resampling.BOX).resize(CELLS, Image.Resampling.BOX), dtype=float)
             for image in (one, other)]  # fmt: skip
    return np.abs(cells[0] - cells[1])


def window(browser: Browser) -> Page:
    """A window as large as that of the approved pictures, in light colours."""
    return browser.new_page(viewport=WINDOW, color_scheme="light", reduced_motion="reduce")


def main() -> None:
    """Approve what the pages look like now."""
    expect.set_options(timeout=60_000)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright, served(Path(home)) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, url in PAGES.items():
            page = window(browser)
            small = picture(page, f"{address}{url}").resize(KEPT, Image.Resampling.BOX)
            path = FOLDER / f"{name}.png"
            small.quantize(GREYS).save(path, optimize=True)
            print(f"{path}: {path.stat().st_size:,} bytes")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()

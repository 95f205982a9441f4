"""What a reader sees of a plot's texts and of a slide's type: none lies on another, is cut, or is too small."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from engine.catalogue import LADDERS, Ladder
from tests.browser.test_dashboard import opened, run_ended
from tests.browser.test_present import REST_S
from views.ladder import view
from views.ladder.panels.bars import TIMES
from views.ladder.resolve import PLOTS, choice_of, resolved

SIZES: tuple[ViewportSize, ...] = tuple(
    {"width": wide, "height": high} for wide, high in ((1280, 720), (1920, 1080), (1024, 768))
)
# The ink of a line of type, without the empty part of its box: inset is a part of the type's size, on both sides.
_INK = """
  const ink = (part, upright) => {
    const at = part.getBoundingClientRect(), inset = 0.17 * parseFloat(getComputedStyle(part).fontSize);
    return upright ? new DOMRect(at.x + inset, at.y, Math.max(0, at.width - 2 * inset), at.height)
      : new DOMRect(at.x, at.y + inset, at.width, Math.max(0, at.height - 2 * inset));
  };
"""
# The texts of the plot that lie on each other by more than 2 pixels each way, and those that are cut.
PLOT = (
    "() => {"
    + _INK
    + """
  const found = [], pane = document.querySelector('.st-key-drawing'), longer = pane?.querySelector('.st-key-longer');
  if (!pane) return ['no plot'];
  if (pane.querySelector('.st-key-motion')) return [];
  const place = pane.getBoundingClientRect();
  const seen = (part) => part.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const drawn = [...pane.querySelectorAll('.chart')].filter(seen);
  if (!drawn.length || !drawn[0].querySelector('.main-svg')) return ['no plot'];
  const lines = [];
  for (const text of drawn[0].querySelectorAll('.main-svg text')) {
    if (!text.textContent.trim() || !seen(text)) continue;
    const turned = text.getScreenCTM();
    const upright = Math.abs(turned.b) > Math.abs(turned.a);
    const parts = text.querySelectorAll('tspan.line');
    for (const part of parts.length ? parts : [text]) {
      const at = ink(part, upright), words = part.textContent.trim();
      if (words && at.width && at.height) lines.push({ text, words, at });
    }
  }
  const svg = drawn[0].querySelector('.main-svg').getBoundingClientRect();
  for (const [i, { text, words, at }] of lines.entries()) {
    for (const other of lines.slice(i + 1)) {
      if (other.text === text) continue;
      const wide = Math.min(at.right, other.at.right) - Math.max(at.left, other.at.left);
      const high = Math.min(at.bottom, other.at.bottom) - Math.max(at.top, other.at.top);
      if (wide > 2 && high > 2) found.push(`"${words}" on "${other.words}"`);
    }
    const past = Math.max(svg.left - at.left, at.right - svg.right, place.left - at.left, at.right - place.right,
      svg.top - at.top, at.bottom - svg.bottom, ...(longer ? [] : [place.top - at.top, at.bottom - place.bottom]));
    if (past > 1) found.push(`"${words}" is cut by ${Math.round(past)}`);
  }
  for (const bar of drawn[0].querySelectorAll('.legend .scrollbar'))
    if (bar.getBoundingClientRect().height > 0) found.push('a legend that scrolls');
  return found;
}"""
)
# Numbers and words outside the plot that are cut.
CUT = """() => [...document.querySelectorAll('.tile, .tile > *, .presenting h1, .answer b')]
  .filter((part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1 && part.clientWidth)
  .map((part) => `cut: ${part.innerText}`)"""
TOLD_MS = 400  # after it the browser has sent the size of its window
SMALL, LESSON = 0.022, 0.028  # of the window's height: the least type on a slide, and the least that carries the lesson
# Type on a slide below these shares; the block in motion is a picture of its own.
TYPE = """([small, lesson]) => {
  const found = new Set(), hall = document.querySelector('.st-key-hall');
  if (!hall?.querySelector('.presenting')) return ['no slide'];
  const walker = document.createTreeWalker(hall, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const part = node.parentElement, size = parseFloat(getComputedStyle(part).fontSize) / innerHeight;
    if (!node.textContent.trim() || part.closest('style, script, .st-key-motion, [baseline-shift=super]')) continue;
    if (!part.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (part.closest('tspan[dy]:not(.line)')) continue; // an exponent
    const large = part.closest('.presenting h1, .idea:not(.long), .idea b, .tile strong') && !part.closest('small');
    const least = large ? lesson : small;
    if (size < least - 0.0003) found.add(`${(100 * size).toFixed(2)}%: ${node.textContent.trim().slice(0, 30)}`);
  }
  return [...found];
}"""


def plots(ladder: Ladder, most_rungs: int) -> Iterator[str]:
    """Yield the addresses. Bars are the same on every rung; other plots are taken from `most_rungs` rungs at most."""
    seen: dict[str, int] = {}
    chosen = {"n": str(ladder.n), "block": str(ladder.block_size), "grid": "", "dtype": ladder.dtype,
              "cache": "cold-clean", "device": "emulator", "combine": "", "parameter": ""}  # fmt: skip
    for position, rung in enumerate(ladder.rungs):
        times = tuple(choice_of(each, chosen, rung) for each in ladder.rungs)
        page = resolved(view.Page(ladder, position, times, times, False, len(times), TIMES), "")
        for plot in PLOTS:
            most = 1 if isinstance(plot, view.Bars) else most_rungs
            if isinstance(plot, view.Scene) or not plot.offered(page) or seen.get(plot.name, 0) >= most:
                continue
            seen[plot.name] = seen.get(plot.name, 0) + 1
            yield f"ladder={ladder.name}&rung={rung.kernel}&show={plot.name}"


def found(page: Page, url: str, slide: bool, key: str = "") -> dict[int, list[str]]:
    """Return what is wrong with an address at each width of a window, once the page has come to rest; `key`: pressed
    first."""
    wrong = {}
    page.set_viewport_size(SIZES[0])
    opened(page, f"{url}&present=1&reveal=all" if slide else url)
    if key:
        page.keyboard.press(key)
        expect(page.locator(".outcome .ok").first).to_contain_text("Correct")
    for size in SIZES:
        page.set_viewport_size(size)
        page.wait_for_timeout(TOLD_MS)
        run_ended(page)
        until = time.monotonic() + REST_S
        while (here := troubles(page, slide)) and time.monotonic() < until:
            page.wait_for_timeout(150)
        if here:
            wrong[size["width"]] = here
    return wrong


def troubles(page: Page, slide: bool) -> list[str]:
    """Return what is wrong now."""
    here = list(page.evaluate(PLOT)) + list(page.evaluate(CUT))
    return here + list(page.evaluate(TYPE, [SMALL, LESSON])) if slide else here


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize(
    ("choice", "key"),
    [("heidelberg&show=paper", ""), ("cs121-tiling&rung=matmul_tiled&show=roofline", ""),
     ("harris&show=counters&n=4096&rung=reduce_strided", "r")],
)  # fmt: skip
def test_a_slide_has_type_for_the_back_row_and_texts_that_stay_apart(
    page: Page, address: str, choice: str, key: str
) -> None:
    assert found(page, f"{address}/?ladder={choice}", True, key) == {}


@pytest.mark.release
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", LADDERS)
def test_every_plot_of_every_ladder_has_texts_that_stay_apart(page: Page, address: str, name: str) -> None:
    wrong = {
        (choice, slide): here
        for choice in plots(LADDERS[name], most_rungs=2)
        for slide in (False, True)
        if (here := found(page, f"{address}/?{choice}", slide))
    }
    assert wrong == {}

"""Present fits: every rung of every ladder, before and after its run, at the sizes of most projectors."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, expect

from engine.catalogue import LADDERS
from tests.browser.test_dashboard import bottom, conversation, opened, run_ended, wait
from tests.cases import case

REST_S = 45.0  # a busy machine's layout; one that fits is seen at once
SIZES = ((1280, 720), (1920, 1080))
SQUARER = (1024, 768)  # in a release
# Long sources, many rungs, hazards: what overflowed first. The other ladders take ten minutes more: `-m release`.
HARDEST = ("harris",)
# What does not fit, in words; empty when all does.
TROUBLES = """() => {
  const found = [], high = innerHeight, wide = innerWidth, root = document.scrollingElement;
  if (root.scrollHeight > high || root.scrollWidth > wide) found.push(`page ${root.scrollWidth}x${root.scrollHeight}`);
  const parts = '.presenting, .idea, .slide .source, .slide .legend, dl.hall, .tiles, .outcome, .st-key-drawing, '
    + '.answer, .st-key-plotwords, .chart .main-svg, .st-key-motion';
  for (const part of document.querySelectorAll(parts)) {
    const at = part.getBoundingClientRect();
    if (at.width && (at.top < -1 || at.left < -1 || at.bottom > high + 1 || at.right > wide + 1))
      found.push(`${part.className} ends at ${Math.round(at.right)},${Math.round(at.bottom)}`);
  }
  for (const column of document.querySelectorAll('.st-key-hall .stColumn'))
    if (column.scrollHeight > column.clientHeight + 1) found.push(`a column of ${column.scrollHeight}`);
  for (const tile of document.querySelectorAll('.tile'))
    if (tile.scrollWidth > tile.clientWidth + 1) found.push(`cut: ${tile.innerText}`);
  const plot = document.querySelector('.st-key-drawing');
  // A chart that was replaced during the run is hidden.
  const drawn = [...plot?.querySelectorAll('.main-svg') ?? []].find((svg) => svg.checkVisibility());
  const moving = plot?.querySelector('.st-key-motion');
  if (moving) {
    const player = moving.querySelector('[data-part=player]') ?? [...moving.querySelectorAll('*')]
      .map((part) => part.shadowRoot?.querySelector('[data-part=player]')).find((part) => part);
    if (!player?.dataset.frame || player.scrollHeight > player.clientHeight + 1) found.push('no block in motion');
  } else if (!plot || plot.clientHeight < 0.25 * high) found.push(`a plot of ${plot?.clientHeight}`);
  else if (!drawn || Math.abs(drawn.getBoundingClientRect().height - plot.clientHeight) > 4) found.push('no plot');
  else if (plot.querySelector('.ofrungs')) { // of many rungs a slide draws some, and among them its own
    const row = plot.querySelector('.ytick.current')?.getBoundingClientRect(), pane = plot.getBoundingClientRect();
    if (!row || row.top < pane.top - 1 || row.bottom > pane.bottom + 1) found.push('the rung is out of its plot');
  }
  for (const part of document.querySelectorAll('.outcome .said'))
    if (part.clientHeight > 2.1 * parseFloat(getComputedStyle(part).lineHeight)) found.push('a long outcome');
  const source = document.querySelector('.slide .lines');
  if (!source || !document.querySelector('dl.hall')) return ['no slide'];
  if (parseFloat(getComputedStyle(source).fontSize) < 0.0217 * high) found.push('small type');
  // A source scrolls only if it consists of changes, the lines around them, and the head of the kernel.
  const rows = [...source.querySelectorAll(':scope > .line, :scope > details')];
  const changed = rows.map((row) => row.matches('.changed, .gone'));
  const far = rows.filter((row, i) => row.matches('.line') && !changed.slice(Math.max(0, i - 4), i + 5).includes(true));
  if (source.scrollHeight > source.clientHeight + 1 && changed.includes(true) && far.length > 6)
    found.push(`${far.length} lines far from a change in a source that scrolls`);
  const end = source.lastElementChild.getBoundingClientRect().bottom;
  if (source.getBoundingClientRect().bottom - end > 0.25 * high) found.push('an empty half');
  const slide = document.querySelector('.slide').getBoundingClientRect();
  const last = document.querySelector('dl.hall').getBoundingClientRect();
  if (slide.bottom - last.bottom > 0.25 * high) found.push('an empty half');
  const pane = source.getBoundingClientRect();
  // A line that the outcome names comes before a changed one.
  const shown = source.querySelector('.found') ?? source.querySelector('.changed, .gone, .new');
  const first = shown?.getBoundingClientRect();
  if (first && (first.top < pane.top - 1 || first.top > pane.bottom)) found.push('the change is out of sight');
  return found;
}"""


def troubles(page: Page) -> list[str]:
    """What does not fit once the page has come to rest."""
    until = time.monotonic() + REST_S
    while (found := page.evaluate(TROUBLES)) and time.monotonic() < until:
        page.wait_for_timeout(150)
    return list(found)


def all_troubles(page: Page, rungs: int, sizes: Sequence[tuple[int, int]]) -> dict[str, list[str]]:
    """From the first rung to the last, at these sizes."""
    found = {}
    for width, height in sizes:
        page.set_viewport_size({"width": width, "height": height})
        page.keyboard.press("Home")
        for position in range(1, rungs + 1):
            expect(page.locator(".presenting p")).to_contain_text(f"· {position} of {rungs}")
            run_ended(page)
            if here := troubles(page):
                found[f"{width}: {page.locator('.presenting h1').inner_text()}"] = here
            page.keyboard.press("ArrowRight")
    return found


@pytest.mark.thorough
def test_a_short_and_a_long_rung_fit(page: Page, address: str) -> None:
    opened(page, f"{address}/?ladder=harris&n=4096&present=1&rung=reduce_unroll_volatile&show=rate")
    assert troubles(page) == []
    page.keyboard.press("r")
    expect(page.locator(".outcome.bad .said").first).to_contain_text("HAZARD", ignore_case=True)
    assert troubles(page) == []
    page.keyboard.press("Home")
    expect(page.locator(".presenting h1")).to_contain_text("#1")
    assert troubles(page) == []


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "name",
    [case(name, quick=False, thorough=name == "cs121-tiling") for name in LADDERS],
)
def test_every_rung_fits_before_and_after_its_run(page: Page, address: str, name: str) -> None:
    rungs, sizes = len(LADDERS[name].rungs), SIZES if name in HARDEST else (*SIZES, SQUARER)
    told = conversation(page)
    opened(page, f"{address}/?ladder={name}&present=1&reveal=all")
    assert all_troubles(page, rungs, sizes) == {}, "before its run"
    before = len(told)
    page.keyboard.press("l")
    while "answered" not in told[before:]:  # a whole ladder takes its time: the test's own limit ends this
        page.wait_for_timeout(100)
    run_ended(page, 600_000)
    expect(page.locator(".st-key-working")).to_have_count(0)
    assert all_troubles(page, rungs, sizes) == {}, "after its run"


# One and two lines of rungs, a topic with many plots, one with the sweep's button, counters.
PLOTS = ("harris", "cooper", "float-truths", "cs121-banks", "tensor-cores&show=counters")


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("choice", PLOTS)
def test_the_whole_plot_stands_beside_the_code_on_a_small_projector(page: Page, address: str, choice: str) -> None:
    opened(page, f"{address}/?ladder={choice}")
    expect(page.locator(".st-key-drawing .main-svg").first).to_be_visible()
    plot = page.locator(".st-key-drawing")
    wait(page, lambda: bottom(plot) <= 720 and (plot.bounding_box() or {"height": 0})["height"] >= 220)


# The word in the corner has a place of its own: behind the last time, or on the next line.
APART = """() => {
  const corner = document.querySelector('.outcome summary');
  const [end, time, room] = [corner, corner?.querySelector('time:last-of-type'), corner?.querySelector('.more')]
    .map((part) => part?.getBoundingClientRect());
  if (!time || !room) return false;
  return room.right <= end.right + 1 && (room.top > time.bottom - 4 || room.left >= time.right - 1);
}"""


@pytest.mark.thorough
def test_the_word_for_the_rest_of_an_outcome_covers_none_of_it(page: Page, address: str) -> None:
    """One line that reaches the corner: the word goes to the next."""
    opened(page, f"{address}/?ladder=crovella-atomics&rung=add_without_atomics")
    page.keyboard.press("r")
    expect(page.locator(".outcome")).to_contain_text("Correct")
    wait(page, lambda: page.evaluate(APART))

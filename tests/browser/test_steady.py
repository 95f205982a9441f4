"""Nothing jumps: while a result comes in, what stands on the page stays where it is, and is never blank."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import HARRIS, opened, run_ended
from tests.load.process import children

MOST = 8  # pixels, across or down
# Every frame: where each block of the page is, and whether the parts that a result changes are there at all.
WATCH = """() => {
  const blocks = '.stElementContainer, .stHtml > *, .tile, .outcome, .source, table tr, .chart, .answer, '
    + '.editor, h2, h3, p, button, label, summary';
  const parts = ['.rungtext', '.presenting', '.source', '.tiles', '.st-key-numbers .outcome', '.st-key-drawing',
    'table.ladder', '.st-key-plotchoice', '.st-key-below', 'div.smallprint', '.tiles.counted', '.insideanswer',
    '.editor', '.st-key-picture canvas', '.st-key-sweepplot', '.sweeptitle'];
  const keyOf = (block) => block.closest('[class*=st-key-]:not(.stPrintGraphic)')?.className.match(/st-key-[^ ]+/)[0];
  const places = () => {
    const found = new Map(), before = new Map();
    for (const block of document.querySelectorAll(blocks)) {
      if (block.closest('.st-key-working, .st-key-keyboard, .saidaloud, template')) continue;
      // The bar of a slide that has faded goes out of the way of the progress that a longer run shows.
      if (!block.checkVisibility({ opacityProperty: true })) continue;
      const at = block.getBoundingClientRect();
      if (!at.width || !at.height) continue;
      const own = [...block.classList].filter((name) => !/emotion|st-key|^e[0-9a-z]{5,}/.test(name)).join('.');
      const name = `${keyOf(block)} ${block.tagName} ${own}`, number = before.get(name) ?? 0;
      before.set(name, number + 1);
      found.set(`${name} ${number}`, [at.left + scrollX, at.top + scrollY]);
    }
    return found;
  };
  const first = places(), there = parts.filter((part) => document.querySelector(part));
  const kept = window.watched = { moved: {}, gone: {}, blocks: first.size, frames: 0 };
  const look = () => {
    kept.frames++;
    for (const [name, at] of places()) {
      const by = first.has(name) ? Math.max(...first.get(name).map((edge, i) => Math.abs(at[i] - edge))) : 0;
      kept.moved[name] = Math.max(kept.moved[name] ?? 0, Math.round(by));
    }
    for (const part of there) if (!document.querySelector(part)) kept.gone[part] = (kept.gone[part] ?? 0) + 1;
    requestAnimationFrame(look);
  };
  look();
}"""
# Half a second without a new block or place: the page is all there.
SETTLED = """() => new Promise((done) => {
  let last = '', since = performance.now();
  const look = () => {
    const blocks = [...document.querySelectorAll('.stElementContainer, p, button, label')];
    const now = blocks.map((block) => Object.values(block.getBoundingClientRect().toJSON()).join()).join(' ');
    if (now !== last) [last, since] = [now, performance.now()];
    if (blocks.length > 10 && performance.now() - since > 500) done(true);
    else requestAnimationFrame(look);
  };
  look();
})"""
WORKING = ".st-key-working .stProgress"


def moved_and_gone(page: Page) -> dict[str, dict[str, int]]:
    """What moved by more than a few pixels, and what was gone for a frame, since WATCH."""
    expect(page.locator(WORKING)).to_have_count(0)
    run_ended(page)
    page.wait_for_timeout(500)
    page.wait_for_function("() => window.watched.frames > 10")
    kept = page.evaluate("() => window.watched")
    assert kept["blocks"] > 10  # the slide of Volta has 14, a page more than 40
    return {"moved": {part: by for part, by in kept["moved"].items() if by > MOST}, "gone": kept["gone"]}


def watched(page: Page, ends: str) -> dict[str, dict[str, int]]:
    """The same, while R runs the rung again."""
    page.evaluate(SETTLED)
    page.evaluate(WATCH)
    before = page.locator(".st-key-numbers .outcome").inner_text()
    page.keyboard.press("r")
    expect(page.locator(".st-key-numbers .outcome")).to_contain_text(ends)
    if ends not in before:  # a slide says no more after another run
        expect(page.locator(".st-key-numbers .outcome")).not_to_have_text(before)
    return moved_and_gone(page)


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize(
    ("url", "button", "result"),
    [
        ("/lab?start=rung&ladder=harris&rung=reduce_strided&n=3000", "[data-part=check]", ".insideanswer.good"),
        ("/inside?ladder=harris&n=5000&rung=reduce_strided", ".st-key-run button", ".insideanswer.good"),
        (
            "/sweep?topic=reduction&sweep=sizes&sizes=1024,4096&kernels=reduce_strided&value=bank_conflicts",
            ".st-key-run button", ".st-key-sweepplot .main-svg",
        ),
    ],
)  # fmt: skip
def test_nothing_moves_on_the_other_pages(page: Page, address: str, url: str, button: str, result: str) -> None:
    opened(page, f"{address}{url}")
    if "/inside" in url:  # runs by itself
        expect(page.locator(result)).to_be_visible()
        expect(page.locator(WORKING)).to_have_count(0)
    if "/lab" in url:
        expect(page.locator("[data-part=editor][data-ready=yes]")).to_be_visible()
        scrolled = page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop")
        assert scrolled == 0, "the editor scrolled the page"
    page.evaluate(SETTLED)
    page.evaluate(WATCH)
    page.locator(button).first.click()
    expect(page.locator(result).first).to_be_visible()
    assert moved_and_gone(page) == {"moved": {}, "gone": {}}


@pytest.mark.thorough
def test_a_first_run_and_a_second_move_nothing_and_say_when(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_first_add&n=2000")
    expect(page.locator(".st-key-drawing .main-svg").first).to_be_visible()
    assert watched(page, "run just now") == {"moved": {}, "gone": {}}
    page.wait_for_timeout(1000)
    assert watched(page, "run just now") == {"moved": {}, "gone": {}}


@pytest.mark.sampled(quick=0, thorough=4)
@pytest.mark.parametrize(
    "choice",
    [
        "ladder=harris&rung=reduce_unroll_volatile&n=3000",  # a hazard
        "ladder=harris&rung=reduce_strided&n=3000&present=1&reveal=all&show=rate",
        "ladder=heidelberg-volta",
        "ladder=heidelberg-volta&present=1&reveal=all&show=motion",
        "ladder=cooper",
        "ladder=heidelberg-histogram",
        "ladder=cs121-tiling&n=64",
        "ladder=crovella&rung=reduce_racy&n=3000",  # a wrong answer
    ],
)
def test_no_element_moves_in_any_kind_of_run(page: Page, address: str, choice: str) -> None:
    opened(page, f"{address}/?{choice}")
    drawn = ".st-key-drawing :is(.main-svg, [data-part=player][data-frame])"  # Volta's is a block in motion
    expect(page.locator(drawn).first).to_be_visible()
    assert watched(page, "Correct" if "present=1" in choice else "run just now") == {"moved": {}, "gone": {}}


@contextmanager
def stopped(processes: Sequence[int]) -> Iterator[None]:
    for one in processes:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in processes:
            os.kill(one, signal.SIGCONT)


@pytest.mark.thorough
def test_a_slide_stays_as_it_is_while_its_run_shows_its_progress(page: Page, dashboard: tuple[str, int]) -> None:
    url, process = dashboard
    opened(page, f"{url}/?ladder=harris&rung=reduce_strided&n=3000&present=1&reveal=all&show=rate")
    page.evaluate(SETTLED)
    page.evaluate("""() => {
      window.most = 0;
      const hall = document.querySelector('.st-key-hall'), high = hall.offsetHeight;
      const look = () => {
        window.most = Math.max(window.most, Math.abs(hall.offsetHeight - high));
        requestAnimationFrame(look);
      };
      look();
    }""")
    with stopped(children(process)):  # else a quick run ends before its progress is shown
        page.keyboard.press("r")
        expect(page.locator(WORKING)).to_be_visible()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    run_ended(page)
    assert page.evaluate("() => window.most") == 0


def test_a_step_leaves_the_plot_as_it_is_and_marks_another_rung_in_it(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}")
    marked, pressed = page.locator(".ytick.current"), page.locator(".rungs [aria-pressed=true]")
    expect(marked).to_have_text("#1")
    page.evaluate("() => { document.querySelector('.st-key-drawing .main-svg').first = true; }")
    page.keyboard.press("ArrowRight")
    expect(marked).to_have_text("#2")
    expect(page.locator(".st-key-drawing .point.current")).to_have_count(1)
    page.locator(".rungs").get_by_role("button", name="#4", exact=True).click()
    expect(marked).to_have_text("#4")
    expect(pressed).to_have_text("#4")
    expect(pressed).to_be_focused()
    assert page.evaluate("() => document.querySelector('.st-key-drawing .main-svg').first === true")

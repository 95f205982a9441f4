"""Nothing jumps: while a result comes in, what stands on the page stays where it is, and is never blank."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import HARRIS, opened

MOST = 8  # pixels
# Every frame: where the parts are, and which are there at all.
WATCH = """() => {
  const parts = ['.rungtext', '.presenting', '.source', '.tiles', '.st-key-numbers .outcome', '.st-key-drawing',
    'table.ladder', '.st-key-plotchoice', '.st-key-below', '.smallprint', '.tiles.counted'];
  const kept = window.watched = { moved: {}, gone: {}, first: {}, frames: 0, blank: 0 };
  const look = () => {
    kept.frames++;
    for (const part of parts) {
      const at = document.querySelector(part)?.getBoundingClientRect();
      if (!at) { if (kept.first[part]) kept.gone[part] = (kept.gone[part] ?? 0) + 1; continue; }
      kept.first[part] ??= [at.top + scrollY, at.bottom + scrollY];
      const now = [at.top + scrollY, at.bottom + scrollY];
      const by = Math.max(...now.map((edge, i) => Math.abs(edge - kept.first[part][i])));
      kept.moved[part] = Math.max(kept.moved[part] ?? 0, Math.round(by));
    }
    if (!document.querySelector('.st-key-drawing .main-svg')) kept.blank++;
    requestAnimationFrame(look);
  };
  look();
}"""


def watched(page: Page, ends: str) -> dict[str, dict[str, int]]:
    """What moved by more than a few pixels, and what was gone for a frame, while R runs the rung again."""
    page.evaluate(WATCH)
    before = page.locator(".st-key-numbers .outcome").inner_text()
    page.keyboard.press("r")
    expect(page.locator(".st-key-numbers .outcome")).to_contain_text(ends)
    expect(page.locator(".st-key-numbers .outcome")).not_to_have_text(before)
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(500)
    kept = page.evaluate("() => window.watched")
    assert kept["frames"] > 10
    return {"moved": {part: by for part, by in kept["moved"].items() if by > MOST}, "gone": kept["gone"]}


def test_a_first_run_and_a_second_move_nothing_and_say_when(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_first_add&n=2000")
    expect(page.locator(".st-key-drawing .main-svg").first).to_be_visible()
    assert watched(page, "run just now") == {"moved": {}, "gone": {}}
    page.wait_for_timeout(1000)
    assert watched(page, "run just now") == {"moved": {}, "gone": {}}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "choice",
    [
        "ladder=harris&rung=reduce_unroll_volatile&n=3000",  # a hazard
        "ladder=harris&rung=reduce_strided&n=3000&present=1",
        "ladder=heidelberg-volta",
        "ladder=heidelberg-volta&present=1",
        "ladder=cooper",
        "ladder=heidelberg-histogram",
        "ladder=cs121-tiling&n=64",
        "ladder=crovella&rung=reduce_racy&n=3000",  # a wrong answer
    ],
)
def test_nothing_moves_whatever_comes_of_it(page: Page, address: str, choice: str) -> None:
    opened(page, f"{address}/?{choice}")
    expect(page.locator(".st-key-drawing .main-svg").first).to_be_visible()
    assert watched(page, "run just now") == {"moved": {}, "gone": {}}


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

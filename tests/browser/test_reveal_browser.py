"""A lecture from the keyboard: held-back numbers, a remote's two buttons, plots, orders, themes; new lines in sight."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from engine.catalogue import LADDERS, Ladder
from tests.browser.test_dashboard import drawn, heading, opened, run_ended, says, wait

HARRIS = "/?ladder=harris&n=4096&present=1"
SIZES = ((1280, 720), (1920, 1080), (1024, 768))
# The width of the bar of the rung on the page, once for each frame; 0 before there is one.
# The width of the current bar in every frame; and at the start, the middle and the end of its growth, whose frames a
# busy machine may leave out.
WATCH = """() => {
  window.seen = [];
  window.growth = [];
  document.addEventListener('animationstart', ({ target, animationName }) => {
    const growth = target.getAnimations().find((one) => one.animationName === animationName);
    if (animationName !== 'grow' || !growth) return;
    growth.pause();
    const { duration } = growth.effect.getComputedTiming();
    window.growth = [0, duration / 2, duration].map((time) => {
      growth.currentTime = time;
      return Math.round(target.getBoundingClientRect().width);
    });
    growth.currentTime = 0;
    growth.play();
  });
  const look = () => {
    const bar = [...document.querySelectorAll('.barlayer .point.current path')].find((path) => path.checkVisibility());
    window.seen.push(bar ? Math.round(bar.getBoundingClientRect().width) : 0);
    requestAnimationFrame(look);
  };
  look();
}"""
# New lines that are folded, lines of an outcome that are folded, and new lines that a scroll brings into view.
LINES = """() => {
  const pane = document.querySelector('.slide .lines'), place = pane.getBoundingClientRect();
  const numbers = (rows) => rows.map((row) => Number(row.querySelector('.number').textContent));
  const all = (kind) => [...pane.querySelectorAll(`.line.${kind}`)];
  const out = (row) => {
    const at = row.getBoundingClientRect();
    return at.bottom > place.bottom + 2 || at.top < place.top - 2;
  };
  return { folded: numbers(all('changed').filter((row) => !row.checkVisibility())), changed: all('changed').length,
           named: numbers(all('found').filter((row) => !row.checkVisibility())), found: all('found').length,
           first: all('found').slice(0, 1).every((row) => !out(row)),
           out: numbers(all('changed').filter(out)), size: parseFloat(getComputedStyle(pane).fontSize) / innerHeight };
}"""
# Rungs of at most MOST new lines that scroll on a wide screen all the same: their lines are too long for half a slide.
MOST = 14
SCROLL = {("cs121-one-matrix", "staged"), ("all-reduction", "complete volatile")}


def settled(page: Page) -> Page:
    """The page, at rest."""
    run_ended(page)
    expect(page.locator(".stException")).to_have_count(0)
    return page


def drawn_again(page: Page) -> None:
    """Load the page anew."""
    page.reload()
    drawn(page)


def plot(page: Page) -> dict[str, Any]:
    """The layout of the plot that is drawn."""
    run_ended(page)
    found = "() => [...document.querySelectorAll('.chart.drawn')].filter((chart) => chart.checkVisibility())"
    wait(page, lambda: page.evaluate(f"({found})().length") == 1)
    return dict(page.evaluate(f"({found})()[0].layout"))


@pytest.mark.thorough
def test_a_whole_walk_without_a_mouse(page: Page, address: str) -> None:
    opened(page, f"{address}/?ladder=harris&n=4096")
    page.keyboard.press("p")
    heading(page, "Interleaved addressing, divergent")
    expect(page.locator(".tile strong").first).to_have_text("?")
    page.keyboard.press("PageDown")
    says(page, "stage=picture")
    expect(page.locator(".st-key-motion")).to_be_visible()
    page.keyboard.press("PageDown")
    says(page, "reveal=1")
    expect(page.locator(".tile strong").first).to_contain_text("µs")
    page.keyboard.press("PageDown")
    heading(page, "bank conflicts")
    expect(page.locator(".st-key-drawing .annotation-text").first).to_contain_text("?")
    page.keyboard.press("r")
    expect(page.locator(".outcome .ok")).to_contain_text("Correct")
    expect(page.locator(".st-key-drawing .annotation-text").first).to_contain_text(re.compile(r"\d → \d"))
    assert plot(page)["meta"] == "pair"
    page.keyboard.press("c")
    says(page, "counter=.*")
    page.keyboard.press("2")
    says(page, "show=rate")
    expect(page.locator(".st-key-drawing")).to_contain_text("?")
    page.keyboard.press("v")
    says(page, "show=time")
    page.keyboard.press("o")
    says(page, "schedule=independent.*")
    expect(page.locator("dl.hall")).to_contain_text("independent")
    page.keyboard.press("x")
    says(page, "beside=1", "stage=picture")
    page.keyboard.press("a")
    says(page, "reveal=all")
    page.keyboard.press("1")
    says(page, "show=change")
    page.keyboard.press("2")
    says(page, "show=rate")
    expect(page.locator(".st-key-drawing .bartext")).to_have_count(len(LADDERS["harris"].rungs))
    page.keyboard.press("Escape")
    expect(page.locator("table.ladder").first).to_be_visible()
    expect(page).not_to_have_url(re.compile("reveal|stage"))


@pytest.mark.thorough
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_bar_grows_as_its_numbers_are_uncovered(page: Page, address: str, motion: Any) -> None:
    page.emulate_media(reduced_motion=motion)
    opened(page, f"{address}{HARRIS}&rung=reduce_sequential&show=rate")
    plot(page)
    page.evaluate(WATCH)
    page.keyboard.press("ArrowRight")
    wait(
        page, lambda: len({*page.evaluate("window.seen.slice(-30)")}) == 1 and page.evaluate("window.seen.at(-1)") > 20
    )
    widths, growth = [width for width in page.evaluate("window.seen") if width], page.evaluate("window.growth")
    assert widths == sorted(widths)
    if motion == "reduce":
        assert len(set(widths)) == 1 and not growth
    else:
        assert growth[0] == 0 < growth[1] < growth[2] == widths[-1]


@pytest.mark.release
def test_a_bar_grows_although_its_plot_comes_long_after_the_title(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_sequential&show=rate")
    plot(page)
    page.evaluate("() => { const at = Plotly.react; Plotly.react = (...all) => setTimeout(() => at(...all), 2500); }")
    page.evaluate(WATCH)
    page.keyboard.press("ArrowRight")
    wait(
        page, lambda: len({*page.evaluate("window.seen.slice(-30)")}) == 1 and page.evaluate("window.seen.at(-1)") > 20
    )
    widths, growth = [width for width in page.evaluate("window.seen") if width], page.evaluate("window.growth")
    assert widths == sorted(widths) and growth[0] == 0 < growth[1] < growth[2] == widths[-1]
    expect(page.locator("body[data-uncovered]")).to_have_count(0)


@pytest.mark.release
def test_back_leads_to_the_rung_before_and_a_reload_shows_the_same(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        settled(page)
    heading(page, "bank conflicts")
    says(page, "reveal=2")
    drawn_again(page)
    says(page, "reveal=2")
    expect(page.locator(".tile strong").first).to_contain_text("µs")
    page.go_back()
    heading(page, "Interleaved addressing, divergent")


@pytest.mark.release
def test_d_changes_the_theme_and_the_address_keeps_it(page: Page, address: str) -> None:
    dark = "() => getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'"
    opened(page, f"{address}{HARRIS}")
    assert not page.evaluate(dark)
    page.keyboard.press("d")  # light, as the system
    says(page, "theme=light")
    page.keyboard.press("d")
    says(page, "theme=dark")
    wait(page, lambda: bool(page.evaluate(dark)))
    drawn_again(page)
    wait(page, lambda: bool(page.evaluate(dark)))
    page.keyboard.press("d")
    wait(page, lambda: not page.evaluate(dark))
    expect(page).not_to_have_url(re.compile("theme"))


def new_lines(page: Page, name: str, ladder: Ladder) -> dict[str, Any]:
    """What is wrong with the lines of the ladder's slides."""
    wrong: dict[str, Any] = {}
    page.keyboard.press("Home")
    for position, rung in enumerate(ladder.rungs, 1):
        expect(page.locator(".presenting p")).to_contain_text(f"· {position} of {len(ladder.rungs)}")
        settled(page)
        page.wait_for_timeout(100)
        seen = page.evaluate(LINES)
        wide = (page.viewport_size or {"width": 0, "height": 1})["width"] >= 1280
        hidden = wide and seen["changed"] <= MOST and seen["out"] and (name, rung.label) not in SCROLL
        if seen["folded"] or seen["named"] or not seen["first"] or hidden or seen["size"] < 0.0208:
            wrong[f"{page.viewport_size} {rung.label}"] = seen
        page.keyboard.press("ArrowRight")
    return wrong


@pytest.mark.release
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", LADDERS)
def test_every_new_line_and_every_line_of_an_outcome_is_unfolded(page: Page, address: str, name: str) -> None:
    ladder = LADDERS[name]
    page.emulate_media(reduced_motion="reduce")  # lines that still move to their places may be outside
    opened(page, f"{address}/?ladder={name}&present=1&reveal=all&show=time")
    page.keyboard.press("l")
    settled(page)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert new_lines(page, name, ladder) == {}


@pytest.mark.thorough
def test_the_lines_that_a_hazard_names_are_marked(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_unroll_volatile")
    assert page.evaluate(LINES)["found"] == 0, "before its run"
    page.keyboard.press("r")
    expect(page.locator(".outcome.bad")).to_be_visible()
    wait(page, lambda: page.evaluate(LINES)["found"] > 1)
    assert page.evaluate(LINES)["named"] == []

"""A chart in a browser: as large as its place, in the colours of the theme, and described for a screen reader."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import HARRIS, opened, run_ended, wait

CHART = ".st-key-drawing .chart"
SIZE = "(chart) => [chart.clientWidth, chart.clientHeight]"
# The chart's place, its drawing, the colour of its letters and of what is behind them.
SEEN = """(chart) => { const svg = chart.querySelector('.main-svg');
  const box = chart.getBoundingClientRect(), drawn = svg.getBoundingClientRect();
  return { place: [box.width, box.height].map(Math.round), drawn: [drawn.width, drawn.height].map(Math.round),
    letters: getComputedStyle(chart.querySelector('.xtick text')).fill,
    behind: getComputedStyle(svg).backgroundColor, kept: chart.kept ?? false }; }"""


def test_it_has_a_description_and_says_what_a_bar_is_when_the_mouse_is_on_it(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&show=rate")
    expect(page.get_by_role("figure", name="Bandwidth: Harris and Crovella")).to_be_visible()
    bar, hovered = page.locator(f"{CHART} .point").nth(2), page.locator(f"{CHART} .hovertext")

    def bar_is_explained() -> bool:
        """Point at the bar anew: a chart that is drawn again meanwhile forgets the mouse until it moves."""
        page.mouse.move(0, 0)
        bar.hover(force=True)
        page.wait_for_timeout(200)
        return hovered.is_visible()

    wait(page, bar_is_explained)
    expect(page.locator(".modebar:visible")).to_have_count(0)


@pytest.mark.thorough
def test_it_follows_the_theme_without_being_built_anew_and_the_window(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&show=rate")
    chart = page.locator(CHART)
    expect(chart.locator(".xtick").first).to_be_visible()
    light = chart.evaluate(SEEN)
    chart.evaluate("(chart) => { chart.kept = true; }")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        f"() => getComputedStyle(document.querySelector('{CHART} .xtick text')).fill !== '{light['letters']}'"
    )
    dark = chart.evaluate(SEEN)
    assert (light["letters"], light["behind"]) == ("rgb(20, 24, 31)", "rgb(255, 255, 255)")
    assert (dark["letters"], dark["behind"]) == ("rgb(238, 241, 245)", "rgb(15, 19, 24)")
    assert dark["kept"]
    page.set_viewport_size({"width": 1600, "height": 1000})
    page.wait_for_function(
        f"""() => {{ const chart = document.querySelector('{CHART}.drawn'), seen = chart && ({SEEN})(chart);
        return seen?.drawn[0] > {light["drawn"][0] + 50} && String(seen.drawn) === String(seen.place); }}"""
    )
    assert light["place"] == light["drawn"]


@pytest.mark.thorough
def test_a_figure_that_changes_during_a_run_takes_the_place_of_the_one_before(page: Page, address: str) -> None:
    opened(page, f"{address}/?ladder=harris&n=5000&show=counters")
    expect(page.locator(f"{CHART}.drawn")).to_have_count(1)
    size = page.locator(CHART).evaluate(SIZE)
    page.locator(".st-key-run button").first.click()
    expect(page.locator(".st-key-numbers .outcome")).to_contain_text("Correct")
    expect(page.locator(f"{CHART}.drawn .bartext").first).to_be_visible()
    expect(page.locator(f"{CHART}.drawn")).to_have_count(1)
    assert page.locator(f"{CHART}.drawn").evaluate(SIZE) == size
    run_ended(page)
    page.keyboard.press("ArrowRight")  # the next run of the script has the last figure alone
    expect(page.locator(".ytick.current")).to_have_text("#2")
    run_ended(page)  # while it runs, the next figure may stand beside the last one for a moment
    expect(page.locator(CHART)).to_have_count(1)
    assert page.locator(CHART).evaluate(SIZE) == size


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["svg", "png"])
def test_a_plot_is_saved_for_a_slide_with_the_origin_of_its_numbers(
    page: Page, address: str, tmp_path: Path, form: str
) -> None:
    opened(page, f"{address}{HARRIS}&show=rate")
    expect(page.locator(f"{CHART}.drawn .xtick").first).to_be_visible()
    page.locator(CHART).hover()
    with page.expect_download() as waited:
        page.get_by_role("button", name=form.upper(), exact=True).click()
    assert waited.value.suggested_filename.startswith("bandwidth-harris")
    path = tmp_path / f"plot.{form}"
    waited.value.save_as(path)
    if form == "png":
        with Image.open(path) as image:
            assert image.size == (1920, 1080)
    else:
        root = ElementTree.parse(path).getroot()
        assert (root.get("width"), root.get("height")) == ("1920", "1080")
        assert "NVIDIA H200" in " ".join(root.itertext())

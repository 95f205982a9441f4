"""The page Inside in a real browser: the picture steps and plays, findings link, keys step."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import bottom, opened, wait
from tests.cases import code_line

STRIDED = "/inside?ladder=harris&n=4096&block=128&rung=reduce_strided"


def sentence(page: Page):
    return page.locator(".st-key-picture .textpoint text")


@pytest.mark.thorough
def test_the_slider_steps_through_the_accesses_and_play_goes_on(page: Page, address: str) -> None:
    opened(page, f"{address}{STRIDED}&look=banks")
    expect(sentence(page)).to_contain_text("3 bank conflicts")
    rail = page.locator(".slider-rail-touch-rect")
    height = float(rail.get_attribute("height") or "nan")
    rail.click(position={"x": 3, "y": height / 2})  # once it stands still
    expect(sentence(page)).to_contain_text("4 sectors")
    page.locator(".updatemenu-button").first.click()
    expect(sentence(page)).to_contain_text(f"line {code_line('reduce_strided', 'partial[index] +=')}")
    expect(page.locator(".st-key-picture .barlayer .point")).not_to_have_count(0)  # the strip of time stays


@pytest.mark.release
def test_the_picture_fits_a_small_projector(page: Page, address: str) -> None:
    for look in ("banks", "lanes"):
        opened(page, f"{address}{STRIDED}&look={look}")
        chart = page.locator(".st-key-picture .js-plotly-plot")
        expect(chart).to_be_visible()
        wait(page, lambda chart=chart: bottom(chart) <= 720 + 12)


@pytest.mark.thorough
def test_a_finding_links_to_its_other_line(page: Page, address: str) -> None:
    opened(page, f"{address}/inside?ladder=harris&n=4096&block=128&rung=reduce_unroll_volatile")
    link = page.locator(".finding a").first
    expect(link).to_have_attribute("href", re.compile(r"#L\d+"))
    target = link.get_attribute("href")
    link.click()
    expect(page.locator(f"{target}:target")).to_be_visible()
    expect(page.locator(".insideanswer")).to_contain_text("only by luck")


@pytest.mark.thorough
def test_arrow_keys_step_and_the_comparison_follows(page: Page, address: str) -> None:
    opened(page, f"{address}{STRIDED}&look=change")
    expect(page.locator(".change h3")).to_contain_text("Divergent branches")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".change .verdict")).to_contain_text("Bank conflicts fall")
    page.keyboard.press("r")
    expect(page.locator(".insideanswer")).to_contain_text("Correct")
    expect(page).to_have_url(re.compile("rung=reduce_sequential"))


@pytest.mark.thorough
def test_an_order_of_execution_changes_the_wrong_answer(page: Page, address: str) -> None:
    opened(page, f"{address}/inside?ladder=crovella&rung=reduce_racy&n=4096&block=128")
    expect(page.locator(".insideanswer")).to_contain_text("144 instead of")
    page.locator(".st-key-schedule input").click()
    page.get_by_role("option", name="waves 1").click()
    expect(page.locator(".insideanswer")).to_contain_text("54 instead of")
    expect(page.locator(".seen")).to_contain_text("lockstep warps 144")

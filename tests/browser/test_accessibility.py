"""axe-core finds nothing to object to on any page, in light and in dark."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import HARRIS, conversation, opened, run_ended, wait
from tests.browser.test_steady import SETTLED
from tests.cases import case
from tests.views.test_debugger_page import CALL, RACE
from views.debugger.asked import pack

# The debugger at a race.
DEBUGGED = "/debugger?" + urlencode({"text": pack(RACE), "launched": CALL, "size": "64", "lines": "15-16",
                                    "watch": "other"})  # fmt: skip
LADDER = f"{HARRIS}&rung=reduce_unroll_volatile"
PAGES = (
    LADDER,
    f"{LADDER}&present=1",
    "/sweep?topic=reduction&kernels=reduce_strided&blocks=32,64&n=1024",
    "/inside?ladder=harris&n=4096&rung=reduce_unroll_volatile",
    "/lab?ladder=harris&rung=reduce_strided&n=4096",
    "/sheets?sheet=crovella-sizes",
    "/machine",
    "/compare?a=harris&b=harris~reduce_strided",
    DEBUGGED,
)
# What else they show: before a release.
PARTS = (
    *(f"{LADDER}&below={section}" for section in ("paper", "claims")),
    "/?ladder=crovella&show=complexity&below=complexity",
    "/?ladder=cs121-tiling&show=roofline&below=arithmetic&n=64",
    "/?ladder=heidelberg-histogram",
    "/?ladder=float-truths&below=floats",
    "/sweep?topic=reduction&sweep=sizes",
    "/inside?ladder=harris&n=4096&rung=reduce_strided",
    "/lab?start=tile",
    "/terms",
)


# The name of what has the focus, and whether a line is drawn around it.
FOCUSED = """() => {
  const at = document.activeElement, { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(at);
  return [at.innerText, outlineStyle !== 'none' && outlineWidth !== '0px' || boxShadow !== 'none'];
}"""


def violations(page: Page, part: str | None = None) -> list[str]:
    """What axe-core objects to on the page, or in a part of it: the rule, where, and why."""
    found = Axe().run(page, part, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{rule['id']}: {node['target']} {(node['any'] or node['all'] or node['none'] or [{}])[0].get('message', '')}"
        for rule in found
        for node in rule["nodes"]
    ]


def looked_at(page: Page, url: str) -> None:
    told = conversation(page)
    opened(page, url)
    page.evaluate(SETTLED)  # what Streamlit loads late
    if not any(part in url for part in ("/machine", "/inside", "sizes", "/terms")):
        before = len(told)
        page.keyboard.press("r")
        wait(page, lambda: "answered" in told[before:])
        expect(page.locator(".st-key-working")).to_have_count(0)
        page.evaluate(SETTLED)
    run_ended(page)
    expect(page.locator("[data-testid=stSkeleton]")).to_have_count(0)


@pytest.mark.sampled(thorough=10)
@pytest.mark.parametrize(
    ("url", "scheme"),
    [case(url, scheme, quick=False, thorough=url in PAGES and (at + dark) % 2 == 0, id=f"{url[:60]}-{scheme}")
     for at, url in enumerate(PAGES + PARTS) for dark, scheme in enumerate(("light", "dark"))],
)  # fmt: skip
def test_axe_finds_nothing_on_any_page(page: Page, address: str, url: str, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    looked_at(page, f"{address}{url}")
    assert violations(page) == []


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("url", ["/sweep?topic=reduction&kernels=reduce_strided", "/inside?ladder=harris"])
def test_run_is_among_the_first_tab_stops_of_the_other_pages(page: Page, address: str, url: str) -> None:
    opened(page, f"{address}{url}")
    stops = tab_stops(page)
    assert any("Run" in stop for stop in stops), stops


def tab_stops(page: Page) -> list[str]:
    """What the Tab key reaches first: the pages, and around them the way to the contents, they, the keys, and Run."""
    expect(page.get_by_test_id("stTopNavLink").first).to_be_visible()
    expect(page.locator(".st-key-run button").first).to_be_visible()
    stops: list[str] = []
    while len(stops) < page.get_by_test_id("stTopNavLink").count() + 4:
        page.keyboard.press("Tab")
        stops.append(page.evaluate("() => document.activeElement.innerText.trim()"))
    return stops


@pytest.mark.thorough
def test_run_is_among_the_first_tab_stops_and_plots_have_names(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}")
    expect(page.locator(".chart").first).to_be_visible()
    stops = tab_stops(page)
    assert any(stop.endswith("Run") for stop in stops), stops
    pressed = page.locator(".st-key-stepper [aria-pressed=true]")
    expect(pressed).to_have_count(1)
    expect(pressed).to_have_text("#1")
    expect(page.get_by_role("status").filter(has_text="Time:")).to_have_count(1)


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_tab_key_shows_where_it_is_and_finds_run_early(
    page: Page, address: str, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(page, f"{address}{HARRIS}")
    page.evaluate(SETTLED)  # before it, a part that is drawn again takes the focus with it
    names = []
    for stop in range(1, 11):
        page.keyboard.press("Tab")
        name, seen = page.evaluate(FOCUSED)
        assert seen, f"stop {stop}: {name}"
        names.append(name.split("\n")[-1])
    assert "Run" in names

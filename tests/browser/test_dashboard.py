"""The dashboard in a real browser: what a lecturer and a student do with it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from math import inf

import pytest
from playwright.sync_api import Locator, Page, WebSocket, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.conftest import PATIENCE_MS
from tests.sentences import wording

HARRIS = "/?ladder=harris&n=4096"


def opened(page: Page, url: str) -> Page:
    """The page, drawn."""
    page.goto(url)
    return drawn(page)


def drawn(page: Page) -> Page:
    """The page, once it is drawn."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-connection-state", "CONNECTED")
    # In mid-run; before it the script does not run either.
    expect(page.locator("body")).to_have_attribute("data-keys", "heard")
    run_ended(page)
    expect(page.locator(".stException")).to_have_count(0)
    return page


def run_ended(page: Page, most_ms: float = PATIENCE_MS) -> None:
    """Until the script has ended that changes the page."""
    app = page.locator("[data-testid=stApp]")
    expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=most_ms)


def says(page: Page, *choices: str) -> None:
    """Until the page's address says all of these."""
    for choice in choices:
        expect(page).to_have_url(re.compile(rf"[?&]{choice}(&|$)"))


def heading(page: Page, words: str) -> None:
    """Until the page or the slide has this heading; for a moment the browser may have both."""
    expect(page.locator(".rungtext h2, .presenting h1").filter(has_text=words).first).to_be_visible()


def counted(page: Page) -> str:
    """The counter tiles' text, once they hold a number."""
    tiles = page.locator(".tiles.counted").last
    expect(tiles).to_contain_text(re.compile(r"\d"))
    return tiles.inner_text()


def conversation(page: Page) -> list[str]:
    """What a page and the server say, as far as it begins a run of the script or ends one; it grows as they talk."""
    told: list[str] = []

    def asks(message: bytes) -> None:
        told.extend(["asked"] * (BackMsg.FromString(message).WhichOneof("type") == "rerun_script"))

    def answers(message: bytes) -> None:
        told.extend(["answered"] * (ForwardMsg.FromString(message).WhichOneof("type") == "script_finished"))

    def listen(connection: WebSocket) -> None:
        connection.on("framesent", asks)
        connection.on("framereceived", answers)

    page.on("websocket", listen)
    return told


def bottom(part: Locator) -> float:
    """Where a part ends in the window, in pixels; infinitely low one that is not there."""
    box = part.bounding_box()
    return box["y"] + box["height"] if box else inf


def wait(page: Page, condition: Callable[[], bool]) -> None:
    """Until what the test itself has noted is so."""
    ends = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < ends, "it has not come about"
        page.wait_for_timeout(20)


def test_the_first_page_asks_nobody_else_and_comes_compressed(page: Page, address: str) -> None:
    asked: list[str] = []
    sizes: dict[str, str | None] = {}
    page.on("request", lambda request: asked.append(request.url))
    page.on("response", lambda r: sizes.update({r.url: r.headers.get("content-encoding")}))
    told = conversation(page)
    opened(page, f"{address}{HARRIS}")
    assert told == ["asked", "answered"]
    expect(page.locator(".chart")).to_be_visible()
    expect(page.locator("table.ladder").first).to_be_visible()
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    scripts = {url: kind for url, kind in sizes.items() if "/static/" in url and url.endswith(".js")}
    assert scripts and set(scripts.values()) == {"gzip"}


@pytest.mark.thorough
def test_the_bare_address_asks_a_question_and_an_arrow_leads_to_the_second_rung(page: Page, address: str) -> None:
    opened(page, address)
    expect(page.locator(".opening h1")).to_have_text("Kernel Ladder")
    expect(page.locator(".st-key-drawing svg").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    heading(page, "bank conflicts")
    says(page, "ladder=harris", "rung=reduce_strided")
    page.go_back()
    expect(page.locator(".opening h1")).to_be_visible()
    page.locator(".subjects button", has_text="He Kun").click()
    says(page, "ladder=hekun")


@pytest.mark.thorough
def test_a_click_runs_the_rung(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_strided")
    page.locator(".st-key-run button").first.click()
    assert "Bank conflicts" in counted(page)
    expect(page.locator(".outcome")).to_contain_text("Correct")
    expect(page.locator("tr.current")).to_contain_text("emulated")


def test_arrow_keys_step_and_r_runs(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}")
    heading(page, "Interleaved addressing, divergent")
    page.keyboard.press("ArrowRight")
    heading(page, "bank conflicts")
    page.keyboard.press("ArrowRight")
    heading(page, "Sequential addressing")
    page.keyboard.press("ArrowLeft")
    heading(page, "bank conflicts")
    says(page, "rung=reduce_strided")
    page.keyboard.press("r")
    counted(page)


@pytest.mark.release
def test_keys_work_after_a_menu_was_used_but_not_while_typing(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}")
    page.locator(".st-key-block input").click()
    page.get_by_role("option", name="256").click()
    expect(page).to_have_url(re.compile("block=256"))
    page.keyboard.press("ArrowRight")
    heading(page, "bank conflicts")
    page.locator(".st-key-n input").fill("2^11")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"n=2(%5E|\^)11"))
    heading(page, "bank conflicts")


@pytest.mark.thorough
def test_present_shows_only_the_rung_and_comes_back(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&block=256")
    page.keyboard.press("p")
    expect(page.locator(".presenting")).to_be_visible()
    expect(page.locator("[data-testid=stHeader]")).to_be_hidden()
    expect(page.locator("table.ladder")).to_have_count(0)
    page.keyboard.press("a")
    page.keyboard.press("PageDown")
    heading(page, "bank conflicts")
    page.keyboard.press("r")
    expect(page.locator(".outcome .ok")).to_contain_text("Correct")
    size = page.locator(".source .lines").evaluate("e => parseFloat(getComputedStyle(e).fontSize) / innerHeight")
    assert size > 0.02, "too small for the back row"
    page.keyboard.press("Escape")
    expect(page.locator("table.ladder").first).to_be_visible()
    heading(page, "bank conflicts")
    says(page, "block=256", "n=4096")


@pytest.mark.release
def test_a_shared_link_shows_the_same_page(page: Page, address: str) -> None:
    opened(page, f"{address}/?ladder=crovella&rung=reduce_atomic&n=1000&block=64&dtype=float32&show=time")
    heading(page, "One atomic per element")
    page.keyboard.press("ArrowRight")
    heading(page, "Grid stride")
    says(page, "rung=reduce_grid_stride_host")
    opened(page, page.url)
    heading(page, "Grid stride")
    says(page, "ladder=crovella", "n=1000", "block=64", "dtype=float32", "show=time")


@pytest.mark.thorough
def test_back_works_at_once_one_press_a_rung_and_one_a_page(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}")
    page.keyboard.press("ArrowRight")
    heading(page, "bank conflicts")
    page.keyboard.press("ArrowRight")
    heading(page, "Sequential addressing")
    says(page, "rung=reduce_sequential")  # what Back leads away from
    page.go_back()
    heading(page, "bank conflicts")
    says(page, "rung=reduce_strided")
    page.get_by_role("link", name="Sweep").click()
    expect(page).to_have_url(re.compile(r"/sweep\?.*topic=reduction"))
    expect(page.locator("table.heatmap").first).to_be_visible()
    run_ended(page)
    page.go_back()
    heading(page, "bank conflicts")
    run_ended(page)
    page.go_back()
    heading(page, "Interleaved addressing, divergent")
    run_ended(page)
    page.go_forward()
    heading(page, "bank conflicts")
    page.keyboard.press("ArrowRight")
    heading(page, "Sequential addressing")


@pytest.mark.release
def test_choices_go_along_to_another_page_and_back(page: Page, address: str) -> None:
    opened(page, f"{address}/?ladder=harris&n=2048&dtype=float32&rung=reduce_strided")
    page.get_by_role("link", name="Sweep").click()
    expect(page).to_have_url(re.compile(r"/sweep\?.*n=2048.*dtype=float32"))
    page.get_by_role("link", name="Ladder").click()
    heading(page, "bank conflicts")
    expect(page).to_have_url(re.compile("rung=reduce_strided.*n=2048"))


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize(("n", "key"), [("0", "ladder.n-at-least-1"), ("2%5E40", "ladder.n-too-large")])
def test_bad_input_is_a_sentence_and_the_page_lives(page: Page, address: str, n: str, key: str) -> None:
    opened(page, f"{address}/?ladder=harris&n={n}")
    expect(page.locator(".outcome.bad")).to_contain_text(wording(key))
    page.locator(".st-key-run button").first.click()
    expect(page.locator(".outcome.bad")).to_contain_text(wording(key))
    page.keyboard.press("ArrowRight")
    heading(page, "bank conflicts")


@pytest.mark.thorough
def test_a_long_run_shows_progress_leaves_the_page_usable_and_can_be_stopped(page: Page, address: str) -> None:
    opened(page, f"{address}/?ladder=harris&n=2%5E25&rung=reduce_interleaved&block=32")
    page.locator(".st-key-run_ladder button").first.click()
    working = page.locator(".st-key-working")
    expect(working).to_contain_text("of 11")
    page.keyboard.press("ArrowRight")
    heading(page, "bank conflicts")
    expect(working).to_contain_text("of 11")
    page.locator(".st-key-stop button").first.click()
    expect(working).to_have_count(0)
    heading(page, "bank conflicts")


@pytest.mark.thorough
def test_the_sweep_fills_its_table(page: Page, address: str) -> None:
    opened(page, f"{address}/sweep?topic=reduction&kernels=reduce_strided&blocks=32,64&n=1024&value=bank_conflicts")
    page.locator(".st-key-run button").first.click()
    expect(page.locator("td.heat")).to_have_count(2)
    expect(page.locator("td.heat.best")).to_have_count(1)
    run_ended(page)  # each run of the script offers a file of its own
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    assert download.value.path().read_text().startswith("Kernel,")


@pytest.mark.thorough
def test_dark_mode_follows_the_system(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="dark")
    opened(page, f"{address}{HARRIS}")
    ink, paper = page.evaluate(
        "() => [getComputedStyle(document.querySelector('.rungtext h2')).color,"
        " getComputedStyle(document.querySelector('.stApp')).backgroundColor]"
    )
    brightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ink, paper)]
    assert brightness[0] > 600 and brightness[1] < 120

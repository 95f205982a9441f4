"""The lab in a real browser: what is typed is checked, marked at its lines, and never lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import START_S, free_port, served, tab
from tests.browser.test_dashboard import HARRIS, opened
from tests.sentences import sentence

SAXPY = "/lab?start=saxpy&n=1000"


_PASTE = """(it, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  it.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
}"""


def editor_at(page: Page, url: str) -> Locator:
    """The text of the editor, once it can be typed into."""
    opened(page, url)
    expect(page.locator("[data-part=editor]")).to_have_attribute("data-ready", "yes")
    return page.locator(".cm-content")


def typed(page: Page, before: str, words: str) -> None:
    """Type `words` in front of `before`, found as a reader finds it."""
    page.locator(".cm-content").press("Control+f")
    page.keyboard.type(before)  # the panel searches as keys go up
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    page.keyboard.insert_text(words)


def checked(page: Page, words: str) -> None:
    """Ctrl+Enter, and the answer; its marks stand at their lines, and its source is kept."""
    page.locator(".cm-content").press("Control+Enter")
    expect(page.locator(".insideanswer")).to_contain_text(words)
    expect(page.locator("[data-part=editor]")).to_have_attribute("data-state", "done")


def test_typed_text_is_checked_and_marked_and_survives_a_reload(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    checked(page, "Correct")
    expect(page.locator(".heat .cm-gutterElement").filter(has_text="32").first).to_be_visible()
    typed(page, "a * x[i]", "b + ")
    checked(page, "does not compile")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(page.locator(".insideanswer")).to_contain_text('identifier "b" is undefined')
    expect(page.locator(".drafttold a")).to_have_text("line 4")
    page.reload()
    expect(text).to_contain_text("b + a * x[i]")
    expect(page.locator("table.tries tbody tr")).to_have_count(2)


def test_a_text_without_a_kernel_is_not_checked_and_the_editor_waits_for_nothing(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    text.press("Control+a")
    text.press("Delete")
    text.press("Control+Enter")
    expect(page.get_by_text("There is no kernel here yet")).to_be_visible()
    expect(page.locator("[data-part=editor]")).to_have_attribute("data-state", "done")
    page.keyboard.press("Control+z")
    checked(page, "Correct")


@pytest.mark.release
def test_a_second_press_on_edit_presses_no_button_of_the_lab(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_strided")
    edit = page.locator(".st-key-edit").get_by_role("button", name="Edit")
    box = edit.bounding_box()
    assert box is not None
    edit.click()
    expect(page.locator("[data-part=editor]")).to_have_attribute("data-ready", "yes")
    expect(page.get_by_role("button", name="Start over")).to_be_visible()
    for x in (box["x"] + 1, box["x"] + box["width"] - 1):
        for y in (box["y"] + 1, box["y"] + box["height"] - 1):
            under = page.evaluate("([x, y]) => document.elementFromPoint(x, y)?.closest('button')?.innerText", [x, y])
            assert under is None


@pytest.mark.thorough
def test_edit_on_the_ladder_opens_the_rung_with_its_own_check(page: Page, address: str) -> None:
    opened(page, f"{address}{HARRIS}&rung=reduce_strided")
    page.locator(".st-key-edit").get_by_role("button", name="Edit").click()
    expect(page.locator(".cm-content")).to_contain_text("reduce_strided(const T *in")
    expect(page).to_have_url(re.compile(r"/lab\?.*draft=.*rung=reduce_strided"))
    typed(page, "index < blockDim.x", "index < 64 && ")
    checked(page, "Wrong")
    expect(page.locator("table.hardware")).to_contain_text("mine / #2")
    expect(page.locator(".st-key-draftchanges")).to_contain_text("What I changed")
    page.go_back()
    expect(page.locator(".rungtext h2")).to_contain_text("bank conflicts")


@pytest.mark.release
def test_typing_is_left_alone_and_the_keyboard_finds_its_way_out(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    text.press("Control+Home")
    page.keyboard.type("// pRlkb?\n")
    expect(text).to_contain_text("// pRlkb?")
    expect(page.locator("dialog.keys, .blackscreen, .presenting")).to_have_count(0)
    page.keyboard.press("Tab")
    expect(text).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(text).not_to_be_focused()
    page.keyboard.press("r")
    expect(page.locator(".insideanswer")).to_contain_text("Correct")


@pytest.mark.thorough
def test_a_check_scrolls_to_the_result_below_an_open_form(page: Page, address: str) -> None:
    editor_at(page, f"{address}{SAXPY}")
    page.locator(".st-key-launchform summary").click()
    expect(page.get_by_role("textbox", name="Grid (blocks)")).to_be_visible()
    checked(page, "Correct")
    expect(page.locator(".insideanswer")).to_be_in_viewport()


@pytest.mark.thorough
def test_results_of_another_text_are_grey_until_the_text_is_back(page: Page, address: str) -> None:
    editor_at(page, f"{address}{SAXPY}")
    checked(page, "Correct")
    outdated, rest = page.locator("html[data-outdated]"), page.locator("html:not([data-outdated])")
    expect(rest).to_have_count(1)
    typed(page, "a * x[i]", "b + ")
    expect(outdated).to_have_count(1)
    before = page.locator(".st-key-labresults").evaluate("it => getComputedStyle(it, '::before').content")
    assert sentence("lab.outdated", before.strip('"'))
    counts = page.locator(".heat .cm-gutterElement:visible span").first
    assert "grayscale" in counts.evaluate("it => getComputedStyle(it).filter")
    expect(page.locator("[data-part=told]")).to_contain_text("in an earlier text")
    page.locator("[data-part=undo]").click()
    expect(rest).to_have_count(1)
    assert counts.evaluate("it => getComputedStyle(it).filter") == "none"
    typed(page, "a * x[i]", "b + ")
    checked(page, "does not compile")
    expect(rest).to_have_count(1)


@pytest.mark.thorough
def test_a_paste_that_is_too_long_is_refused_and_never_answered_for_the_text_before(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    checked(page, "Correct")
    text.press("Control+a")
    text.evaluate(_PASTE, "// much too long for a draft\n" * 9700)
    expect(page.locator(".told.bad")).to_contain_text("256 kB")
    text.press("Control+Enter")
    expect(page.locator(".told.bad")).to_contain_text("256 kB")
    expect(page.locator("html[data-outdated]")).to_have_count(1)
    expect(page.locator("[data-part=editor]")).to_have_attribute("data-state", "done")
    expect(page.locator("table.tries tbody tr")).to_have_count(1)


@pytest.mark.release
def test_without_a_gpu_there_is_no_run_button_and_an_odd_draft_number_is_replaced(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}&draft=a__b")
    expect(page).to_have_url(re.compile(r"draft=[0-9a-f]{12}"))
    expect(page.locator("[data-part=run]")).to_be_hidden()
    text.press("Control+Shift+Enter")
    expect(page.locator(".insideanswer")).to_contain_text("Correct")


@pytest.mark.release
def test_what_an_address_asks_for_in_vain_stays_told_until_another_choice(page: Page, address: str) -> None:
    for url, words in (("/sheets?sheet=x", "'x'"), ("/lab?start=x", "'x'"), (f"{HARRIS}&rung=x", "'x'")):
        opened(page, f"{address}{url}")
        told = page.locator(".message").filter(has_text=words)
        expect(told).to_have_count(1)
        page.wait_for_timeout(1500)  # the script has run again by then
        expect(told).to_have_count(1)


@pytest.mark.thorough
def test_a_line_in_the_list_leads_to_the_line_and_a_try_comes_back(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    checked(page, "Correct")
    typed(page, "a * x[i]", "missing + ")
    checked(page, "does not compile")
    page.locator(".drafttold a").first.click()
    expect(text).to_be_focused()
    expect(page.locator(".told")).to_contain_text("is undefined")
    page.locator("table.tries a").filter(has_text="#1").click()
    expect(text).not_to_contain_text("missing")
    page.locator("[data-part=undo]").click()
    expect(text).to_contain_text("missing")


@pytest.mark.thorough
def test_marks_move_with_the_text_that_is_typed_while_a_check_runs(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    typed(page, "a * x[i]", "missing + ")
    text.press("Control+Enter")
    text.press("Control+Home")
    page.keyboard.insert_text("// one\n// two\n")
    expect(page.locator(".insideanswer")).to_contain_text("does not compile")
    marked = page.locator(".cm-line").filter(has=page.locator(".cm-lintRange-error"))
    expect(marked).to_contain_text("missing")


@pytest.mark.thorough
def test_a_link_carries_the_source_unless_it_is_too_long(page: Page, browser: Browser, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    typed(page, "a * x[i]", "1 + ")
    page.locator("[data-part=share]").click()
    expect(page.locator("[data-part=link]")).not_to_have_value("")
    link = page.locator("[data-part=link]").input_value()
    assert link.startswith(f"{address}/lab?") and "draft=" not in link
    other = tab(browser)
    editor_at(other, link)
    expect(other.locator(".cm-content")).to_contain_text("1 + a * x[i]")
    expect(other).to_have_url(re.compile("draft="))
    expect(other).not_to_have_url(re.compile("source="))
    other.context.close()
    text.press("Control+End")
    with page.expect_response(re.compile("/compiled$")):
        page.keyboard.insert_text("// " + "".join(chr(0x4E00 + 7919 * i % 20_000) for i in range(5000)))
        page.locator("[data-part=share]").click()
        expect(page.locator(".told")).to_contain_text("too long for a link")
    page.wait_for_timeout(300)
    expect(page.locator(".told")).to_contain_text("too long for a link")  # what the compiler finds does not replace it


@pytest.mark.thorough
def test_the_server_restores_a_lost_draft_to_its_own_browser_only(page: Page, browser: Browser, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    typed(page, "a * x[i]", "1 + ")
    checked(page, "Wrong")
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(text).to_contain_text("1 + a * x[i]")
    other = tab(browser)
    expect(editor_at(other, page.url)).to_contain_text("a * x[i]")
    expect(other.locator(".cm-content")).not_to_contain_text("1 + a * x[i]")
    other.context.close()


@pytest.mark.release
def test_a_file_is_opened_and_saved_and_the_tries_are_presented(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    kernel = b"__global__ void mine(float *v, int n) {\r\n    v[256 * blockIdx.x + threadIdx.x] = n;\r\n}\r\n"
    page.locator("[data-part=chosen]").set_input_files({"name": "mine.cu", "mimeType": "text/plain", "buffer": kernel})
    expect(text).to_contain_text("v[256 * blockIdx.x + threadIdx.x] = n")
    expect(page.locator(".st-key-launchform")).to_contain_text("mine<<<")
    with page.expect_download() as saved:
        page.locator("[data-part=download]").click()
    assert saved.value.suggested_filename == "mine.cu"
    assert saved.value.path().read_bytes() == kernel.replace(b"\r\n", b"\n")
    checked(page, "out of bounds")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    page.keyboard.press("p")
    expect(page.locator(".presenting h1")).to_contain_text("mine.cu")
    page.keyboard.press("Escape")
    expect(text).to_contain_text("v[256 * blockIdx.x + threadIdx.x] = n")
    german = "// größer als 3\n".encode("cp1252") + kernel
    page.locator("[data-part=chosen]").set_input_files({"name": "alt.cu", "mimeType": "text/plain", "buffer": german})
    expect(text).to_contain_text("größer als 3")
    expect(page.locator(".told")).to_contain_text("alt.cu was read as Windows-1252")


@pytest.mark.thorough
def test_two_tabs_on_one_draft_see_each_other_and_undo_brings_ones_own_text_back(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    other = page.context.new_page()
    theirs = editor_at(other, page.url)
    typed(page, "a * x[i]", "one + ")
    expect(theirs).to_contain_text("one + a * x[i]")
    typed(other, "a * x[i]", "two + ")
    expect(text).to_contain_text("one + two + a * x[i]")
    expect(page.locator("[data-part=told]")).to_contain_text("Another tab changed this text")
    text.press("Control+z")
    expect(theirs).to_contain_text("one + a * x[i]")
    expect(theirs).not_to_contain_text("two")
    other.close()


@pytest.mark.release
def test_a_draft_survives_the_server(page: Page, tmp_path: Path) -> None:
    port = free_port()
    with served(tmp_path, port) as url:
        text = editor_at(page, f"{url}{SAXPY}")
        checked(page, "Correct")
        typed(page, "a * x[i]", "1 + ")
    page.keyboard.type("0 + ")  # while nobody listens
    with served(tmp_path, port):
        expect(page.locator("[data-testid=stApp]")).to_have_attribute(
            "data-test-connection-state", "CONNECTED", timeout=1000 * START_S
        )  # the longer nobody listened, the more seldom it tries
        expect(page.locator("table.tries tbody tr")).to_have_count(1)
        checked(page, "Wrong")
        page.reload()
        expect(text).to_contain_text("1 + 0 + a * x[i]")


def test_typing_is_marked_completed_and_led_to_a_definition_without_a_check(page: Page, address: str) -> None:
    text = editor_at(page, f"{address}{SAXPY}")
    typed(page, "int i", "int first = threadIDx.x;\n    ")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(page.locator("[data-part=told]")).to_contain_text("`threadIdx`")
    expect(page.locator(".insideanswer")).to_have_count(0)
    text.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("__sync")
    offered = page.locator(".cm-tooltip-autocomplete li")
    expect(offered.first).to_contain_text("all threads of the block wait here")
    page.wait_for_timeout(100)  # the list takes no key for its first 75 ms, so no fast typing chooses by accident
    page.keyboard.press("Enter")
    expect(text).to_contain_text("__syncthreads")
    page.keyboard.type("(); first")
    page.keyboard.press("Escape")
    page.keyboard.press("F12")
    expect(page.locator(".cm-activeLine")).to_contain_text("int first = threadIDx.x")

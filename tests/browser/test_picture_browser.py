"""The picture in a real browser: it plays, steps and scrubs, and what it draws and saves is what the trace says."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from engine.picture.picture import picture
from engine.plan import settle
from engine.records import Choice
from tests.browser.test_dashboard import bottom, opened, wait

FIRST = "/inside?ladder=harris&n=4096&block=128&rung=reduce_interleaved"
SVG = "{http://www.w3.org/2000/svg}"


def part(page: Page, name: str):
    return page.locator(f"[data-part={name}]").first


def at_rest(page: Page, address: str) -> None:
    """Open the page and wait for the picture."""
    opened(page, address)
    expect(part(page, "player")).to_have_attribute("data-frame", re.compile(r"\d+"))


def slot(page: Page) -> float:
    return float(part(page, "player").get_attribute("data-slot") or "nan")


def drawing(page: Page, folder: Path) -> ElementTree.Element:
    """The moment as it is saved."""
    with page.expect_download() as waited:
        part(page, "svg").click()
    path = folder / "moment.svg"
    waited.value.save_as(path)
    assert re.fullmatch(r"[\w-]+-\d+\.svg", waited.value.suggested_filename)
    return ElementTree.parse(path).getroot()


@pytest.mark.release
def test_a_moment_is_saved_as_the_trace_has_it(page: Page, address: str, tmp_path: Path) -> None:
    """The first level of the tree: an arrow for every addition, and the sums in the cells."""
    shown = picture(settle(Choice("reduce_interleaved", 4096, 128, dtype="int32", device="emulator")))
    first = next(frame for frame in shown.frames if frame.sums)
    at_rest(page, f"{address}{FIRST}")
    root = drawing(page, tmp_path)
    assert (root.get("width"), root.get("height")) == ("1120", "630")  # as large as the GIF
    assert len(list(root.iter(f"{SVG}path"))) == len(first.sums[0].values) == 64
    texts = [each.text for each in root.iter(f"{SVG}text")]
    for value in first.sums[0].values:  # in the thread's cell and in its word
        assert texts.count(str(value).replace("-", "−")) >= 2
    assert any("partial[tid] +=" in text for text in texts)
    lit = [each for each in root.iter(f"{SVG}rect") if each.get("fill") == "#2f7fd1"]
    assert len(lit) >= 128  # every word of the first pass


@pytest.mark.thorough
def test_it_steps_plays_and_scrubs(page: Page, address: str) -> None:
    at_rest(page, f"{address}{FIRST}")
    part(page, "first").click()
    moments = [slot(page)]
    for step in range(1, 4):
        part(page, "on").click()
        expect(part(page, "range")).to_have_value(str(step))  # as soon as it is there
        moments.append(slot(page))
    assert all(earlier < later for earlier, later in pairwise(moments))
    part(page, "back").click()
    expect(part(page, "player")).to_have_attribute("data-slot", f"{moments[-2]:.2f}")
    part(page, "play").click()
    expect(part(page, "play")).to_have_attribute("aria-label", "Pause")
    wait(page, lambda: slot(page) > moments[-2])
    part(page, "play").click()
    part(page, "range").focus()
    page.keyboard.press("End")
    expect(part(page, "range")).to_have_value(part(page, "range").get_attribute("max") or "none")
    expect(part(page, "told")).to_contain_text("#1")
    page.keyboard.press("Home")
    part(page, "canvas").focus()
    page.keyboard.press("k")
    expect(part(page, "play")).to_have_attribute("aria-label", "Pause")


# Plays until two frames of the screen lie in the same moment of the trace: what was drawn for the second, and where.
DRAWN = """(player) => new Promise((done) => {
  const still = player.querySelector('[data-part=canvas]'), over = player.querySelector('.over');
  const pen = CanvasRenderingContext2D.prototype, drawn = { still: 0, over: 0 };
  for (const name of ['stroke', 'fillRect', 'fillText']) {
    const own = pen[name];
    pen[name] = function (...all) {
      drawn[this.canvas === still ? 'still' : 'over'] += 1;
      return own.apply(this, all);
    };
  }
  let last = null;
  const look = () => {
    const now = { ...player.dataset, ...drawn };
    const same = last && now.frame === last.frame && Number(now.slot) > Number(last.slot);
    if (same && now.over > last.over && now.still === last.still) {
      const [whole, part] = [still, over].map((canvas) => canvas.getBoundingClientRect());
      done({ whole: whole.toJSON(), part: part.toJSON() });
    } else if (player.classList.contains('moving')) { last = now; requestAnimationFrame(look); } else done(null);
  };
  requestAnimationFrame(look);
})"""


@pytest.mark.thorough
def test_only_moving_parts_are_drawn_during_a_move(page: Page, address: str) -> None:
    at_rest(page, f"{address}{FIRST}")
    part(page, "speed").select_option("0.25")  # so that also a slow browser draws a moment more than once
    part(page, "first").click()
    part(page, "play").click()
    found = part(page, "player").evaluate(DRAWN)
    assert found is not None, "all is drawn for every frame of the screen"
    whole, part_of_it = found["whole"], found["part"]
    assert part_of_it["width"] * part_of_it["height"] < 0.7 * whole["width"] * whole["height"]
    assert whole["left"] - 1 <= part_of_it["left"] and part_of_it["bottom"] <= whole["bottom"] + 1


@pytest.mark.release
def test_the_rung_before_comes_beside_it_at_a_press(page: Page, address: str) -> None:
    at_rest(page, f"{address}{FIRST.replace('reduce_interleaved', 'reduce_strided')}")
    part(page, "beside").click()
    expect(part(page, "canvas")).to_have_attribute("aria-label", re.compile("Beside it: #2"))
    expect(page).to_have_url(re.compile("beside=1"))
    part(page, "beside").click()
    expect(page).not_to_have_url(re.compile("beside=1"))


@pytest.mark.thorough
def test_it_moves_in_the_hall_and_answers_the_keys(page: Page, address: str) -> None:
    at_rest(page, f"{address}/?ladder=harris&rung=reduce_sequential&show=motion&present=1")
    part(page, "first").click()
    page.keyboard.press("n")
    expect(part(page, "range")).to_have_value("1")  # K before the step is over would end it there
    page.keyboard.press("k")
    expect(part(page, "play")).to_have_attribute("aria-label", "Pause")
    wait(page, lambda: bottom(part(page, "range")) <= 720)


# The place of a thread's cell on the canvas: the middle of the first row of pixels that has its colour.
CELL = """(canvas, colour) => {
  const { width, height } = canvas, ratio = width / canvas.clientWidth;
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
  const at = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const hit = (i) => at.every((value, j) => data[4 * i + j] === value);
  const inside = (i) => hit(i) && hit(i + 8) && hit(i + 8 * width);
  const first = Array.from({ length: width * height }, (_, i) => i).find(inside);
  return first === undefined ? null : { x: ((first % width) + 4) / ratio, y: (Math.floor(first / width) + 4) / ratio };
}"""


@pytest.mark.thorough
def test_a_press_on_a_cell_marks_its_thread_and_the_running_line_is_lit(page: Page, address: str) -> None:
    at_rest(page, f"{address}/?ladder=harris&rung=reduce_sequential&show=motion&present=1")
    expect(part(page, "player")).to_have_attribute("data-marked", "1")
    expect(page.locator(".source .running .number")).to_have_text("22")
    cell = part(page, "canvas").evaluate(CELL, "#b54260")  # the colour of thread 5
    part(page, "canvas").click(position=cell)
    expect(part(page, "player")).to_have_attribute("data-marked", "5")
    expect(part(page, "told")).to_contain_text("thread 5:")


@pytest.mark.release
def test_the_whole_block_is_one_press_away(page: Page, address: str) -> None:
    at_rest(page, f"{address}/?ladder=harris&rung=reduce_sequential&n=4096&block=128&show=motion&present=1")
    expect(part(page, "drawn")).to_have_text("drawn: 16 threads, N = 32")
    part(page, "whole").click()
    expect(part(page, "drawn")).to_have_text("drawn: 128 threads, N = 4,096")
    expect(page).to_have_url(re.compile("whole=1"))


@pytest.mark.release
def test_presenting_from_inside_shows_the_block_in_motion(page: Page, address: str) -> None:
    at_rest(page, f"{address}{FIRST}")
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile(r"show=motion.*present=1|present=1.*show=motion"))
    expect(part(page, "player")).to_have_attribute("data-frame", re.compile(r"\d+"))


TWO_FRAMES = """(player) => new Promise((done) => {
  const first = Number(player.dataset.slot);
  requestAnimationFrame(() => requestAnimationFrame(() => done([first, Number(player.dataset.slot)])));
})"""


@pytest.mark.thorough
def test_reduced_motion_shows_the_next_moment_at_once(laptop: BrowserContext, page: Page, address: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    at_rest(page, f"{address}{FIRST}")
    part(page, "first").click()
    part(page, "on").click()
    seen = part(page, "player").evaluate(TWO_FRAMES)
    assert seen[0] == seen[1] > 0
    expect(part(page, "play")).to_have_attribute("aria-label", "Play")


@pytest.mark.release
def test_a_block_of_256_threads_leaves_time_between_two_frames(page: Page, address: str) -> None:
    """At 60 frames a second there are 16.7 ms for each; what is drawn takes half of them at most, as a rule."""
    at_rest(page, f"{address}{FIRST.replace('block=128', 'block=256')}")
    part(page, "first").click()
    part(page, "play").click()
    drawn = []
    for _ in range(80):
        page.wait_for_timeout(25)
        drawn.append(float(part(page, "player").get_attribute("data-drawn") or "nan"))
    assert sorted(drawn)[len(drawn) // 2] < 8.3


@pytest.mark.release
def test_the_loop_is_a_gif_of_all_moments(page: Page, address: str, tmp_path: Path) -> None:
    at_rest(page, f"{address}{FIRST}")
    with page.expect_download(timeout=240_000) as waited:
        part(page, "gif").click()
    path = tmp_path / "loop.gif"
    waited.value.save_as(path)
    sizes = images_of(path.read_bytes())
    assert waited.value.suggested_filename == "reduce_interleaved.gif"
    assert sizes[0] == (1120, 630) and 30 < len(sizes) <= 141
    assert path.stat().st_size < 6_000_000


def images_of(data: bytes) -> list[tuple[int, int]]:
    """The width and height of each image of a GIF, every LZW code of which is read."""
    assert data[:6] == b"GIF89a" and data[-1:] == b"\x3b"
    at, sizes = 13 + 3 * 256, []
    while data[at] != 0x3B:
        if data[at] == 0x21:
            at += 2
        else:
            assert data[at] == 0x2C
            width, height = (int.from_bytes(data[at + i : at + i + 2], "little") for i in (5, 7))
            sizes.append((width, height))
            at += 11
            packed = b""
            there = at
            while data[there]:
                packed += data[there + 1 : there + 1 + data[there]]
                there += 1 + data[there]
            assert len(unpacked(packed)) == width * height
        while data[at]:
            at += 1 + data[at]
        at += 1
    return sizes


def unpacked(packed: bytes) -> bytes:
    """GIF's LZW with codes of 8 bits and more."""
    table: list[bytes] = []
    out, bits, width, last = bytearray(), 0, 9, b""
    held = 0
    for byte in packed:
        bits |= byte << held
        held += 8
        while held >= width:
            code = bits & (1 << width) - 1
            bits >>= width
            held -= width
            if code == 256:
                table, width, last = [bytes([i]) for i in range(256)] + [b"", b""], 9, b""
                continue
            if code == 257:
                return bytes(out)
            piece = table[code] if code < len(table) else last + last[:1]
            out += piece
            if last and len(table) < 4096:
                table.append(last + piece[:1])
            width = min(12, len(table).bit_length()) if len(table) >= 512 else 9
            last = piece
    raise AssertionError("the image has no end")


@pytest.mark.thorough
def test_the_picture_fits_a_small_projector(page: Page, address: str) -> None:
    at_rest(page, f"{address}{FIRST}")
    wait(page, lambda: bottom(part(page, "range")) <= 720)


@pytest.mark.thorough
def test_every_part_has_a_name(page: Page, address: str) -> None:
    at_rest(page, f"{address}{FIRST}")
    assert "7 steps that combine values" in (part(page, "canvas").get_attribute("aria-label") or "")
    for name in ("first", "back", "play", "on", "last", "range", "speed"):
        assert part(page, name).get_attribute("aria-label")
    values = json.loads(part(page, "player").evaluate("node => JSON.stringify({...node.dataset})"))
    assert {"frame", "slot", "drawn"} <= set(values)


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("beside", ["", "&beside=1"])
def test_the_captions_of_tiles_are_whole_on_a_small_projector(
    page: Page, address: str, tmp_path: Path, beside: str
) -> None:
    at_rest(page, f"{address}/inside?ladder=cs121-tiling&rung=matmul_tiled{beside}")
    texts = [each.text or "" for each in drawing(page, tmp_path).iter(f"{SVG}text")]
    assert any(text.startswith("banks") for text in texts)
    assert not [text for text in texts if text.endswith("…") and not text[0].isdigit()]  # a line of code may be cut


@pytest.mark.release
def test_a_block_with_much_shared_memory_leaves_its_threads_their_place(
    page: Page, address: str, tmp_path: Path
) -> None:
    """Four thousand words, a warp that looks back, and a value that all lanes take from one of theirs at the start."""
    at_rest(page, f"{address}/inside?ladder=crovella-warps&rung=prefix_sum_specialized&n=65536")
    root = drawing(page, tmp_path)
    words = {each.text: float(each.get("y", "nan")) for each in root.iter(f"{SVG}text") if each.text}
    threads = next(y for text, y in words.items() if text.startswith("threads"))
    below = [y for text, y in words.items() if "shared memory" in text or "banks" in text]
    assert min(below) - threads > 60 and "sum += below" in " ".join(words)
    strip = max(float(each.get("y", "0")) for each in root.iter(f"{SVG}rect"))
    assert max(below) < strip
    assert len(list(root.iter(f"{SVG}path"))) == 16  # of one warp: lower arrows than these hide the lanes


@pytest.mark.release
def test_it_opens_where_most_threads_add_not_where_one_takes_the_ragged_end(
    page: Page, address: str, tmp_path: Path
) -> None:
    at_rest(page, f"{address}/inside?ladder=one-launch&rung=reduce_unaligned&n=65536&block=128")
    texts = [each.text or "" for each in drawing(page, tmp_path).iter(f"{SVG}text")]
    assert any(text.startswith("all 128 threads · 16 additions each") for text in texts), texts

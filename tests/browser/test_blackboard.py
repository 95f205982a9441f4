"""The picture at the teaching size, frame by frame, drawn by the page's own scripts in a Chromium without a server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from engine.catalogue import KERNELS, LADDERS, Ladder, Rung
from engine.picture.picture import packed
from engine.picture.teaching import teaching_choice
from engine.plan import settle
from engine.records import Choice, Settled
from tests.browser.conftest import WINDOW
from views.picture import component
from views.server.components import joined

PLACE = {"width": 693, "height": 465}  # pixels of the picture on the fullest slide of 1280 x 720
SMALLEST_CELL, SMALLEST_TEXT = 28, 0.022 * 720
DRAWN = [(ladder, rung) for ladder in LADDERS.values() for rung in ladder.rungs
         if KERNELS[rung.kernel].processor == "gpu" and KERNELS[rung.kernel].emulated
         and not ladder.name.startswith("all-")]  # fmt: skip
# Trees, tiles, shuffles, exchanges, bank conflicts, atomics, a transposition, and a block that is much too large.
SAMPLE = [("harris", "reduce_interleaved"), ("harris", "reduce_unroll_volatile"), ("harris", "reduce_warp_shuffle"),
          ("cs121-tiling", "matmul_naive"), ("cs121-tiling", "matmul_tiled"), ("cs121-banks", "banks_strided"),
          ("heidelberg-volta", "branch_order"), ("heidelberg-volta", "branch_exchange"),
          ("crovella-warps", "warp_movements"), ("transpose", "transpose_tiled")]  # fmt: skip

# A pen that keeps what it draws, and the faults of every moment at which the picture stands still.
LOOK = """async ({ script, picture, given, place, size, palette }) => {
  const parts = await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  const film = new parts.Film(JSON.parse(picture), given, true);
  film.tree = parts.treeOf(film);
  const root = document.body, stops = parts.stopsOf([film]), opening = parts.opening(film);
  const screen = new parts.Screen(root, root.appendChild(document.createElement('canvas')), [film], true);
  screen.palette = palette;
  film.mark = film.frames[film.at(opening).number].threads[1] ?? 0;
  const theme = parts.themeOf(root), measure = document.createElement('canvas').getContext('2d');
  const [spot] = screen.arranged(place.width, place.height, theme), faults = new Set();
  const { lanes, words } = spot.layout, cells = [lanes, ...words.values()].map((grid) => grid.cell(0));
  const smallest = Math.min(...cells.flatMap(({ width, height }) => [width, height]));
  if (smallest < size.cell) faults.add(`a cell of ${smallest.toFixed(1)}`);
  for (const slot of stops.filter((_, i) => i % Math.ceil(stops.length / 40) === 0)) {
    const texts = [], lines = [];
    const fitted = (words, width) => {
      const all = [].concat(words);
      return all.find((each) => measure.measureText(each).width <= width) ?? all.at(-1).slice(0, 4);
    };
    const pen = {
      rect() {}, polygon() {},
      line(x1, y1, x2, y2) { lines.push([[x1, y1], [x2, y2]]); },
      path(points) { lines.push(points); },
      text(words, x, y, { size: high, align, width, mono, weight = 400 }) {
        measure.font = `${weight} ${high}px ${mono ? 'monospace' : 'sans-serif'}`;
        const told = width ? fitted(words, width) : String(words), wide = measure.measureText(told).width;
        const left = align === 'middle' ? x - wide / 2 : align === 'end' ? x - wide : x;
        texts.push({ told, high, box: [left, y - high * 0.36, left + wide, y + high * 0.36] });
      },
    };
    screen.paint(pen, [spot], slot);
    for (const { told, high } of texts) {
      if (high < size.text - 0.01) faults.add(`${told} has ${high.toFixed(1)} pixels`);
    }
    texts.forEach((one, i) => texts.slice(i + 1).forEach((other) => {
      const [a, b] = [one.box, other.box];
      const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]), tall = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
      if (wide > 2 && tall > 2) faults.add(`${one.told} on ${other.told}`);
    }));
    for (const points of lines) for (const [i, [x2, y2]] of points.slice(1).entries()) {
      const [x1, y1] = points[i];
      for (let at = 0; at <= 8; at++) {
        const x = x1 + (x2 - x1) * at / 8, y = y1 + (y2 - y1) * at / 8;
        const crossed = texts.find(({ box }) => x > box[0] && x < box[2] && y > box[1] && y < box[3]);
        if (crossed) faults.add(`a line over ${crossed.told} at ${film.frames[film.at(slot).number].line}`);
      }
    }
  }
  return { faults: [...faults].slice(0, 12), line: film.frames[film.at(opening).number]?.line };
}"""


@cache
def script() -> str:
    """The page's scripts as a module that exports the functions which LOOK uses."""
    modules = [name for name in component._MODULES if name not in ("files", "player", "gif")]
    exports = {"film": ["Film"], "tree": ["treeOf"], "moments": ["stopsOf", "opening"], "screen": ["Screen"],
               "theme": ["themeOf"]}  # fmt: skip
    out = [f"export const {{ {', '.join(names)} }} = ${name};" for name, names in exports.items()]
    folder = component._HERE
    return joined(folder, [*modules, "gif"]).replace("export class", "class") + "\n" + "\n".join(out)


@pytest.fixture(scope="module")
def board(browser: Browser) -> Iterator[Page]:
    """A window of a slide's size, at no page."""
    page = browser.new_page(viewport=WINDOW)
    yield page
    page.close()


def small(ladder: Ladder, rung: Rung) -> Settled:
    chosen = Choice(rung.kernel, ladder.n, ladder.block_size, dtype=ladder.dtype, device="emulator")
    return teaching_choice(settle(chosen))


def looked(page: Page, ladder: Ladder, rung: Rung) -> dict[str, Any]:
    """The faults of the rung's picture and the line at which it opens."""
    choice = small(ladder, rung)
    drawn = component.Drawn(rung, choice, packed(choice))
    return page.evaluate(LOOK, {
        "script": script(), "picture": drawn.picture.text, "place": PLACE, "palette": component.PALETTE,
        "given": {"title": drawn.title, "n": choice.n, "opening": drawn.opening},
        "size": {"cell": SMALLEST_CELL, "text": SMALLEST_TEXT},
    })  # fmt: skip


def check(page: Page, ladder: str, kernel: str) -> None:
    shown = LADDERS[ladder]
    rung = next(each for each in shown.rungs if each.kernel == kernel)
    found = looked(page, shown, rung)
    assert not found["faults"]
    if rung.moment:
        assert rung.moment in KERNELS[kernel].text.splitlines()[found["line"] - 1]


@pytest.mark.thorough
@pytest.mark.parametrize(("ladder", "kernel"), SAMPLE)
def test_every_moment_is_readable_from_the_back_row(board: Page, ladder: str, kernel: str) -> None:
    check(board, ladder, kernel)


COLOURS = """async ({ script, pictures }) => {
  const parts = await import(URL.createObjectURL(new Blob([script], { type: 'text/javascript' })));
  return pictures.map((picture) => {
    const film = new parts.Film(JSON.parse(picture), { title: '', n: 1, opening: null }, true);
    film.tree = parts.treeOf(film);
    const canvas = document.body.appendChild(document.createElement('canvas'));
    const screen = new parts.Screen(document.body, canvas, [film], true);
    screen.palette = { passes: [], global: '#000000', split: '#000000' };
    const [spot] = screen.arranged(693, 465, parts.themeOf(document.body)), found = new Set();
    const at = spot.layout.lanes.cell(0), works = (slot) => film.frames[film.at(slot).number].active.has(0);
    const pen = { path() {}, line() {}, polygon() {}, text() {},
      rect(x, y, width, height, { fill }) { if (x === at.x && y === at.y && height === at.height) found.add(fill); } };
    for (const slot of parts.stopsOf([film]).filter(works)) screen.paint(pen, [spot], slot);
    return [...found];
  });
}"""


@pytest.mark.thorough
def test_a_thread_has_one_colour_on_every_rung(board: Page) -> None:
    harris = LADDERS["harris"]
    pictures = [packed(small(harris, rung)).text for rung in harris.rungs[:4]]
    found = board.evaluate(COLOURS, {"script": script(), "pictures": pictures})
    assert found == [found[0]] * 4 and len(found[0]) == 1


@pytest.mark.release
@pytest.mark.parametrize(("ladder", "kernel"), [(ladder.name, rung.kernel) for ladder, rung in DRAWN])
def test_every_moment_of_every_rung_is_readable(board: Page, ladder: str, kernel: str) -> None:
    check(board, ladder, kernel)

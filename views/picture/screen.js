// The films on the screen. One canvas has the still parts, drawn when they change; the moving parts are on canvases over
// it that are no larger than these, and the cursors on the strips of time are moved, not drawn: a frame costs its moves.

import { layout } from './layout.js';
import { CanvasPen } from './pen.js';
import { MOVED, SETTLED, drawMoving, drawStill, facts, movesOf } from './stage.js';
import { drawCursor, drawTimeline } from './timeline.js';
import { themeKey, themeOf } from './theme.js';

const READABLE = 0.0222; // the size of a text that the back row can read, as a part of the slide's height
const CURSOR = { width: 12, above: 4 }; // of its canvas: the width, and the height of its head above the strip

export class Screen {
  // `hall`: all texts of a block of the teaching size are readable from the back row.
  constructor(root, canvas, films, hall) {
    Object.assign(this, { root, canvas, films, hall, context: canvas.getContext('2d', { alpha: false }), places: null });
    this.total = Math.max(1, ...films.map((film) => film.slots));
    this.most = Math.max(...films.map((film) => film.mostPasses));
    const over = (className) => canvas.parentNode.appendChild(Object.assign(document.createElement('canvas'), { className, ariaHidden: 'true' }));
    this.over = films.map(() => ({ moving: over('over'), cursor: over('over cursor') }));
  }

  end() { for (const { moving, cursor } of this.over) { moving.remove(); cursor.remove(); } }

  // Read the place and the colours again; true if they differ from those that were drawn last.
  changed() {
    const size = [this.canvas.clientWidth, this.canvas.clientHeight, devicePixelRatio || 1].join(' '), themed = themeKey(this.root);
    if (this.places && size === this.size && themed === this.themed) return false;
    Object.assign(this, { size, themed, places: null });
    return true;
  }

  draw(slot) {
    if (!this.places && !this.arrange()) return;
    this.places.forEach((spot, i) => {
      const { film } = spot, { number, progress } = film.at(slot), over = slot > film.slots, moved = over || progress >= MOVED;
      const key = `${number} ${moved} ${over}`;
      if (spot.key !== key) {
        spot.key = key;
        this.still(spot, number, moved, over);
        this.place(spot, this.over[i], over);
      }
      this.move(spot, this.over[i], over ? 1 : progress, slot);
    });
  }

  // Begin anew, in a place of this size; false if it has no size.
  arrange() {
    const { canvas, context } = this, width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
    if (!width || !height) return false;
    const theme = themeOf(this.root);
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.background; context.fillRect(0, 0, width, height);
    this.places = this.arranged(width, height, theme);
    Object.assign(this, { ratio, theme, pen: new CanvasPen(context, theme.font) });
    for (const { film, time, style } of this.places) if (film.frames.length) drawTimeline(this.pen, film, time, this.total, style);
    return true;
  }

  // Lay out the parts of every film. `hall`: the height of the slide; 0 if it need not be readable from far away.
  arranged(width, height, theme, hall = this.hall ? innerHeight : 0) {
    const { films, most, palette } = this;
    const two = films.length > 1, beside = two && width / height > 1.1, gap = 26;
    const own = { width: beside ? (width - gap) / 2 : width, height: two && !beside ? (height - gap) / 2 : height };
    const small = Math.min(2, Math.max(0.9, Math.min(own.height / 400, Math.max(own.width / 560, innerHeight / 900))));
    // A text of size 11.5 is READABLE from the back row in the hall.
    const scale = hall ? Math.max(small, (READABLE * hall) / 11.5) : small;
    return films.map((film, i) => {
      const x = beside ? i * (own.width + gap) : 0, y = two && !beside ? i * (own.height + gap) : 0;
      const head = 44 * scale, strip = Math.min(own.height * (film.lettered ? 0.34 : 0.2), (film.few ? (film.lettered ? 110 : 24) : 30 + 5 * Math.min(8, film.warps)) * scale);
      const left = film.warps > 1 ? 14 * scale : 4; // room for the marks of warps that split
      const stage = { x: x + left, y: y + head, width: own.width - left, height: own.height - head - strip - 8 * scale };
      const time = { x: x + left, y: y + own.height - strip, width: own.width - left - 6, height: strip - 2 };
      const style = { theme, palette, scale, most, least: hall && film.few ? READABLE * hall : 6.5 };
      const box = { x, y, width: own.width, height: own.height - strip - 4 }; // all but the strip and its cursor
      return { film, box, head: { x: x + left, y, width: own.width - left }, time, style, layout: layout(film, stage, scale, most) };
    });
  }

  // Draw all of a moment with one pen, for a saved file.
  paint(pen, places, slot) {
    for (const spot of places) {
      const { film, time, style } = spot, { number, progress } = film.at(slot), over = slot > film.slots;
      if (!film.frames.length) { this.nothing(pen, spot); continue; }
      this.head(pen, spot, number, over);
      const spots = drawStill(pen, film, spot.layout, number, over || progress >= MOVED, style);
      drawMoving(pen, movesOf(film, spot.layout, number, spots, style), over ? 1 : progress, style);
      drawTimeline(pen, film, time, this.total, style);
      drawCursor(pen, time, slot, this.total, style, over);
    }
  }

  still(spot, number, moved, over) {
    const { film, box, style } = spot, { pen, context } = this;
    context.globalAlpha = 1; context.fillStyle = style.theme.background; context.fillRect(box.x, box.y, box.width, box.height);
    if (!film.frames.length) { this.nothing(pen, spot); return; }
    this.head(pen, spot, number, over);
    const spots = drawStill(pen, film, spot.layout, number, moved, style);
    spot.moves = movesOf(film, spot.layout, number, spots, style);
  }

  nothing(pen, { head, style }) {
    pen.text('This block does nothing that can be shown.', head.x, head.y + 20, { fill: style.theme.text, size: 14 });
  }

  head(pen, { film, head, style }, number, over) {
    const { theme, scale } = style, frame = film.frames[number], [label] = film.title.split('  ');
    const told = over ? `ended after ${film.slots.toLocaleString('en')} issue slots` : facts(film, frame);
    pen.text([`${film.title} · ${film.launch}`, `${label} · ${film.launch}`, label], head.x, head.y + 9 * scale, { fill: theme.text, size: 14 * scale, weight: 650, width: head.width * 0.52 });
    pen.text(told, head.x + head.width - 6, head.y + 9 * scale, { fill: over ? this.palette.global : theme.dim, size: 12.5 * scale, align: 'end', weight: over ? 650 : 400, width: head.width * 0.46 });
    pen.rect(head.x, head.y + 19 * scale, head.width - 6, 20 * scale, { fill: theme.cell });
    pen.rect(head.x, head.y + 19 * scale, 5 * scale, 20 * scale, { fill: theme.accent });
    pen.text(`${frame.line}   ${film.picture.lines[frame.line] ?? ''}`, head.x + 11 * scale, head.y + 29.5 * scale, { fill: theme.text, size: 13.5 * scale, mono: true, width: head.width - 24 * scale });
  }

  // Place the canvases of a film's moves and of its cursor, each as large as needed.
  place(spot, { moving, cursor }, over) {
    const { time, style } = spot, box = spot.moves?.box;
    spot.drawn = null;
    moving.hidden = !box;
    if (box) spot.context = this.sheet(moving, box);
    cursor.hidden = !spot.film.frames.length;
    const strip = { x: CURSOR.width / 2, y: CURSOR.above, width: 0, height: time.height };
    const context = this.sheet(cursor, { x: 0, y: 0, width: CURSOR.width, height: time.height + CURSOR.above });
    drawCursor(new CanvasPen(context, style.theme.font), strip, 0, 1, style, over);
  }

  // Make a canvas cover a box, on whole pixels of the screen; drawing there uses the coordinates of the whole.
  sheet(canvas, box) {
    const { ratio } = this, x = Math.floor(box.x * ratio), y = Math.floor(box.y * ratio);
    canvas.width = Math.ceil((box.x + box.width) * ratio) - x; canvas.height = Math.ceil((box.y + box.height) * ratio) - y;
    Object.assign(canvas.style, { left: `${x / ratio}px`, top: `${y / ratio}px`, width: `${canvas.width / ratio}px`, height: `${canvas.height / ratio}px` });
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, -x, -y);
    return context;
  }

  move(spot, { cursor }, progress, slot) {
    const { time, style, moves } = spot;
    cursor.style.transform = `translate(${time.x + (Math.min(slot, this.total) / this.total) * time.width - CURSOR.width / 2}px, ${time.y - CURSOR.above}px)`;
    const come = Math.min(progress, SETTLED); // as far as it is visible
    if (!moves?.box || spot.drawn === come) return;
    const { box: { x, y, width, height } } = moves;
    spot.drawn = come;
    spot.context.clearRect(x - 1, y - 1, width + 2, height + 2);
    drawMoving(new CanvasPen(spot.context, style.theme.font), moves, come, style);
  }
}

// The component: one picture or two side by side on one clock, played, stepped, scrubbed and saved.

import { Film } from './film.js';
import { layout } from './layout.js';
import { CanvasPen } from './pen.js';
import { MOVED, drawMoving, drawStill, facts } from './stage.js';
import { drawCursor, drawTimeline } from './timeline.js';
import { opening, stopsOf } from './moments.js';
import { treeOf } from './tree.js';
import { saveGif, saveSvg } from './files.js';
import { themeKey, themeOf } from './theme.js';

const STOP_S = 0.9; // a telling frame at speed 1, on average
const SHORTEST_S = 8, LONGEST_S = 45;
const STILL = matchMedia('(prefers-reduced-motion: reduce)');
const players = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  const known = players.get(parentElement);
  if (known?.id === data.id && known.root.isConnected) { known.settle(data, setStateValue); return undefined; }
  known?.end();
  const player = new Player(data, parentElement, setStateValue, known);
  players.set(parentElement, player);
  return () => { if (players.get(parentElement) === player) { player.end(); players.delete(parentElement); } };
}

class Player {
  constructor(data, parent, tell, before) {
    this.id = data.id;
    this.films = data.pictures.map(({ picture, title, colours }) => new Film(JSON.parse(picture), title, colours));
    for (const film of this.films) film.tree = treeOf(film);
    this.most = Math.max(...this.films.map((film) => film.mostPasses));
    this.total = Math.max(1, ...this.films.map((film) => film.slots));
    this.main = this.films.at(-1);
    this.stops = stopsOf(this.films);
    this.speed = before?.speed ?? 1;
    this.slot = 0; this.touched = false; this.playing = false; this.until = null;
    this.find(parent);
    this.settle(data, tell);
    this.listen();
    this.seek(opening(this.main));
    this.touched = false;
  }

  find(parent) {
    const get = (name) => parent.querySelector(`[data-part=${name}]`);
    this.root = get('player'); this.canvas = get('canvas'); this.range = get('range');
    this.told = get('told'); this.clock = get('clock'); this.buttons = {};
    for (const name of ['first', 'back', 'play', 'on', 'last', 'beside', 'svg', 'gif']) this.buttons[name] = get(name);
    this.speedMenu = get('speed');
    this.speedMenu.value = String(this.speed);
    this.range.max = this.stops.length - 1;
    this.context = this.canvas.getContext('2d');
  }

  settle(data, tell) {
    this.wish = () => tell('beside', !data.beside);
    this.buttons.beside.hidden = data.beside === null;
    this.buttons.beside.setAttribute('aria-pressed', String(data.beside));
    this.buttons.beside.setAttribute('aria-label', 'Beside the rung before');
    this.palette = data.palette;
    this.root.style.setProperty('--height', data.height);
    this.canvas.setAttribute('aria-label', data.told);
    this.clocks ??= new AbortController();
    this.draw();
  }

  listen() {
    const { signal } = this.clocks, on = (node, event, does) => node.addEventListener(event, does, { signal });
    on(this.buttons.first, 'click', () => this.seek(this.stops[0]));
    on(this.buttons.last, 'click', () => this.seek(this.total));
    on(this.buttons.back, 'click', () => this.step(-1));
    on(this.buttons.on, 'click', () => this.step(1));
    on(this.buttons.play, 'click', () => this.toggle());
    on(this.buttons.beside, 'click', () => this.wish());
    on(this.buttons.svg, 'click', () => saveSvg(this));
    on(this.buttons.gif, 'click', () => saveGif(this));
    on(this.range, 'input', () => this.seek(this.stops[Number(this.range.value)]));
    on(this.speedMenu, 'change', () => { this.speed = Number(this.speedMenu.value); });
    on(this.canvas, 'click', (event) => this.click(event));
    on(this.root, 'keydown', (event) => this.key(event));
    on(window, 'kernelladder-picture', ({ detail }) => this.does[detail]());
    this.sizes = new ResizeObserver(() => { this.places = null; this.draw(); });
    this.sizes.observe(this.canvas);
    this.themes = setInterval(() => { if (themeKey(this.root) !== this.themed) this.draw(); }, 700);
  }

  end() { this.pause(); this.clocks?.abort(); this.sizes?.disconnect(); clearInterval(this.themes); }

  // What the page's keys ask for, by the names of views/session/keys.py.
  does = { play: () => this.toggle(), on: () => this.step(1), back: () => this.step(-1) };

  // ---- the clock

  // Slots a second at speed 1: every telling frame gets its time, within reason.
  get rate() { return this.total / Math.min(LONGEST_S, Math.max(SHORTEST_S, this.stops.length * STOP_S)); }

  toggle() {
    if (this.playing) { this.pause(); return; }
    if (!this.touched || this.slot >= this.total) this.slot = 0;
    this.run(null);
  }

  // Go on to a moment, at its own pace; to the end where none is given.
  run(until) {
    this.touched = this.playing = true; this.until = until;
    const frame = this.main.frames[this.main.at(this.slot).number];
    const pace = until === null ? null : Math.max(this.rate, (until - this.slot) / 0.6, (frame?.slots ?? 1) / 0.8);
    let last = null;
    const tick = (now) => {
      if (!this.playing) return;
      this.slot = Math.min(this.until ?? this.total, this.slot + (last === null ? 0 : (Math.min(now - last, 100) / 1000) * (pace ?? this.rate * this.speed)));
      last = now;
      this.draw();
      if (this.slot >= (this.until ?? this.total)) { this.pause(); return; }
      this.tick = requestAnimationFrame(tick);
    };
    this.tick = requestAnimationFrame(tick);
    this.shown();
  }

  pause() {
    cancelAnimationFrame(this.tick);
    this.playing = false; this.until = null;
    this.shown();
    this.tell();
  }

  seek(slot) {
    this.pause();
    this.touched = true;
    this.slot = Math.min(this.total, Math.max(0, slot));
    this.draw(); this.tell();
  }

  step(by) {
    const from = this.until ?? this.slot;
    const next = by > 0 ? this.stops.find((stop) => stop > from + 1e-6) : this.stops.findLast((stop) => stop < from - 1e-6);
    const goal = next ?? (by > 0 ? this.total : this.stops[0]);
    if (by < 0 || STILL.matches) { this.seek(goal); return; }
    if (this.playing) { cancelAnimationFrame(this.tick); this.slot = from; }
    const { number } = this.main.at(goal);
    this.slot = Math.max(this.slot, Math.min(goal, this.main.starts[number] ?? 0));
    this.run(goal);
  }

  click(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const strip = this.places?.find(({ time }) => y >= time.y - 6 && y <= time.y + time.height + 6 && x >= time.x - 4 && x <= time.x + time.width + 4);
    if (strip) this.seek(((x - strip.time.x) / strip.time.width) * this.total);
    else this.toggle();
  }

  key(event) {
    if (event.target === this.speedMenu || event.ctrlKey || event.metaKey || event.altKey) return;
    const space = event.key === ' ' && (event.target === this.canvas || event.target === this.range);
    if (!space) return;
    event.preventDefault(); event.stopPropagation();
    this.toggle();
  }

  // ---- what is seen

  shown() {
    const moving = this.playing && this.until === null;
    this.root.classList.toggle('moving', moving);
    this.buttons.play.setAttribute('aria-label', moving ? 'Pause' : 'Play');
  }

  tell() {
    const words = this.films.map((film) => { const { number } = film.at(this.slot), frame = film.frames[number]; return frame ? `${film.title}: line ${frame.line}, ${facts(film, frame)}` : film.title; }).join('. ');
    this.told.textContent = words;
    this.range.setAttribute('aria-valuetext', words);
  }

  draw() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight, ratio = devicePixelRatio || 1;
    if (!width || !height) return;
    const began = performance.now();
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio); this.canvas.height = Math.round(height * ratio); this.places = null;
    }
    const theme = themeOf(this.root);
    if (themeKey(this.root) !== this.themed) { this.themed = themeKey(this.root); this.places = null; }
    this.places ??= this.arranged(width, height, theme, ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.globalAlpha = 1;
    this.context.fillStyle = theme.background; this.context.fillRect(0, 0, width, height);
    this.paint(new CanvasPen(this.context, theme.font), this.places, theme, this.slot);
    this.context.globalAlpha = 1;
    const { number } = this.main.at(this.slot);
    this.range.value = Math.max(0, this.stops.findLastIndex((stop) => stop <= this.slot + 1e-6));
    this.clock.textContent = `${Math.round(this.slot).toLocaleString('en')} / ${this.total.toLocaleString('en')} issue slots`;
    Object.assign(this.root.dataset, { frame: number, slot: this.slot.toFixed(2), drawn: (performance.now() - began).toFixed(2) });
  }

  // Where the parts of every film stand, and its strip of time, which is drawn once.
  arranged(width, height, theme, ratio) {
    const two = this.films.length > 1, beside = two && width / height > 1.1, gap = 26;
    const own = { width: beside ? (width - gap) / 2 : width, height: two && !beside ? (height - gap) / 2 : height };
    const scale = Math.min(2, Math.max(0.9, Math.min(own.height / 400, Math.max(own.width / 560, innerHeight / 900))));
    return this.films.map((film, i) => {
      const x = beside ? i * (own.width + gap) : 0, y = two && !beside ? i * (own.height + gap) : 0;
      const head = 44 * scale, strip = Math.min(own.height * 0.2, (30 + 5 * Math.min(8, film.warps)) * scale);
      const left = 14 * scale;
      const stage = { x: x + left, y: y + head, width: own.width - left, height: own.height - head - strip - 8 * scale };
      const time = { x: x + left, y: y + own.height - strip, width: own.width - left - 6, height: strip - 2 };
      const style = { theme, palette: this.palette, scale, most: this.most };
      const box = { x, y: y + head, width: own.width, height: own.height - head - strip };
      const layers = ratio ? { canvas: sheet(box, ratio), box, ratio, time: once(film, time, this.total, style, ratio) } : null;
      return { film, head: { x: x + left, y, width: own.width - left }, time, style, layout: layout(film, stage, scale, this.most), layers };
    });
  }

  paint(pen, places, theme, slot) {
    for (const spot of places) {
      const { film, head, time, style, layout: place } = spot;
      const { number, progress } = film.at(slot), frame = film.frames[number], { scale } = style;
      if (!frame) { pen.text('This block does nothing that can be shown.', head.x, head.y + 20, { fill: theme.text, size: 14 }); continue; }
      const over = slot > film.slots, colour = film.colours[frame.line] ?? theme.accent;
      const told = over ? `ended after ${film.slots.toLocaleString('en')} issue slots` : facts(film, frame);
      pen.text(film.title, head.x, head.y + 9 * scale, { fill: theme.text, size: 14 * scale, weight: 650, width: head.width * 0.5 });
      pen.text(told, head.x + head.width - 6, head.y + 9 * scale, { fill: over ? this.palette.global : theme.dim, size: 12.5 * scale, align: 'end', weight: over ? 650 : 400, width: head.width * 0.48 });
      pen.rect(head.x, head.y + 19 * scale, head.width - 6, 20 * scale, { fill: theme.cell });
      pen.rect(head.x, head.y + 19 * scale, 5 * scale, 20 * scale, { fill: colour });
      pen.text(`${frame.line}   ${film.picture.lines[frame.line] ?? ''}`, head.x + 11 * scale, head.y + 29.5 * scale, { fill: theme.text, size: 13.5 * scale, mono: true, width: head.width - 24 * scale });
      const moved = over || progress >= MOVED;
      const spots = spot.layers ? this.layer(pen, spot, number, moved) : drawStill(pen, film, place, number, moved, style);
      drawMoving(pen, film, place, number, over ? 1 : progress, spots, style);
      if (spot.layers) pen.context.globalAlpha = 1;
      if (spot.layers) pen.context.drawImage(spot.layers.time, time.x, time.y, time.width, time.height);
      else drawTimeline(pen, film, time, this.total, style);
      drawCursor(pen, time, slot, this.total, style, over);
    }
  }

  // What stands still of a frame is drawn once, on a canvas of its own.
  layer(pen, { film, layout: place, style, layers }, number, moved) {
    const key = `${number} ${moved}`, { canvas, box, ratio } = layers;
    if (layers.key !== key) {
      const context = canvas.getContext('2d');
      context.setTransform(ratio, 0, 0, ratio, -box.x * ratio, -box.y * ratio);
      context.globalAlpha = 1;
      context.clearRect(box.x, box.y, box.width, box.height);
      layers.spots = drawStill(new CanvasPen(context, style.theme.font), film, place, number, moved, style);
      layers.key = key;
    }
    pen.context.globalAlpha = 1;
    pen.context.drawImage(canvas, box.x, box.y, box.width, box.height);
    return layers.spots;
  }

  name() { return this.films.map((film) => film.picture.kernel).join('-'); }
}

function sheet({ width, height }, ratio) {
  return Object.assign(document.createElement('canvas'), { width: Math.ceil(width * ratio), height: Math.ceil(height * ratio) });
}

// A strip of time on a canvas of its own.
function once(film, { width, height }, total, style, ratio) {
  const canvas = sheet({ width, height }, ratio), context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  drawTimeline(new CanvasPen(context, style.theme.font), film, { x: 0, y: 0, width, height }, total, style);
  return canvas;
}

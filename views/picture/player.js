// The component: one picture or two side by side on one clock, played, stepped, scrubbed and saved.

import { Film } from './film.js';
import { facts } from './stage.js';
import { opening, stopsOf } from './moments.js';
import { Screen } from './screen.js';
import { treeOf } from './tree.js';
import { saveGif, saveSvg, svgOf } from './files.js';

const STOP_S = 0.9; // of a telling frame at speed 1, on average
const SHORTEST_S = 8, LONGEST_S = 45;
const CLOCK_MS = 100; // between two updates of the clock: faster is unreadable
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

// The thread to mark at first: the second one that works, of a matrix the second one of the second row.
function markedAt(film, slot) {
  const { threads } = film.frames[film.at(slot).number] ?? { threads: [] }, [across, down] = film.picture.shape;
  const wanted = down > 1 ? across + 1 : threads[1];
  return threads.includes(wanted) ? wanted : threads[0] ?? 0;
}

// Light a line of the page's source, or the fold that hides it.
let lit = null;
function light(number) {
  if (number === lit?.number && lit?.row.isConnected) return;
  lit?.row.classList.remove('running');
  const digits = [...document.querySelectorAll('.source .line:not(.gone) > .number')].find((each) => each.textContent === String(number));
  const row = digits?.closest('details:not([open])')?.querySelector('summary') ?? digits?.parentNode;
  row?.classList.add('running');
  lit = row ? { number, row } : null;
}

class Player {
  constructor(data, parent, tell, before) {
    this.id = data.id;
    this.films = data.pictures.map((drawn) => new Film(JSON.parse(drawn.picture), drawn, data.few));
    for (const film of this.films) film.tree = treeOf(film);
    this.main = this.films.at(-1);
    this.stops = stopsOf(this.films);
    this.speed = before?.speed ?? 1;
    this.slot = 0; this.touched = false; this.playing = false; this.until = null;
    this.find(parent);
    this.screen = new Screen(this.root, this.canvas, this.films, data.hall);
    this.total = this.screen.total;
    this.settle(data, tell);
    this.listen();
    const began = opening(this.main);
    for (const film of this.films) film.mark = markedAt(film, began);
    this.seek(began);
    this.touched = false;
  }

  find(parent) {
    const get = (name) => parent.querySelector(`[data-part=${name}]`);
    this.root = get('player'); this.canvas = get('canvas'); this.range = get('range');
    this.told = get('told'); this.clock = get('clock'); this.size = get('drawn'); this.buttons = {};
    for (const name of ['first', 'back', 'play', 'on', 'last', 'beside', 'whole', 'svg', 'gif']) this.buttons[name] = get(name);
    this.speedMenu = get('speed');
    this.speedMenu.value = String(this.speed);
    this.range.max = this.stops.length - 1;
  }

  settle(data, tell) {
    this.wish = () => tell('beside', !data.beside);
    this.buttons.beside.hidden = data.beside === null;
    this.buttons.beside.setAttribute('aria-pressed', String(data.beside));
    this.buttons.beside.setAttribute('aria-label', 'Beside the rung before');
    this.resize = () => tell('whole', !data.whole);
    this.buttons.whole.hidden = data.whole === null;
    this.buttons.whole.setAttribute('aria-pressed', String(data.whole));
    this.size.textContent = `drawn: ${this.main.launch}${data.note && ` · ${data.note}`}`;
    this.root.classList.toggle('hall', data.hall);
    this.root.classList.toggle('few', data.few);
    this.screen.palette = data.palette;
    this.root.style.setProperty('--height', data.height);
    this.canvas.setAttribute('aria-label', data.told);
    this.clocks ??= new AbortController();
    this.look();
  }

  listen() {
    const { signal } = this.clocks, on = (node, event, does) => node.addEventListener(event, does, { signal });
    on(this.buttons.first, 'click', () => this.seek(this.stops[0]));
    on(this.buttons.last, 'click', () => this.seek(this.total));
    on(this.buttons.back, 'click', () => this.step(-1));
    on(this.buttons.on, 'click', () => this.step(1));
    on(this.buttons.play, 'click', () => this.toggle());
    on(this.buttons.beside, 'click', () => this.wish());
    on(this.buttons.whole, 'click', () => this.resize());
    on(this.buttons.svg, 'click', () => saveSvg(this));
    on(this.buttons.gif, 'click', () => saveGif(this));
    on(this.range, 'input', () => this.seek(this.stops[Number(this.range.value)]));
    on(this.speedMenu, 'change', () => { this.speed = Number(this.speedMenu.value); });
    on(this.canvas, 'click', (event) => this.click(event));
    on(this.root, 'keydown', (event) => this.key(event));
    on(window, 'kernelladder-picture', ({ detail }) => (detail.startsWith('to ') ? this.seek(Number(detail.slice(3))) : this.does[detail]()));
    this.sizes = new ResizeObserver(() => this.look());
    this.sizes.observe(this.canvas);
    this.themes = setInterval(() => this.look(), 700);
  }

  // Draw anew if the place or the colours have changed.
  look() {
    if (this.screen.changed()) this.draw();
    else light(this.main.frames[this.main.at(this.slot).number]?.line ?? null);
  }

  end() { this.pause(); light(null); this.clocks?.abort(); this.sizes?.disconnect(); clearInterval(this.themes); this.screen.end(); }

  // What the page's keys ask for, by the names of views/server/keys.py.
  does = { play: () => this.toggle(), on: () => this.step(1), back: () => this.step(-1) };

  // ---- the clock

  // Slots per second at speed 1: every telling frame gets its time, within limits.
  get rate() { return this.total / Math.min(LONGEST_S, Math.max(SHORTEST_S, this.stops.length * STOP_S)); }

  toggle() {
    if (this.playing) { this.pause(); return; }
    if (!this.touched || this.slot >= this.total) this.slot = 0;
    this.run(null);
  }

  // Play on to a moment, at the usual speed; to the end if none is given.
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
    const strip = this.screen.places?.find(({ time }) => y >= time.y - 6 && y <= time.y + time.height + 6 && x >= time.x - 4 && x <= time.x + time.width + 4);
    if (strip) this.seek(((x - strip.time.x) / strip.time.width) * this.total);
    else if (!this.mark(x, y)) this.toggle();
  }

  // Mark the thread at a place of the canvas; false if there is none.
  mark(x, y) {
    for (const { film, layout: { lanes } } of this.screen.places ?? []) for (let thread = 0; thread < lanes.count; thread++) {
      const cell = lanes.cell(thread);
      if (x < cell.x || x > cell.x + cell.width || y < cell.y || y > cell.y + cell.height) continue;
      for (const each of this.films) each.mark = thread;
      this.screen.places = null;
      this.draw(); this.tell();
      return true;
    }
    return false;
  }

  key(event) {
    if (event.target === this.speedMenu || event.ctrlKey || event.metaKey || event.altKey) return;
    const space = event.key === ' ' && (event.target === this.canvas || event.target === this.range);
    if (!space) return;
    event.preventDefault(); event.stopPropagation();
    this.toggle();
  }

  // ---- drawing

  shown() {
    const moving = this.playing && this.until === null;
    this.root.classList.toggle('moving', moving);
    this.buttons.play.setAttribute('aria-label', moving ? 'Pause' : 'Play');
  }

  tell() {
    const words = this.films.map((film) => { const { number } = film.at(this.slot), frame = film.frames[number]; return frame ? `${film.title}: line ${frame.line}, ${facts(film, frame)[0]}` : film.title; }).join('. ');
    const first = !this.told.textContent;
    this.told.textContent = words;
    this.range.setAttribute('aria-valuetext', words);
    window.dispatchEvent(new CustomEvent('kernelladder-moment', { detail: { words, slot: this.slot, first, drawing: () => svgOf(this) } }));
  }

  draw() {
    const began = performance.now();
    this.screen.draw(this.slot);
    const moment = String(Math.max(0, this.stops.findLastIndex((stop) => stop <= this.slot + 1e-6)));
    if (this.range.value !== moment) this.range.value = moment;
    if (!this.playing || began - (this.ticked ?? 0) >= CLOCK_MS) {
      this.ticked = began;
      this.clock.textContent = `${Math.round(this.slot).toLocaleString('en')} / ${this.total.toLocaleString('en')} issue slots`;
    }
    const { number } = this.main.at(this.slot);
    light(this.main.frames[number]?.line ?? null);
    Object.assign(this.root.dataset, { frame: number, marked: this.main.mark, slot: this.slot.toFixed(2), drawn: (performance.now() - began).toFixed(2) });
  }

  name() { return this.films.map((film) => film.picture.kernel).join('-'); }
}

// One moment of a block: its threads, the memory that they touch, and what moves between them.

import { WARP } from './film.js';
import { busiest, counted, drawBand, drawBanks, drawMatrix, drawWords, emptyBand, inside } from './memory.js';
import { drawTree } from './tree.js';

export const MOVED = 0.62; // from here on a value has arrived
const MOST_TOLD = 20; // arrows that show their numbers
const MOST_ARROWS = 130; // if there are more, only the busiest warp's are drawn
const LOW = 12; // pixels, at scale 1, of a row of threads: arrows from lane to lane that are lower hide the lanes

// Draw the still parts of a frame: before its values have arrived (`moved` false), and after. Returns the places of the
// words of global memory.
export function drawStill(pen, film, place, index, moved, style) {
  const frame = film.frames[index];
  const before = film.state(index), after = moved ? film.state(index + 1) : before;
  const labels = { fill: style.theme.dim, size: 11.5 * style.scale };
  for (const { words, x, y, width } of place.labels) pen.text(words, x, y, { ...labels, width });
  for (const [number, spot] of place.matrices) drawMatrix(pen, film, number, spot, index, style);
  const spots = bands(pen, film, frame, place, style);
  for (const [number, grid] of place.words) drawWords(pen, film, frame, number, grid, after.words[number], changed(before, after, number), style);
  drawThreads(pen, film, frame, place.lanes, { ...after, hand: moved ? after.hand : held(frame, before) }, moved, style);
  if (place.banks) drawBanks(pen, film, frame, place.banks, style);
  if (place.tree) drawTree(pen, film, place.tree, index, style);
  return spots;
}

// The moving parts of a frame: values on the way from their source to their target, and the wall built at a barrier;
// `box`: encloses all of it at any time, null if nothing moves.
export function movesOf(film, place, index, spots, { theme, scale }) {
  const frame = film.frames[index], wall = frame.kind === 'barrier' ? place.wall : null;
  const found = frame.sums.length ? sums(film, frame, place, spots) : frame.shuffles.length ? shuffles(frame, place) : copies(film, frame, place, spots);
  const crowded = found.length > WARP && place.lanes.height / place.lanes.rows < LOW * scale && found.every(({ lanes }) => lanes);
  const focus = crowded || found.length > MOST_ARROWS ? warpOf(found[0]) : null;
  const chosen = found.filter((arrow) => focus === null || warpOf(arrow) === focus);
  const arrows = chosen.map(({ from, to, value, symbol, thin }) => ({
    points: path(from, to),
    look: thin ? { stroke: theme.text, line: 1, alpha: 0.35, head: 0 }
      : { stroke: theme.arrow, line: Math.max(1.2, 1.5 * scale), alpha: chosen.length > 40 ? 0.72 : 0.95, head: Math.min(7 * scale, to.width * 0.45) },
    words: !thin && !crowded && value !== undefined && chosen.length <= MOST_TOLD ? `${symbol} ${value}` : null,
  }));
  return { wall, arrows, box: around(wall, arrows, scale) };
}

// Draw a frame's moves at a progress from 0 to 1; they stand still between SETTLED and TOLD, and after it.
export const SETTLED = 0.66, TOLD = 0.97;
export function drawMoving(pen, { wall, arrows }, progress, style) {
  if (wall) drawWall(pen, wall, progress, style);
  const part = Math.min(1, Math.max(0.02, progress / MOVED));
  for (const { points, look, words } of arrows) {
    pen.curve(points, { ...look, part });
    if (words && progress < TOLD) pill(pen, on(points, part), words, style);
  }
}

// A curve lies between its points; its head and its number reach further.
function around(wall, arrows, scale) {
  const xs = [], ys = [];
  if (wall) { xs.push(wall.x, wall.x + wall.width); ys.push(wall.y, wall.y + wall.height); }
  for (const { points, look, words } of arrows) {
    const wide = Math.max(look.head + look.line, words ? pillWidth(words, scale) / 2 + 1 : 0), high = Math.max(look.head + look.line, words ? 20 * scale : 0);
    for (let i = 0; i < 8; i += 2) { xs.push(points[i] - wide, points[i] + wide); ys.push(points[i + 1] - high, points[i + 1] + high); }
  }
  if (!xs.length) return null;
  const x = Math.min(...xs), y = Math.min(...ys);
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

// Draw the values that the threads hold while they fetch the other side of a sum.
function held(frame, { hand }) {
  const own = frame.sums.at(-1)?.operands.find((operand) => operand.values.length && (operand.source === 'own' || (operand.source !== 'lane' && operand.places.includes(-1))));
  if (!own) return hand;
  const now = [...hand];
  frame.threads.forEach((thread, i) => { now[thread] = own.values[i]; });
  return now;
}

function changed(before, after, number) {
  const words = new Set();
  if (before !== after) after.words[number].forEach((value, at) => { if (value !== before.words[number][at]) words.add(at); });
  return words;
}

function bands(pen, film, frame, place, style) {
  const touches = frame.touches.filter((touch) => film.isGlobal(touch)).slice(-place.bands.length || undefined);
  return place.bands.map((band, i) => {
    if (!touches[i]) { emptyBand(pen, band, style); return null; }
    return { touch: touches[i], spots: drawBand(pen, film, frame, touches[i], band, style) };
  });
}

// ---- threads

function drawThreads(pen, film, frame, grid, state, moved, style) {
  const { theme, scale } = style, { colours } = film;
  const multiplying = frame.sums.some((sum) => sum.symbol.startsWith('×')) && frame.combined;
  for (let thread = 0; thread < film.picture.threads; thread++) {
    const { x, y, width, height } = grid.cell(thread), warp = Math.floor(thread / WARP);
    const active = frame.active.has(thread), asleep = !frame.lanes[warp];
    const own = colours[state.line[thread]] ?? theme.rule;
    if (active && multiplying) {
      const share = Math.min(1, state.made[thread] / film.mostMade);
      pen.rect(x, y, width, height, { fill: colours[frame.line] ?? theme.accent, alpha: 0.35 });
      pen.rect(x, y + height * (1 - share), width, height * share, { fill: colours[frame.line] ?? theme.accent });
    } else if (active) {
      const jumps = frame.kind === 'branch' && frame.splits && !((frame.taken[warp] >>> (thread % WARP)) & 1);
      pen.rect(x, y, width, height, { fill: colours[frame.line] ?? theme.accent, alpha: jumps ? 0.45 : 1 });
    } else {
      pen.rect(x, y, width, height, { fill: theme.cell, alpha: asleep ? 0.55 : 1 });
      if (!asleep) pen.rect(x, y, width, height, { stroke: theme.idle, line: Math.min(1.5, width / 8) });
      if (height > 8) pen.rect(x, y + height - Math.max(2, height * 0.12), width, Math.max(2, height * 0.12), { fill: own, alpha: asleep ? 0.35 : 0.7 });
    }
    inside(pen, state.hand[thread], x, y, width, height, active ? theme.onColour : theme.text, active && moved && !multiplying);
  }
  if (frame.splits) frame.taken.forEach((jump, warp) => {
    if (!jump || jump === frame.lanes[warp]) return;
    const { x, y, height } = grid.cell(Math.min(warp * WARP, film.picture.threads - 1)), size = Math.min(9 * scale, height * 0.8);
    pen.polygon([[x - 2 - size, y + (height - size) / 2], [x - 2 - size, y + (height + size) / 2], [x - 2, y + height / 2]], { fill: style.palette.split });
  });
}

// A barrier is a wall: no thread passes before all have arrived.
function drawWall(pen, wall, progress, { theme, scale }) {
  const course = wall.height / 2, brick = 22 * scale, built = wall.width * Math.min(1, 0.15 + progress * 1.3);
  pen.rect(wall.x, wall.y, built, wall.height, { fill: theme.wall });
  for (let row = 0; row < 2; row++) {
    for (let x = row ? brick / 2 : brick; x < built; x += brick) pen.rect(wall.x + x, wall.y + row * course, 1.2, course, { fill: theme.background });
    if (row) pen.rect(wall.x, wall.y + course - 0.6, built, 1.2, { fill: theme.background });
  }
}

// ---- moving parts

const warpOf = ({ thread }) => Math.floor(thread / WARP);

// An arrow from cell to cell: an arc over the row if both are in one row, else across the rows.
function path(from, to) {
  const x1 = from.x + from.width / 2, x2 = to.x + to.width / 2;
  if (Math.abs(from.y - to.y) < 1) {
    const lift = Math.min(from.height * 0.75 + Math.abs(x1 - x2) * 0.1, from.height * 2.2);
    return [x1, from.y + 2, x1, from.y - lift, x2, to.y - lift, x2, to.y + 3];
  }
  const down = to.y > from.y, y1 = down ? from.y + from.height : from.y, y2 = down ? to.y : to.y + to.height, bend = (y2 - y1) * 0.45;
  const aside = Math.abs(x1 - x2) < 1 && Math.abs(y2 - y1) > from.height * 1.6 ? from.width * 0.66 : 0; // between the columns
  return aside ? [x1, y1, x1 + aside * 1.3, y1 + (y2 - y1) * 0.25, x1 + aside * 1.3, y1 + (y2 - y1) * 0.75, x2, y2] : [x1, y1, x1, y1 + bend, x2, y2 - bend, x2, y2];
}

// The point of a curve at a progress.
function on(points, t) {
  const u = 1 - t;
  const at = (i) => u * u * u * points[i] + 3 * u * u * t * points[i + 2] + 3 * u * t * t * points[i + 4] + t * t * t * points[i + 6];
  return { x: at(0), y: at(1) };
}

const PILL = 11.5; // size of its type
const pillWidth = (words, scale) => words.length * PILL * scale * 0.6 + 6;

function pill(pen, { x, y }, words, { theme, scale }) {
  const size = PILL * scale, width = pillWidth(words, scale);
  pen.rect(x - width / 2, y - size * 1.6, width, size * 1.4, { fill: theme.background, stroke: theme.arrow, line: 1 });
  pen.text(words, x, y - size * 0.88, { fill: theme.text, size, align: 'middle', weight: 600 });
}

function sums(film, frame, place, spots) {
  const stored = frame.touches.find((touch) => touch.kind === 'store' && place.words.has(touch.array));
  const made = [];
  for (const sum of frame.sums) {
    if (sum.symbol.startsWith('×')) continue; // a multiply-add highlights its operands
    frame.threads.forEach((thread, i) => {
      if (sum.operands.some((o) => spots.some((band) => band?.touch.array === o.source)) && Math.floor(thread / WARP) !== busiestOf(frame)) return;
      const home = stored && place.words.get(stored.array).cell(stored.places[i] / film.picture.arrays[stored.array].element);
      for (const operand of sum.operands) {
        const from = origin(film, frame, place, spots, operand, i);
        const to = home && operand.source !== 'lane' && !from?.global ? home : place.lanes.cell(thread);
        if (from && (Math.abs(from.x - to.x) > 0.5 || Math.abs(from.y - to.y) > 0.5)) {
          made.push({ thread, from, to, thin: from.global, lanes: operand.source === 'lane', symbol: sum.symbol, value: operand.values.length ? shown(operand.values[i]) : undefined });
        }
      }
    });
  }
  return made;
}

// The busiest warp of a frame's first memory instruction.
const busiestOf = (frame) => (frame.touches.length ? busiest(frame.touches[0]) : 0);

function origin(film, frame, place, spots, operand, i) {
  const at = operand.places[i];
  if (at === undefined || at < 0) return null;
  if (operand.source === 'lane') return place.lanes.cell(at);
  const words = place.words.get(operand.source);
  if (words) return words.cell(Math.floor(at / film.picture.arrays[operand.source].element));
  for (const band of spots) {
    if (!band || band.touch.array !== operand.source || band.touch.places[i] !== at) continue;
    const spot = band.spots.get(i);
    if (spot) return { x: spot.x - 1, y: spot.y, width: 2, height: spot.bottom - spot.y, global: true };
  }
  return null;
}

function shuffles(frame, place) {
  const made = [];
  for (const { sources, values } of frame.shuffles) frame.threads.forEach((thread, i) => {
    if (sources[i] !== thread) made.push({ thread, from: place.lanes.cell(sources[i]), to: place.lanes.cell(thread), lanes: true, symbol: '', value: values.length ? shown(values[i]) : undefined });
  });
  return made;
}

const shown = (value) => (value === null ? '?' : String(Math.round(value * 100) / 100).replace('-', '−'));

// Loads and stores that add nothing: lines of the busiest warp.
function copies(film, frame, place, spots) {
  const made = [];
  for (const touch of frame.touches) {
    const focus = busiest(touch), words = place.words.get(touch.array), band = spots.find((it) => it && it.touch === touch);
    frame.threads.forEach((thread, i) => {
      if (Math.floor(thread / WARP) !== focus) return;
      const lane = place.lanes.cell(thread);
      let cell = null;
      if (words) cell = words.cell(Math.floor(touch.places[i] / film.picture.arrays[touch.array].element));
      else if (band?.spots.has(i)) { const spot = band.spots.get(i); cell = { x: spot.x - 1, y: spot.y, width: 2, height: spot.bottom - spot.y }; }
      if (cell) made.push(touch.kind === 'load' ? { thread, from: cell, to: lane, thin: true } : { thread, from: lane, to: cell, thin: true });
    });
  }
  return made;
}

// ---- in words

export function facts(film, frame) {
  const { threads } = film.picture, told = [];
  const all = frame.threads.length === threads;
  told.push(`${all ? 'all' : `${frame.threads.length} of`} ${threads} threads`);
  if (frame.kind === 'barrier') told.push('wait at the barrier');
  if (frame.splits) told.push('the branch splits a warp');
  if (frame.combined > 1) told.push(`${frame.combined} additions each`);
  const conflicts = Math.max(0, ...frame.touches.flatMap((touch) => touch.conflicts));
  if (conflicts) told.push(counted(conflicts, 'bank conflict'));
  for (const touch of frame.touches) {
    const warp = busiest(touch);
    if (touch.kind === 'atomic') {
      const met = new Map();
      frame.threads.forEach((t, i) => { if (Math.floor(t / WARP) === warp) met.set(touch.places[i], (met.get(touch.places[i]) ?? 0) + 1); });
      const most = Math.max(...met.values());
      if (most > 1) told.push(`${most} lanes of a warp at one address, one after the other`);
    }
  }
  return told.join(' · ');
}

// One moment of a block: its threads, the memory that they touch, and what moves between them.

import { arrowsOf, gridAt } from './arrows.js';
import { WARP, counted, short, threadColour } from './film.js';
import { busiest, drawBand, drawBanks, drawMatrix, drawWords, emptyBand, inside, markCell } from './memory.js';
import { drawSteps, drawTree } from './tree.js';

export const MOVED = 0.62; // from here on a value has arrived

// Draw the still parts of a frame: before its values have arrived (`moved` false), and after. Returns the places of the
// words of global memory.
export function drawStill(pen, film, place, index, moved, style) {
  const frame = film.frames[index];
  const before = film.state(index), after = moved ? film.state(index + 1) : before;
  const labels = { fill: style.theme.dim, size: 11.5 * style.scale };
  for (const { words, x, y, width } of place.labels) pen.text(words, x, y, { ...labels, width });
  for (const [number, spot] of place.matrices) drawMatrix(pen, film, number, spot, index, style);
  const spots = bands(pen, film, frame, place, style);
  if (place.steps) drawSteps(pen, film, place.steps, index, moved, style);
  for (const [number] of place.words) {
    if (!place.steps?.levels.includes(index)) drawWords(pen, film, frame, number, gridAt(place, number, index, moved), after.words[number], changed(before, after, number), Boolean(place.steps), style);
  }
  drawThreads(pen, film, frame, place.lanes, { ...after, hand: moved ? after.hand : held(frame, before) }, moved, style);
  if (place.banks) drawBanks(pen, film, frame, place.banks, style);
  if (place.tree) drawTree(pen, film, place.tree, index, style);
  return spots;
}

// The moving parts of a frame: values on the way from their source to their target, and the wall built at a barrier;
// `box`: encloses all of it at any time, null if nothing moves.
export function movesOf(film, place, index, spots, style) {
  const wall = film.frames[index].kind === 'barrier' ? place.wall : null;
  const arrows = place.tiled ? [] : arrowsOf(film, place, index, spots, style);
  return { wall, arrows, box: around(wall, arrows) };
}

// Draw a frame's moves at a progress from 0 to 1; they stand still after SETTLED.
export const SETTLED = 0.66;
export function drawMoving(pen, { wall, arrows }, progress, style) {
  if (wall) drawWall(pen, wall, progress, style);
  const part = Math.min(1, Math.max(0.02, progress / MOVED));
  for (const { points, look } of arrows) pen.path(points, { ...look, part });
}

function around(wall, arrows) {
  const xs = [], ys = [];
  if (wall) { xs.push(wall.x, wall.x + wall.width); ys.push(wall.y, wall.y + wall.height); }
  for (const { points, look } of arrows) for (const [x, y] of points) {
    const wide = look.head + look.line;
    xs.push(x - wide, x + wide); ys.push(y - wide, y + wide);
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
    if (!touches[i]) { emptyBand(pen, film, band, style); return null; }
    return { touch: touches[i], spots: drawBand(pen, film, frame, touches[i], band, style) };
  });
}

// ---- threads

function drawThreads(pen, film, frame, grid, state, moved, style) {
  const { theme, scale } = style;
  const multiplying = frame.sums.some((sum) => sum.symbol.startsWith('×')) && frame.combined;
  for (let thread = 0; thread < grid.count; thread++) {
    const { x, y, width, height } = grid.cell(thread), colour = threadColour(thread), warp = Math.floor(thread / WARP);
    const active = frame.active.has(thread), asleep = !frame.lanes[warp];
    const jumping = active && frame.kind === 'branch' && frame.splits && !((frame.taken[warp] >>> (thread % WARP)) & 1);
    if (active && multiplying && !film.few) {
      const share = Math.min(1, state.made[thread] / film.mostMade);
      pen.rect(x, y, width, height, { fill: colour, alpha: 0.35 });
      pen.rect(x, y + height * (1 - share), width, height * share, { fill: colour });
    } else if (active) {
      pen.rect(x, y, width, height, { fill: colour, alpha: jumping ? 0.45 : 1 });
    } else {
      pen.rect(x, y, width, height, { fill: theme.cell, alpha: asleep ? 0.55 : 1 });
      if (!asleep) pen.rect(x, y, width, height, { stroke: theme.idle, line: Math.min(1.5, width / 8) });
      if (height > 8) pen.rect(x, y + height - Math.max(2, height * 0.12), width, Math.max(2, height * 0.12), { fill: colour, alpha: asleep ? 0.35 : 0.7 });
    }
    inside(pen, film.lettered ? state.step[thread] : state.hand[thread], x, y, width, height, active && !jumping ? theme.onColour : theme.text, active && moved && !multiplying, style.least);
    if (thread === film.mark) markCell(pen, grid.cell(thread), style);
  }
  if (frame.splits) frame.taken.forEach((jump, warp) => {
    if (!jump || jump === frame.lanes[warp]) return;
    if (warp * WARP >= grid.count) return;
    const { x, y, height } = grid.cell(warp * WARP), size = Math.min(9 * scale, height * 0.8);
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
  const equation = equationOf(film, frame);
  if (equation) told.push(equation);
  for (const touch of frame.touches) {
    const warp = busiest(touch);
    if (touch.kind === 'atomic') {
      const met = new Map();
      frame.threads.forEach((t, i) => { if (Math.floor(t / WARP) === warp) met.set(touch.places[i], (met.get(touch.places[i]) ?? 0) + 1); });
      const most = Math.max(...met.values());
      if (most > 1) told.push(`${most} lanes take turns at one address`);
    }
  }
  return [told.join(' · '), equation ?? told.at(-1)];
}

// The marked thread's sum, with its numbers; null if it adds nothing.
function equationOf({ mark }, { threads, sums }) {
  const i = threads.indexOf(mark), sum = sums.at(-1);
  if (i < 0 || !sum?.values.length || sum.operands.some(({ values }) => !values.length)) return null;
  const [one, other, third] = sum.operands.map(({ values }) => short(values[i])), result = short(sum.values[i]);
  const signed = (words) => (words.startsWith('−') ? `(${words})` : words);
  if (third !== undefined) return `thread ${mark}: ${third} + ${signed(one)} × ${signed(other)} = ${result}`;
  const named = sum.symbol.length > 1;
  return `thread ${mark}: ${named ? `${sum.symbol}(${one}, ${other})` : `${one} ${sum.symbol} ${signed(other)}`} = ${result}`;
}

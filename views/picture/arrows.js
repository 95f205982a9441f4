// The ways of values through the picture. An arrow runs in the air between rows and in the gaps between columns, so it
// crosses neither a number nor a heading, and it ends beside its number.

import { WARP, threadColour } from './film.js';
import { busiest } from './memory.js';

const MOST_ARROWS = 130; // if there are more, only the busiest warp's are drawn
const LOW = 12; // pixels, at scale 1, of a row of threads: arrows from lane to lane that are lower hide the lanes
const EDGE = 2; // pixels between an arrow and a cell
const BENDS = 12; // straight pieces of a curve

const warpOf = ({ thread }) => Math.floor(thread / WARP);

// The arrows of a frame: [{points, look}]. `spots`: the places of the words of global memory.
export function arrowsOf(film, place, index, spots, { theme, scale }) {
  const frame = film.frames[index];
  const found = frame.sums.length ? sums(film, frame, index, place) : frame.shuffles.length ? shuffles(frame, place) : copies(film, frame, index, place, spots);
  const lanes = place.lanes, crowded = !film.few && found.length > WARP && lanes.height / lanes.rows < LOW * scale && found.every(({ from }) => from.grid === lanes);
  const focus = crowded || found.length > MOST_ARROWS ? warpOf(found[0]) : null;
  const chosen = found.filter((arrow) => focus === null || warpOf(arrow) === focus);
  return chosen.map(({ thread, from, to, thin }) => {
    const points = way(from, to), marked = thread === film.mark;
    if (!points) return null;
    if (thin && !film.few) return { points, look: { stroke: theme.text, line: marked ? 2 * scale : 1, alpha: marked ? 1 : 0.35, head: 0 } };
    const line = Math.max(1.2, (marked ? 2.6 : 1.5) * scale), head = Math.min((marked ? 9 : 7) * scale, to.width * 0.45, 0.7 * Math.abs(points.at(-1)[1] - points[0][1]) || Infinity);
    return { points, look: { stroke: film.few ? threadColour(thread) : theme.arrow, line, alpha: marked ? 1 : film.few ? 0.55 : chosen.length > 40 ? 0.72 : 1, head } };
  }).filter(Boolean);
}

// The way from a cell to another, as points; null if other cells lie between their grids.
export function way(from, to) {
  const x1 = from.x + from.width / 2, x2 = to.x + to.width / 2;
  if (from.grid !== to.grid) {
    const down = to.y > from.y, [upper, lower] = down ? [from, to] : [to, from];
    const top = upper.grid.y + upper.grid.height - upper.grid.space + EDGE, bottom = lower.grid.top - EDGE;
    if (bottom < top || bottom - top > lower.grid.most) return null;
    return curve(down ? [x1, top] : [x1, bottom], down ? [x2, bottom] : [x2, top]);
  }
  if (Math.abs(from.y - to.y) < 1) return arc(x1, x2, from.y - EDGE / 2, to.y - EDGE, from.grid);
  const down = to.y > from.y, y1 = down ? from.y + from.height + EDGE / 2 : from.y - EDGE / 2, y2 = down ? to.y - EDGE : to.y + to.height + EDGE;
  const { air, rowHeight } = from.grid;
  if (Math.abs(to.y - from.y) < rowHeight * 1.5) return curve([x1, y1], [x2, y2]);
  const gutter = from.x + from.width + (from.grid.columnWidth - from.width) / 2, near = (air - EDGE) / 2 * (down ? 1 : -1);
  return [[x1, y1], [gutter, y1 + near], [gutter, y2 - near], [x2, y2]];
}

// A curve that leaves and arrives upright.
function curve([x1, y1], [x2, y2]) {
  if (Math.abs(x1 - x2) < 1) return [[x1, y1], [x2, y2]];
  return Array.from({ length: BENDS + 1 }, (_, i) => {
    const t = i / BENDS, s = t * t * (3 - 2 * t);
    return [x1 + (x2 - x1) * s, y1 + (y2 - y1) * t];
  });
}

// An arc in the air above a row: the further, the higher.
function arc(x1, x2, y1, y2, { air, width }) {
  const lift = Math.max(1, air - 2 * EDGE) * (0.35 + 0.65 * Math.min(1, (2 * Math.abs(x2 - x1)) / width));
  return Array.from({ length: BENDS + 1 }, (_, i) => {
    const t = i / BENDS, across = 0.5 - 0.5 * Math.cos(Math.PI * t);
    return [x1 + (x2 - x1) * across, y1 + (y2 - y1) * t - lift * Math.sin(Math.PI * t)];
  });
}

function sums(film, frame, index, place) {
  const stored = frame.touches.find((touch) => touch.kind === 'store' && place.words.has(touch.array));
  const made = [];
  for (const sum of frame.sums) {
    if (sum.symbol.startsWith('×')) continue; // a multiply-add highlights its operands
    frame.threads.forEach((thread, i) => {
      const home = stored && wordCell(film, place, stored.array, stored.places[i], index, true);
      for (const operand of sum.operands) {
        const from = origin(film, place, operand, i, index);
        const to = home && operand.source !== 'lane' ? home : place.lanes.cell(thread);
        if (from && to && (Math.abs(from.x - to.x) > 0.5 || Math.abs(from.y - to.y) > 0.5)) made.push({ thread, from, to });
      }
    });
  }
  return made;
}

function origin(film, place, operand, i, index) {
  const at = operand.places[i];
  if (at === undefined || at < 0) return null;
  return operand.source === 'lane' ? place.lanes.cell(at) : wordCell(film, place, operand.source, at, index, false);
}

// The cell of a word of shared memory; null if it is not drawn. In a tree drawn step by step, a frame that makes a step
// takes its words from the row before it (`written` false) and leaves them in its own.
export function wordCell(film, place, array, at, index, written) {
  const grid = gridAt(place, array, index, written);
  return grid ? grid.cell(Math.floor(at / film.picture.arrays[array].element)) : null;
}

export function gridAt(place, array, index, written) {
  const { steps } = place;
  if (steps?.number !== array) return place.words.get(array);
  return steps.grids[steps.levels.filter((level) => level < index + (written ? 1 : 0)).length];
}

function shuffles(frame, place) {
  const made = [];
  for (const { sources } of frame.shuffles) frame.threads.forEach((thread, i) => {
    const from = place.lanes.cell(sources[i]), to = place.lanes.cell(thread);
    if (from && to && sources[i] !== thread) made.push({ thread, from, to });
  });
  return made;
}

// Loads and stores that add nothing: lines of the busiest warp.
function copies(film, frame, index, place, spots) {
  const made = [];
  for (const touch of frame.touches) {
    const focus = busiest(touch), band = spots.find((it) => it && it.touch === touch);
    frame.threads.forEach((thread, i) => {
      const lane = place.lanes.cell(thread);
      if (Math.floor(thread / WARP) !== focus || !lane) return;
      const cell = place.words.has(touch.array) ? wordCell(film, place, touch.array, touch.places[i], index, true) : band?.spots.get(i);
      if (cell) made.push(touch.kind === 'load' ? { thread, from: cell, to: lane, thin: true } : { thread, from: lane, to: cell, thin: true });
    });
  }
  return made;
}

// The tree of a reduction: which thread added which value, level by level, from the frames. Threads and words share one
// axis; sums that do not lead to the block's result are pale.

import { short, threadColour } from './film.js';
import { way } from './arrows.js';
import { inside, markCell } from './memory.js';

const MOST_LEVELS = 24, FEWEST_SUMS = 3;

// [{index of the frame, moves, edges: [{from, to, value, useful}]}], or an empty list if there is no tree.
export function treeOf(film) {
  const levels = film.frames.map((frame, index) => levelOf(film, frame, index)).filter((level) => level.edges.length);
  const sums = levels.filter((level) => !level.moves);
  if (sums.length < FEWEST_SUMS || levels.length > MOST_LEVELS) return null;
  prune(film, levels);
  const kept = levels.filter((level) => level.edges.some((edge) => edge.useful));
  return kept.length < FEWEST_SUMS ? null : { levels: kept, width: Math.max(film.picture.threads, ...kept.flatMap((level) => level.edges.map((edge) => Math.max(edge.from, edge.to) + 1))) };
}

function levelOf(film, frame, index) {
  const word = (touch, i) => Math.floor(touch.places[i] / film.picture.arrays[touch.array].element);
  const shared = frame.touches.filter((touch) => film.isShared(touch));
  const stored = shared.find((touch) => touch.kind === 'store'), loaded = shared.find((touch) => touch.kind === 'load');
  const sum = frame.sums.find((each) => !each.symbol.startsWith('×') && each.operands.some((operand) => fromInside(film, operand)));
  const edges = [];
  frame.threads.forEach((thread, i) => {
    const to = stored ? word(stored, i) : thread;
    if (sum) {
      for (const operand of sum.operands) {
        const from = sourceOf(film, operand, thread, i);
        if (from !== null && from !== to) edges.push({ thread, from, to, value: sum.values[i] });
      }
    } else if (stored && !loaded && thread !== to) edges.push({ from: thread, to });
    else if (loaded && !stored && word(loaded, i) !== thread) edges.push({ from: word(loaded, i), to: thread });
  });
  return { index, moves: !sum, edges };
}

const fromInside = (film, { source }) => source === 'lane' || (source !== 'own' && film.picture.arrays[source].space === 'shared');

// The thread or word that a side of a sum came from; null if it came from outside the block.
function sourceOf(film, operand, thread, i) {
  if (operand.source === 'own') return thread;
  if (!fromInside(film, operand)) return null;
  const place = operand.places[i];
  if (place < 0) return thread;
  return operand.source === 'lane' ? place : Math.floor(place / film.picture.arrays[operand.source].element);
}

// Mark the sums in the block's result, backwards from the thread that stores it.
function prune(film, levels) {
  const last = film.frames.findLast((frame) => frame.touches.some((touch) => film.isGlobal(touch) && touch.kind !== 'load'));
  const needed = new Set(last?.threads ?? levels.at(-1).edges.map((edge) => edge.to));
  for (const level of levels.toReversed()) {
    const before = new Set(needed);
    for (const edge of level.edges) {
      edge.useful = needed.has(edge.to);
      if (!edge.useful) continue;
      if (level.moves) before.delete(edge.to);
      before.add(edge.from);
    }
    needed.clear();
    before.forEach((each) => needed.add(each));
  }
}

export function drawTree(pen, film, box, index, style) {
  const { theme, scale } = style, { levels, width } = film.tree;
  const x = (at) => box.x + ((at + 0.5) / width) * box.width, row = box.height / levels.length;
  levels.forEach((level, number) => {
    const now = level.index === index, past = level.index < index, y = box.y + number * row;
    const strong = { stroke: now ? theme.accent : theme.text, line: now ? 2 * scale : 1, alpha: now ? 1 : past ? 0.55 : 0.1 };
    const useful = level.edges.filter((edge) => edge.useful), apart = spacing(useful) * (box.width / width);
    for (const { from, to, useful: leads } of level.edges) {
      if (!leads) { if (now) pen.line(x(from), y, x(to), y + row, { ...strong, line: 1, alpha: 0.25 }); continue; }
      pen.line(x(from), y, x(to), y + row, strong);
      if (!level.moves) pen.line(x(to), y, x(to), y + row, strong);
    }
    if ((now || past) && row >= 8) {
      const size = Math.min(row * 0.8, 11 * scale), longest = Math.max(...useful.map(({ value }) => short(value).length));
      for (const { to, value } of useful) {
        const words = short(value);
        if (words && apart > longest * size * 0.62 + 8) pen.text(words, x(to) + 4, y + row - size * 0.35, { fill: theme.text, size, weight: now ? 700 : 500 });
      }
    }
  });
}

// Draw shared memory after each step of the tree so far: the words of the step in the colour of the thread that wrote
// them, with lines from the words that it added. The row of the current moment is drawn with the words.
export function drawSteps(pen, film, { grids, levels, number }, index, moved, style) {
  const { element } = film.picture.arrays[number], elsewhere = new Set(); // words that this moment draws
  if (!levels.includes(index)) for (const touch of film.frames[index].touches) if (touch.array === number) for (const place of touch.places) elsewhere.add(place / element);
  const { theme, scale } = style, now = levels.filter((level) => level < index + (moved ? 1 : 0)).length;
  grids.forEach((grid, step) => {
    const level = film.tree.levels.find((each) => each.index === levels[step - 1]);
    const values = step <= now ? film.state(step < now ? levels[step] : index + (moved ? 1 : 0)).words[number] : [];
    const wrote = new Map(step && step <= now ? level.edges.map(({ to, thread }) => [to, thread]) : []);
    for (let word = 0; word < grid.count; word++) {
      if (step === now && elsewhere.has(word)) continue;
      const { x, y, width, height } = grid.cell(word), thread = wrote.get(word);
      if (step > now) pen.rect(x, y, width, height, { stroke: theme.held, line: 1 });
      else if (thread === undefined) pen.rect(x, y, width, height, { fill: theme.cell });
      else pen.rect(x, y, width, height, { fill: threadColour(thread) });
      inside(pen, values[word], x, y, width, height, thread === undefined ? (step ? theme.dim : theme.text) : theme.onColour, false, style.least);
    }
    const current = levels[step - 1] === index;
    if (current) for (const { thread, from, to } of level.edges) if (thread === film.mark) {
      for (const cell of [grids[step - 1].cell(from), grids[step - 1].cell(to), grid.cell(to)]) markCell(pen, cell, style);
    }
    if (!wrote.size || current) return;
    for (const { thread, from, to } of level.edges) {
      const points = way(grids[step - 1].cell(from), grid.cell(to));
      if (points) pen.path(points, { stroke: threadColour(thread), line: Math.max(1, scale), alpha: 0.8, head: 5 * scale });
    }
  });
}

// The smallest distance between the targets of a level.
function spacing(edges) {
  const targets = [...new Set(edges.map((edge) => edge.to))].sort((a, b) => a - b);
  return Math.min(Infinity, ...targets.slice(1).map((to, i) => to - targets[i]));
}

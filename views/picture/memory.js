// Memory in the picture: sectors of global memory, words and banks of shared memory, matrices and their tiles.

import { WARP, short } from './film.js';

const SECTOR = 32, BANK = 4; // bytes

// The busiest warp of a memory instruction: the first of those that need most passes.
export function busiest(touch) { return touch.passes.indexOf(Math.max(...touch.passes)); }

export const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

export function passColour(palette, pass) {
  const { passes } = palette;
  return passes[pass <= 4 ? Math.max(pass, 1) - 1 : pass <= 8 ? 4 : 5];
}

// ---- global memory

// The sectors of one warp side by side, in the order of their addresses: [{number, threads: [index of the active thread]}].
function sectorsOf(film, frame, touch, warp) {
  const start = film.picture.arrays[touch.array].start;
  const found = new Map();
  frame.threads.forEach((thread, i) => {
    if (Math.floor(thread / WARP) !== warp) return;
    for (let byte = 0; byte < touch.size; byte += BANK) {
      const address = start + touch.places[i] + byte, number = Math.floor(address / SECTOR);
      if (!found.has(number)) found.set(number, []);
      found.get(number).push({ i, word: (address % SECTOR) / BANK });
    }
  });
  return [...found].map(([number, words]) => ({ number, words })).sort((a, b) => a.number - b.number);
}

// Draw the words that each warp loads from (or stores to) global memory; returns the places of the busiest warp's words.
export function drawBand(pen, film, frame, touch, band, style) {
  const { theme, palette, scale } = style;
  const array = film.picture.arrays[touch.array];
  const focus = busiest(touch), spots = new Map();
  const bytes = new Set(frame.threads.map((t, i) => (Math.floor(t / WARP) === focus ? touch.places[i] : -1)).filter((p) => p >= 0)).size * touch.size;
  const what = `${array.name}, ${touch.kind === 'load' ? 'read' : touch.kind === 'store' ? 'written' : 'atomics'}`, sectors = counted(touch.passes[focus], 'sector');
  pen.text([`global memory: ${what}: ${sectors} of 32 bytes a warp for ${bytes} bytes`, `${what}: ${sectors} for ${bytes} bytes`, `${what}: ${sectors}`, array.name],
    band.label.x, band.label.y, { fill: theme.text, size: 11.5 * scale, width: band.width });
  const box = band.width / 32;
  for (let warp = 0; warp < Math.min(film.warps, band.rows); warp++) {
    const taken = sectorsOf(film, frame, touch, warp), y = band.y + warp * band.row, height = band.row - 1.5;
    taken.slice(0, 32).forEach((sector, at) => {
      const apart = at && sector.number !== taken[at - 1].number + 1 ? 2 : 0;
      const x = band.x + at * box + apart, width = box - apart - 1;
      pen.rect(x, y, width, height, { fill: palette.global, alpha: 0.22 });
      const slot = width / 8;
      for (const { i, word } of sector.words) {
        pen.rect(x + word * slot, y, Math.max(1, slot - 0.4), height, { fill: palette.global, alpha: 0.95 });
        spots.set(i, { x: x + (word + 0.5) * slot, y, bottom: y + height });
      }
      pen.rect(x, y, width, height, { stroke: palette.global, line: 1, alpha: 0.8 });
    });
  }
  return spots;
}

export function emptyBand(pen, band, style) {
  pen.text('global memory', band.label.x, band.label.y, { fill: style.theme.dim, size: 11.5 * style.scale });
  pen.rect(band.x, band.y, band.width, band.rows * band.row - 1.5, { stroke: style.theme.rule, dash: [3, 4] });
}

// ---- shared memory

export function drawWords(pen, film, frame, number, grid, values, moved, style) {
  const { theme, palette } = style;
  const lit = new Map();
  for (const touch of frame.touches) {
    if (touch.array !== number) continue;
    const element = film.picture.arrays[number].element;
    frame.threads.forEach((_, i) => {
      for (let byte = 0; byte < touch.size; byte += element) {
        const word = Math.floor((touch.places[i] + byte) / element);
        lit.set(word, Math.max(lit.get(word) ?? 1, touch.served[i] || 1));
      }
    });
  }
  for (let word = 0; word < grid.count; word++) {
    const { x, y, width, height } = grid.cell(word), pass = lit.get(word);
    if (pass) pen.rect(x, y, width, height, { fill: passColour(palette, pass), alpha: 0.9 });
    else pen.rect(x, y, width, height, { fill: values?.[word] === null ? theme.cell : theme.held });
    inside(pen, values?.[word], x, y, width, height, pass ? theme.onColour : theme.text, moved.has(word));
  }
}

// Draw a number in a cell, if the cell is large enough to read it.
export function inside(pen, value, x, y, width, height, fill, strong = false) {
  const words = short(value);
  if (!words || height < 9 || width < 13) return; // a few short numbers alone would be misleading
  const size = Math.floor(2 * Math.min(height * 0.8, (width - 2) / (Math.max(3, words.length) * 0.56), 20)) / 2;
  if (size >= 6.5) pen.text(words, x + width / 2, y + height / 2 + size * 0.05, { fill, size, align: 'middle', weight: strong ? 700 : 500 });
}

// The banks of one warp's request: a stack of the words that each bank has to serve, one per pass.
export function drawBanks(pen, film, frame, banks, style) {
  const { theme, palette, scale, most } = style;
  const touches = frame.touches.filter((touch) => film.isShared(touch));
  const worst = touches.sort((a, b) => Math.max(...b.passes) - Math.max(...a.passes))[0];
  const width = banks.width / 32, levels = most > 1 ? Math.min(32, Math.max(4, most)) : 1, height = banks.height / levels;
  let told = ['the 32 banks, and what waits at each', 'the 32 banks', 'banks'];
  if (worst) {
    const warp = busiest(worst), array = film.picture.arrays[worst.array], stacks = Array.from({ length: 32 }, () => new Set());
    frame.threads.forEach((thread, i) => {
      if (Math.floor(thread / WARP) !== warp) return;
      for (let byte = 0; byte < worst.size; byte += BANK) stacks[Math.floor((array.start + worst.places[i] + byte) / BANK) % 32].add(worst.served[i]);
    });
    const conflicts = worst.conflicts[warp];
    const passes = counted(worst.passes[warp], 'wavefront');
    told = [`banks, warp ${warp}: ${passes}, ${worst.kind === 'atomic' ? 'lanes of one word take turns' : conflicts ? counted(conflicts, 'bank conflict') : 'no conflict'}`, `banks, warp ${warp}: ${passes}`, `banks: ${passes}`, passes, 'banks'];
    stacks.forEach((stack, bank) => [...stack].sort((a, b) => a - b).forEach((pass, level) => {
      if (level < levels) pen.rect(banks.x + bank * width, banks.y + banks.height - (level + 1) * height, width - 1.5, Math.max(1, height - 1), { fill: passColour(palette, pass) });
    }));
  }
  pen.text(told, banks.label.x, banks.label.y, { fill: worst ? theme.text : theme.dim, size: 11.5 * scale, width: banks.width });
  for (let bank = 0; bank < 32; bank++) pen.rect(banks.x + bank * width, banks.y + banks.height, width - 1.5, 2, { fill: theme.rule });
}

// ---- matrices

export function drawMatrix(pen, film, number, spot, index, style) {
  const { theme, palette } = style, { x, y, side, columns } = spot, cell = side / columns;
  pen.rect(x, y, side, side, { fill: theme.cell });
  const past = trail(film, number, index);
  past.forEach((rectangle, i) => mark(pen, rectangle, spot, cell, { fill: palette.global, alpha: i < past.length - 1 ? 0.22 : 0.7 }));
  const frame = film.frames[index];
  for (const touch of frame?.touches ?? []) {
    if (touch.array !== number) continue;
    for (const [row, first, count] of strokes(film, touch, columns)) {
      pen.rect(x + first * cell, y + row * cell, Math.max(1.6, count * cell), Math.max(1.6, cell), { fill: touch.kind === 'store' ? palette.passes[2] : palette.global });
    }
  }
  pen.rect(x, y, side, side, { stroke: theme.dim });
  const goal = trail(film, number, Infinity, 'store').at(-1); // the place of the block's results
  if (goal) mark(pen, goal, spot, cell, { stroke: theme.accent, line: 2 });
}

function mark(pen, { top, left, bottom, right }, { x, y }, cell, look) {
  pen.rect(x + left * cell, y + top * cell, Math.max(1.6, (right - left) * cell), Math.max(1.6, (bottom - top) * cell), look);
}

// The elements of a matrix that earlier frames touched: rectangles, remembered frame by frame.
function trail(film, number, index, kind = '') {
  film.trails ??= new Map();
  const name = `${number} ${kind}`;
  if (!film.trails.has(name)) {
    const { columns } = film.picture.arrays[number], every = [];
    film.frames.forEach((frame, at) => {
      for (const touch of frame.touches) {
        if (touch.array !== number || !touch.places.length || (kind && touch.kind !== kind)) continue;
        const parts = strokes(film, touch, columns);
        const around = {
          at, top: Math.min(...parts.map((p) => p[0])), bottom: Math.max(...parts.map((p) => p[0])) + 1,
          left: Math.min(...parts.map((p) => p[1])), right: Math.max(...parts.map((p) => p[1] + p[2])),
        };
        const last = every.at(-1);
        if (!last || ['top', 'left', 'bottom', 'right'].some((edge) => last[edge] !== around[edge])) every.push(around);
      }
    });
    film.trails.set(name, every);
  }
  return film.trails.get(name).filter(({ at }) => at < index);
}

// The touched elements as [row, first column, how many].
function strokes(film, touch, columns) {
  const { element } = film.picture.arrays[touch.array], made = [];
  const wide = Math.max(1, touch.size / element);
  for (const number of [...new Set(touch.places.map((place) => place / element))].sort((a, b) => a - b)) {
    const row = Math.floor(number / columns), column = number % columns, last = made.at(-1);
    if (last && last[0] === row && last[1] + last[2] >= column) last[2] = column + wide - last[1];
    else made.push([row, column, wide]);
  }
  return made;
}

// Memory in the picture: sectors of global memory, words and banks of shared memory, matrices and their tiles.

import { WARP, counted, short, shorter, threadColour } from './film.js';

const SECTOR = 32, BANK = 4; // bytes

// The busiest warp of a memory instruction: the first of those that need most passes.
export function busiest(touch) { return touch.passes.indexOf(Math.max(...touch.passes)); }

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
  const what = `${array.name}, ${touch.kind === 'load' ? 'read' : touch.kind === 'store' ? 'written' : 'atomics'}`, sectors = counted(touch.passes[focus], touch.kind === 'atomic' ? 'turn' : 'sector');
  const told = touch.kind === 'atomic' ? sectors : `${sectors} of 32 bytes a warp for ${bytes} bytes`;
  pen.text([`global memory: ${what}: ${told}`, `${what}: ${told}`, `${what}: ${sectors}`, array.name],
    band.label.x, band.label.y, { fill: theme.text, size: 11.5 * scale, width: band.width });
  const across = film.few ? Math.min(WARP, film.mostSectors) : WARP, box = band.width / across;
  const grid = { y: band.y, height: band.rows * band.row, space: 0 };
  for (let row = 0; row < Math.min(film.warps, band.rows); row++) {
    const warp = film.few ? focus : row;
    const taken = sectorsOf(film, frame, touch, warp), y = band.y + row * band.row, height = band.row - 1.5;
    taken.slice(0, across).forEach((sector, at) => {
      const apart = at && sector.number !== taken[at - 1].number + 1 ? 2 : 0;
      const x = band.x + at * box + apart, width = box - apart - 1;
      pen.rect(x, y, width, height, { fill: palette.global, alpha: 0.22 });
      const slot = width / 8;
      for (const { i, word } of sector.words) {
        const thread = frame.threads[i];
        pen.rect(x + word * slot, y, Math.max(1, slot - (film.few ? 2 : 0.4)), height, { fill: film.few ? threadColour(thread) : palette.global, alpha: 0.95 });
        if (film.few && touch.size === BANK) inside(pen, touch.values[i], x + word * slot, y, slot - 2, height, theme.onColour, false, style.least);
        if (film.few && thread === film.mark) markCell(pen, { x: x + word * slot, y, width: slot - 2, height }, style);
        spots.set(i, { x: x + (word + 0.5) * slot - 1, y, width: 2, height, grid });
      }
      pen.rect(x, y, width, height, { stroke: palette.global, line: 1, alpha: 0.8 });
    });
  }
  return spots;
}

export function emptyBand(pen, film, band, style) {
  pen.text(film.few ? 'global memory: not in this step' : 'global memory', band.label.x, band.label.y, { fill: style.theme.dim, size: 11.5 * style.scale });
  if (!film.few) pen.rect(band.x, band.y, band.width, band.rows * band.row - 1.5, { stroke: style.theme.rule, dash: [3, 4] });
}

// ---- shared memory

// The words that the frame touches are coloured, by thread if all accesses are served at once, else by wavefront.
export function drawWords(pen, film, frame, number, grid, values, moved, onlyTouched, style) {
  const { theme, palette, most } = style;
  const lit = new Map(), marked = [];
  for (const touch of frame.touches) {
    if (touch.array !== number) continue;
    const element = film.picture.arrays[number].element;
    frame.threads.forEach((thread, i) => {
      for (let byte = 0; byte < touch.size; byte += element) {
        const word = Math.floor((touch.places[i] + byte) / element), pass = Math.max(lit.get(word)?.pass ?? 1, touch.served[i] || 1);
        const writes = touch.kind !== 'load' || !frame.touches.some((other) => other.array === number && other.kind !== 'load');
        if (!lit.has(word) || writes) lit.set(word, { pass, thread });
        if (thread === film.mark) marked.push(word);
      }
    });
  }
  for (let word = 0; word < grid.count; word++) {
    const { x, y, width, height } = grid.cell(word), now = lit.get(word);
    if (onlyTouched && !now) continue;
    if (now) pen.rect(x, y, width, height, { fill: film.few && most === 1 ? threadColour(now.thread) : passColour(palette, now.pass), alpha: 0.9 });
    else pen.rect(x, y, width, height, { fill: values?.[word] === null ? theme.cell : theme.held });
    inside(pen, values?.[word], x, y, width, height, now ? theme.onColour : theme.text, moved.has(word), style.least);
  }
  for (const word of marked) markCell(pen, grid.cell(word), style);
  const read = film.few ? factors(film, number).map((word) => grid.cell(word)).filter(Boolean) : [];
  if (read.length) markCell(pen, around(read), { ...style, scale: style.scale / 2 });
}

// The words of an array that the marked thread multiplies: its row of a tile, or its column.
function factors(film, number) {
  const { element } = film.picture.arrays[number], words = new Set();
  for (const frame of film.frames) for (const { symbol, operands } of frame.sums) {
    const i = symbol.startsWith('×') ? frame.threads.indexOf(film.mark) : -1;
    for (const { source, places } of operands) if (i >= 0 && source === number && places[i] >= 0) words.add(places[i] / element);
  }
  return [...words];
}

function around(cells) {
  const x = Math.min(...cells.map((cell) => cell.x)), y = Math.min(...cells.map((cell) => cell.y));
  return { x, y, width: Math.max(...cells.map((cell) => cell.x + cell.width)) - x, height: Math.max(...cells.map((cell) => cell.y + cell.height)) - y };
}

// Frame the cell of the marked thread, or of a word that it uses.
export function markCell(pen, cell, { theme, scale }) {
  if (!cell || cell.width < 6) return;
  const line = Math.min(2.4 * scale, cell.width / 5);
  pen.rect(cell.x - line, cell.y - line, cell.width + 2 * line, cell.height + 2 * line, { stroke: theme.text, line });
}

// Draw a number in a cell, if the cell is large enough to read it.
export function inside(pen, value, x, y, width, height, fill, strong = false, least = 6.5) {
  const grown = Math.max(1, least / 16);
  if (value === '' || value === null || value === undefined || height < 9 || width < 13) return; // a few short numbers alone would be misleading
  const sizeOf = (words) => Math.floor(2 * Math.min(height * 0.8, (width - 2) / (Math.max(3, words.length) * 0.56), 20 * grown)) / 2;
  const wordings = typeof value === 'string' ? [value] : [short(value), shorter(value)];
  const words = wordings.find((each) => sizeOf(each) >= least), size = words && sizeOf(words);
  if (words) pen.text(words, x + width / 2, y + height / 2 + size * 0.05, { fill, size, align: 'middle', weight: strong ? 700 : 500 });
}

// The banks of one warp's request: a stack of the words that each bank has to serve, one per pass.
export function drawBanks(pen, film, frame, banks, style) {
  const { theme, palette, scale, most } = style;
  const touches = frame.touches.filter((touch) => film.isShared(touch));
  const worst = touches.sort((a, b) => Math.max(...b.passes) - Math.max(...a.passes))[0];
  const { columns } = banks, rows = 32 / columns, width = banks.width / columns, deep = banks.height / rows;
  const levels = most > 1 ? Math.min(32, Math.max(rows > 1 ? 2 : 4, most)) : 1, height = (deep - (rows > 1 ? 6 : 0)) / levels;
  const at = (bank) => ({ x: banks.x + (bank % columns) * width, y: banks.y + Math.floor(bank / columns + 1) * deep });
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
      if (level < levels) pen.rect(at(bank).x, at(bank).y - (level + 1) * height, width - 1.5, Math.max(1, height - 1), { fill: passColour(palette, pass) });
    }));
  }
  pen.text(told, banks.label.x, banks.label.y, { fill: worst ? theme.text : theme.dim, size: 11.5 * scale, width: banks.width });
  for (let bank = 0; bank < 32; bank++) pen.rect(at(bank).x, at(bank).y, width - 1.5, 2, { fill: theme.rule });
}

// ---- matrices

export function drawMatrix(pen, film, number, spot, index, style) {
  const { theme, palette } = style, { x, y, side, columns } = spot, cell = side / columns;
  pen.rect(x, y, side, side, { fill: theme.cell });
  const past = trail(film, number, index);
  past.forEach((rectangle, i) => mark(pen, rectangle, spot, cell, { fill: palette.global, alpha: i < past.length - 1 ? 0.22 : 0.7 }));
  const frame = film.frames[index];
  if (cell > 9) for (let at = 1; at < columns; at++) for (const [dx, dy, wide, high] of [[at * cell, 0, 1, side], [0, at * cell, side, 1]]) pen.rect(x + dx, y + dy, wide, high, { fill: theme.background });
  for (const touch of frame?.touches ?? []) {
    if (touch.array !== number) continue;
    if (film.few) frame.threads.forEach((thread, i) => {
      const element = touch.places[i] / film.picture.arrays[number].element, wide = Math.max(1, touch.size / film.picture.arrays[number].element);
      pen.rect(x + (element % columns) * cell, y + Math.floor(element / columns) * cell, Math.max(1.6, wide * cell - 1), Math.max(1.6, cell - 1), { fill: threadColour(thread) });
    });
    else for (const [row, first, count] of strokes(film, touch, columns)) {
      pen.rect(x + first * cell, y + row * cell, Math.max(1.6, count * cell), Math.max(1.6, cell), { fill: touch.kind === 'store' ? palette.passes[2] : palette.global });
    }
  }
  pen.rect(x, y, side, side, { stroke: theme.dim });
  const goal = trail(film, number, Infinity, 'store').at(-1); // the place of the block's results
  if (goal) mark(pen, goal, spot, cell, { stroke: theme.accent, line: 2 });
  const own = rowAndColumn(film, number);
  if (own) mark(pen, own, spot, cell, { stroke: theme.text, line: 2.4 * style.scale });
}

// The part of a matrix that the marked thread's element of a product needs: its row of M, its column of N, its place
// in P; for other matrices the element that the thread stores.
function rowAndColumn(film, number) {
  const matrices = film.picture.arrays.map(({ columns }, at) => ({ columns, at })).filter(({ columns }) => columns);
  for (const frame of film.frames) for (const touch of frame.touches) {
    const i = touch.kind === 'store' && film.picture.arrays[touch.array]?.columns ? frame.threads.indexOf(film.mark) : -1;
    if (i < 0) continue;
    const { columns, element } = film.picture.arrays[touch.array], at = touch.places[i] / element, row = Math.floor(at / columns), column = at % columns;
    const own = { top: row, bottom: row + 1, left: column, right: column + 1 };
    if (number === touch.array) return own;
    if (matrices.length !== 3) return null;
    return number === matrices[0].at ? { ...own, left: 0, right: columns } : { ...own, top: 0, bottom: columns };
  }
  return null;
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

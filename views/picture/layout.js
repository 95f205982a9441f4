// The layout of a block: its threads, the words of its shared memory, its words of global memory.
// A row has 32 threads or words: a warp per row, a bank per column. In the teaching size a row has 16, and its cells are
// large enough to read. If the block is two-dimensional and has two tiles, the layout is that of every drawing of a
// matrix product: N above, M at the left, P in the corner.

import { WARP } from './film.js';

const MOST_ROWS = 40; // of shared memory, whose words are then still distinguishable
const SMALLEST = 1.5; // pixels: a cell's width and height
const FEW = 16; // threads or words in a row of the teaching size
const FEW_ROWS = 5; // of shared memory in the teaching size; of a larger array only the banks are drawn
const BIG = 20.2; // pixels, at scale 1: a cell of the teaching size; 28 on a slide of 720

// `most`: the passes of the access that needs most of them, in all pictures.
export function layout(film, box, scale, most) {
  const { picture } = film;
  const shared = picture.arrays.map((array, number) => ({ array, number })).filter(({ array }) => array.space === 'shared');
  const matrices = picture.arrays.map((array, number) => ({ array, number })).filter(({ array }) => array.columns);
  const gap = 10 * scale;
  const made = { box, scale, words: new Map(), matrices: new Map(), bands: [], banks: null, labels: [] };
  let rest = box;
  if (matrices.length) {
    const part = film.few && matrices.length === 3 ? 0.47 : 0.34;
    const taken = place_matrices(made, matrices, { ...box, width: Math.min(box.width * part, box.height) }) + gap * 1.6;
    rest = { ...box, x: box.x + taken, width: box.width - taken };
  }
  const square = picture.shape[1] > 1 ? picture.shape[0] : 0;
  const tiles = square && shared.length === 2 && shared.every(({ array }) => array.size / array.element <= 2 * square * square);
  if (tiles && matrices.length > 1) place_tiles(made, film, shared, square, rest);
  else if (film.few) place_few(made, film, shared, square && !shared.length ? Math.min(square, FEW) : FEW, rest, most);
  else place_rows(made, film, shared, square && !shared.length ? square : WARP, rest, most);
  return made;
}

// A grid of cells: the place of each cell by its number; null beyond its `count`.
// `air`: the part of a row's height above its cells that stays free for arrows; `head`: the height of its heading, below
// which no arrow from another grid comes; `most`: the largest distance to another grid that an arrow crosses.
function grid(x, y, columns, count, width, height, air = 0, head = 0, most = 0) {
  const space = Math.min(width, height) > 24 ? 4 : Math.min(width, height) > 7 ? 1.5 : Math.min(width, height) > 3 ? 0.5 : 0;
  const high = height * (1 - air) - space, rows = Math.ceil(count / columns);
  const made = { x, y, columns, count, rows, width: columns * width, height: rows * height, air: height * air + space, space, top: head ? y - head : y + height * air, most, columnWidth: width, rowHeight: height };
  made.cell = (number) => (number < count ? { x: x + (number % columns) * width, y: y + Math.floor(number / columns) * height + height * air, width: width - space, height: high, grid: made } : null);
  return made;
}

// The heading of a part, in several wordings, the longest first: the first one that fits is drawn.
function label(made, words, x, y, width) { made.labels.push({ words, x, y, width }); }

// The teaching size: cells of at least BIG pixels. The tree shows shared memory after each of its steps; if it does not
// fit, shared memory is drawn once. An array too large for that leaves its place to the banks.
function place_few(made, film, shared, broadest, box, most) {
  const { picture } = film, { scale } = made, head = 15 * scale, wall = 12 * scale;
  const big = BIG * scale, columns = box.width / broadest < big + 4 ? broadest / 2 : broadest;
  const width = Math.min(box.width / columns, 52 * scale), threads = picture.threads > 4 * columns ? 2 * columns : picture.threads, laneRows = Math.ceil(threads / columns);
  const arrays = shared.map(({ array, number }) => ({ array, number, count: Math.ceil(array.size / array.element) })).filter(({ count }) => count);
  const steps = stepsOf(film, arrays, columns, most);
  const small = steps ? [] : arrays.filter(({ count }) => count <= FEW_ROWS * columns);
  const arcs = film.shuffles ? 0.6 : 0; // rows above each row of threads
  const bandRow = (film.bands > 1 ? 0.6 : 0.75) * big;
  let stacked, row;
  for (;;) { // the largest array that leaves too low rows is not drawn
    const wordRows = small.reduce((sum, { count }) => sum + Math.ceil(count / columns), 0);
    stacked = most > 1 || arrays.some((each) => each.number !== steps?.number && !small.includes(each));
    const rows = laneRows * (1 + arcs) + (steps ? steps.length * 1.5 + 1 : wordRows * 1.35);
    const left = box.height - film.bands * (head + bandRow) - 2 * head - wall - (small.length - !steps) * head - (stacked ? head + 1.2 * big : 0);
    row = Math.min(left / rows, (stacked ? 28 : 46) * scale);
    if (row >= big + 4 || !small.length) break;
    small.splice(small.findIndex(({ count }) => count === Math.max(...small.map((each) => each.count))), 1);
  }
  const full = width * columns, x = box.x;
  let y = box.y;
  for (let band = 0; band < film.bands; band++) {
    made.bands.push({ x, y: y + head, width: full, row: bandRow, rows: 1, label: { x, y: y + head / 2 } });
    y += head + bandRow;
  }
  const shown = threads < picture.threads ? [`threads 0 to ${threads - 1} of ${picture.threads}`] : ['threads, each in its colour'];
  label(made, [...shown, 'threads'], x, y + head / 2, full);
  made.lanes = grid(x, y + head, columns, threads, width, row * (1 + arcs), arcs / (1 + arcs), head, wall);
  y += head + made.lanes.height;
  made.wall = { x, y: y + 2 * scale, width: full, height: wall - 4 * scale };
  y += wall;
  if (steps) {
    label(made, [`shared memory: ${steps.array.name}, after each step`, steps.array.name], x, y + head / 2, full);
    made.steps = { ...steps, x, y: y + head, row: 1.5 * row, width, columns, grids: [] };
    for (let step = 0; step <= steps.length; step++) made.steps.grids.push(grid(x, y + head + step * 1.5 * row - 0.5 * row, columns, steps.count, width, 1.5 * row, 1 / 3, step ? 0 : head - 0.5 * row, step ? row : 1.2 * wall));
    made.words.set(steps.number, made.steps.grids[0]);
  }
  for (const { array, number, count } of small) {
    label(made, [`shared memory: ${array.name}`, array.name], x, y + head / 2, full);
    const spot = grid(x, y + head, columns, count, width, row * 1.35, 0.26, head, 1.2 * wall);
    made.words.set(number, spot);
    y += head + spot.height;
  }
  if (stacked) made.banks = { x, y: y + head, width: full, height: box.y + box.height - y - head - 3, columns, label: { x, y: y + head / 2 } };
}

// The steps of a tree in one array of shared memory that fits a row: {array, number, count, length, levels}, else null.
function stepsOf(film, arrays, columns, most) {
  const [only] = arrays, levels = film.tree?.levels.filter(({ moves }) => !moves) ?? [];
  const fits = arrays.length === 1 && most === 1 && only.count <= columns && levels.length && levels.length <= 5;
  const inside = fits && levels.every(({ index }) => film.frames[index].touches.some(({ array, kind }) => array === only.number && kind === 'store'));
  return inside ? { ...only, length: levels.length, levels: levels.map(({ index }) => index) } : null;
}

function place_rows(made, film, shared, columns, box, most) {
  const { picture } = film, { scale } = made;
  const head = 15 * scale;
  const width = Math.min(box.width / columns, 44 * scale);
  const laneRows = Math.ceil(picture.threads / columns);
  const bandRows = Math.min(film.warps, 8);
  const blocks = shared.map(({ array, number }) => {
    const across = Math.max(1, 128 / array.element);
    const count = Math.ceil(array.size / array.element);
    return { array, number, across, count, rows: Math.ceil(count / across) };
  });
  const line = columns === WARP ? width * WARP : box.width;
  narrow(blocks, line);
  const branches = film.tree ? Math.min(6, 0.66 * film.tree.levels.length) : 0;
  const stack = most > 8 ? 5 : most > 1 ? 2.4 : 1; // rows of the banks' strip
  const bandRow = shared.length || film.shuffles ? 0.42 : 0.9, arced = film.shuffles ? 1.5 : 1;
  const roomy = (b) => (b.rows <= 8 ? 1.55 : 1);
  const above = film.shuffles ? 1.2 : 0; // rows: the arrows of the first warp
  const units = laneRows * arced + above + film.bands * bandRows * bandRow + blocks.reduce((sum, b) => sum + b.rows * roomy(b), 0) + (shared.length ? stack : 0) + branches;
  const heads = 1 + film.bands + blocks.length + (shared.length ? 1 : 0) + (film.tree ? 1 : 0);
  const wall = 15 * scale;
  const row = Math.max(SMALLEST, Math.min(width * 1.7, 34 * scale, (box.height - heads * head - wall) / units));
  const full = width * columns, x = box.x + Math.max(0, (box.width - full) / 2);
  let y = box.y;
  for (let band = 0; band < film.bands; band++) {
    made.bands.push({ x, y: y + head, width: full, row: row * bandRow, rows: bandRows, label: { x, y: y + head / 2 } });
    y += head + bandRows * row * bandRow;
  }
  label(made, columns === WARP ? ['threads: a warp in each row', 'threads'] : ['threads of the block', 'threads'], x, y + head / 2, full);
  y += above * row;
  made.lanes = grid(x, y + head, columns, picture.threads, width, row * arced, 1 - 1 / arced, head + above * row, above * row + wall);
  y += head + made.lanes.height;
  made.wall = { x, y: y + 2 * scale, width: full, height: wall - 4 * scale };
  y += wall;
  for (const block of blocks) {
    const wide = block.banks > 1 ? [`shared memory: ${block.array.name}, ${block.banks} × 32 banks in a row`] : [];
    label(made, [...wide, `shared memory: ${block.array.name}`, block.array.name], x, y + head / 2, full);
    made.words.set(block.number, grid(x, y + head, block.across, block.count, line / block.across, row * roomy(block), 1 - 1 / roomy(block), head, 1.2 * wall));
    y += head + block.rows * row * roomy(block);
  }
  if (shared.length) {
    made.banks = { x, y: y + head, width: columns === WARP ? full : box.width, height: stack * row, columns: WARP, label: { x, y: y + head / 2 } };
    y += head + stack * row;
  }
  if (film.tree) {
    label(made, ['the tree: who has added whose value', 'the tree'], x, y + head / 2, full);
    made.tree = { x, y: y + head, width: full, height: branches * row - 2 };
  }
}
// If arrays have so many rows that the rest would not fit, the highest array gets rows twice as long, and so on.
function narrow(blocks, line) {
  for (;;) {
    const high = blocks.reduce((most, block) => (block.rows > most.rows ? block : most), { rows: 0 });
    if (blocks.reduce((sum, { rows }) => sum + rows, 0) <= MOST_ROWS || line / high.across < 2 * SMALLEST) return;
    Object.assign(high, { across: 2 * high.across, banks: 2 * (high.banks ?? 1), rows: Math.ceil(high.count / (2 * high.across)) });
  }
}

function place_tiles(made, film, shared, columns, box) {
  const { picture } = film, { scale } = made, head = 15 * scale, gap = 12 * scale;
  const counts = shared.map(({ array }) => Math.ceil(array.size / array.element));
  const tileRows = counts.map((count) => Math.ceil(count / columns));
  const below = Math.max(tileRows[0], Math.ceil(picture.threads / columns)), above = tileRows[1];
  const cell = Math.max(SMALLEST, Math.min((box.width - gap) / (2 * columns), (box.height - 2 * head - gap) / (above + below), (film.few ? 60 : 26) * scale));
  const x = box.x, right = x + columns * cell + gap, y = box.y + head, low = y + above * cell + head + gap;
  const side = columns * cell; // of a tile
  label(made, [`shared memory: ${shared[1].array.name}`, shared[1].array.name], right, y - head / 2, side);
  made.words.set(shared[1].number, grid(right, y, columns, counts[1], cell, cell));
  label(made, shared[0].array.name, x, low - head / 2, side);
  made.words.set(shared[0].number, grid(x, low, columns, counts[0], cell, cell));
  label(made, ['threads: one element of P each', 'threads: one of P each', 'threads'], right, low - head / 2, side);
  made.lanes = grid(right, low, columns, picture.threads, cell, cell);
  made.tiled = true;
  made.wall = { x, y: low - head - gap * 0.9, width: 2 * columns * cell + gap, height: gap * 0.8 };
  const high = Math.min(above * cell - head, 70 * scale); // in the free corner of a product
  if (!film.few) made.banks = { x, y: y + above * cell - high, width: columns * cell, height: high, columns: WARP, label: { x, y: y + above * cell - high - head / 2 } };
}

// Returns their total width.
function place_matrices(made, matrices, box) {
  const { scale } = made, head = 15 * scale, gap = 10 * scale;
  const classic = matrices.length === 3;
  const across = classic ? 2 : 1, down = classic ? 2 : matrices.length;
  const side = Math.max(10, Math.min((box.width - (across - 1) * gap) / across, (box.height - down * head - (down - 1) * gap) / down));
  const spots = classic ? [[0, 1], [1, 0], [1, 1]] : matrices.map((_, i) => [0, i]);
  matrices.forEach(({ array, number }, i) => {
    const [column, row] = spots[i];
    const x = box.x + column * (side + gap), y = box.y + row * (side + gap + head) + head;
    label(made, [`${array.name}  ${array.columns} × ${array.columns}`, array.name], x, y - head / 2, side);
    made.matrices.set(number, { x, y, side, columns: array.columns });
  });
  return across * side + (across - 1) * gap;
}

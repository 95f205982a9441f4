// The moments at which a picture stands still: the end of a step, the first moment to show, the images of a loop.

import { WARP } from './film.js';

const IMAGES = 140; // of a loop; more would make the file too large for a slide

// The moments to step through: the ends of all telling frames; a frame in which lanes only compute tells nothing.
export function stopsOf(films) {
  const every = films.flatMap((film) => film.frames.map((frame, i) => [film.starts[i] + frame.slots * 0.999, tells(film, frame)]));
  const chosen = every.filter(([, told]) => told);
  return [...new Set((chosen.length ? chosen : every).map(([slot]) => slot))].sort((a, b) => a - b);
}

function tells(film, frame) {
  if (frame.kind !== 'compute' && frame.kind !== 'branch') return true;
  return frame.splits || frame.lanes.some((bits, warp) => bits && frame.threads.length && Math.min(WARP, film.picture.threads - WARP * warp) > ones(bits));
}

const ones = (bits) => (bits >>> 0).toString(2).replaceAll('0', '').length;

// The moment to begin with: the first one at the film's own line, with a sum if there is one there; else that with most bank conflicts, else with the longest reach between lanes, else
// with most multiply-adds, else the first one with a sum of most threads, a value broadcast in a warp, a split
// or an access.
export function opening({ frames, starts, line }) {
  const end = (frame) => starts[frames.indexOf(frame)] + frame.slots * 0.999;
  const own = frames.filter((frame) => frame.line === line), chosen = own.find(({ sums }) => sums.length) ?? own.find(({ kind }) => kind !== 'branch') ?? own[0];
  if (chosen) return end(chosen);
  const worst = Math.max(0, ...frames.map((frame) => Math.max(0, ...frame.touches.flatMap((touch) => touch.conflicts))));
  const furthest = Math.max(0, ...frames.map(reach));
  const products = frames.filter(({ sums }) => sums.some(({ symbol }) => symbol.startsWith('×'))), adding = frames.filter(({ sums }) => sums.length);
  const made = Math.max(0, ...products.map(({ combined }) => combined)), most = Math.max(0, ...adding.map(({ threads }) => threads.length));
  const wanted = [(f) => worst && f.touches.some((t) => t.conflicts.includes(worst)), (f) => furthest && reach(f) === furthest, (f) => products.includes(f) && f.combined === made, (f) => adding.includes(f) && f.threads.length === most, (f) => f.shuffles.length, (f) => f.splits, (f) => f.touches.length];
  for (const fits of wanted) { const found = frames.find(fits); if (found) return end(found); }
  return 0;
}

// The largest distance, in lanes, of a value that a frame draws as an arrow. A broadcast from one lane
// does not count: it reaches far and tells little.
function reach({ threads, sums, shuffles }) {
  const from = sums.length ? sums.flatMap(({ operands }) => operands.filter(({ source }) => source === 'lane').map(({ places }) => places)) : shuffles.map(({ sources }) => sources);
  const among = from.filter((places) => new Set(places).size > Math.ceil(threads.length / WARP));
  return Math.max(0, ...among.flatMap((places) => places.map((place, i) => (place < 0 ? 0 : Math.abs(place - threads[i])))));
}

// The images of the loop: each telling frame while it moves and at its end.
export function imagesOf(film, stops, total) {
  const every = Math.max(1, Math.ceil((2 * stops.length) / IMAGES));
  const chosen = stops.filter((_, i) => i % every === 0);
  const made = chosen.flatMap((slot) => {
    const { number } = film.at(slot), start = film.starts[number] ?? 0;
    return [{ slot: Math.min(slot, start + (slot - start) * 0.35), hundredths: 25 }, { slot, hundredths: 65 }];
  });
  return [...made, { slot: total, hundredths: 250 }];
}

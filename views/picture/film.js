// A picture's data made ready to be drawn: unpacked frames, their places in time, the values of lanes and words.

export const WARP = 32;
const EVERY = 16; // frames between two remembered states
// Sixteen hues of one lightness, on which white is readable.
const HUES = ['#2770c5', '#5d63c5', '#7f57b9', '#984da2', '#aa4584', '#b54260', '#b74637', '#ab550b', '#976500', '#827008', '#677a0d', '#2f852b', '#128460', '#00827a', '#147e8d', '#087aa5'];

// The colour of a thread, the same in every picture.
export const threadColour = (thread) => HUES[thread % HUES.length];

// Runs of evenly spaced numbers, as `engine/picture/frames.py` writes them, three entries each.
export function unpacked(runs) {
  const made = [];
  for (let at = 0; at < runs.length; at += 3)
    for (let i = 0; i < runs[at]; i++) made.push(runs[at + 1] + i * runs[at + 2]);
  return made;
}

export class Film {
  // `few`: the block has the teaching size. `line`: the one at which the picture opens, or null.
  constructor(picture, { title, n, opening: line }, few) {
    Object.assign(this, { picture, title, line, few, frames: [], starts: [], states: [] });
    this.launch = `${counted(picture.threads, 'thread')}, N = ${n.toLocaleString('en')}`;
    let slot = 0;
    for (const frame of picture.frames) {
      this.starts.push(slot);
      slot += frame.slots;
      this.frames.push(prepared(frame));
    }
    this.slots = slot;
    this.warps = Math.ceil(picture.threads / WARP);
    this.mostPasses = Math.max(1, ...this.frames.flatMap((f) => f.touches.map((t) => this.isShared(t) ? Math.max(...t.passes) : 1)));
    this.mostMade = Math.max(1, ...this.state(this.frames.length).made);
    this.lettered = this.frames.some((f) => this.letter(f));
    this.shuffles = this.frames.some((f) => f.shuffles.length);
    const sectors = this.frames.flatMap((f) => f.touches.filter((t) => this.isGlobal(t)).map((t) => Math.max(...t.passes)));
    this.mostSectors = Math.max(2, ...sectors);
    this.bands = Math.min(2, Math.max(0, ...this.frames.map((f) => f.touches.filter((t) => this.isGlobal(t)).length)));
  }

  space(touch) { return touch.array < 0 ? '' : this.picture.arrays[touch.array].space; }
  isShared(touch) { return this.space(touch) === 'shared'; }
  isGlobal(touch) { return this.space(touch) === 'global'; }

  // The letter of a lecture's step, the comment at the end of a line; the compiler may join the stores of two steps.
  letter({ line, kind, touches }) { return kind === 'store' || !touches.length ? '' : this.picture.lines[line]?.match(/\/\/ ([A-Z])$/)?.[1] ?? ''; }

  // The number of the frame at a moment, and its progress from 0 to 1.
  at(slot) {
    let low = 0, high = this.frames.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= slot) low = middle; else high = middle - 1;
    }
    if (!this.frames.length) return { number: 0, progress: 1 };
    const progress = (slot - this.starts[low]) / Math.max(1, this.frames[low].slots);
    return { number: low, progress: Math.min(1, Math.max(0, progress)) };
  }

  // The values of lanes and shared words after the first `number` frames; the last few requests are remembered.
  state(number) {
    this.recent ??= new Map();
    if (!this.recent.has(number)) {
      if (this.recent.size > 3) this.recent.delete(this.recent.keys().next().value);
      this.recent.set(number, this.replayed(number));
    }
    return this.recent.get(number);
  }

  replayed(number) {
    let at = Math.min(Math.floor(number / EVERY), this.states.length - 1);
    let state = at < 0 ? this.blank() : copied(this.states[at]);
    at = Math.max(0, at * EVERY);
    for (; at < number; at++) {
      if (at % EVERY === 0 && at / EVERY === this.states.length) this.states.push(copied(state));
      this.apply(state, this.frames[at]);
    }
    return state;
  }

  blank() {
    const { threads, arrays } = this.picture;
    return {
      hand: new Array(threads).fill(null), // the number that a thread loaded or computed last
      step: new Array(threads).fill(''), // the letter of the lecture's step that it executed last
      made: new Array(threads).fill(0), // its multiply-adds so far
      words: arrays.map((a) => (a.space === 'shared' ? new Array(Math.ceil(a.size / a.element)).fill(null) : null)),
    };
  }

  apply(state, frame) {
    const letter = this.letter(frame);
    if (letter) for (const thread of frame.threads) state.step[thread] = letter;
    for (const touch of frame.touches) {
      const array = this.picture.arrays[touch.array];
      const words = array && state.words[touch.array];
      const held = touch.after.length ? touch.after : touch.values;
      frame.threads.forEach((thread, i) => {
        if (words && (touch.kind !== 'load' || held.length)) words[touch.places[i] / array.element] = held.length ? held[i] : null;
        if (touch.kind === 'load' && touch.values.length) state.hand[thread] = touch.values[i];
      });
    }
    for (const { values } of frame.shuffles) if (values.length) frame.threads.forEach((t, i) => (state.hand[t] = values[i]));
    for (const { values } of frame.sums) frame.threads.forEach((t, i) => (state.hand[t] = values.length ? values[i] : null));
    if (frame.combined) for (const thread of frame.threads) state.made[thread] += frame.combined;
  }
}

function prepared(frame) {
  const threads = [];
  frame.lanes.forEach((bits, warp) => {
    for (let lane = 0; lane < WARP; lane++) if ((bits >>> lane) & 1) threads.push(warp * WARP + lane);
  });
  return {
    ...frame,
    threads,
    active: new Set(threads),
    touches: frame.touches.map((t) => ({ ...t, places: unpacked(t.places), served: unpacked(t.served) })),
    sums: frame.sums.map((s) => ({ ...s, operands: s.operands.map((o) => ({ ...o, places: unpacked(o.places) })) })),
    shuffles: frame.shuffles.map((s) => ({ ...s, sources: unpacked(s.sources) })),
    splits: frame.taken.some((jump, warp) => jump !== 0 && jump !== frame.lanes[warp]),
  };
}

function copied(state) {
  return { hand: [...state.hand], step: [...state.step], made: [...state.made], words: state.words.map((w) => w && [...w]) };
}

export const counted = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

// A number as a cell shows it: as short as possible.
export function short(value) {
  if (value === null || value === undefined) return '';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e5) return String(value).replace('-', '−');
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(0) : value.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0);
  return text.replace(/^(-?)0\./, '$1.').replace('-', '−').replace('e+', 'e');
}

// The same in fewer signs, for a cell that is too small: thousands, or one digit after the point.
export function shorter(value) {
  const size = Math.abs(value), power = Math.floor(Math.log10(Math.max(1, size)) / 3);
  if (size >= 1e3 && power <= 4) return `${Math.round(value / 1000 ** power)}${' kMGT'[power]}`.replace('-', '−');
  return Number.isInteger(value) || size >= 1e5 ? short(value) : value.toFixed(size < 10 ? 1 : 0).replace(/^(-?)0\./, '$1.').replace('-', '−');
}

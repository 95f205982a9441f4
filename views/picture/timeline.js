// The whole block at a glance: a row per warp, time from left to right, a wall for each barrier, red for bank conflicts.
// If the lecture names its steps, each lane has a line, in its colour while it takes one of them.

import { WARP, threadColour } from './film.js';

export function drawTimeline(pen, film, box, total, style) {
  const { theme, palette, scale } = style, { threads } = film.picture;
  const top = (film.few && film.lettered ? 16 : 8) * scale, low = 9 * scale, height = box.height - top - low, row = height / film.warps;
  const at = (slot) => box.x + (slot / total) * box.width;
  film.frames.forEach((frame, i) => {
    const x = at(film.starts[i]), width = Math.max(0.4, at(film.starts[i] + frame.slots) - x);
    frame.lanes.forEach((bits, warp) => {
      if (!bits) return;
      const lanes = Math.min(WARP, threads - warp * WARP), share = ones(bits) / lanes, y = box.y + top + warp * row;
      const tall = Math.max(1, (row - 0.6) * share), lane = row / lanes;
      pen.rect(x, y, width, row - 0.6, { fill: theme.cell });
      if (film.few && film.lettered) for (let at = 0; at < lanes; at++) {
        if ((bits >>> at) & 1) pen.rect(x, y + at * lane, width, lane - 0.5, { fill: film.letter(frame) ? threadColour(WARP * warp + at) : theme.idle });
      }
      else pen.rect(x, y + row - 0.6 - tall, width, tall, { fill: frame.sums.length ? theme.accent : theme.idle });
    });
    const letter = film.few && film.letter(frame);
    if (letter) pen.text(letter, x + width / 2, box.y + top / 2, { fill: theme.text, size: 11.5 * scale, align: 'middle', weight: 700 });
    const conflicts = Math.max(0, ...frame.touches.map((touch) => Math.max(...touch.conflicts)));
    if (conflicts) pen.rect(x, box.y + top + height + 1, width, (low - 2) * Math.min(1, 0.3 + conflicts / Math.max(1, style.most - 1)), { fill: palette.split });
    if (frame.splits) {
      const size = Math.min(6 * scale, top), middle = x + width / 2;
      pen.polygon([[middle - size / 2, box.y], [middle + size / 2, box.y], [middle, box.y + size]], { fill: palette.split });
    }
    if (frame.kind === 'barrier') pen.rect(x + width / 2 - 1, box.y + top - 3, Math.max(2, 2 * scale), height + 5, { fill: theme.wall });
  });
}

export function drawCursor(pen, box, slot, total, style, over) {
  const x = box.x + (Math.min(slot, total) / total) * box.width;
  pen.rect(x - 1, box.y, 2, box.height, { fill: over ? style.theme.dim : style.theme.accent });
  if (!over) pen.polygon([[x - 5, box.y - 3], [x + 5, box.y - 3], [x, box.y + 5]], { fill: style.theme.accent });
}

function ones(bits) {
  let count = 0;
  for (let rest = bits >>> 0; rest; rest &= rest - 1) count++;
  return count;
}

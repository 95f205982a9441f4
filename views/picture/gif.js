// An animated GIF, for every slide program and browser: one palette for all images, and only the
// part of each image that differs from the one before. GIF89a with its LZW.

const MOST_COLOURS = 255;

export class GifWriter {
  // `samples`: ImageData to choose the palette from.
  constructor(width, height, samples) {
    Object.assign(this, { width, height, bytes: [], last: null });
    this.palette = palette(samples);
    this.nearest = new Int16Array(32768).fill(-1);
    this.head();
  }

  head() {
    this.ascii('GIF89a');
    this.word(this.width); this.word(this.height);
    this.bytes.push(0xf7, 0, 0); // a palette of 256 colours
    for (let i = 0; i < 256; i++) this.bytes.push(...(this.palette[i] ?? [0, 0, 0]));
    this.bytes.push(0x21, 0xff, 11); this.ascii('NETSCAPE2.0');
    this.bytes.push(3, 1); this.word(0); this.bytes.push(0); // loop for ever
  }

  // Add an image with its duration in hundredths of a second.
  add({ data }, hundredths) {
    const { width, height } = this, now = new Uint8Array(width * height);
    for (let i = 0; i < now.length; i++) now[i] = this.index(data[4 * i], data[4 * i + 1], data[4 * i + 2]);
    const [left, top, right, bottom] = this.last ? changed(now, this.last, width, height) : [0, 0, width, height];
    const part = new Uint8Array((right - left) * (bottom - top));
    for (let y = top, at = 0; y < bottom; y++, at += right - left) part.set(now.subarray(y * width + left, y * width + right), at);
    this.bytes.push(0x21, 0xf9, 4, 4); this.word(hundredths); this.bytes.push(0, 0);
    this.bytes.push(0x2c); this.word(left); this.word(top); this.word(right - left); this.word(bottom - top);
    this.bytes.push(0, 8);
    this.blocks(compressed(part));
    this.last = now;
  }

  blob() {
    return new Blob([...(this.written ?? []), new Uint8Array([...this.bytes, 0x3b])], { type: 'image/gif' });
  }

  blocks(packed) {
    const made = new Uint8Array(packed.length + Math.ceil(packed.length / 255) + 1);
    let to = 0;
    for (let at = 0; at < packed.length; at += 255) {
      const piece = packed.subarray(at, at + 255);
      made[to++] = piece.length; made.set(piece, to); to += piece.length;
    }
    made[to++] = 0;
    (this.written ??= []).push(new Uint8Array(this.bytes), made.subarray(0, to));
    this.bytes = [];
  }

  index(red, green, blue) {
    const key = ((red >> 3) << 10) | ((green >> 3) << 5) | (blue >> 3);
    if (this.nearest[key] < 0) {
      let best = 0, least = Infinity;
      this.palette.forEach(([r, g, b], i) => {
        const far = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
        if (far < least) { least = far; best = i; }
      });
      this.nearest[key] = best;
    }
    return this.nearest[key];
  }

  ascii(text) { for (const letter of text) this.bytes.push(letter.charCodeAt(0)); }
  word(value) { this.bytes.push(value & 255, value >> 8); }
}

// The most frequent colours, distinguished by their five high bits.
function palette(samples) {
  const count = new Uint32Array(32768), sums = new Float64Array(32768 * 3);
  for (const { data } of samples) {
    for (let i = 0; i < data.length; i += 4) {
      const key = ((data[i] >> 3) << 10) | ((data[i + 1] >> 3) << 5) | (data[i + 2] >> 3);
      count[key]++;
      for (let c = 0; c < 3; c++) sums[3 * key + c] += data[i + c];
    }
  }
  const keys = [...count.keys()].filter((key) => count[key]).sort((a, b) => count[b] - count[a]).slice(0, MOST_COLOURS);
  return keys.map((key) => [0, 1, 2].map((c) => Math.round(sums[3 * key + c] / count[key])));
}

// The rectangle that contains all differences of two images: [left, top, right, bottom].
function changed(now, last, width, height) {
  let left = width, right = 0, top = height, bottom = 0;
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i++) {
      if (now[i] === last[i]) continue;
      if (x < left) left = x;
      if (x >= right) right = x + 1;
      if (y < top) top = y;
      bottom = y + 1;
    }
  }
  return right ? [left, top, right, bottom] : [0, 0, 1, 1];
}

// LZW with codes of 9 to 12 bits.
function compressed(pixels) {
  const CLEAR = 256, END = 257;
  let out = new Uint8Array(4096), length = 0, buffer = 0, filled = 0, bits = 9, next = 258;
  const table = new Int16Array(4096 * 256).fill(-1);
  let used = [];
  const put = (code) => {
    buffer |= code << filled; filled += bits;
    while (filled >= 8) {
      if (length === out.length) { const more = new Uint8Array(out.length * 2); more.set(out); out = more; }
      out[length++] = buffer & 255; buffer >>>= 8; filled -= 8;
    }
  };
  put(CLEAR);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const key = prefix * 256 + pixels[i], known = table[key];
    if (known >= 0) { prefix = known; continue; }
    put(prefix);
    if (next < 4096) {
      if (next === 1 << bits) bits++;
      table[key] = next++; used.push(key);
    } else {
      put(CLEAR);
      for (const each of used) table[each] = -1;
      used = []; bits = 9; next = 258;
    }
    prefix = pixels[i];
  }
  put(prefix);
  if (next === 1 << bits && bits < 12) bits++;
  put(END);
  if (filled) { if (length === out.length) { const more = new Uint8Array(length + 1); more.set(out); out = more; } out[length++] = buffer & 255; }
  return out.subarray(0, length);
}

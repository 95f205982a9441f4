// The pen of a picture: one set of strokes, on a canvas for the screen or into an SVG for slides.

export class CanvasPen {
  constructor(context, font) { Object.assign(this, { context, font }); }

  rect(x, y, width, height, { fill, stroke, line = 1, alpha = 1, dash } = {}) {
    const { context } = this;
    context.globalAlpha = alpha;
    if (fill) { context.fillStyle = fill; context.fillRect(x, y, width, height); }
    if (stroke) {
      context.strokeStyle = stroke; context.lineWidth = line; context.setLineDash(dash ?? []);
      context.strokeRect(x + line / 2, y + line / 2, width - line, height - line);
    }
  }

  line(x1, y1, x2, y2, { stroke, line = 1, alpha = 1 } = {}) { this.path([[x1, y1], [x2, y2]], { stroke, line, alpha }); }

  // Draw a line through points, up to `part` of its length, with an optional head at the end.
  path(points, { stroke, line = 1, alpha = 1, part = 1, head = 0 } = {}) {
    const { context } = this, drawn = part < 1 ? begun(points, part) : points;
    context.globalAlpha = alpha;
    context.strokeStyle = stroke; context.lineWidth = line; context.setLineDash([]);
    this.through(drawn); context.stroke();
    if (head) this.polygon(arrow(drawn, head), { fill: stroke, alpha });
  }

  polygon(points, { fill, alpha = 1 } = {}) {
    this.context.globalAlpha = alpha; this.context.fillStyle = fill;
    this.through(points); this.context.fill();
  }

  through(points) {
    this.context.beginPath();
    points.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
  }

  text(words, x, y, { fill, size = 12, align = 'left', weight = 400, alpha = 1, mono = false, width } = {}) {
    const { context } = this;
    context.globalAlpha = alpha; context.fillStyle = fill;
    const font = `${weight} ${size}px ${mono ? this.font.mono : this.font.plain}`;
    if (font !== this.set) context.font = this.set = font; // setting it is slow
    context.textAlign = align === 'middle' ? 'center' : align === 'end' ? 'right' : 'left';
    context.textBaseline = 'middle';
    context.fillText(width ? this.fitted(words, width) : words, x, y);
  }

  // Draw the first of several wordings, the longest first, that fits a width; if none fits, cut the last one, with
  // dots at the end. The font must be set.
  fitted(wordings, width) {
    const { context } = this, every = [].concat(wordings);
    const whole = every.find((words) => context.measureText(words).width <= width);
    if (whole !== undefined) return whole;
    let text = every.at(-1);
    while (text && context.measureText(`${text}…`).width > width) text = text.slice(0, -1);
    return `${text}…`;
  }
}

export class SvgPen {
  constructor(width, height, font, background) {
    Object.assign(this, { width, height, font, parts: [] });
    this.measure = document.createElement('canvas').getContext('2d');
    this.rect(0, 0, width, height, { fill: background });
  }

  rect(x, y, width, height, { fill, stroke, line = 1, alpha = 1, dash } = {}) {
    const inset = stroke && !fill ? line / 2 : 0;
    this.add('rect', {
      x: x + inset, y: y + inset, width: Math.max(0, width - 2 * inset), height: Math.max(0, height - 2 * inset),
      fill: fill ?? 'none', stroke, 'stroke-width': stroke && line, opacity: alpha < 1 ? alpha : undefined, 'stroke-dasharray': dash?.join(' '),
    });
  }

  line(x1, y1, x2, y2, { stroke, line = 1, alpha = 1 } = {}) {
    this.add('line', { x1, y1, x2, y2, stroke, 'stroke-width': line, opacity: alpha < 1 ? alpha : undefined });
  }

  path(points, { stroke, line = 1, alpha = 1, part = 1, head = 0 } = {}) {
    const drawn = part < 1 ? begun(points, part) : points;
    const d = drawn.map((point, i) => `${i ? 'L' : 'M'}${point.map(rounded).join(' ')}`).join('');
    this.add('path', { d, fill: 'none', stroke, 'stroke-width': line, opacity: alpha < 1 ? alpha : undefined });
    if (head) this.polygon(arrow(drawn, head), { fill: stroke, alpha });
  }

  polygon(points, { fill, alpha = 1 } = {}) {
    this.add('polygon', { points: points.map((p) => p.map(rounded).join(',')).join(' '), fill, opacity: alpha < 1 ? alpha : undefined });
  }

  text(words, x, y, { fill, size = 12, align = 'start', weight = 400, alpha = 1, mono = false, width } = {}) {
    const family = mono ? this.font.mono : this.font.plain;
    this.measure.font = `${weight} ${size}px ${family}`;
    const told = width ? CanvasPen.prototype.fitted.call({ context: this.measure }, words, width) : words;
    this.add('text', {
      x, y, fill, 'font-size': size, 'font-family': family, 'font-weight': weight, 'dominant-baseline': 'central',
      'text-anchor': align === 'left' ? 'start' : align, opacity: alpha < 1 ? alpha : undefined,
    }, told);
  }

  // Draw within a margin.
  inside(margin, draw) {
    this.parts.push(`<g transform="translate(${margin} ${margin})">`);
    draw();
    this.parts.push('</g>');
  }

  add(tag, attributes, words) {
    const told = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== false);
    const inside = told.map(([name, value]) => `${name}="${escaped(typeof value === 'number' ? rounded(value) : value)}"`).join(' ');
    this.parts.push(words === undefined ? `<${tag} ${inside}/>` : `<${tag} ${inside}>${escaped(words)}</${tag}>`);
  }

  document(title) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}" role="img">`
      + `<title>${escaped(title)}</title>\n${this.parts.join('\n')}\n</svg>\n`;
  }
}

const rounded = (value) => Math.round(value * 100) / 100;
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

// The first part of a line through points.
function begun(points, part) {
  const lengths = points.slice(1).map(([x, y], i) => Math.hypot(x - points[i][0], y - points[i][1]));
  let rest = part * lengths.reduce((sum, length) => sum + length, 0);
  const made = [points[0]];
  for (const [i, length] of lengths.entries()) {
    const [[x0, y0], [x1, y1]] = [points[i], points[i + 1]], share = length ? Math.min(1, rest / length) : 1;
    made.push([x0 + (x1 - x0) * share, y0 + (y1 - y0) * share]);
    rest -= length;
    if (rest <= 0) break;
  }
  return made;
}

// The three corners of an arrow head at the end of a line, in the direction of its last stretch.
function arrow(points, size) {
  const [x, y] = points.at(-1), [x0, y0] = points.findLast(([px, py]) => Math.hypot(x - px, y - py) > size / 2) ?? points[0];
  const length = Math.hypot(x - x0, y - y0) || 1, ux = (x - x0) / length, uy = (y - y0) / length;
  const bx = x - ux * size, by = y - uy * size;
  return [[x, y], [bx - uy * size * 0.5, by + ux * size * 0.5], [bx + uy * size * 0.5, by - ux * size * 0.5]];
}

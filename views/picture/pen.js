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

  line(x1, y1, x2, y2, { stroke, line = 1, alpha = 1 } = {}) { this.curve([x1, y1, x1, y1, x2, y2, x2, y2], { stroke, line, alpha }); }

  // A cubic curve [from, two handles, to], drawn up to `part` of its length, with an optional head at the end.
  curve(points, { stroke, line = 1, alpha = 1, part = 1, head = 0 } = {}) {
    const { context } = this;
    const [x0, y0, x1, y1, x2, y2, x3, y3] = part < 1 ? begun(points, part) : points;
    context.globalAlpha = alpha;
    context.strokeStyle = stroke; context.lineWidth = line; context.setLineDash([]);
    context.beginPath(); context.moveTo(x0, y0); context.bezierCurveTo(x1, y1, x2, y2, x3, y3); context.stroke();
    if (head) {
      context.fillStyle = stroke;
      context.beginPath(); arrow([x0, y0, x1, y1, x2, y2, x3, y3], head).forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.fill();
    }
  }

  polygon(points, { fill, alpha = 1 } = {}) {
    const { context } = this;
    context.globalAlpha = alpha; context.fillStyle = fill;
    context.beginPath(); points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y))); context.fill();
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

  curve(points, { stroke, line = 1, alpha = 1, part = 1, head = 0 } = {}) {
    const [x0, y0, ...rest] = (part < 1 ? begun(points, part) : points).map(rounded);
    this.add('path', { d: `M${x0} ${y0}C${rest.join(' ')}`, fill: 'none', stroke, 'stroke-width': line, opacity: alpha < 1 ? alpha : undefined });
    if (head) this.polygon(arrow([x0, y0, ...rest], head), { fill: stroke, alpha });
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

// The first part of a cubic curve, by de Casteljau.
function begun([x0, y0, x1, y1, x2, y2, x3, y3], t) {
  const mix = (a, b) => a + (b - a) * t;
  const ax = mix(x0, x1), ay = mix(y0, y1), bx = mix(x1, x2), by = mix(y1, y2), cx = mix(x2, x3), cy = mix(y2, y3);
  const dx = mix(ax, bx), dy = mix(ay, by), ex = mix(bx, cx), ey = mix(by, cy);
  return [x0, y0, ax, ay, dx, dy, mix(dx, ex), mix(dy, ey)];
}

// The three corners of an arrow head at the end of a curve.
function arrow([x0, y0, , , x2, y2, x3, y3], size) {
  let dx = x3 - x2, dy = y3 - y2;
  if (!dx && !dy) { dx = x3 - x0; dy = y3 - y0; }
  const length = Math.hypot(dx, dy) || 1;
  const ux = dx / length, uy = dy / length;
  const bx = x3 - ux * size, by = y3 - uy * size;
  return [[x3, y3], [bx - uy * size * 0.5, by + ux * size * 0.5], [bx + uy * size * 0.5, by - ux * size * 0.5]];
}

"""What a page's texts look like to a reader: which lie on each other, which are cut, and which are too small."""

from __future__ import annotations

SIZES = ((1280, 720), (1920, 1080), (1024, 768))
# The ink of a line of type, without the empty part of its box: inset is a part of the type's size, on both sides.
_INK = """
  const ink = (part, upright) => {
    const at = part.getBoundingClientRect(), inset = 0.17 * parseFloat(getComputedStyle(part).fontSize);
    return upright ? new DOMRect(at.x + inset, at.y, Math.max(0, at.width - 2 * inset), at.height)
      : new DOMRect(at.x, at.y + inset, at.width, Math.max(0, at.height - 2 * inset));
  };
"""
# The texts of the plot that lie on each other by more than 2 pixels each way, and those that are cut.
PLOT = (
    "() => {"
    + _INK
    + """
  const found = [], pane = document.querySelector('.st-key-drawing'), longer = pane?.querySelector('.st-key-longer');
  if (!pane) return ['no plot'];
  if (pane.querySelector('.st-key-motion')) return [];
  const place = pane.getBoundingClientRect();
  const seen = (part) => part.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const drawn = [...pane.querySelectorAll('.chart')].filter(seen);
  if (!drawn.length || !drawn[0].querySelector('.main-svg')) return ['no plot'];
  const lines = [];
  for (const text of drawn[0].querySelectorAll('.main-svg text')) {
    if (!text.textContent.trim() || !seen(text)) continue;
    const turned = text.getScreenCTM();
    const upright = Math.abs(turned.b) > Math.abs(turned.a);
    const parts = text.querySelectorAll('tspan.line');
    for (const part of parts.length ? parts : [text]) {
      const at = ink(part, upright), words = part.textContent.trim();
      if (words && at.width && at.height) lines.push({ text, words, at });
    }
  }
  const svg = drawn[0].querySelector('.main-svg').getBoundingClientRect();
  for (const [i, { text, words, at }] of lines.entries()) {
    for (const other of lines.slice(i + 1)) {
      if (other.text === text) continue;
      const wide = Math.min(at.right, other.at.right) - Math.max(at.left, other.at.left);
      const high = Math.min(at.bottom, other.at.bottom) - Math.max(at.top, other.at.top);
      if (wide > 2 && high > 2) found.push(`"${words}" on "${other.words}"`);
    }
    const past = Math.max(svg.left - at.left, at.right - svg.right, place.left - at.left, at.right - place.right,
      svg.top - at.top, at.bottom - svg.bottom, ...(longer ? [] : [place.top - at.top, at.bottom - place.bottom]));
    if (past > 1) found.push(`"${words}" is cut by ${Math.round(past)}`);
  }
  for (const bar of drawn[0].querySelectorAll('.legend .scrollbar'))
    if (bar.getBoundingClientRect().height > 0) found.push('a legend that scrolls');
  return found;
}"""
)
# Numbers and words outside the plot that are cut.
CUT = """() => [...document.querySelectorAll('.tile, .tile > *, .presenting h1, .answer b')]
  .filter((part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1 && part.clientWidth)
  .map((part) => `cut: ${part.innerText}`)"""
SMALL, LESSON = 0.022, 0.028  # of the window's height: the least type on a slide, and the least that carries the lesson
# Type on a slide below these shares; the block in motion is a picture of its own.
TYPE = """([small, lesson]) => {
  const found = new Set(), hall = document.querySelector('.st-key-hall');
  if (!hall?.querySelector('.presenting')) return ['no slide'];
  const walker = document.createTreeWalker(hall, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const part = node.parentElement, size = parseFloat(getComputedStyle(part).fontSize) / innerHeight;
    if (!node.textContent.trim() || part.closest('style, script, .st-key-motion, [baseline-shift=super]')) continue;
    if (!part.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (part.closest('tspan[dy]:not(.line)')) continue; // an exponent
    const least = part.closest('.presenting h1, .idea, .tile strong') && !part.closest('small') ? lesson : small;
    if (size < least - 0.0003) found.add(`${(100 * size).toFixed(2)}%: ${node.textContent.trim().slice(0, 30)}`);
  }
  return [...found];
}"""

// Files for slides: a moment as SVG, the loop as GIF, both of one size.

import { CanvasPen, SvgPen } from './pen.js';
import { GifWriter } from './gif.js';
import { imagesOf } from './moments.js';
import { themeOf } from './theme.js';

const SIZE = { width: 1120, height: 630, margin: 14 };

// The moment as an SVG document.
export function svgOf(player) {
  const theme = themeOf(player.root), pen = new SvgPen(SIZE.width, SIZE.height, theme.font, theme.background);
  pen.inside(SIZE.margin, () => player.screen.paint(pen, placesOf(player, theme), player.slot));
  return pen.document(player.told.textContent);
}

export function saveSvg(player) {
  save(new Blob([svgOf(player)], { type: 'image/svg+xml' }), `${player.name()}-${player.root.dataset.frame}.svg`);
}

// The layout of the films on a slide.
const placesOf = (player, theme) => player.screen.arranged(SIZE.width - 2 * SIZE.margin, SIZE.height - 2 * SIZE.margin, theme, SIZE.height);

export async function saveGif(player) {
  player.pause();
  const button = player.buttons.gif, words = button.textContent;
  button.disabled = true;
  const { width, height, margin } = SIZE, canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true }), theme = themeOf(player.root);
  const places = placesOf(player, theme), moments = imagesOf(player.main, player.stops, player.total);
  const image = (slot) => {
    context.globalAlpha = 1; context.fillStyle = theme.background; context.fillRect(0, 0, width, height);
    context.translate(margin, margin);
    player.screen.paint(new CanvasPen(context, theme.font), places, slot);
    context.translate(-margin, -margin);
    return context.getImageData(0, 0, width, height);
  };
  const samples = Array.from({ length: 8 }, (_, i) => image(moments[Math.floor((i * (moments.length - 1)) / 7)].slot));
  const gif = new GifWriter(width, height, samples);
  for (const [i, { slot, hundredths }] of moments.entries()) {
    gif.add(image(slot), hundredths);
    button.textContent = `${Math.round((100 * (i + 1)) / moments.length)} %`;
    await new Promise((done) => setTimeout(done));
  }
  save(gif.blob(), `${player.name()}.gif`);
  button.textContent = words; button.disabled = false;
}

function save(blob, name) {
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(blob), download: name });
  document.body.append(link); link.click(); link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

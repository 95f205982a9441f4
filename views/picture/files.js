// Files for slides: a moment as SVG, the loop as GIF.

import { CanvasPen, SvgPen } from './pen.js';
import { GifWriter } from './gif.js';
import { imagesOf } from './moments.js';
import { themeOf } from './theme.js';

const GIF = { width: 1120, height: 630, margin: 14 };

export function saveSvg(player) {
  const width = player.canvas.clientWidth, height = player.canvas.clientHeight, theme = themeOf(player.root);
  const pen = new SvgPen(width, height, theme.font, theme.background);
  player.screen.paint(pen, player.screen.arranged(width, height, theme), player.slot);
  save(new Blob([pen.document(player.told.textContent)], { type: 'image/svg+xml' }), `${player.name()}-${player.root.dataset.frame}.svg`);
}

export async function saveGif(player) {
  player.pause();
  const button = player.buttons.gif, words = button.textContent;
  button.disabled = true;
  const { width, height, margin } = GIF, canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true }), theme = themeOf(player.root);
  const places = player.screen.arranged(width - 2 * margin, height - 2 * margin, theme), moments = imagesOf(player.main, player.stops, player.total);
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

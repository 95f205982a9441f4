// The colours and fonts of the page's current theme.

const NAMES = ['text-color', 'background-color', 'secondary-background-color', 'primary-color', 'font', 'code-font'];

export function themeKey(root) {
  const style = getComputedStyle(root);
  return NAMES.map((name) => style.getPropertyValue(`--st-${name}`)).join('|') + style.color;
}

export function themeOf(root) {
  const style = getComputedStyle(root), get = (name, other) => style.getPropertyValue(`--st-${name}`).trim() || other;
  const text = get('text-color', style.color), background = get('background-color', '#ffffff');
  return {
    text, background, accent: get('primary-color', '#2f7fd1'), onColour: '#ffffff', arrow: text,
    cell: mixed(text, background, 0.08), held: mixed(text, background, 0.2), dim: mixed(text, background, 0.68), rule: mixed(text, background, 0.3),
    idle: mixed(text, background, 0.38), wall: mixed(text, background, 0.62),
    font: { plain: get('font', 'sans-serif'), mono: get('code-font', 'monospace') },
  };
}

function mixed(one, other, share) {
  const [a, b] = [rgb(one), rgb(other)];
  return `rgb(${a.map((value, i) => Math.round(value * share + b[i] * (1 - share))).join(',')})`;
}

const colours = new Map();
function rgb(colour) {
  if (!colours.has(colour)) {
    const context = document.createElement('canvas').getContext('2d');
    context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    colours.set(colour, [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)]);
  }
  return colours.get(colour);
}

// Draws a Plotly figure in the page's type and colours, as large as its place. Streamlit calls it again with each new
// figure, and when the theme changes. Two buttons save it for a slide.

// Pixels of a saved plot, its type against the page's, and its font: a file does not carry the page's own.
const SAVED = { width: 1920, height: 1080, scale: 1.6, family: 'Arial, Helvetica, sans-serif' };
const charts = new WeakMap(); // the component's element -> its chart

export default async function ({ data, parentElement }) {
  await import(new URL(data.library, document.baseURI).href); // sets window.Plotly; the page fetches it ahead
  const chart = charts.get(parentElement) ?? begin(parentElement);
  chart.root.setAttribute('aria-label', data.alt);
  chart.root.classList.toggle('fills', data.fills);
  Object.assign(chart, { data, template: templateOf(chart.root) });
  draw(chart);
  return () => {
    if (parentElement.isConnected) return; // another call draws there
    chart.sizes.disconnect();
    clear(chart);
  };
}

function begin(parent) {
  const root = parent.appendChild(document.createElement('div'));
  root.className = 'chart';
  root.setAttribute('role', 'figure');
  const chart = { root, sizes: new ResizeObserver(() => draw(chart)) };
  const bar = parent.appendChild(Object.assign(document.createElement('div'), { className: 'saveplot' }));
  for (const format of ['svg', 'png']) {
    const words = { type: 'button', textContent: format.toUpperCase(), title: `Save this plot, ${SAVED.width} × ${SAVED.height}` };
    bar.appendChild(Object.assign(document.createElement('button'), words)).onclick = () => save(chart, format);
  }
  chart.sizes.observe(root);
  charts.set(parent, chart);
  return chart;
}

function draw(chart) {
  const { root, template, data: { figure, fills } } = chart;
  const size = { width: root.clientWidth, ...(fills && { height: root.clientHeight }) };
  if (Object.values(size).includes(0)) return clear(chart); // hidden by its successor
  const style = JSON.stringify([size, template]);
  if (figure !== chart.figure) {
    const { data, layout, frames } = JSON.parse(figure);
    const config = { displayModeBar: false, scrollZoom: false };
    window.Plotly.react(root, { data, layout: { ...layout, ...size, template }, frames, config });
    root.classList.add('drawn');
  } else if (style !== chart.style) {
    window.Plotly.relayout(root, { ...size, template });
  }
  Object.assign(chart, { figure, style });
}

// Save the figure with its description and the origin of its numbers.
async function save({ template, data: { figure, alt, origin } }, format) {
  const { data, layout } = JSON.parse(figure), { width, height, scale } = SAVED;
  const words = [alt, origin].map((text) => text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]));
  const title = { text: `<b>${words[0]}</b><br>${words[1]}`, x: 0.02, xanchor: 'left', y: 0.955, yanchor: 'top', font: { size: 17 } };
  const margin = { ...layout.margin, t: (layout.margin?.t ?? 40) + 84 }, font = { ...layout.font, family: SAVED.family };
  const sized = { ...layout, template, font, title, margin, width: width / scale, height: height / scale };
  const href = await window.Plotly.toImage({ data, layout: sized }, { format, width: width / scale, height: height / scale, scale });
  const name = alt.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
  Object.assign(document.createElement('a'), { href, download: `${name}.${format}` }).click();
}

function clear(chart) {
  if (chart.figure) window.Plotly.purge(chart.root);
  chart.root.classList.remove('drawn');
  chart.figure = null;
}

function templateOf(root) {
  const style = getComputedStyle(root), get = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const [color, background, rule, family] = ['text-color', 'background-color', 'border-color', 'font'].map(get);
  const axis = { gridcolor: rule, zerolinecolor: rule, tickcolor: rule, automargin: true };
  const title = (standoff) => ({ standoff, font: { size: 14 } });
  return {
    data: { scatter: [{ marker: { line: { width: 0 } } }] },
    layout: {
      font: { family, color }, colorway: get('chart-categorical-colors').split(','),
      paper_bgcolor: background, plot_bgcolor: background, margin: { pad: 8 },
      xaxis: { ...axis, showgrid: false, zeroline: false, title: title(20) }, yaxis: { ...axis, title: title(24) },
      hoverlabel: { bgcolor: background, bordercolor: rule, font: { color } },
    },
  };
}

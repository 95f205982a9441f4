// The component: draws a Plotly figure in the page's type and colours, as large as its place. Streamlit calls it again
// when the figure or the theme changes.

const CONFIG = { displayModeBar: false, scrollZoom: false };
const charts = new WeakMap();

export default function ({ data, parentElement }) {
  if (!charts.has(parentElement)) charts.set(parentElement, new Chart(parentElement));
  const chart = charts.get(parentElement);
  chart.show(data);
  return () => { if (!parentElement.isConnected) chart.end(); };
}

class Chart {
  constructor(parent) {
    this.root = parent.appendChild(document.createElement('div'));
    this.root.className = 'chart';
    this.root.setAttribute('role', 'figure');
    this.sizes = new ResizeObserver(() => this.draw());
  }

  async show(data) {
    this.data = data;
    this.root.setAttribute('aria-label', data.alt);
    this.root.classList.toggle('fills', data.fills);
    await import(new URL(data.library, document.baseURI).href); // sets window.Plotly; the page fetches it ahead
    this.template = templateOf(this.root);
    this.draw();
    this.sizes.observe(this.root);
  }

  draw() {
    const { root, template, data: { figure, fills } } = this;
    const size = { width: root.clientWidth, ...(fills && { height: root.clientHeight }) };
    if (Object.values(size).includes(0)) return this.clear(); // not on the page, or hidden by its successor
    const style = JSON.stringify([size, template]);
    if (figure !== this.figure) {
      const { data, layout, frames } = JSON.parse(figure);
      window.Plotly.react(root, { data, layout: { ...layout, ...size, template }, frames, config: CONFIG });
    } else if (style !== this.style) {
      window.Plotly.relayout(root, { ...size, template });
    }
    root.classList.add('drawn');
    Object.assign(this, { figure, style });
  }

  clear() {
    if (this.figure) window.Plotly.purge(this.root);
    this.root.classList.remove('drawn');
    this.figure = null;
  }

  end() {
    this.sizes.disconnect();
    this.clear();
  }
}

function templateOf(root) {
  const style = getComputedStyle(root), get = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const [text, background, rule, family] = ['text-color', 'background-color', 'border-color', 'font'].map(get);
  const axis = { gridcolor: rule, zerolinecolor: rule, tickcolor: rule, automargin: true };
  return {
    data: { scatter: [{ marker: { line: { width: 0 } } }] },
    layout: {
      font: { family, color: text }, paper_bgcolor: background, plot_bgcolor: background, margin: { pad: 8 },
      colorway: get('chart-categorical-colors').split(','),
      xaxis: { ...axis, showgrid: false, zeroline: false, title: { standoff: 20, font: { size: 14 } } },
      yaxis: { ...axis, title: { standoff: 24, font: { size: 14 } } },
      hoverlabel: { bgcolor: background, bordercolor: rule, font: { color: text } },
    },
  };
}

// Plotly with the kinds of traces that engine/figures has; scatter is always in it.
const Plotly = require('plotly.js/lib/core');
Plotly.register([require('plotly.js/lib/bar'), require('plotly.js/lib/heatmap')]);
module.exports = Plotly;

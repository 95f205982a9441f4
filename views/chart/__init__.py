"""Charts: Plotly figures as a component of the page, drawn by npm's plotly.js-basic-dist-min, unchanged."""

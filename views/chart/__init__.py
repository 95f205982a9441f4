"""Charts: figures as Plotly reads them, drawn in the browser."""

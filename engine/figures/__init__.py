"""Figures: tables in, Plotly dictionaries out. Nothing is measured here."""

"""A block in motion: a trace becomes frames, plain data that a browser draws and plays."""

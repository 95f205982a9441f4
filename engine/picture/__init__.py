"""A block in motion: a trace becomes the frames of a picture, plain data that a browser draws and plays."""

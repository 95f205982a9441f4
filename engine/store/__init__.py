"""Data that outlives the server: one SQLite file per installation."""

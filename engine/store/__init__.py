"""What outlives the server: one SQLite file an installation."""

"""Runs in isolated worker processes, for many browsers."""

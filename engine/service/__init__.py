"""Runs in isolated worker processes, queued fairly for many browsers."""

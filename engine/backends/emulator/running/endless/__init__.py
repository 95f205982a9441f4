"""Loops that never end, found while they run."""

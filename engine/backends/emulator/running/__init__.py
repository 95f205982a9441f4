"""Scheduling of lane groups: which runs next, where lanes wait, where they converge."""

"""Sentences of the lectures that a run can decide."""

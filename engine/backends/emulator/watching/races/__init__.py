"""Races: two accesses to one word, one a write, that nothing orders."""

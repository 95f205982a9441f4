"""Counts that follow from a formula, beside what was counted."""

"""The sheets page: exercises with checks."""

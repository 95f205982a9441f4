"""Check the answer, then time it."""

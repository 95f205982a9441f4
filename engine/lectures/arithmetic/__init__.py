"""The lectures' own calculations."""

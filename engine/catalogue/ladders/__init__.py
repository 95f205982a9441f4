"""The ladders: an order of rungs, the lecture it comes from, and the sentence from one rung to the next.

One module a topic; the figures that the lectures print stand in published/*.csv, and a rung names the lecture's row.
"""

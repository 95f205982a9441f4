"""A report of a ladder, or of a lecture as it was given, as one file."""

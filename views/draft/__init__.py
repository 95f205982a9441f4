"""A draft: a source that somebody edits, what it started from, how it is launched, and what came of its tries."""

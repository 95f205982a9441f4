"""The page of the debugger: a recorded block of a draft, stepped through in both directions."""

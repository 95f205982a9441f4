"""The page Inside: the counts of every line, the change since the rung before, one block step by step."""

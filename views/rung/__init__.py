"""One rung on the screen: the page to sit before, the page for a hall, and what their buttons do."""

"""Who may come in, and who may do what."""

"""Parts of the ladder page that belong to a topic: plots, animations, and sections below the table."""

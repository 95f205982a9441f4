"""What hangs off a topic: pictures in the place of the bars, scenes that move, and sections below the table."""

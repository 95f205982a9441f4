"""Lab sheets: a task with a kernel to start from, what is checked of an answer, hints, and the solution."""

"""A lab sheet on a page: its text, the student's file, answers to questions, checks, hints and the solution."""

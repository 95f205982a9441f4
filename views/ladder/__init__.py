"""The ladder page: step through a lecture, see what changed, run it, compare the numbers with the lecture's."""

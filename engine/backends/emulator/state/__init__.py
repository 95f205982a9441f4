"""The state of a launch: memory, resident blocks, the order of lanes and blocks, and the events of a run."""

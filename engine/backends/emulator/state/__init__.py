"""What instructions work on: memory, the launch, the order of lanes and blocks, and the events they raise."""

"""The emulator: PTX of a plan, executed on NumPy arrays over lanes, with counters and hazards."""

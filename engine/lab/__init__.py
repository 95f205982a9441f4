"""Any kernel, from a file or a text, run on the emulator: its arrays, its counts, and what is wrong with it."""

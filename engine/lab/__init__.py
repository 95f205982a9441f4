"""Any kernel from a file or a text: run on the emulator, with its arrays, counts and findings."""

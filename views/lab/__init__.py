"""The lab page: a kernel is edited, checked on the emulator, and run on a GPU."""

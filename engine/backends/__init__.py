"""The backends that run a Plan: a GPU, the CPU, or the emulator of the kernel's PTX."""

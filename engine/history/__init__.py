"""Kept measurements: of this computer, of named GPUs, and of a GPU's profiler."""

"""Measurements kept: of this computer, of named GPUs, and what a profiler counted."""

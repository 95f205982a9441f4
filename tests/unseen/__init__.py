"""Kernels in the style of samples, courses and benchmarks, written before anybody looked at how they count.

A launch of each is run on a GPU under the profiler (tests/gpu/profile_unseen.py) and on the emulator: how well the
counters hold on code that the emulator's rules were not made for.
"""

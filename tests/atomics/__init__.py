"""One small kernel for each kind of atomic, place and set of lanes.

A launch of each is run on a GPU under the profiler (tests/gpu/profile_atomics.py) and on the emulator: what the
assembler makes of atomics, which PTX does not show.
"""

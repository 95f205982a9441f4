"""Small kernels that show one rule each of how the GPU's assembler changes accesses to memory.

A launch of each is run on a GPU under the profiler (tests/gpu/profile_small.py) and on the emulator: what they count is
compared in tests/backends/emulator/watching/test_small_counters.py.
"""

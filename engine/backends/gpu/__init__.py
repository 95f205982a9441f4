"""The GPU: the only folder that imports CuPy. Launches, memory, timing, the peers that are timed alongside."""

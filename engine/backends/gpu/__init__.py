"""The GPU backend, the only folder that imports CuPy: launches, memory, and the libraries that are timed alongside."""

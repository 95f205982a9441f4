"""Record a long loop for the debugger, and print the size of the recording and the time to any moment:

python -m tests.lab.recording_size [ROUNDS]
"""

from __future__ import annotations

import pickle
import resource
import sys
import time

import numpy as np

from engine.lab.kernels import kernel

TEXT = """__global__ void spin(float *y, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < rounds; ++k) {
        float x = y[(i + k) % n];
        sum += x * 0.5f;
    }
    y[i] = sum;
}
"""


def main(rounds: int = 6_600) -> None:
    """Print a line of figures, and one for each kind of question, asked in the middle of the run."""
    before = time.perf_counter()
    found = kernel(TEXT, "spin").record(1, 256, (np.ones(1024, np.float32), 1024, rounds), seconds=100)
    seconds = time.perf_counter() - before
    lines = sum(len(found.moments_of(thread)) for thread in range(256))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    size, ended = len(pickle.dumps(found)) >> 20, found.recording.ended or "complete"
    print(f"{lines:,} lines of 256 threads in {found.moments:,} moments: {ended}")
    print(f"  recorded in {seconds:.1f} s, {size} MB, the process at most {peak} MB")
    middle = found.moments // 2
    questions = {
        "variables of a thread": lambda: found.variables(100, middle),
        "one variable in all threads": lambda: found.row("sum", 100, middle),
        "64 elements with their writers": lambda: found.memory("y", middle),
        "the next write to an element": lambda: found.search(found.writing("y", 3), middle),
    }
    for name, ask in questions.items():
        before = time.perf_counter()
        ask()
        print(f"  {name}: {1e3 * (time.perf_counter() - before):.0f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

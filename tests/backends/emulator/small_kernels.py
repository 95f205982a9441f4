"""Small kernels on the emulator, for several tests of the machine."""

import numpy as np

from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.state.schedule import LOCKSTEP
from engine.records import Buffer, Launch, Scalar, Source


def execute(text, grid=1, block=32, dtype="int32", defines=(), name="f", observers=(), schedule=LOCKSTEP, options=None,
            cooperative=False, **arguments):  # fmt: skip
    """Run kernel `name` of `text`; arrays are inputs (copied), numbers scalars. Return the arrays after the run."""
    device, passed = Device(), []
    for key, value in arguments.items():
        if isinstance(value, np.ndarray):
            device.place(Buffer(key, str(value.dtype), value.size, "input"), {key: value})
            passed.append(key)
        else:
            passed.append(Scalar("float64" if isinstance(value, float) else "int32", value))
    grid, block = (tuple(size) if isinstance(size, tuple) else (size, 1, 1) for size in (grid, block))
    source = Source("test.cu", text, dtype, tuple(defines))
    step = Launch(name, source, grid, block, tuple(passed), cooperative)
    machine = launch(device, step, observers, schedule, options)
    made = {key: device.read(key, value.size) for key, value in arguments.items() if isinstance(value, np.ndarray)}
    return {**made, "printed": machine.output}


def zeros(count, dtype="int32"):
    return np.zeros(count, dtype)


GRID_SYNC = """#include <cooperative_groups.h>
extern "C" __global__ void f(int *a, int *out) {
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank();
    for (int k = 0; k < 3; k++) {
        a[i] = i * k;
        grid.sync();
        out[i] += a[(i + 33) % grid.size()];
        grid.sync();
    }
}"""

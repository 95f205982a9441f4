"""The values that travel between the modules: frozen, printable, picklable.

    page -> Choice -> plan -> Plan -> compile -> PTX --+--> gpu ------+--> Run -> measure -> Measurement
                        |                              +--> emulator -+
                        +-> NotRunnable(reason) -> page

Vocabulary: a `kernel` is a `__global__` function with its file; a `rung` its place in a `ladder`;
`n` the number of elements (or the matrix width); `block_size` the threads per block (or the tile
width); `grid_size` the blocks; a `plan` the steps that produce one answer; a `run` one execution; a
`measurement` a checked and, on a GPU, timed record. A value that was not measured is None, never 0.
"""

from __future__ import annotations

from engine.records.choice import (
    C_TYPES,
    CACHE_STATES,
    COMBINES,
    DEVICES,
    SCHEDULES,
    Array,
    Choice,
    CompileError,
    NotRunnable,
    Progress,
    RunFailed,
    Settled,
    Status,
    dtype_of,
    shortened,
    status_of,
)
from engine.records.measurement import Caveat, Check, Counts, Finding, LineCounters, Measurement, Rates, Run, Timing
from engine.records.plan import Buffer, HostRun, HostSum, Launch, Plan, Scalar, Source, Step, TensorMap, Zero
from engine.records.texture import Texture

__all__ = ["CACHE_STATES", "COMBINES", "C_TYPES", "DEVICES", "SCHEDULES", "Array", "Buffer", "Caveat", "Check",
           "Choice", "CompileError", "Counts", "Finding", "HostRun", "HostSum", "Launch", "LineCounters", "Measurement",
           "NotRunnable", "Plan", "Progress", "Rates", "Run", "RunFailed", "Scalar", "Settled",
           "Source", "Status", "Step", "TensorMap", "Texture", "Timing", "Zero", "dtype_of", "shortened",
           "status_of"]  # fmt: skip

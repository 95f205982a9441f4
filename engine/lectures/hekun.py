"""The claims of He Kun (CUDA programming model: Reduction, 2024), each with the runs that decide it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine.catalogue.published import printed
from engine.lectures.claim import HEKUN, STATUS, TIMES, Claim, Computed, Counted, Status, emulated, times_as_fast
from engine.records import Choice

_TREE = Choice("reduce_register_tree", 4096, 128, device="emulator")
_STORE = "    partial[tid] = sum;\n    __syncthreads();"
_HALVED = "            sum = partial[tid] + partial[tid + stride];\n        __syncthreads();"

# The numbers of glibc's rand() in a C program that never calls srand().
_LAG, _NEAR = 31, 3  # each number is the sum, modulo 2^32, of those 31 and 3 places before it
_UNUSED = 310  # rand() drops the first sums
_AT_ONCE = 256 * _LAG


def sum_of_digits(count: int) -> int:
    """Return the sum of `count` numbers rand() % 10, with the default seed 1.

    Every number is a fixed combination of 31 earlier neighbours, so one product makes thousands.
    """
    state = _first()
    weights = np.zeros((_LAG + _AT_ONCE, _LAG), np.uint32)
    weights[:_LAG] = np.eye(_LAG, dtype=np.uint32)
    for row in range(_LAG, len(weights)):
        weights[row] = weights[row - _LAG] + weights[row - _NEAR]
    total = 0
    for start in range(0, count, _AT_ONCE):
        numbers = weights[_LAG:] @ state
        total += int(((numbers >> 1)[: count - start] % 10).sum())  # rand() drops the lowest bit
        state = numbers[-_LAG:]
    return total


def _first() -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the 31 sums before the first one that rand() returns."""
    sums = [1]
    while len(sums) < _LAG:
        sums.append(16807 * sums[-1] % (2**31 - 1))
    sums += sums[:_NEAR]
    while len(sums) < _LAG + _NEAR + _UNUSED:
        sums.append((sums[-_LAG] + sums[-_NEAR]) % 2**32)
    return np.array(sums[-_LAG:], np.uint32)


CLAIMS: tuple[Claim, ...] = (
    Claim("three-steps", HEKUN, "1. Threads reduce by half every time",
          "If using CPU, there will be 7 plus operation, however, on GPU, there are only 3 steps.", "hekun",
          Counted("branches", "global_load_requests", line="if (tid < stride)", whole_under=True, unit="steps"),
          "equals", 3, emulated("reduce_sequential", n=8, block_size=8), "8 numbers: 8 threads load "
          "them, and 4 add in the first step, as drawn"),
    Claim("four-loops", HEKUN, "2. Grid stride loop", "There are 32 operations need to be executed, but only 8 "
          "threads are allocated. Therefore, each thread has to be reused 4 times.", "hekun",
          Counted("global_load_requests", unit="loads per thread"), "equals", 4, emulated("reduce_register_tree",
          n=32, block_size=8, grid_size=1), "32 numbers, 8 threads"),
    Claim("gpu-wins-hekun", HEKUN, "Output", "Time on gpu: 1.15, Time on cpu: 26.45.", "hekun", TIMES, "about",
          times_as_fast("hekun", "reduce_scalar", "reduce_register_tree"), (Choice("reduce_scalar", 10_000_000, 256,
          combine="none"), Choice("reduce_register_tree",
          10_000_000, 256, 32, combine="atomic")), "10 million numbers, 32 blocks of 256 threads", "direction",
          "Less than in the notes: a CPU of today adds faster, and 32 blocks leave most SMs of the GPU idle."),
    Claim("shared-accumulation", HEKUN, "3. Shared memory", "If directly using the shared memory to do accumulation "
          "like: acc_tmp[threadIdx.x] += d_in[ele_id];, the result could be wrong because it's in a loop, where "
          "mutliple thread may access the same memory at the same time.", "hekun",
          STATUS, "one of", ("wrong", "hazard"), (replace(_TREE, kernel="reduce_grid_stride_atomic"),),
          "the sum of a thread in its own word of shared memory", "ok", "Each thread adds to a word of its own, "
          "acc_tmp[threadIdx.x]; no other thread touches it before the barrier.", "error"),
    Claim("sync-after-loop", HEKUN, "3. Shared memory", "The last __syncthreads(); cannot be put right after the for "
          "loop, and must be after shared memory assignment.", "hekun", Status((_STORE,
          "    __syncthreads();\n    partial[tid] = sum;")), "one of", ("wrong", "hazard"), (_TREE,),
          "put right after the loop"),
    Claim("write-after-read", HEKUN, "3. Shared memory",
          "__syncthreads(); // Necessary // as write after read for the same memory.", "hekun",
          Status(("        __syncthreads();  // all have read before anyone writes\n", "")), "one of", ("wrong",
          "hazard"), (_TREE,), "without the barrier between reading and writing", "ok", "In a step the lower half of "
          "the threads writes its own words and reads those of the upper half: no thread reads a word that another "
          "writes in that step.", "error"),
    Claim("sync-after-write", HEKUN, "3. Shared memory", "__syncthreads(); // Necessary for 1050Ti, 1080Ti.", "hekun",
          Status(("        __syncthreads();  // all have written before anyone reads\n", "")), "one of", ("wrong",
          "hazard"), (_TREE,), "without the barrier after writing"),
    Claim("sync-in-if", HEKUN, "4. __syncthreads()",
          "__syncthreads() can't reside in if because it's a branch. Consequently, leading to errors.", "hekun",
          Status((_HALVED, _HALVED.replace("            sum",
          "        {\n            sum") .replace("        __syncthreads();",
          "            __syncthreads();\n        }"))), "one of", ("wrong", "hazard", "deadlock"), (_TREE,),
          "the first barrier of a step moved into its if"),
    Claim("atomic-needed", HEKUN, "5. atomicAdd",
          "atomicAdd guarantees the read/write to an address won't be disrupted by other threads.", "hekun",
          Status(("atomicAdd(out, partial[0])", "*out += partial[0]")), "one of", ("wrong", "hazard"), (_TREE,),
          "with *out += in its place"),
    Claim("equal", HEKUN, "Output", "Equal. Sum on gpu: 45011704, Sum on cpu: 45011704.", "hekun", STATUS, "one of",
          ("ok",), (_TREE,), "the full code, with our numbers"),
    Claim("sum-of-rand", HEKUN, "Output", "Equal. Sum on gpu: 45011704, Sum on cpu: 45011704.", "hekun",
          Computed(lambda: sum_of_digits(10_000_000), "in all", "the numbers of glibc's rand()"), "equals",
          printed("hekun", "sum of ten million digits"),
          (), "ten million numbers rand() % 10, without srand()"),
)  # fmt: skip

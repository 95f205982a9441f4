"""What Cooper (2014) and He Kun (2024) claim, with what decides it."""

from __future__ import annotations

from dataclasses import replace

from engine.lectures.arithmetic.glibc import sum_of_digits
from engine.lectures.claims.kinds import COOPER, HEKUN, AnyClaim, Claim, Computed, Count, Ends, Timed
from engine.records import Choice


def _integral(kernel: str) -> Choice:
    combine = {"trapezoid_blocked_global": "host", "trapezoid_shared_host": "host"}.get(kernel, "relaunch")
    return Choice(kernel, 65536, 256, dtype="float64", combine=combine if kernel != "trapezoid_scalar" else "none")


def _emulated(choice: Choice) -> Choice:
    return replace(choice, device="emulator")


_COOPERS: tuple[AnyClaim, ...] = (
    Ends("integral", COOPER, "Our example", "The value of the integral is about -0.34702211863386324383.",
         "cooper", _emulated(_integral("trapezoid_scalar")), ("ok",), "65536 points, on the CPU"),
    Ends("value-changes", COOPER, "CUDA Reduce",
         "It also says the integral value is about -0.326483, though that value changes almost every run.",
         "cooper", _emulated(replace(_integral("trapezoid_global_race"), combine="none")), ("wrong",)),
    Ends("syncthreads", COOPER, "Blocked Reduce",
         "Any time a thread refers to any memory that is not directly associated with that thread, it should call "
         "__syncthreads() first.",
         "cooper", _emulated(_integral("trapezoid_blocked_global")), ("wrong", "hazard"), "without it in the loop",
         ("            f_val[i] += f_val[i + jump];\n        __syncthreads();",
          "            f_val[i] += f_val[i + jump];")),
    Ends("early-return", COOPER, "Divergent branch", "Every time we go through the loop we drop half the threads.",
         "cooper", _emulated(_integral("trapezoid_shared_host")), ("ok",), "return before the barrier, as on the slide",
         ("        if (tid % (2 * jump) == 0)\n            f_val[tid] += f_val[tid + jump];",
          "        if (tid % (2 * jump) != 0) return;\n        f_val[tid] += f_val[tid + jump];")),
    Ends("page-faults", COOPER, "Syncthreads()",
         "You should probably choose a block size smaller than the SM. Otherwise... page faults.",
         "cooper", _emulated(replace(_integral("trapezoid_sequential"), block_size=1024)),
         ("out-of-bounds", "crashed"), "1024 threads per block", today="ok",
         why="The warps of a block take turns on the cores of an SM, however few these are; memory is not paged for "
         "it."),
    Timed("gpu-wins", COOPER, "So what?",
          "We have taken a scalar program that took five seconds to execute, and sped it up so much that it now takes "
          ".09 seconds.",
          "cooper", ((_integral("trapezoid_scalar"), _integral("trapezoid_sequential")),), 5500 / 80,
          today="direction",
          why="More than in the lecture: both are thousands of times faster today, the GPU a little more so."),
    Timed("shared-memory", COOPER, "Shared memory",
          "This simple change to shared memory cuts the overall execution time to about 0.24 seconds.",
          "cooper", ((_integral("trapezoid_blocked_global"), _integral("trapezoid_shared_host")),), 270 / 240,
          today="close", why="What a block has just written to global memory lies in the caches; and at this size both "
          "wait for the copy to the host."),
    Timed("shared-memory-large", COOPER, "Shared memory", "It is faster than global memory.",
          "cooper", ((replace(_integral("trapezoid_blocked_global"), n=2**24),
                      replace(_integral("trapezoid_shared_host"), n=2**24)),), None, "2^24 points"),
    Timed("second-reduce", COOPER, "Shared memory",
          "The problem is probably that stupid sloppy sequential sum at the end. Converting to that "
          "second "
          "interleaved call cuts the time to about 0.10 seconds.",
          "cooper", ((_integral("trapezoid_shared_host"), _integral("trapezoid_shared_relaunch")),), 240 / 100),
    Timed("count-differently", COOPER, "Divergent branch", "Count differently. This version executes in about 0.08 "
          "seconds.", "cooper", ((_integral("trapezoid_shared_relaunch"), _integral("trapezoid_sequential")),),
          100 / 80, today="direction",
          why="Less than in the lecture: at this size launching takes most of the time of both."),
)  # fmt: skip

_TREE = Choice("reduce_register_tree", 4096, 128, device="emulator")
_STORE = "    partial[tid] = sum;\n    __syncthreads();"
_HALVED = "            sum = partial[tid] + partial[tid + stride];\n        __syncthreads();"

_HEKUNS: tuple[AnyClaim, ...] = (
    Claim("three-steps", HEKUN, "1. Threads reduce by half every time",
          "If using CPU, there will be 7 plus operation, however, on GPU, there are only 3 steps.",
          "hekun", "reduce_sequential",
          Count("branches", "global_load_requests", line="if (tid < stride)", whole_under=True), "steps", 3,
          "8 numbers, 8 threads, as drawn", n=8, block_size=8),
    Claim("four-loops", HEKUN, "2. Grid stride loop",
          "There are 32 operations need to be executed, but only 8 threads are allocated. Therefore, each thread has "
          "to "
          "be reused 4 times.",
          "hekun", "reduce_register_tree", Count("global_load_requests"), "loads per thread", 4,
          "32 numbers, 8 threads", n=32, block_size=8, grid_size=1),
    Timed("gpu-wins-hekun", HEKUN, "Output", "Time on gpu: 1.15, Time on cpu: 26.45.",
          "hekun", ((Choice("reduce_scalar", 10_000_000, 256, combine="none"),
                     Choice("reduce_register_tree", 10_000_000, 256, 32, combine="atomic")),), 26.45 / 1.15,
          "10 million numbers, 32 blocks of 256 threads", today="direction",
          why="Less than in the notes: a CPU of today adds faster, and 32 blocks leave most SMs of the GPU "
          "idle."),
    Ends("shared-accumulation", HEKUN, "3. Shared memory",
         "If directly using the shared memory to do accumulation the result could be wrong, where mutliple thread may "
         "access the same memory at the same time.",
         "hekun", replace(_TREE, kernel="reduce_grid_stride_atomic"), ("wrong", "hazard"),
         "the sum of a thread in its own word of shared memory", today="ok",
         why="Each thread adds to a word of its own, acc_tmp[threadIdx.x]; no other thread touches it before the "
         "barrier."),
    Ends("sync-after-loop", HEKUN, "3. Shared memory",
         "The last __syncthreads(); cannot be put right after the for loop, and must be after shared memory "
         "assignment.",
         "hekun", _TREE, ("wrong", "hazard"), "put right after the loop",
         (_STORE, "    __syncthreads();\n    partial[tid] = sum;")),
    Ends("write-after-read", HEKUN, "3. Shared memory",
         "__syncthreads(); // Necessary as write after read for the same memory.",
         "hekun", _TREE, ("wrong", "hazard"), "without the barrier between reading and writing",
         ("        __syncthreads();  // all have read before anyone writes\n", ""), today="ok",
         why="In a step the lower half of the threads writes and only reads the upper half's words: nobody reads what "
         "another thread writes in that step."),
    Ends("sync-after-write", HEKUN, "3. Shared memory", "__syncthreads(); // Necessary for 1050Ti, 1080Ti.",
         "hekun", _TREE, ("wrong", "hazard"), "without the barrier after writing",
         ("        __syncthreads();  // all have written before anyone reads\n", "")),
    Ends("sync-in-if", HEKUN, "4. __syncthreads()",
         "__syncthreads() can't reside in if because it's a branch. Consequently, leading to errors.",
         "hekun", _TREE, ("wrong", "hazard", "deadlock"), "the first barrier of a step moved into its if",
         (_HALVED, _HALVED.replace("            sum", "        {\n            sum")
          .replace("        __syncthreads();", "            __syncthreads();\n        }"))),
    Ends("atomic-needed", HEKUN, "5. atomicAdd",
         "atomicAdd guarantees the read/write to an address won't be disrupted by other threads.",
         "hekun", _TREE, ("wrong", "hazard"), "with *out += in its place", ("atomicAdd(out, partial[0])",
                                                                         "*out += partial[0]")),
    Ends("equal", HEKUN, "Output", "Equal. Sum on gpu: 45011704, Sum on cpu: 45011704.",
         "hekun", _TREE, ("ok",), "the full code, with our numbers"),
    Computed("sum-of-rand", HEKUN, "Output", "Equal. Sum on gpu: 45011704, Sum on cpu: 45011704.",
             "hekun", lambda: sum_of_digits(10_000_000), "in all", 45011704,
             "ten million numbers rand() % 10, without srand()", source="the numbers of glibc's rand()"),
)  # fmt: skip

CLAIMS: tuple[AnyClaim, ...] = (*_COOPERS, *_HEKUNS)

"""What He Kun claims (CUDA programming model: Reduction, 2024), with what decides it."""

from __future__ import annotations

from dataclasses import replace

from engine.lectures.arithmetic.glibc import sum_of_digits
from engine.lectures.claims.kinds import HEKUN, AnyClaim, Claim, Computed, Count, Ends, Timed
from engine.records import Choice

_TREE = Choice("reduce_register_tree", 4096, 128, device="emulator")
_STORE = "    partial[tid] = sum;\n    __syncthreads();"
_HALVED = "            sum = partial[tid] + partial[tid + stride];\n        __syncthreads();"

CLAIMS: tuple[AnyClaim, ...] = (
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

"""What Heidelberg (GPU Computing 07), Cooper (2014) and He Kun (2024) claim, with what decides it."""

from __future__ import annotations

from dataclasses import replace

from engine.lectures.arithmetic.glibc import sum_of_digits
from engine.lectures.claims.kinds import (
    COOPER,
    HEIDELBERG,
    HEKUN,
    Agreement,
    AnyClaim,
    Claim,
    Computed,
    Count,
    Ends,
    Timed,
)
from engine.records import Choice

_ITS = "Volta's (and after) SIMT model"


def _rung(kernel: str, block_size: int = 128) -> Choice:
    return Choice(kernel, 2**22, block_size, combine="relaunch")


def _throughput(name: str, slow: str, fast: str, rates: tuple[float, float], sentence: str, block_size: int = 128,
                today: Agreement = "holds", why: str = "") -> Timed:  # fmt: skip
    """One row of the lecture's table against the row before, with `block_size` threads."""
    return Timed(name, HEIDELBERG, "Throughput [GB/s]", sentence, "heidelberg",
                 ((_rung(slow, block_size), _rung(fast, block_size)),), rates[1] / rates[0],
                 f"{block_size} threads: {rates[0]:g}, then {rates[1]:g} GB/s", today=today, why=why)  # fmt: skip


def _best(kernel: str, label: str, other: float, best: float, today: Agreement, why: str = "") -> Timed:
    """The lecture's maxThr of a version is 128; against 256."""
    return Timed(f"best-block-{kernel}", HEIDELBERG, "Throughput [GB/s]", "maxThr: 128.", "heidelberg",
                 ((_rung(kernel, 256), _rung(kernel, 128)),), best / other, f"{label}: 128 against 256 threads",
                 today=today, why=why)  # fmt: skip


def _warp(kernel: str, device: str = "emulator") -> Choice:
    return Choice(kernel, 256, 128, device=device)


def _exercise(kernel: str) -> Choice:
    return Choice(kernel, 4096, 128, device="emulator")


def _ones(kernel: str) -> Choice:
    return Choice(kernel, 2**24 + 2**20, 256, dtype="float32", device="emulator")


# The last warp in the catalogue's kernel without volatile, which is Harris's, and as Heidelberg's slide has it.
_STRIDES = (32, 16, 8, 4, 2, 1)
_UNGUARDED = "".join(f"    partial[tid] += partial[tid + {stride}];\n" for stride in _STRIDES)
_GUARDED = "".join(
    f"    if (tid < {stride} && blockDim.x >= {2 * stride}) partial[tid] += partial[tid + {stride}];\n"
    for stride in _STRIDES
)

_LARGER_BLOCKS = "An SM of today holds more threads than one of then, and larger blocks need fewer launches and sums."

_HEIDELBERGS: tuple[AnyClaim, ...] = (
    _throughput("divergence", "reduce_interleaved", "reduce_strided", (16.77, 23.88), "Problem: branch divergence."),
    _throughput("conflicts", "reduce_strided", "reduce_sequential", (23.88, 30.83),
                "New problem: shared memory bank conflicts.", today="direction",
                why="Less than in the lecture: the conflicts are gone, but shared memory is not what most of the time "
                "goes to."),
    _throughput("idle", "reduce_sequential", "reduce_first_add", (30.83, 58.03),
                "New problem: idle threads. During the first operation, half of the threads are idling!",
                today="direction",
                why="Less than in the lecture: launching takes the same time, however few blocks there are."),
    _throughput("overhead", "reduce_first_add", "reduce_unroll_volatile", (58.03, 68.38),
                "Still far from peak. Instruction overhead.", today="direction",
                why="Less than in the lecture: instructions cost less today, next to launching and memory."),
    _throughput("templates", "reduce_complete_unroll", "reduce_unroll_volatile", (42.98, 68.38),
                "Less performance. Code size increase?", 128, "close",
                "Complete unrolling no longer costs anything: #5 and #6 take the same time."),
    _throughput("templates-256", "reduce_complete_unroll", "reduce_unroll_volatile", (40.01, 62.35),
                "Less performance. Code size increase?", 256, "differs",
                "With 256 threads complete unrolling is even a little faster today."),
    Timed("resized", HEIDELBERG, "Types of optimization",
          "Templating had little success, likely because of the non-optimal number of iterations (resp. the second "
          "iteration should use a different block size).",
          "heidelberg", ((_rung("reduce_complete_unroll"),
                          replace(_rung("reduce_complete_unroll"), combine="relaunch-resized")),), None,
          "the exercise: every launch chooses its own block size", today="close",
          why="After the first launch little is left to do; what the others cost is being launched."),
    _best("reduce_interleaved", "#1", 14.67, 16.77, "direction",
          "Less than in the lecture: launching takes the same time with any block size."),
    _best("reduce_sequential", "#3", 27.51, 30.83, "differs", _LARGER_BLOCKS),
    _best("reduce_complete_unroll", "#6", 40.01, 42.98, "differs", _LARGER_BLOCKS),
    Ends("no-volatile", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for __syncthreads().",
         "heidelberg", _exercise("reduce_unroll_plain"), ("ok",), "as on the slide: guarded steps, without volatile",
         (_UNGUARDED, _GUARDED), today="hazard",
         why="Nothing makes a lane wait for another one. In lockstep the answer is right; since Volta nothing promises "
         "lockstep."),
    Ends("no-volatile-apart", HEIDELBERG, "Reduction #5: unrolling the last warp",
         "Instructions are synchronous within a warp.",
         "heidelberg", replace(_exercise("reduce_unroll_plain"), schedule="independent:3"), ("ok",),
         "the same code, its lanes scheduled independently", (_UNGUARDED, _GUARDED), today="wrong",
         why="Since Volta the lanes of a warp may run apart, and then a lane adds what another has not yet written."),
    Timed("shuffle-bandwidth", HEIDELBERG, "Warp-level instructions",
          "A shuffle instruction replaces a multi-instruction shared memory sequence. Increase effective bandwidth.",
          "heidelberg", ((_rung("reduce_unroll_syncwarp"), _rung("reduce_unroll_shuffle")),), None,
          "the last warp of #5", today="close",
          why="The instructions are fewer, but the last warp is a small part of the time."),
    Ends("pascal-deadlock", HEIDELBERG, "Pascal's (and before) SIMT model",
         "Deadlock possibility when sharing data among non-coherent threads of a single warp.",
         "heidelberg-volta", _warp("lock_spin"), ("deadlock",), "the plain lock, warps in lockstep"),
    Ends("pascal-lock", HEIDELBERG, "Pascal's (and before) SIMT model",
         "Avoid fine-grain synchronization or use lock-free algorithms.",
         "heidelberg-volta", _warp("branch_order"), ("ok",),
         "the lock-free half of the advice: tickets drawn by atomics, warps in lockstep"),
    Ends("volta-lock", HEIDELBERG, "Starvation-free algorithms",
         "Volta's ITS: thread #0 will eventually (question of when, not if) be scheduled for execution.",
         "heidelberg-volta", _warp("lock_spin", "gpu"), ("ok",), "the plain lock on a GPU"),
    Ends("ticket-lock", HEIDELBERG, "Starvation-free algorithms",
         "Any process of an algorithm is bypassed at most a finite number times before being allowed access.",
         "heidelberg-volta", _warp("lock_ticket", "gpu"), ("ok",), "a lock that serves in order, on a GPU"),
    Ends("not-reconverged", HEIDELBERG, _ITS, "Z in the example is not reconverged.",
         "heidelberg-volta", _warp("branch_exchange"), ("hazard", "wrong"), "Z reads what the other branch wrote"),
    Ends("reconverged", HEIDELBERG, _ITS, "Warp synchronization __syncwarp() to force reconvergence.",
         "heidelberg-volta", _warp("branch_exchange_syncwarp"), ("ok",)),
    Ends("exercise-first", HEIDELBERG, "Escape the new feature",
         "Compile for Pascal architecture: nvcc with options -arch=compute_60 -code=sm_70.",
         "heidelberg-exercise", _exercise("reduce_unroll_volatile"), ("ok",), "the exercise's first part",
         today="hazard", why="CUDA 13 no longer compiles for compute_60; for any newer GPU the lanes may run apart."),
    Ends("exercise-syncwarp", HEIDELBERG, "Escape the new feature", "Use warp-level primitives in their sync-variant.",
         "heidelberg-exercise", _exercise("reduce_unroll_syncwarp"), ("ok",), "__syncwarp"),
    Ends("exercise-shuffle", HEIDELBERG, "Escape the new feature",
         "Or implement a warp-level reduction tree using __shfl_down_sync().",
         "heidelberg-exercise", _exercise("reduce_unroll_shuffle"), ("ok",)),
    Ends("exercise-groups", HEIDELBERG, "Escape the new feature", "Use the new concept of cooperative thread groups.",
         "heidelberg-exercise", _exercise("reduce_cooperative"), ("ok",)),
    Timed("exercise-compare", HEIDELBERG, "Exercise", "Compare to performance of first part.",
          "heidelberg-exercise", ((_rung("reduce_unroll_shuffle"), _rung("reduce_unroll_volatile")),), 1,
          "the first part against shuffles; the lecture asks, and expected is no difference"),
    Ends("associative", HEIDELBERG, "Kernel decomposition", "Associativity: a + (b + c) = (a + b) + c.",
         "float-truths", _ones("floats_serial"), ("ok",), "17,825,792 ones as float32, one after the other",
         today="wrong", why="Float additions round, so that their order counts: from 2^24 on, adding one changes "
         "nothing."),
    Ends("tree-of-ones", HEIDELBERG, "Parallel reduction", "Often associative operations: reordering opportunity.",
         "float-truths", _ones("floats_tree"), ("ok",), "the same ones down a tree"),
    Ends("product", HEIDELBERG, "Parallel reduction", "Often associative operations: reordering opportunity.",
         "heidelberg-operators", _exercise("reduce_product"), ("ok",), "the product p"),
    Timed("one-cost", HEIDELBERG, "Parallel reduction", "Common and important data parallel primitive.",
          "heidelberg-operators", ((Choice("reduce_product", 2**22, 256, combine="relaunch"),
                                    Choice("reduce_max", 2**22, 256, combine="relaunch")),), 1,
          "product against maximum: no operator costs more than another"),
    Timed("hard-to-get-fast", HEIDELBERG, "Parallel reduction",
          "Pretty easy to implement in CUDA. Way harder to get it right (fast).",
          "heidelberg-histogram", ((Choice("histogram_global", 2**22, 256), Choice("histogram_shared", 2**22, 256)),),
          None, "h_k: atomics in global against shared memory"),
)  # fmt: skip


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
          Count("branches", "global_load_requests", line="if (tid < stride)", whole_under=True), "steps", 5,
          "32 numbers instead of 8: 31 additions, log2(32) steps", n=32, block_size=32),
    Claim("four-loops", HEKUN, "2. Grid stride loop",
          "There are 32 operations need to be executed, but only 8 threads are allocated. Therefore, each thread has "
          "to "
          "be reused 4 times.",
          "hekun", "reduce_register_tree", Count("global_load_requests"), "loads per thread", 4,
          "128 numbers, 32 threads", n=128, block_size=32, grid_size=1),
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

CLAIMS: tuple[AnyClaim, ...] = (*_HEIDELBERGS, *_COOPERS, *_HEKUNS)

"""What Heidelberg (GPU Computing 07, Scheduling Optimizations) claims, with what decides it.

As printed, its #5 and #6 are wrong on a GPU of today, so that they have no times. What is timed in their place are both
with __syncwarp, and the claim says so.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue import KERNELS
from engine.catalogue.entries import SMALL_BLOCKS
from engine.catalogue.gpu_models import GPU
from engine.compile.cubin import resources_of
from engine.lectures.claims.kinds import HEIDELBERG, SECTORS, Agreement, AnyClaim, Best, Claim, Computed, Ends, Timed
from engine.records import Choice, Source

_ITS = "Volta's (and after) SIMT model"
_TABLE = "Throughput [GB/s]"
_FIVE, _SIX = "reduce_unroll_syncwarp", "reduce_complete_unroll"
_MADE_RIGHT = "with __syncwarp"


def _rung(kernel: str, block_size: int = 128) -> Choice:
    return Choice(kernel, 2**22, block_size, combine="relaunch")


def _throughput(name: str, slow: str, fast: str, rates: tuple[float, float], sentence: str, block_size: int = 128,
                today: Agreement = "holds", why: str = "") -> Timed:  # fmt: skip
    """One row of the lecture's table against the row before, with `block_size` threads."""
    here = f"; here {_MADE_RIGHT}" if fast == _FIVE else ""
    return Timed(name, HEIDELBERG, _TABLE, sentence, "heidelberg",
                 ((_rung(slow, block_size), _rung(fast, block_size)),), rates[1] / rates[0],
                 f"{block_size} threads: {rates[0]:g}, then {rates[1]:g} GB/s{here}", today=today,
                 why=why)  # fmt: skip


def _best(number: int, kernel: str, today: Agreement = "holds", why: str = "") -> Best:
    """The lecture's maxThr of version `number`."""
    words = f"#{number}, {_MADE_RIGHT}" if kernel in (_FIVE, _SIX) else f"#{number}"
    return Best(f"best-block-{number}", HEIDELBERG, _TABLE, "maxThr: 128.", "heidelberg",
                tuple(_rung(kernel, size) for size in KERNELS[kernel].block_sizes), 128, words, today, why)  # fmt: skip


def _warp(kernel: str, device: str = "emulator") -> Choice:
    return Choice(kernel, 256, 128, device=device)


def _exercise(kernel: str, schedule: str | None = None) -> Choice:
    return Choice(kernel, 4096, 128, device="emulator", schedule=schedule)


def _ones(kernel: str) -> Choice:
    return Choice(kernel, 2**24 + 2**20, 256, dtype="float32", device="emulator")


def _length(kernel: str, block_size: int) -> int:
    """The machine instructions of a kernel with this block size."""
    entry = KERNELS[kernel]
    source = Source(entry.file_name, entry.text, "int32", (("BLOCK_SIZE", block_size),))
    return resources_of(source, kernel, GPU.architecture).instructions


def _lengths(*block_sizes: int) -> float:
    """#6 for all of these block sizes against #5, which needs one kernel for all."""
    return sum(_length("reduce_complete_guarded", size) for size in block_sizes) / _length("reduce_unroll_guarded", 128)


_EVERY_BLOCK = (*SMALL_BLOCKS, *KERNELS["reduce_complete_guarded"].block_sizes)
_LARGER_BLOCKS = "An SM of today holds more threads than one of then, and larger blocks need fewer launches and sums."
_NO_ORDER = (
    "Compiled for this GPU, a lane loads its neighbour's number before the neighbour has stored it. Without volatile "
    "or __syncwarp the compiler may do so, as the thread itself never changes that word."
)

CLAIMS: tuple[AnyClaim, ...] = (
    Claim("coalescing", HEIDELBERG, "Reduction #1: interleaved addressing", "Collective load. Coalescing issues?",
          "heidelberg", "reduce_interleaved", replace(SECTORS, line="in[i]"), "sectors per request", 4,
          "none: 32 neighbours read 32 ints, which are 4 sectors of 32 bytes"),
    Ends("why-syncthreads-load", HEIDELBERG, "Reduction #1: interleaved addressing",
         "Synchronization. Why syncthreads?", "heidelberg", _exercise("reduce_interleaved"), ("wrong", "hazard"),
         "without the barrier after the load", ("T(0);\n    __syncthreads();", "T(0);")),
    Ends("why-syncthreads-step", HEIDELBERG, "Reduction #1: interleaved addressing",
         "Synchronization. Why syncthreads?", "heidelberg", _exercise("reduce_interleaved"), ("wrong", "hazard"),
         "without the barrier after each step",
         ("partial[tid + stride];\n        __syncthreads();", "partial[tid + stride];")),
    _throughput("divergence", "reduce_interleaved", "reduce_strided", (16.77, 23.88), "Problem: branch divergence."),
    _throughput("conflicts", "reduce_strided", "reduce_sequential", (23.88, 30.83),
                "New problem: shared memory bank conflicts.", today="direction",
                why="Less than in the lecture: the conflicts are gone, but shared memory is not what most of the time "
                "goes to."),
    _throughput("idle", "reduce_sequential", "reduce_first_add", (30.83, 58.03),
                "New problem: idle threads. During the first operation, half of the threads are idling!",
                today="direction",
                why="Less than in the lecture: launching takes the same time, however few blocks there are."),
    _throughput("overhead", "reduce_first_add", _FIVE, (58.03, 68.38),
                "Still far from peak. Instruction overhead.", today="direction",
                why="Less than in the lecture: instructions cost less today, next to launching and memory."),
    _throughput("templates", _SIX, _FIVE, (42.98, 68.38), "Less performance.", 128, "close",
                "Complete unrolling no longer costs anything: #5 and #6 take the same time."),
    _throughput("templates-256", _SIX, _FIVE, (40.01, 62.35), "Less performance.", 256, "differs",
                "With 256 threads complete unrolling is even a little faster today."),
    Computed("code-size", HEIDELBERG, "Reduction #6: complete unrolling", "Less performance. Code size increase?",
             "heidelberg", lambda: _lengths(128), "times the instructions of #5", 1,
             "#6 for 128 threads against #5", why="One kernel for one block size is shorter than the loop for all: "
             "every step that this block size does not need is gone. Code size explains no loss.",
             words="more instructions"),
    Computed("code-size-of-all", HEIDELBERG, "Reduction #6: complete unrolling", "-> C++ templates! Larger code.",
             "heidelberg", lambda: _lengths(*_EVERY_BLOCK), "times the instructions of #5", 1,
             f"#6 for all {len(_EVERY_BLOCK)} block sizes of the switch from 1 to 1024, of which one runs",
             words="more instructions"),
    Timed("resized", HEIDELBERG, "Types of optimization",
          "Templating had little success, likely because of the non-optimal number of iterations (resp. the second "
          "iteration should use a different block size).",
          "heidelberg", ((_rung(_SIX), replace(_rung(_SIX), combine="relaunch-resized")),), None,
          f"#6 {_MADE_RIGHT}: every launch chooses its own block size", today="close",
          why="After the first launch little is left to do; what the others cost is being launched."),
    _best(1, "reduce_interleaved"),
    _best(2, "reduce_strided"),
    _best(3, "reduce_sequential", "differs", _LARGER_BLOCKS),
    _best(4, "reduce_first_add"),
    _best(5, _FIVE, "differs", _LARGER_BLOCKS),
    _best(6, _SIX, "differs", _LARGER_BLOCKS),
    Ends("no-volatile", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for __syncthreads().",
         "heidelberg", _exercise("reduce_unroll_guarded"), ("ok",), "the slide's code, warps in lockstep",
         today="hazard",
         why="Nothing makes a lane wait for another one. In lockstep the answer is right; since Volta nothing promises "
         "lockstep."),
    Ends("no-volatile-apart", HEIDELBERG, "Reduction #5: unrolling the last warp",
         "Instructions are synchronous within a warp.",
         "heidelberg", _exercise("reduce_unroll_guarded", "independent:3"), ("ok",),
         "the slide's code, its lanes scheduled independently", today="wrong",
         why="Since Volta the lanes of a warp may run apart, and then a lane adds what another has not yet written."),
    Ends("no-volatile-gpu", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for __syncthreads().",
         "heidelberg", replace(_rung("reduce_unroll_guarded"), device="gpu"), ("ok",), "the slide's code on a GPU",
         today="wrong", why=_NO_ORDER),
    Ends("no-volatile-templates", HEIDELBERG, "Reduction #6: complete unrolling",
         "Inner loop highly optimized.", "heidelberg", replace(_rung("reduce_complete_guarded"), device="gpu"), ("ok",),
         "the slide's code on a GPU", today="wrong", why=_NO_ORDER),
    Ends("no-if", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for if (tid < s).",
         "heidelberg", _exercise("reduce_unroll_plain"), ("ok",), "without if and without volatile, warps in lockstep",
         today="wrong",
         why="In the PTX the ifs, which the slide has all the same, keep its steps apart. Without them the compiler "
         "loads all six numbers first."),
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
         "heidelberg-exercise", _exercise("reduce_unroll_guarded", "lockstep"), ("ok",),
         "the first part: the slide's code, warps in lockstep as on Pascal", today="hazard",
         why="CUDA 13 no longer compiles for compute_60. The emulator runs the warps in lockstep instead, in the order "
         "of the PTX, and the answer is right; the race is reported all the same, as it is one by the rules since "
         "Volta."),
    Ends("exercise-first-gpu", HEIDELBERG, "Escape the new feature", "Compile for Pascal architecture.",
         "heidelberg-exercise", replace(_rung("reduce_unroll_guarded"), device="gpu"), ("ok",),
         "the first part compiled for a GPU of today", today="wrong", why=_NO_ORDER),
    Ends("exercise-syncwarp", HEIDELBERG, "Escape the new feature", "Use warp-level primitives in their sync-variant.",
         "heidelberg-exercise", _exercise("reduce_unroll_syncwarp"), ("ok",), "__syncwarp"),
    Ends("exercise-shuffle", HEIDELBERG, "Escape the new feature",
         "Or implement a warp-level reduction tree using __shfl_down_sync().",
         "heidelberg-exercise", _exercise("reduce_unroll_shuffle"), ("ok",)),
    Ends("exercise-groups", HEIDELBERG, "Escape the new feature", "Use the new concept of cooperative thread groups.",
         "heidelberg-exercise", _exercise("reduce_cooperative"), ("ok",)),
    Timed("exercise-compare", HEIDELBERG, "Exercise", "Compare to performance of first part.",
          "heidelberg-exercise", ((_rung("reduce_unroll_shuffle"), _rung("reduce_unroll_volatile")),), 1,
          "the first part, with volatile, against shuffles; the lecture asks, and expected is no difference"),
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

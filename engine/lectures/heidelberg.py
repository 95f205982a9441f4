"""The claims of Heidelberg (GPU Computing 07, Scheduling Optimizations), each with the runs that decide it.

As printed, #5 and #6 are wrong on a GPU of today, so they have no times. Versions with __syncwarp are timed in their
place, and the claims say so.
"""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue import KERNELS
from engine.catalogue.entries import SMALL_BLOCKS
from engine.catalogue.gpu_models import GPU, H200
from engine.catalogue.published import printed
from engine.compile.cubin import resources_of
from engine.lectures.claim import (
    HEIDELBERG,
    LOAD_PASSES,
    SECTORS,
    STATUS,
    TIMES,
    Cause,
    Claim,
    Computed,
    Counted,
    FastestBlock,
    Status,
    TimeRatio,
    emulated,
    figure,
)
from engine.plan import plan, settle
from engine.records import Choice, Source

_ITS = "Volta's (and after) SIMT model"
_TABLE = "Throughput [GB/s]"
_FIVE, _SIX = "reduce_unroll_syncwarp", "reduce_complete_unroll"
_MADE_RIGHT = "with __syncwarp"


def _rung(kernel: str, block_size: int = 128) -> Choice:
    return Choice(kernel, 2**22, block_size, combine="relaunch")


def _rate(kernel: str, block_size: int) -> float:
    """Return the throughput that the lecture prints, in GB/s."""
    rate = figure("heidelberg", kernel, block_size).bandwidth_gb_s
    assert rate is not None
    return rate


def _throughput(name: str, slow: str, fast: str, sentence: str, block_size: int = 128, today: str | None = None,
                why: str = "", cause: Cause = "") -> Claim:  # fmt: skip
    """Return the claim about one row of the lecture's table and the row before, at `block_size` threads."""
    here = f"; here {_MADE_RIGHT}" if fast == _FIVE else ""
    rates = _rate(slow, block_size), _rate(fast, block_size)
    return Claim(name, HEIDELBERG, _TABLE, sentence, "heidelberg", TIMES, "about", rates[1] / rates[0],
                 (_rung(slow, block_size), _rung(fast, block_size)),
                 f"{block_size} threads: {rates[0]:g}, then {rates[1]:g} GB/s{here}", today, why, cause)  # fmt: skip


def _best(number: int, kernel: str, today: str | None = None) -> Claim:
    """Return the claim about the lecture's maxThr of version `number`."""
    words = f"#{number}, {_MADE_RIGHT}" if kernel in (_FIVE, _SIX) else f"#{number}"
    sizes = KERNELS[kernel].block_sizes
    return Claim(f"best-block-{number}", HEIDELBERG, _TABLE, "maxThr: 128.", "heidelberg", FastestBlock(), "equals",
                 max(sizes, key=lambda size: _rate(kernel, size)), tuple(_rung(kernel, size) for size in sizes), words,
                 today, _LARGER_BLOCKS if today else "", "changed" if today else "")  # fmt: skip


def _warp(kernel: str, device: str = "emulator") -> Choice:
    return Choice(kernel, 256, 128, device=device)


def _exercise(kernel: str, schedule: str | None = None) -> Choice:
    return Choice(kernel, 4096, 128, device="emulator", schedule=schedule)


def _ones(kernel: str) -> Choice:
    return Choice(kernel, 2**24 + 2**20, 256, dtype="float32", device="emulator")


def _length(kernel: str, block_size: int) -> int:
    """Return the number of machine instructions of a kernel with this block size."""
    entry = KERNELS[kernel]
    source = Source(entry.file_name, entry.text, "int32", (("BLOCK_SIZE", block_size),))
    return resources_of(source, kernel, GPU.architecture).instructions


def _lengths(*block_sizes: int) -> float:
    """Return the length of #6 for all of these block sizes over that of #5, which is one kernel for all."""
    return sum(_length("reduce_complete_guarded", size) for size in block_sizes) / _length("reduce_unroll_guarded", 128)


_GOAL = Choice("reduce_interleaved", 2**22, 128, combine="relaunch", device="gpu")
_EVERY_BLOCK = (*SMALL_BLOCKS, *KERNELS["reduce_complete_guarded"].block_sizes)
_LARGER_BLOCKS = (
    "With 256 threads there are half as many blocks, block sums and ends of trees as with 128. Why 128 was best then, "
    "the lecture does not say."
)
_NO_ORDER = (
    "Compiled for this GPU, a lane loads its neighbour's number before the neighbour has stored it. Without volatile "
    "or __syncwarp the compiler may do so, as the thread itself never changes that word."
)

CLAIMS: tuple[Claim, ...] = (
    Claim("coalescing", HEIDELBERG, "Reduction #1: interleaved addressing", "Collective load. Coalescing issues?",
          "heidelberg", replace(SECTORS, line="in[i]"), "equals", 4, emulated("reduce_interleaved"),
          "none: 32 neighbours read 32 ints, which are 4 sectors of 32 bytes"),
    Claim("two-loads", HEIDELBERG, "Reduction #1: interleaved addressing", "Two loads per thread, but sequentially.",
          "heidelberg", Counted("shared_load_requests", "shared_store_requests",
          line="partial[tid] += partial[tid + stride]", unit="loads"), "equals", 2, emulated("reduce_interleaved"),
          "for each sum that a thread stores in a step"),
    Claim("why-syncthreads-load", HEIDELBERG, "Reduction #1: interleaved addressing",
          "Synchronization. Why syncthreads?", "heidelberg", Status(("T(0);\n    __syncthreads();", "T(0);")),
          "one of", ("wrong", "hazard"), (_exercise("reduce_interleaved"),), "without the barrier after the load"),
    Claim("why-syncthreads-step", HEIDELBERG, "Reduction #1: interleaved addressing",
          "Synchronization. Why syncthreads?", "heidelberg",
          Status(("partial[tid + stride];\n        __syncthreads();", "partial[tid + stride];")), "one of", ("wrong",
          "hazard"), (_exercise("reduce_interleaved"),), "without the barrier after each step"),
    _throughput("divergence", "reduce_interleaved", "reduce_strided", "Problem: branch divergence."),
    _throughput("conflicts", "reduce_strided", "reduce_sequential",
                "New problem: shared memory bank conflicts.", today="direction", why="Less than in the lecture: the "
                "conflicts are gone, but most of the time goes elsewhere."),
    _throughput("idle", "reduce_sequential", "reduce_first_add",
                "New problem: idle threads. During the first operation, half of the threads are idling!",
                today="direction",
                why="Less than in the lecture: a launch takes the same time, however few its blocks are."),
    _throughput("overhead", "reduce_first_add", _FIVE, "Still far from peak. Instruction overhead.",
                today="direction",
                why="Less than in the lecture: instructions cost less today, beside launches and memory."),
    _throughput("templates", _SIX, _FIVE, "Less performance.", 128, "close",
                "Complete unrolling no longer costs anything: #5 and #6 take the same time.", "changed"),
    _throughput("templates-256", _SIX, _FIVE, "Less performance.", 256, "differs",
                "With 256 threads complete unrolling is even a little faster today.", "changed"),
    Claim("code-size", HEIDELBERG, "Reduction #5: unrolling the last warp", "Less performance. Code size increase?",
          "heidelberg", Computed(lambda: _lengths(128), "times the instructions of #5", words="more instructions"),
          "more than", 1, (), "#6 for 128 threads against #5", "differs", "One kernel for one block size is shorter "
          "than the loop for all: every step that this block size does not need is gone. So code size "
          "explains no loss.", "case"),
    Claim("code-size-of-all", HEIDELBERG, "Reduction #5: unrolling the last warp", "-> C++ templates! Larger code.",
          "heidelberg", Computed(lambda: _lengths(*_EVERY_BLOCK), "times the instructions of #5",
          words="more instructions"), "more than", 1, (),
          f"#6 for all {len(_EVERY_BLOCK)} block sizes of the switch from 1 to 1024, of which one runs"),
    Claim("resized", HEIDELBERG, "Types of optimization", "Templating had little success, likely because of the "
          "non-optimal number of iterations (resp. the second iteration should use a different block size).",
          "heidelberg", TIMES, "more than", 1, (_rung(_SIX), replace(_rung(_SIX), combine="relaunch-resized")),
          f"#6 {_MADE_RIGHT}: every launch chooses its own block size", "close",
          "After the first launch little is left to do: the others cost their launch, whatever their block size.",
          "case"),
    _best(1, "reduce_interleaved"),
    _best(2, "reduce_strided"),
    _best(3, "reduce_sequential", "differs"),
    _best(4, "reduce_first_add"),
    _best(5, _FIVE, "differs"),
    _best(6, _SIX, "differs"),
    Claim("no-volatile", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for __syncthreads().",
          "heidelberg", STATUS, "one of", ("ok",), (_exercise("reduce_unroll_guarded"),),
          "the slide's code, warps in lockstep", "hazard", "In lockstep the answer is right, as it was on the GPUs of "
          "that time. By the rules since Volta it is a race: nothing makes a lane wait for another.", "rules"),
    Claim("no-volatile-apart", HEIDELBERG, "Reduction #5: unrolling the last warp",
          "Instructions are synchronous within a warp.", "heidelberg", STATUS, "one of", ("ok",),
          (_exercise("reduce_unroll_guarded", "independent:3"),),
          "the slide's code, its lanes scheduled independently", "wrong",
          "Since Volta the lanes of a warp may run apart, and then a lane adds a sum that another lane has not yet "
          "stored.", "changed"),
    Claim("no-volatile-gpu", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for __syncthreads().",
          "heidelberg", STATUS, "one of", ("ok",), (replace(_rung("reduce_unroll_guarded"), device="gpu"),),
          "the slide's code on a GPU", "wrong", _NO_ORDER, "changed"),
    Claim("no-volatile-templates", HEIDELBERG, "Reduction #6: complete unrolling", "Inner loop highly optimized.",
          "heidelberg", STATUS, "one of", ("ok",), (replace(_rung("reduce_complete_guarded"), device="gpu"),),
          "the slide's code on a GPU", "wrong", _NO_ORDER, "changed", "Is the code of #6 right on a GPU of today?"),
    Claim("no-if", HEIDELBERG, "Reduction #5: unrolling the last warp", "No need for if (tid < s).", "heidelberg",
          STATUS, "one of", ("ok",), (_exercise("reduce_unroll_plain"),),
          "without if and without volatile, warps in lockstep", "wrong", "In the PTX the ifs, which the slide's code "
          "still has, keep its steps apart. Without them the compiler loads all six numbers first.", "error"),
    Claim("shuffle-bandwidth", HEIDELBERG, "Warp-level instructions",
          "A shuffle instruction replaces a multi-instruction shared memory sequence. Increase effective bandwidth.",
          "heidelberg", TIMES, "more than", 1, (_rung("reduce_unroll_syncwarp"), _rung("reduce_unroll_shuffle")),
          "the last warp of #5", "close",
          "The instructions are fewer, but the last warp is a small part of the time.", "case"),
    Claim("pascal-deadlock", HEIDELBERG, "Pascal's (and before) SIMT model",
          "Deadlock possibility when sharing data among non-coherent threads of a single warp.", "heidelberg-volta",
          STATUS, "one of", ("deadlock",), (_warp("lock_spin"),), "the plain lock, warps in lockstep"),
    Claim("pascal-lock", HEIDELBERG, "Pascal's (and before) SIMT model",
          "Avoid fine-grain synchronization or use lock-free algorithms.", "heidelberg-volta", STATUS, "one of",
          ("ok",), (_warp("branch_order"),),
          "the lock-free half of the advice: tickets drawn by atomics, warps in lockstep"),
    Claim("volta-lock", HEIDELBERG, "Starvation-free algorithms",
          "Volta's ITS: thread #0 will eventually (question of when, not if) be scheduled for execution.",
          "heidelberg-volta", STATUS, "one of", ("ok",), (_warp("lock_spin", "gpu"),), "the plain lock on a GPU"),
    Claim("ticket-lock", HEIDELBERG, "Starvation-free algorithms",
          "any process (or concurrent part) of an algorithm is bypassed at most a finite number times before being "
          "allowed access to the shared resource.",
          "heidelberg-volta", STATUS, "one of", ("ok",), (_warp("lock_ticket", "gpu"),),
          "a lock that serves in order, on a GPU"),
    Claim("not-reconverged", HEIDELBERG, _ITS, "Z in the example is not reconverged.", "heidelberg-volta", STATUS,
          "one of", ("hazard", "wrong"), (_warp("branch_exchange"),), "Z reads what the other branch wrote"),
    Claim("reconverged", HEIDELBERG, _ITS, "Warp synchronization __syncwarp() to force reconvergence.",
          "heidelberg-volta", STATUS, "one of", ("ok",), (_warp("branch_exchange_syncwarp"),)),
    Claim("exercise-first", HEIDELBERG, "Escape the new feature",
          "Compile for Pascal architecture: nvcc with options -arch=compute_60 -code=sm_70.", "heidelberg-exercise",
          STATUS, "one of", ("ok",), (_exercise("reduce_unroll_guarded", "lockstep"),),
          "the first part: the slide's code, warps in lockstep as on Pascal", "hazard", "CUDA 13 no longer compiles "
          "for compute_60. The emulator runs the warps in lockstep instead, in the order of the PTX, and the answer "
          "is right. By the rules since Volta it is a race, so the run counts as a hazard.", "rules"),
    Claim("exercise-first-gpu", HEIDELBERG, "Escape the new feature", "Compile for Pascal architecture.",
          "heidelberg-exercise", STATUS, "one of", ("ok",), (replace(_rung("reduce_unroll_guarded"), device="gpu"),),
          "the first part compiled for a GPU of today", "wrong", _NO_ORDER, "changed"),
    Claim("exercise-syncwarp", HEIDELBERG, "Escape the new feature",
          "Use warp-level primitives in their sync-variant.", "heidelberg-exercise", STATUS, "one of", ("ok",),
          (_exercise("reduce_unroll_syncwarp"),), "__syncwarp"),
    Claim("exercise-shuffle", HEIDELBERG, "Escape the new feature",
          "Or implement a warp-level reduction tree using __shfl_down_sync().", "heidelberg-exercise", STATUS,
          "one of", ("ok",), (_exercise("reduce_unroll_shuffle"),)),
    Claim("exercise-groups", HEIDELBERG, "Escape the new feature",
          "Use the new concept of cooperative thread groups.", "heidelberg-exercise", STATUS, "one of", ("ok",),
          (_exercise("reduce_cooperative"),)),
    Claim("exercise-compare", HEIDELBERG, "Exercise", "Compare to performance of first part.", "heidelberg-exercise",
          TIMES, "equals", 1, (_rung("reduce_unroll_shuffle"), _rung("reduce_unroll_volatile")),
          "the first part, with volatile, against shuffles", question="Does the safe form cost time?"),
    Claim("associative", HEIDELBERG, "Kernel decomposition", "Associativity: a + (b + c) = (a + b) + c.",
          "float-truths", STATUS, "one of", ("ok",), (_ones("floats_serial"),),
          "17,825,792 ones as float32, one after the other", "wrong",
          "Float additions round, so their order counts: from 2^24 on, adding one changes nothing.", "case"),
    Claim("tree-of-ones", HEIDELBERG, "Parallel reduction", "Often associative operations: reordering opportunity.",
          "float-truths", STATUS, "one of", ("ok",), (_ones("floats_tree"),), "the same ones down a tree"),
    Claim("product", HEIDELBERG, "Parallel reduction", "Often associative operations: reordering opportunity.",
          "heidelberg-operators", STATUS, "one of", ("ok",), (_exercise("reduce_product"),), "the product p"),
    Claim("one-cost", HEIDELBERG, "Parallel reduction", "Common and important data parallel primitive.",
          "heidelberg-operators", TIMES, "equals", 1, (Choice("reduce_product", 2**22, 256, combine="relaunch"),
          Choice("reduce_max", 2**22, 256, combine="relaunch")),
          "product against maximum", question="Does one operator cost more than another?"),
    Claim("hard-to-get-fast", HEIDELBERG, "Parallel reduction",
          "Pretty easy to implement in CUDA. Way harder to get it right (fast).", "heidelberg-histogram", TIMES,
          "more than", 1, (Choice("histogram_global", 2**22, 256), Choice("histogram_shared", 2**22, 256)),
          "h_k: atomics in global against shared memory", question="How much does a copy of the counts in shared "
          "memory gain?"),
    Claim("bank-of-an-element", HEIDELBERG, "Reduction #2: interleaved addressing non-divergent",
          "Which elements belong to one bank?", "cs121-banks", LOAD_PASSES, "equals", 32, emulated("banks_strided",
          n=256, parameter=32), "elements 32 words apart: 32 lanes that read them take 32 passes"),
    Claim("banks-of-neighbours", HEIDELBERG, "Reduction #2: interleaved addressing non-divergent",
          "Which elements belong to one bank?", "cs121-banks", LOAD_PASSES, "equals", 1, emulated("banks_strided",
          n=256, parameter=1), "not neighbouring elements: 32 lanes that read them take one pass"),
    Claim("blocks-of-an-sm", HEIDELBERG, "Reminder: scheduling", "Up to 4 CTAs can be scheduled to one SM (for Kepler, "
          "implementation dependent).", "heidelberg", Computed(lambda: H200.blocks, "blocks", "the GPU's limits"),
          "equals", printed(HEIDELBERG, "blocks of an SM"), (), "on the H200, if threads, registers and shared memory "
          "allow it", 32, "By the CUDA programming guide an SM of a Kepler GPU has room for 16 blocks, and one of the "
          "H200 for 32.", "error"),
    Claim("goal", HEIDELBERG, "Optimizing code", "Choose right performance goal (GFLOP/s or GB/s).", "heidelberg",
          Computed(lambda: plan(settle(_GOAL)).bytes_moved / plan(settle(_GOAL)).flops, "bytes for each addition",
          "the plan of #1", "more than a byte for each addition"), "more than", 1, (),
          "more than a byte moves for each addition, so the reduction's goal is GB/s"),
    Claim("algorithm-first", HEIDELBERG, "Optimizing code", "3. Optimize the algorithm. 4. Unroll loops.",
          "heidelberg", TimeRatio(unit="the gain", words="a larger gain"), "more than", 1, (_rung("reduce_interleaved"),
          _rung("reduce_first_add"), _rung(_SIX), _rung("reduce_first_add")),
          f"#1 to #4, the algorithm, against #4 to #6 {_MADE_RIGHT}, the unrolling"),
    Claim("when-to-stop", HEIDELBERG, "Optimizing code", "5. Templating for optimal code. Good optimizations know when "
          "to stop.", "heidelberg", TIMES, "equals", 1, (_rung(_FIVE), _rung(_SIX)),
          f"the last step, #6 against #5 {_MADE_RIGHT}: no difference, a reason to stop"),
)  # fmt: skip

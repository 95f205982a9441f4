"""The claims of Cooper (Warps, Blocks, and Synchronization, 2014), each with the runs that decide it."""

from __future__ import annotations

from dataclasses import replace

from engine.catalogue import KERNELS
from engine.catalogue.gpu_models import H200, MULTIPROCESSORS
from engine.catalogue.published import printed
from engine.catalogue.trapezoid import INTEGRAL, trapezoid_sum
from engine.lectures.claim import (
    COOPER,
    STATUS,
    TIMES,
    Claim,
    Computed,
    Counted,
    Status,
    Untestable,
    emulated,
    figure,
    times_as_fast,
)
from engine.records import Choice

_PRINTED = "the lecture's own figures"


def _integral(kernel: str) -> Choice:
    combine = {"trapezoid_blocked_global": "host", "trapezoid_shared_host": "host"}.get(kernel, "relaunch")
    return Choice(kernel, 65536, 256, dtype="float64", combine=combine if kernel != "trapezoid_scalar" else "none")


def _emulated(choice: Choice) -> Choice:
    return replace(choice, device="emulator")


def _finer(partitions: int) -> float:
    """Return how many times smaller the error is with twice as many trapezoids."""
    one, other = (abs(trapezoid_sum(count + 1) - INTEGRAL) for count in (partitions, 2 * partitions))
    return one / other


def _code_lines(kernel: str) -> int:
    """Return how many lines of a kernel's file are code."""
    lines = (line.partition("//")[0].strip() for line in KERNELS[kernel].text.splitlines())
    return sum(bool(line) for line in lines)


def _gain(slow: str, fast: str) -> float:
    return times_as_fast("cooper", slow, fast)


def _printed(figure: str) -> float:
    return printed(COOPER, figure)


_AT_A_TIME = _printed("threads at a time")
_THIS_BLOCK = (
    "If this little block of code executed, say 3600 times in our larger program, then we would have changed a 5.5 "
    "hour program into a 5.5 minute program."
)

CLAIMS: tuple[Claim, ...] = (
    Claim("integral", COOPER, "Our example", "The value of the integral is about -0.34702211863386324383.", "cooper",
          STATUS, "one of", ("ok",), (_emulated(_integral("trapezoid_scalar")),), "65536 points, on the CPU"),
    Claim("wrong-value", COOPER, "CUDA Reduce", "It also says the integral value is about -0.326483.", "cooper",
          STATUS, "one of", ("wrong",), (_emulated(replace(_integral("trapezoid_global_race"), combine="none")),),
          "another value than that of the integral"),
    Claim("value-changes", COOPER, "CUDA Reduce", "That value changes almost every run.", "cooper", Untestable(),
          why="The emulator runs the blocks in one order, so its value repeats. On a GPU the blocks come in another "
          "order each time: run the rung there twice."),
    Claim("syncthreads", COOPER, "Blocked Reduce", "Any time a thread refers to any memory that is not directly "
          "associated with that thread, it should call __syncthreads() first.", "cooper",
          Status(("            f_val[i] += f_val[i + jump];\n        __syncthreads();",
          "            f_val[i] += f_val[i + jump];")), "one of", ("wrong", "hazard"),
          (_emulated(_integral("trapezoid_blocked_global")),), "without it in the loop"),
    Claim("early-return", COOPER, "Divergent branch", "Every time we go through the loop we drop half the threads.",
          "cooper", Status(("        if (tid % (2 * jump) == 0)\n            f_val[tid] += f_val[tid + jump];",
          "        if (tid % (2 * jump) != 0) return;\n        f_val[tid] += f_val[tid + jump];")), "one of", ("ok",),
          (_emulated(_integral("trapezoid_shared_host")),), "return before the barrier, as on the slide",
          question="Does it harm that the slide's threads return before the barrier?"),
    Claim("page-faults", COOPER, "Syncthreads()",
          "You should probably choose a block size smaller than the SM. Otherwise... page faults.", "cooper", STATUS,
          "one of", ("out-of-bounds", "crashed"), (_emulated(replace(_integral("trapezoid_sequential"),
          block_size=1024)),), "1024 threads per block", "ok", "The warps of a block take turns on the cores of an "
          "SM, however few these are. No memory is paged for that.", "error"),
    Claim("threads-must-wait", COOPER, "Syncthreads()", "64 threads must wait until other threads in block have "
          "executed before they start.", "cooper", STATUS, "one of", ("deadlock",),
          (_emulated(_integral("trapezoid_blocked_global")),), "256 threads per block, which meet at barriers", "ok",
          "A block becomes resident as a whole, and its warps take turns on the cores. If 64 threads could not start "
          "before the others had ended, the first __syncthreads() would never return.", "error"),
    Claim("fastest-memory", COOPER, "Global memory", "Small static allocations go into registers. These comprise the "
          "fastest memory of all.", "cs121-latency", TIMES, "more than", 1, (Choice("latency_constant", 2**18, 256),
          Choice("latency_register", 2**18, 256)), "a chain of 1024 steps through constant memory and in a register; "
          "the ladder has the other memories"),
    Claim("lines-of-code", COOPER, "So what?", "The scalar code was about 20 lines; the GPU code is a couple hundred.",
          "cooper", Computed(lambda: _code_lines("trapezoid_sequential") / _code_lines("trapezoid_scalar"),
          "times the lines", "the two .cu files"), "about",
          _printed("lines of the last program") / _printed("lines of the scalar program"), (),
          "the last version of the lecture against the scalar one, kernels alone", "direction", "Our files have no "
          "host code: the engine allocates, copies and launches for all kernels."),
    Claim("bitter-end", COOPER, "Divergent branch", "Every warp has at least one thread that hangs on to the bitter "
          "end.", "cooper", Counted("shared_store_requests", line="f_val[tid] += f_val[tid + jump]",
          unit="additions of a warp"), "equals", 64, emulated("trapezoid_shared_host", n=256, block_size=256,
          dtype="float64", combine="host"), "256 threads: 8 warps, 8 passes through the loop", 47, "Every warp adds in "
          "the first five passes, up to jump 16. After these only every second warp works, then every fourth, then "
          "one: 8 * 5 + 4 + 2 + 1.", "error"),
    Claim("gpu-wins", COOPER, "So what?", "We have taken a scalar program that took five seconds to execute, and sped "
          "it up so much that it now takes .09 seconds.", "cooper", TIMES, "about",
          _printed("seconds of the scalar program") / _printed("seconds of the last program"),
          (_integral("trapezoid_scalar"), _integral("trapezoid_sequential")), "five seconds against .09", "direction",
          "The slide rounds. By the figures of the earlier slides, 5.5 and .08 seconds, the gain is "
          f"{_gain('trapezoid_scalar', 'trapezoid_sequential'):.3g}×."),
    Claim("shared-memory", COOPER, "Shared memory",
          "This simple change to shared memory cuts the overall execution time to about 0.24 seconds.", "cooper",
          TIMES, "about",
          _gain("trapezoid_blocked_global", "trapezoid_shared_host"), (_integral("trapezoid_blocked_global"),
          _integral("trapezoid_shared_host")),
          today="close", why="The caches keep what a block has just written to global memory; and at this size "
          "both wait for the copy to the host.", cause="changed"),
    Claim("shared-memory-large", COOPER, "Shared memory", "It is faster than global memory.", "cooper", TIMES,
          "more than", 1, (replace(_integral("trapezoid_blocked_global"), n=2**24),
          replace(_integral("trapezoid_shared_host"), n=2**24)), "2^24 points"),
    Claim("second-reduce", COOPER, "Shared memory", "The problem is probably that stupid sloppy sequential sum at the "
          "end. Converting to that second interleaved call cuts the time to about 0.10 seconds.", "cooper", TIMES,
          "about",
          _gain("trapezoid_shared_host", "trapezoid_shared_relaunch"), (_integral("trapezoid_shared_host"),
          _integral("trapezoid_shared_relaunch"))),
    Claim("count-differently", COOPER, "Divergent branch",
          "Count differently. This version executes in about 0.08 seconds.", "cooper", TIMES, "about",
          _gain("trapezoid_shared_relaunch", "trapezoid_sequential"),
          (_integral("trapezoid_shared_relaunch"), _integral("trapezoid_sequential")), today="direction",
          why="Less than in the lecture: at this size both spend most of their time on launches."),
    Claim("order-of-the-error", COOPER, "The Trapezoidal Rule", "The composite trapezoidal rule: ... + O(h).",
          "cooper", Computed(lambda: round(_finer(1024), 2), "times smaller", "the exact sums of the rule",
          "at least 2 times smaller"), "at least", 2, (), "the error with 2,048 trapezoids against that with 1,024; "
          "half the width leaves a quarter of it, so the error of this function is O(h²)"),
    Claim("at-a-time", COOPER, "What's wrong?!", "We have 65536 threads. We can work on 2688 of them at a time.",
          "cooper", Computed(lambda: MULTIPROCESSORS * H200.threads, "threads at a time", "the GPU's limits"),
          "equals", _AT_A_TIME, (), "on the H200", 270_336,
          "2,688 are the cores of 14 SMs of 192. An SM holds more threads "
          "than it has cores, 2,048 today, and the H200 has 132 SMs: all 65,536 threads are resident at once. The "
          "sum stays wrong, because no thread waits.", "changed"),
    Claim("rounds-of-threads", COOPER, "Syncthreads()", "SMs on this card have size 192.", "cooper",
          Computed(lambda: _AT_A_TIME / _printed("cores of an SM"), "SMs", _PRINTED), "equals", 14, (),
          "2688 threads at a time"),
    Claim("hours", COOPER, "So what?", _THIS_BLOCK, "cooper",
          Computed(lambda: (figure(COOPER, "trapezoid_scalar").time_ms or 0) / 1000, "hours", _PRINTED), "equals",
          _printed("hours of the scalar program"), (), "3600 times 5.5 seconds"),
    Claim("minutes", COOPER, "So what?", _THIS_BLOCK, "cooper",
          Computed(lambda: round(60 * _printed("seconds of the last program"), 1), "minutes", _PRINTED), "about",
          _printed("minutes of the last program"), (), "3600 times .09 seconds, which the slide rounds up"),
    Claim("partial-warp", COOPER, "Warps", "Any block whose thread count is not a multiple of 32 will result in one "
          "warp that is not full. Wasted cycles on some SPs.", "cooper", Counted("thread_instructions",
          "warp_instructions", line="T g = 2.", unit="of 32 lanes"), "equals", 25, emulated("trapezoid_any_block",
          n=10_000, block_size=100, dtype="float64", combine="host"),
          "100 threads: four warps, the last of which has 4"),
    Claim("wasted-cycles", COOPER, "Warps", "Any block whose thread count is not a multiple of 32 will result in one "
          "warp that is not full. Wasted cycles on some SPs.", "cooper", TIMES, "more than", 1,
          (Choice("trapezoid_any_block", 2**24, 100, dtype="float64", combine="host"), Choice("trapezoid_any_block",
          2**24, 128, dtype="float64", combine="host")), "blocks of 100 against 128 threads, 2^24 points"),
    Claim("bad-for-cache", COOPER, "Divergent branch",
          "On the first couple of iterations, the stride is very large: could be bad for cache.", "cooper", TIMES,
          "more than", 1, (replace(_integral("trapezoid_sequential"), n=2**24),
          replace(_integral("trapezoid_shared_relaunch"), n=2**24)),
          "the large strides against the small ones, 2^24 points", "differs", "The values lie in shared memory, where "
          "no cache can miss. Neighbours read neighbours, whatever the stride, and use all banks.", "error"),
)  # fmt: skip

"""Kernels whose verdict was derived from CUDA's rules before they ran: hand-made barriers, locks, flags and look-backs.

Each has a twin with one mistake: a missing fence or barrier, a scope that is too small, a barrier of the wrong number.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Finding
from tests.backends.emulator.small_kernels import execute, zeros
from tests.sentences import sentence

FENCE, SYNC = "__threadfence();", "__syncthreads();"
POLL = "while (*(volatile int *)g < (int)gridDim.x);"


def grid_barrier(first: str = SYNC, pre: str = FENCE, post: str = FENCE, last: str = SYNC) -> str:
    waits = f"if (t == 0) {{ {pre} atomicAdd(g, 1); {POLL} {post} }}"
    return f"g[64 + i] = in[i];\n{first} {waits} {last}\nout[i] = g[64 + (i + 64) % (64 * gridDim.x)];"


def last_block(store: str) -> str:
    return (
        f"__shared__ bool last;\n{store} if (t == 0) last = atomicAdd(g, 1) == gridDim.x - 1; {SYNC}\n"
        "if (last) for (int k = t; k < 64 * gridDim.x; k += 64) v += g[64 + k];\nout[i] = v;"
    )


def look_back(read: str = FENCE, write: str = FENCE) -> str:
    return (
        f"if (t == 0) {{ volatile int *w = g; int sum = 0; if (b > 0) {{ while (w[b - 1] == 0); {read}\n"
        f"sum = g[64 + b - 1]; }} g[64 + b] = sum + in[b];\n{write} w[b] = 1; out[b] = sum; }}"
    )


def lock(taken: str = FENCE, released: str = FENCE) -> str:
    return f"if (t == 0) {{ while (atomicCAS(g, 0, 1)); {taken} g[1] += 1; {released} atomicExch(g, 0); }}"


def named(number: str) -> str:
    return f'asm volatile("bar.sync %0, 64;" :: "r"({number}) : "memory");'


PETERSON = (
    "if (t == 0) {{ volatile int *w = g; int me = b, other = 1 - b; w[me] = 1; {0} w[2] = other; {0}\n"
    "while (w[other] && w[2] == other); {0} g[40] += 1; {0} w[me] = 0; }}"
)
SHARED_FLAGS = (
    f"if (t < 2) flags[t] = 0; {SYNC} if (t == 0) {{{{ s[5] = in[9]; {{}} flags[0] = 1; flags[1] = 1; }}}}\n"
    "else if (t == 32) {{ while (!flags[1]); __threadfence_block(); out[i] = s[5]; }}"
)
# (the kernel, blocks); all blocks run at once.
RIGHT = {
    "grid_barrier": (grid_barrier(), 4),
    "grid_barrier_is_a_fence_for_the_reader": (grid_barrier(post=""), 4),
    "last_block_all_fence": (last_block(f"g[64 + i] = in[i]; {FENCE} {SYNC}"), 4),
    "last_block_one_fences": (last_block(f"g[64 + i] = in[i]; {SYNC} if (t == 0) {FENCE}"), 4),
    "look_back": (look_back(), 4),
    "lock": (lock(), 4),
    "pairs_of_warps": (f"s[t] = in[t]; {named('t / 64 + 1')} out[t] = s[t ^ 32];", 1),
    "named_barriers_and_a_flag": (
        f"if (b == 0) {{ g[64 + t] = 7; {named('1')} if (t == 0) {{ {FENCE} atomicExch(g, 1); }} }} else {{\n"
        f"if (t == 0) {{ while (!atomicAdd(g, 0)); {FENCE} }} {named('1')} out[i] = g[64 + t]; }}",
        2,
    ),
    "peterson": (PETERSON.format(FENCE), 2),
    "two_flags_behind_one_fence": (SHARED_FLAGS.format("__threadfence_block();"), 1),
    "a_stop_flag": (f"if (t == 0) flags[0] = 0; {SYNC} if (t == 40) flags[0] = 1;\n"
                    "#pragma unroll 1\nfor (int k = 0; k < 9; k++) if (flags[0]) break; else v++;\nout[t] = v;", 1),
    "an_atomic_of_its_own_block": (f"atomicAdd_block(g + b, 1); {SYNC} out[i] = g[b];", 2),
    "one_block_clears_its_counter": (f"if (i == 0) g[0] = 0; {SYNC} atomicAdd(g, 1);", 1),
}  # fmt: skip
RACES = {
    "grid_barrier_without_the_first_sync": (grid_barrier(first=""), 4),
    "grid_barrier_without_the_last_sync": (grid_barrier(last=""), 4),
    "grid_barrier_without_fences": (grid_barrier(pre="", post=""), 4),
    "grid_barrier_with_fences_of_a_block": (grid_barrier(pre="__threadfence_block();"), 4),
    "last_block_without_a_sync": (last_block(f"g[64 + i] = in[i]; {FENCE}"), 4),
    "last_block_fences_before_the_sync": (last_block(f"g[64 + i] = in[i]; if (t == 0) {FENCE} {SYNC}"), 4),
    "look_back_reads_without_a_fence": (look_back(read=""), 4),
    "look_back_writes_without_a_fence": (look_back(write=""), 4),
    "lock_taken_without_a_fence": (lock(taken=""), 4),
    "lock_released_without_a_fence": (lock(released=""), 4),
    "another_pair_of_warps": (f"s[t] = in[t]; {named('t / 64 + 1')} out[t] = s[t ^ 64];", 1),
    "a_barrier_of_another_number": (
        's[t] = in[t]; if (t < 64) asm volatile("bar.arrive 1, 128;" ::: "memory");\n'
        f"else {{ {named('2')} out[t] = s[t - 64]; }}",
        1,
    ),
    "peterson_without_fences": (PETERSON.format(""), 2),
    "two_flags_without_a_fence": (SHARED_FLAGS.format(""), 1),
    "another_flag": (
        f"if (t == 0) {{ volatile int *w = g; if (b == 0) {{ w[1] = 1; g[64] = 7; {FENCE} w[0] = 1; }}\n"
        f"else {{ while (!w[1]); {FENCE} out[i] = g[64]; }} }}",
        2,
    ),
    "an_atomic_of_a_block": ("atomicAdd_block(g, 1);", 2),
    "an_atomic_of_a_block_and_one_of_the_device": ("if (b) atomicAdd(g, 1); else atomicAdd_block(g, 1);", 2),
    "one_block_clears_the_counter_of_all": (f"if (i == 0) g[0] = 0; {SYNC} atomicAdd(g, 1);", 2),
    "one_block_reads_the_counter_before": (f"if (i == 0) out[0] = g[0]; {SYNC} atomicAdd(g, 1);", 2),
    "volatile_sums_of_two_warps": ("flags[t] = in[t]; for (int k = 32; k; k /= 2)\n"
                                   "if (t < k) flags[t] += flags[t + k];\nout[t] = flags[0];", 1),
}  # fmt: skip
TEXT = "".join(
    f'extern "C" __global__ void {name}(const int *in, int *g, int *out) {{\n'
    "int t = threadIdx.x, b = blockIdx.x, i = t + b * blockDim.x, v = 0; (void)b; (void)i; (void)v;\n"
    f"__shared__ int s[128]; __shared__ volatile int flags[128]; (void)s; (void)flags;\n{body}\n}}\n"
    for name, (body, _) in {**RIGHT, **RACES}.items()
)
SCHEDULES = (LOCKSTEP, Schedule("independent", seed=3))


def found(name: str, grid: int, schedule: Schedule = LOCKSTEP) -> tuple[Finding, ...]:
    hazards = Hazards()
    block = 128 if "pair" in name or "another_number" in name else 64
    arrays = {"in": np.arange(256, dtype=np.int32), "g": zeros(512), "out": zeros(256)}
    execute(TEXT, grid, block, name=name, observers=[hazards], schedule=schedule, cooperative=grid > 1, **arrays)
    return hazards.findings()


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_not_accused(name: str) -> None:
    assert [found(name, RIGHT[name][1], schedule) for schedule in SCHEDULES] == [(), ()]


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", RACES)
def test_its_twin_with_one_mistake_is_found(name: str) -> None:
    for schedule in SCHEDULES:
        kinds = {finding.kind for finding in found(name, RACES[name][1], schedule)}
        assert kinds & {"global-race", "shared-race", "warp-race"}


def test_blocks_of_earlier_chunks_are_compared_too() -> None:
    hazards = Hazards()
    arrays = {"in": np.arange(256, dtype=np.int32), "g": zeros(512), "out": zeros(256)}
    execute(TEXT, 4, 64, name="last_block_without_a_sync", observers=[hazards], **arrays)
    assert {finding.kind for finding in hazards.findings()} == {"global-race"}


def test_the_finding_names_the_missing_fence_or_the_scope() -> None:
    (lacking,) = found("look_back_reads_without_a_fence", 4)
    assert sentence("race.reader-lacks-a-fence", lacking.message)
    (mixed,) = found("one_block_clears_the_counter_of_all", 2)
    assert sentence("race.only-one-is-atomic", mixed.message)
    (narrow,) = found("an_atomic_of_a_block", 2)
    assert sentence("race.scope-of-a-block", narrow.message)

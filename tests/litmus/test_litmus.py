"""The memory model's litmus tests, each in every order: what may happen can happen or is reported as a race.

docs/memory-model.md explains them. X, Y and Z are words of global memory, `a` and `b` what a thread read; a tuple has
a and b of each thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from tests.cases import case
from tests.litmus.every_order import Outcome, outcomes

HEAD = """
#define X x[0]
#define Y x[32]
#define Z x[64]
#define V(word) (*(volatile int *)&word)
#define STEP asm volatile("{ .reg .u32 t; mov.u32 t, %clock; }" ::: "memory");
#define LOAD(order) __device__ int load_##order(int *p) { int v; \\
    asm volatile("ld." #order ".gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
#define STORE(order) __device__ void store_##order(int *p, int v) { \\
    asm volatile("st." #order ".gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
LOAD(relaxed) LOAD(acquire) STORE(relaxed) STORE(release)
__device__ int load_block(int *p) { int v;
    asm volatile("ld.acquire.cta.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void store_block(int *p, int v) {
    asm volatile("st.release.cta.global.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
"""


@dataclass(frozen=True)
class Litmus:
    """A litmus test. `threads`: the steps of each thread; at MEET all threads execute `meet`. `race`: some order has a
    finding. `weak`: outcomes that CUDA allows and no order gives."""

    threads: tuple[str, ...]
    race: bool
    outcomes: set[Outcome]
    where: Literal["lanes", "warps", "blocks"] = "blocks"
    weak: frozenset[Outcome] = frozenset()
    meet: str = ""


SB = {(0, 0, 1, 0), (1, 0, 0, 0), (1, 0, 1, 0)}
LB = {(0, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0)}
# The reader has seen no flag (a = 0), or the flag and the data.
MP = {(0, 0, 0, 0), (0, 0, 1, 1)}
READ = "a = {}; if (a) {{ {} STEP b = {}; }}"
SWAP = "int old = X, seen; do {{ STEP seen = old; old = atomicCAS(&X, seen, seen + 1); }} while (old != seen); a = old;"
LOCK = (
    "if (!atomicCAS(&Y, 0, 1)) {{ {fence} STEP a = X + 1; X = a; {fence} STEP atomicExch(&Y, 0); }}"  # else it gives up
)
LOCKED = {(1, 0, 0, 0), (0, 0, 1, 0), (1, 0, 2, 0), (2, 0, 1, 0)}
TESTS = {
    "store_buffering_plain": Litmus(("X = 1; STEP a = Y;", "Y = 1; STEP a = X;"), True, SB),
    "store_buffering_volatile": Litmus(
        ("V(X) = 1; STEP a = V(Y);", "V(Y) = 1; STEP a = V(X);"), False, SB, weak=frozenset({(0, 0, 0, 0)})
    ),
    "store_buffering_fences": Litmus(
        ("V(X) = 1; __threadfence(); STEP a = V(Y);", "V(Y) = 1; __threadfence(); STEP a = V(X);"), False, SB
    ),
    "store_buffering_atomics": Litmus(
        ("atomicExch(&X, 1); STEP a = atomicAdd(&Y, 0);", "atomicExch(&Y, 1); STEP a = atomicAdd(&X, 0);"),
        False, SB, weak=frozenset({(0, 0, 0, 0)}),
    ),
    "load_buffering_relaxed": Litmus(
        ("a = load_relaxed(&X); STEP store_relaxed(&Y, 1);", "a = load_relaxed(&Y); STEP store_relaxed(&X, 1);"),
        False, LB, weak=frozenset({(1, 0, 1, 0)}),
    ),
    "message_plain": Litmus(("X = 1; STEP Y = 1;", READ.format("Y", "", "X")), True, MP),
    "message_volatile": Litmus(("V(X) = 1; STEP V(Y) = 1;", READ.format("V(Y)", "", "V(X)")), True, MP),
    "message_volatile_flag": Litmus(("X = 1; STEP V(Y) = 1;", READ.format("V(Y)", "", "X")), True, MP),
    "message_fence": Litmus(
        ("X = 1; __threadfence(); STEP V(Y) = 1;", READ.format("V(Y)", "__threadfence();", "X")), False, MP
    ),
    "message_fence_of_a_block": Litmus(
        ("X = 1; __threadfence_block(); STEP V(Y) = 1;", READ.format("V(Y)", "__threadfence_block();", "X")), True, MP
    ),
    "message_fence_in_a_block": Litmus(
        ("X = 1; __threadfence_block(); STEP V(Y) = 1;", READ.format("V(Y)", "__threadfence_block();", "X")),
        False, MP, "warps",
    ),
    "message_atomic": Litmus(
        ("X = 1; __threadfence(); STEP atomicExch(&Y, 1);", READ.format("atomicAdd(&Y, 0)", "__threadfence();", "X")),
        False, MP,
    ),
    "message_atomic_without_fence": Litmus(
        ("X = 1; STEP atomicExch(&Y, 1);", READ.format("atomicAdd(&Y, 0)", "", "X")), True, MP
    ),
    "message_relaxed": Litmus(
        ("X = 1; STEP store_relaxed(&Y, 1);", READ.format("load_relaxed(&Y)", "", "X")), True, MP
    ),
    "message_release_acquire": Litmus(
        ("X = 1; STEP store_release(&Y, 1);", READ.format("load_acquire(&Y)", "", "X")), False, MP
    ),
    "message_release_of_a_block": Litmus(
        ("X = 1; STEP store_block(&Y, 1);", READ.format("load_block(&Y)", "", "X")), True, MP
    ),
    "message_release_in_a_block": Litmus(
        ("X = 1; STEP store_block(&Y, 1);", READ.format("load_block(&Y)", "", "X")), False, MP, "warps"
    ),
    "coherence_of_reads": Litmus(
        ("V(X) = 1;", "a = V(X); STEP b = V(X);"), False, {(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1)}
    ),
    "coherence_of_writes": Litmus(("V(X) = 1; STEP V(X) = 2; STEP a = V(X);", "a = V(X);"), False,
                                  {(2, 0, 0, 0), (2, 0, 1, 0), (2, 0, 2, 0)}),
    "lost_update": Litmus(("a = X; STEP X = a + 1;", "a = X; STEP X = a + 1;"), True,
                          {(0, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0)}),
    "update_by_atomic": Litmus(("a = atomicAdd(&X, 1);", "a = atomicAdd(&X, 1);"), False, {(0, 0, 1, 0), (1, 0, 0, 0)}),
    "swap_loop": Litmus((SWAP.format(),) * 2, False, {(0, 0, 1, 0), (1, 0, 0, 0)}),
    "mutex_with_fences": Litmus((LOCK.format(fence="__threadfence();"),) * 2, False, LOCKED),
    "mutex_without_fences": Litmus((LOCK.format(fence=""),) * 2, True, LOCKED),
    "lanes": Litmus(("X = 1; MEET", "MEET b = X;"), True, {(0, 0, 0, 0), (0, 0, 0, 1)}, "lanes"),
    "lanes_and_a_shuffle": Litmus(
        ("X = 1; MEET", "MEET b = X;"), True, {(1, 0, 1, 1)}, "lanes", meet="a = __shfl_sync(~0u, 1, 0);"
    ),
    "lanes_and_a_vote": Litmus(
        ("X = 1; MEET", "MEET b = X;"), True, {(1, 0, 1, 1)}, "lanes", meet="a = __any_sync(~0u, 1);"
    ),
    "lanes_and_a_syncwarp": Litmus(
        ("X = 1; MEET", "MEET b = X;"), False, {(0, 0, 0, 1)}, "lanes", meet="__syncwarp();"
    ),
    "warps_and_a_barrier": Litmus(
        ("X = 1; MEET", "MEET b = X;"), False, {(0, 0, 0, 1)}, "warps", meet="__syncthreads();"
    ),
    "warps_and_a_named_barrier": Litmus(
        ("X = 1; MEET", "MEET b = X;"), False, {(0, 0, 0, 1)}, "warps",
        meet='asm volatile("bar.sync 1, 64;" ::: "memory");',
    ),
    "warps_and_a_syncwarp": Litmus(
        ("X = 1; MEET", "MEET b = X;"), True, {(0, 0, 0, 0), (0, 0, 0, 1)}, "warps", meet="__syncwarp();"
    ),
    "independent_reads": Litmus(
        ("V(X) = 1;", "V(Y) = 1;", "a = V(X); STEP b = V(Y);", "a = V(Y); STEP b = V(X);"), False,
        {(0, 0, 0, 0, a, b, c, d) for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)}
        - {(0, 0, 0, 0, 1, 0, 1, 0)}, weak=frozenset({(0, 0, 0, 0, 1, 0, 1, 0)}),
    ),
}  # fmt: skip


def kernel(name: str, test: Litmus) -> str:
    """The test as a kernel: one thread of every lane, warp or block does the steps of its number."""
    thread = "threadIdx.x" if test.where == "lanes" else "threadIdx.x / 32"
    acts = {"lanes": "true", "warps": "threadIdx.x % 32 == 0", "blocks": "threadIdx.x == 32 * blockIdx.x"}[test.where]
    report = "o[2 * thread] = a; o[2 * thread + 1] = b;"
    parts = zip(*(f"{steps} {report}".split("MEET") for steps in test.threads), strict=True)
    roles = [" else ".join(f"if (acts && thread == {number}) {{ {steps} }}" for number, steps in enumerate(part))
             for part in parts]  # fmt: skip
    return (
        f'extern "C" __global__ void {name}(int *x, int *o) {{\nint thread = {thread}, a = 0, b = 0;\n'
        f"bool acts = {acts};\n" + f"\nSTEP {test.meet} STEP\n".join(roles) + "\n}\n"
    )


TEXT = HEAD + "".join(kernel(name, test) for name, test in TESTS.items())


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", [case(name, quick=len(test.threads) == 2, id=name) for name, test in TESTS.items()])
def test_every_order_gives_an_allowed_outcome_and_races_are_reported(name: str) -> None:
    test = TESTS[name]
    seen = list(outcomes(TEXT, name, len(test.threads), test.where))
    assert {outcome for outcome, _ in seen} == test.outcomes
    assert not test.outcomes & test.weak
    assert any(kinds for _, kinds in seen) == test.race, {kind for _, kinds in seen for kind in kinds}

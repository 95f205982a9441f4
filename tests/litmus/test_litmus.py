"""The memory model's litmus tests, each in every order: what may happen can happen or is reported as a race.

docs/memory-model.md explains them. X, Y and Z are words of global memory, `a` and `b` what a thread read; a tuple has
a and b of each thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
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
#define PTX(...) asm volatile(__VA_ARGS__ ::: "memory")
#define OF_BARRIER(text) asm volatile(text :: "r"((unsigned)__cvta_generic_to_shared(&barrier)) : "memory");
#define INIT OF_BARRIER("mbarrier.init.shared.b64 [%0], 2;")
#define ARRIVE OF_BARRIER("mbarrier.arrive.shared.b64 _, [%0];")
#define WAIT OF_BARRIER("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }")
#define BULK asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16; \\n" \
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 16, [%0];" \
    :: "r"((unsigned)__cvta_generic_to_shared(&barrier)), "r"((unsigned)__cvta_generic_to_shared(&X)), "l"(o + 8) \
    : "memory");
#define COPY asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(&X)), \
    "l"(o + 8) : "memory");
"""
GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
LIBRARY = """#include <cuda/atomic>
#define REF(word, scope) cuda::atomic_ref<int, cuda::thread_scope_##scope>(word)
#define ORDER(order) cuda::memory_order_##order
"""


@dataclass(frozen=True)
class Litmus:
    """A litmus test. `threads`: the steps of each thread; at MEET all threads execute `meet`. `race`: some order has a
    finding. `weak`: outcomes that CUDA allows and no order gives. `shared`: X, Y and Z are in shared memory, and thread
    0 does `first` before all start. `header`: of a library."""

    threads: tuple[str, ...]
    race: bool
    outcomes: set[Outcome]
    where: Literal["lanes", "warps", "blocks"] = "blocks"
    weak: frozenset[Outcome] = frozenset()
    meet: str = ""
    shared: bool = False
    first: str = ""
    header: str = ""


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
DEKKER = "V({}) = 1; {fence} STEP if (V({}) == 0) {{ b = 1; __threadfence(); STEP a = Z + 1; Z = a; __threadfence(); }}"
ENTERED = {(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 0, 0)}
RELAY = ("X = 1; STEP store_release(&Y, 1);", "a = load_{}(&Y); if (a) {{ {} STEP store_{}(&Z, 1); }}",
         "a = load_acquire(&Z); if (a) { STEP b = X; }")  # fmt: skip
RELAYED = {(0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0), (0, 0, 1, 0, 1, 1)}
PART = 'if (thread {}= 0) PTX("bar.arrive 1, 64;"); else PTX("bar.sync 1, 64;");'
PAIR = ("X = 1; MEET", "MEET b = X;")
SEQUENCE = (
    "V(Y) = 1; __threadfence(); STEP V(X) = 1; STEP V(Z) = 1; __threadfence(); STEP V(Y) = 2;",
    "a = V(Y); __threadfence(); STEP b = 10 * V(X); STEP b += V(Z); {fence} STEP if ({again}) a = b = 9;",
)
KEPT = {(0, 0, 0, 0), (0, 0, 2, 11), (0, 0, 9, 9)}
ODD, TORN = {(0, 0, 1, b) for b in (0, 1, 10, 11)}, {(0, 0, 0, b) for b in (1, 10, 11)}
SEEN, UNSEEN = {(0, 0, 0, 1)}, {(0, 0, 0, 0), (0, 0, 0, 1)}


def passed(
    write: str, read: str, race: bool, where: Literal["lanes", "warps", "blocks"] = "blocks", shared: bool = False,
    header: str = "",
) -> Litmus:  # fmt: skip
    """A thread writes X and does `write`; another one does `read`, with the flag in `a`, and reads X if it is set."""
    before, _, after = read.partition("|")
    reader = f"a = {before}; if (a) {{ {after} STEP b = X; }}"
    return Litmus((f"X = 1; {write}", reader), race, MP, where, shared=shared, header=header)


def relayed(
    load: str, store: str, race: bool, where: Literal["lanes", "warps", "blocks"] = "blocks", fence: str = ""
) -> Litmus:
    """A thread writes X and sets Y, a second one reads Y and sets Z, a third one reads Z and then X."""
    writer, relay, reader = RELAY
    return Litmus((writer, relay.format(load, fence, store), reader), race, RELAYED, where)


def locked_by_sequence(
    again: str, outcomes: set[Outcome], fence: str = "__threadfence();", plain: bool = False,
    weak: frozenset[Outcome] = frozenset(),
) -> Litmus:  # fmt: skip
    """A writer makes the sequence Y odd, writes X and Z, and makes it even; a reader reads Y, both numbers and Y once
    more, and drops all of them (9, 9) if `again` holds. `plain`: X and Z are not volatile."""
    both = tuple(steps.format(fence=fence, again=again) for steps in SEQUENCE)
    if plain:
        both = tuple(steps.replace("V(X)", "X").replace("V(Z)", "Z") for steps in both)
    return Litmus(both, plain, KEPT | outcomes, weak=weak)


TESTS = {
    "relay": relayed("acquire", "release", False),
    "relay_in_a_block": relayed("acquire", "release", False, "warps"),
    "relay_with_a_fence": relayed("relaxed", "relaxed", False, fence="__threadfence();"),
    "relay_with_a_relaxed_read": relayed("relaxed", "release", True),
    "relay_with_a_relaxed_read_in_a_block": relayed("relaxed", "release", True, "warps"),
    "relay_with_a_relaxed_store": relayed("acquire", "relaxed", True),
    "store_buffering_plain": Litmus(("X = 1; STEP a = Y;", "Y = 1; STEP a = X;"), True, SB),
    "store_buffering_volatile": Litmus(
        ("V(X) = 1; STEP a = V(Y);", "V(Y) = 1; STEP a = V(X);"), False, SB | {(0, 0, 0, 0)}
    ),
    "store_buffering_relaxed": Litmus(
        ("store_relaxed(&X, 1); STEP a = load_relaxed(&Y);", "store_relaxed(&Y, 1); STEP a = load_relaxed(&X);"),
        False, SB | {(0, 0, 0, 0)},
    ),
    "store_buffering_release": Litmus(
        ("store_release(&X, 1); STEP a = load_acquire(&Y);", "store_release(&Y, 1); STEP a = load_acquire(&X);"),
        False, SB | {(0, 0, 0, 0)},
    ),
    "two_stores_relaxed": Litmus(
        ("store_relaxed(&X, 1); STEP store_relaxed(&Y, 1);", "a = load_relaxed(&Y); STEP b = load_relaxed(&X);"), False,
        MP | {(0, 0, 0, 1), (0, 0, 1, 0)},
    ),
    "two_stores_release": Litmus(
        ("store_relaxed(&X, 1); STEP store_release(&Y, 1);", "a = load_acquire(&Y); STEP b = load_relaxed(&X);"), False,
        MP | {(0, 0, 0, 1)},
    ),
    "two_stores_and_a_fence": Litmus(
        ("V(X) = 1; __threadfence(); STEP V(Y) = 1;", "a = V(Y); __threadfence(); STEP b = V(X);"), False,
        MP | {(0, 0, 0, 1)},
    ),
    "store_buffering_own_store": Litmus(
        ("V(X) = 1; STEP a = V(X); STEP b = V(Y);", "V(Y) = 1; STEP a = V(Y); STEP b = V(X);"), False,
        {(1, 0, 1, 1), (1, 1, 1, 0), (1, 1, 1, 1)}, weak=frozenset({(1, 0, 1, 0)}),
    ),
    "dekker_with_fences": Litmus((DEKKER.format("X", "Y", fence="__threadfence();"),
                                  DEKKER.format("Y", "X", fence="__threadfence();")), False, ENTERED),
    "dekker_without_the_first_fence": Litmus(
        (DEKKER.format("X", "Y", fence=""), DEKKER.format("Y", "X", fence="")), True,
        ENTERED | {(1, 1, 2, 1), (2, 1, 1, 1)},
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
    "message_volatile": Litmus(
        ("V(X) = 1; STEP V(Y) = 1;", READ.format("V(Y)", "", "V(X)")), True, MP | {(0, 0, 1, 0)}
    ),
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
    "message_fence_of_the_writer": passed("__threadfence(); STEP V(Y) = 1;", "V(Y)", True),
    "message_fence_of_the_reader": passed("STEP V(Y) = 1;", "V(Y)|__threadfence();", True),
    "message_release_relaxed": passed("STEP store_release(&Y, 1);", "load_relaxed(&Y)", True),
    "message_relaxed_acquire": passed("STEP store_relaxed(&Y, 1);", "load_acquire(&Y)", True),
    "message_acquire_of_a_block": passed("STEP store_release(&Y, 1);", "load_block(&Y)", True),
    "message_fence_and_acquire": passed("__threadfence(); STEP store_relaxed(&Y, 1);", "load_acquire(&Y)", False),
    "message_fence_acq_rel": passed(
        'PTX("fence.acq_rel.gpu;"); STEP store_relaxed(&Y, 1);', 'load_relaxed(&Y)|PTX("fence.acq_rel.gpu;");', False
    ),
    "message_fence_acq_rel_of_a_block": passed(
        'PTX("fence.acq_rel.cta;"); STEP store_relaxed(&Y, 1);', 'load_relaxed(&Y)|PTX("fence.acq_rel.cta;");', True
    ),
    "message_release_by_red": passed(
        'STEP asm volatile("red.release.gpu.global.add.s32 [%0], 1;" :: "l"(&Y) : "memory");', "load_acquire(&Y)", False
    ),
    "message_another_flag": passed("STEP store_release(&Z, 1); STEP store_relaxed(&Y, 1);", "load_acquire(&Y)", True),
    "message_in_shared_memory": passed(
        "__threadfence_block(); STEP V(Y) = 1;", "V(Y)|__threadfence_block();", False, "warps", True
    ),
    "message_in_shared_memory_without_fences": passed("STEP V(Y) = 1;", "V(Y)", True, "warps", True),
    "release_sequence": Litmus(
        ("X = 1; STEP store_release(&Y, 1);", "if (load_relaxed(&Y)) { STEP atomicAdd(&Y, 1); }",
         "a = load_acquire(&Y); if (a == 2) { STEP b = X; }"),
        False, {(0, 0, 0, 0, a, b) for a, b in ((0, 0), (1, 0), (2, 1))},
    ),
    "release_and_a_later_store": Litmus(
        ("X = 1; store_release(&Y, 1); STEP store_relaxed(&Y, 2);", READ.format("load_acquire(&Y)", "", "X")), False,
        {(0, 0, 0, 0), (0, 0, 1, 1), (0, 0, 2, 1)},
    ),
    "sequence_lock": locked_by_sequence("a & 1 || a != V(Y)", set()),
    "sequence_lock_of_plain_data": locked_by_sequence("a & 1 || a != V(Y)", set(), plain=True),
    "sequence_lock_without_the_odd_numbers": locked_by_sequence("a != V(Y)", ODD),
    "sequence_lock_without_the_second_look": locked_by_sequence("a & 1", TORN),
    "sequence_lock_without_the_second_fence": locked_by_sequence(
        "a & 1 || a != V(Y)", set(), fence="", weak=frozenset(TORN)
    ),
    "store_buffering_fence_sc": Litmus(
        ('store_relaxed(&X, 1); PTX("fence.sc.gpu;"); STEP a = load_relaxed(&Y);',
         'store_relaxed(&Y, 1); PTX("fence.sc.gpu;"); STEP a = load_relaxed(&X);'), False, SB,
    ),
    "atomics_of_a_block": Litmus(
        ("a = atomicAdd_block(&X, 1);",) * 2, True, {(0, 0, 1, 0), (1, 0, 0, 0)}
    ),
    "atomics_in_a_block": Litmus(
        ("a = atomicAdd_block(&X, 1);",) * 2, False, {(0, 0, 1, 0), (1, 0, 0, 0)}, "warps"
    ),
    "store_under_an_atomic": Litmus(("X = 0; STEP a = atomicAdd(&X, 1);", "a = atomicAdd(&X, 1);"), True,
                                    {(0, 0, 1, 0), (0, 0, 0, 0), (1, 0, 0, 0)}),
    "lanes_and_a_part_of_a_syncwarp": Litmus(
        PAIR, False, SEEN, "lanes", meet="if (thread < 2) __syncwarp(3);"
    ),
    "lanes_and_a_syncwarp_of_their_own": Litmus(PAIR, True, UNSEEN, "lanes", meet="__syncwarp(1u << thread);"),
    "lanes_and_a_syncwarp_of_two_readers_of_three": Litmus(
        ("b = X; MEET", "b = X; MEET", "b = X; MEET", "MEET X = 1;"), True,
        {(0, 0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 1, 0, 0, 0, 0)}, "lanes",
        meet="if (thread < 4 && thread != 1) __syncwarp(13);",
    ),
    "lanes_and_volatile": Litmus(("V(X) = 1; MEET", "MEET b = V(X);"), True, UNSEEN, "lanes", shared=True),
    "warps_and_volatile": Litmus(("V(X) = 1; MEET", "MEET b = V(X);"), True, UNSEEN, "warps", shared=True),
    "warps_and_volatile_in_global_memory": Litmus(("V(X) = 1; MEET", "MEET b = V(X);"), True, UNSEEN, "warps"),
    "warps_and_a_vote_of_the_block": Litmus(PAIR, False, {(1, 0, 1, 1)}, "warps", meet="a = __syncthreads_or(1);"),
    "warps_and_a_count_of_the_block": Litmus(PAIR, False, {(64, 0, 64, 1)}, "warps",
                                             meet="a = __syncthreads_count(1);"),
    "the_writer_arrives": Litmus(PAIR, False, SEEN, "warps", meet=PART.format("=")),
    "the_reader_arrives": Litmus(PAIR, True, UNSEEN, "warps", meet=PART.format("!")),
    "warps_and_barriers_of_their_own": Litmus(
        PAIR, True, UNSEEN, "warps", meet='asm volatile("bar.sync %0, 32;" :: "r"(thread + 1) : "memory");'
    ),
    "the_writer_arrives_at_an_mbarrier": Litmus(
        ("X = 1; ARRIVE", "ARRIVE WAIT STEP b = X;"), False, SEEN, "warps", shared=True, first="INIT"
    ),
    "the_reader_does_not_wait_at_an_mbarrier": Litmus(
        ("X = 1; ARRIVE", "ARRIVE STEP b = X;"), True, UNSEEN, "warps", shared=True, first="INIT"
    ),
    "the_writer_arrives_too_early_at_an_mbarrier": Litmus(
        ("ARRIVE STEP X = 1;", "ARRIVE WAIT STEP b = X;"), True, UNSEEN, "warps", shared=True, first="INIT"
    ),
    "the_writer_arrives_in_the_next_phase_of_an_mbarrier": Litmus(
        ("ARRIVE WAIT X = 1; ARRIVE", "ARRIVE WAIT STEP b = X;"), True, UNSEEN, "warps", shared=True, first="INIT"
    ),
    "the_reader_arrives_twice_at_an_mbarrier": Litmus(
        ("X = 1; ARRIVE", "ARRIVE ARRIVE WAIT STEP b = X;"), True, UNSEEN, "warps", shared=True, first="INIT"
    ),
    "an_awaited_copy": Litmus(
        ('COPY PTX("cp.async.wait_all;"); MEET', "MEET b = X;"), False, SEEN, "warps", meet="__syncthreads();",
        shared=True,
    ),
    "an_awaited_copy_without_a_barrier": Litmus(
        ('COPY PTX("cp.async.wait_all;");', "b = X;"), True, UNSEEN, "warps", shared=True
    ),
    "a_copy_without_a_wait": Litmus(
        ("COPY MEET", "MEET b = X;"), True, {(0, 0, 0, 0)}, "warps", meet="__syncthreads();", shared=True
    ),
    "an_awaited_bulk_copy": Litmus(
        ("BULK", "ARRIVE WAIT STEP b = X;"), False, SEEN, "warps", shared=True, first="INIT"
    ),
    "a_bulk_copy_awaited_by_one_thread": Litmus(
        ("BULK WAIT", "ARRIVE STEP b = X;"), True, UNSEEN, "warps", shared=True, first="INIT"
    ),
    "a_bulk_copy_under_a_store": Litmus(
        ("BULK WAIT b = X;", "ARRIVE STEP X = 1;"), True, {(0, 1, 0, 0)}, "warps", shared=True, first="INIT"
    ),
    "blocks_and_the_sync_of_the_grid": Litmus(PAIR, False, SEEN, meet="cg::this_grid().sync();", header=GROUPS),
    "blocks_that_change_what_was_read": Litmus(
        ("MEET X = 1;", "b = X; MEET"), False, {(0, 0, 0, 0)}, meet="cg::this_grid().sync();", header=GROUPS
    ),
    "blocks_on_one_side_of_the_sync_of_the_grid": Litmus(
        ("MEET X = 1;", "MEET b = X;"), True, UNSEEN, meet="cg::this_grid().sync();", header=GROUPS
    ),
    "blocks_and_the_sync_of_their_own": Litmus(
        PAIR, True, UNSEEN, meet="cg::this_thread_block().sync();", header=GROUPS
    ),
    "lanes_and_the_sync_of_a_tile": Litmus(
        PAIR, False, SEEN, "lanes", meet="cg::tiled_partition<32>(cg::this_thread_block()).sync();", header=GROUPS
    ),
    "lanes_and_the_sync_of_small_tiles": Litmus(
        PAIR, True, UNSEEN, "lanes", meet="cg::tiled_partition<1>(cg::this_thread_block()).sync();", header=GROUPS
    ),
    "lanes_and_the_sync_of_coalesced_threads": Litmus(
        PAIR, False, SEEN, "lanes", meet="__syncwarp(); cg::coalesced_threads().sync();", header=GROUPS
    ),
    "warps_and_the_read_only_cache": Litmus(
        ("X = 1; MEET", "MEET b = __ldg(&X);"), True, SEEN, "warps", meet="__syncthreads();"
    ),
    "warps_and_an_earlier_read_of_the_read_only_cache": Litmus(
        ("MEET X = 1;", "b = __ldg(&X); MEET"), False, {(0, 0, 0, 0)}, "warps", meet="__syncthreads();"
    ),
    "blocks_and_the_read_only_cache": Litmus(
        ("X = 1; MEET", "MEET b = __ldg(&X);"), True, SEEN, meet="cg::this_grid().sync();", header=GROUPS
    ),
    "warps_and_the_sync_of_a_block": Litmus(
        PAIR, False, SEEN, "warps", meet="cg::this_thread_block().sync();", header=GROUPS
    ),
    "library_release_acquire": passed(
        "STEP REF(Y, device).store(1, ORDER(release));", "REF(Y, device).load(ORDER(acquire))", False, header=LIBRARY
    ),
    "library_seq_cst": passed(
        "STEP REF(Y, device).store(1);", "REF(Y, device).load()", False, header=LIBRARY
    ),
    "library_relaxed": passed(
        "STEP REF(Y, device).store(1, ORDER(relaxed));", "REF(Y, device).load(ORDER(relaxed))", True, header=LIBRARY
    ),
    "library_of_a_block": passed(
        "STEP REF(Y, block).store(1, ORDER(release));", "REF(Y, block).load(ORDER(acquire))", True, header=LIBRARY
    ),
    "library_in_a_block": passed(
        "STEP REF(Y, block).store(1, ORDER(release));", "REF(Y, block).load(ORDER(acquire))", False, "warps", True,
        LIBRARY,
    ),
    "library_fences": passed(
        "cuda::atomic_thread_fence(ORDER(release), cuda::thread_scope_device); "
        "STEP REF(Y, device).store(1, ORDER(relaxed));",
        "REF(Y, device).load(ORDER(relaxed))|cuda::atomic_thread_fence(ORDER(acquire), cuda::thread_scope_device);",
        False, header=LIBRARY,
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
    start = (
        "__shared__ __align__(16) int words[96]; __shared__ unsigned long long barrier; x = words;\n"
        f"if (threadIdx.x == 0) {{ X = Y = Z = 0; {test.first} }}\n__syncthreads();\n"
    )
    return (
        f'extern "C" __global__ void {name}(int *x, int *o) {{\nint thread = {thread}, a = 0, b = 0;\n'
        f"bool acts = {acts};\n{start * test.shared}" + f"\nSTEP {test.meet} STEP\n".join(roles) + "\n}\n"
    )


TEXTS = {
    header: header + HEAD + "".join(kernel(name, test) for name, test in TESTS.items() if test.header == header)
    for header in ("", GROUPS, LIBRARY)
}


def is_quick(name: str) -> bool:
    """Whether a test is compiled and run in a second."""
    return len(TESTS[name].threads) == 2 and not TESTS[name].header and not name.startswith(("dekker", "sequence"))


@pytest.mark.sampled(quick=3, thorough=16)
@pytest.mark.parametrize("name", [case(name, quick=is_quick(name), id=name) for name in TESTS])
def test_every_order_gives_an_allowed_outcome_and_races_are_reported(name: str) -> None:
    test = TESTS[name]
    seen = list(outcomes(TEXTS[test.header], name, len(test.threads), test.where))
    assert {outcome for outcome, _ in seen} == test.outcomes
    assert not test.outcomes & test.weak
    assert any(kinds for _, kinds in seen) == test.race, {kind for _, kinds in seen for kind in kinds}


def test_the_page_names_every_litmus_test() -> None:
    page = (Path(__file__).parents[2] / "docs" / "memory-model.md").read_text(encoding="utf-8")
    assert {name for name in re.findall(r"`([a-z]+(?:_[a-z0-9]+)*)`", page) if name in TESTS} == TESTS.keys()

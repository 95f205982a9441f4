"""Barriers for some threads of a block: a reader that does not arrive is found, also between two that do."""

from __future__ import annotations

import numpy as np
import pytest

import engine

NAMED = """__global__ void k(int *out) {
    __shared__ int s;
    int t = threadIdx.x, w = t / 32;
    if (t == 0) s = 1;
    __syncthreads();
    if (w < 3) out[t] = s;
    if (w < 3 && w != ABSENT) asm volatile("bar.arrive 1, COUNT;" ::: "memory");
    if (w == 3) asm volatile("bar.sync 1, COUNT;" ::: "memory");
    if (t == 96) s = 2;
}"""
PHASES = """__device__ unsigned to(void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void k(int *out) {
    __shared__ unsigned long long empty;
    __shared__ int s;
    int t = threadIdx.x, w = t / 32;
    if (t == 0) { s = 1; asm volatile("mbarrier.init.shared.b64 [%0], COUNT - 32;" :: "r"(to(&empty)) : "memory"); }
    __syncthreads();
    if (w < 3) out[t] = s;
    if (w < 3 && w != ABSENT) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(to(&empty)) : "memory");
    if (w == 3)
        asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
                     :: "r"(to(&empty)) : "memory");
    if (t == 96) s = 2;
}"""


@pytest.mark.parametrize("schedule", [None, "independent:1", "waves:1"])
@pytest.mark.parametrize("absent", [0, 1, 2, None])
@pytest.mark.parametrize("text", [NAMED, PHASES], ids=["a named barrier", "an mbarrier"])
def test_a_reader_that_does_not_arrive_races_with_the_next_writer(
    text: str, absent: int | None, schedule: str | None
) -> None:
    count = 128 if absent is None else 96
    text = text.replace("COUNT - 32", str(count - 32)).replace("COUNT", str(count))
    text = text.replace("ABSENT", "9" if absent is None else str(absent))
    run = engine.kernel(text).run(2, 128, (np.zeros(128, np.int32),), schedule=schedule)
    found = {one.kind for one in run.findings if one.kind != "global-race"}
    assert found == (set() if absent is None else {"shared-race"})

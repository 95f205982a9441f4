"""Barriers for some threads: a wait orders a thread after the arrivals of its phase, and of no other one."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from tests.sentences import sentence

pytestmark = pytest.mark.sampled(quick=2)

HEAD = """
#define OF(text, ...) \\
    asm volatile(text :: "r"((unsigned)__cvta_generic_to_shared(&barrier)), ##__VA_ARGS__ : "memory")
#define INIT(count) OF("mbarrier.init.shared.b64 [%0], %1;", "r"(count))
#define ARRIVE OF("mbarrier.arrive.shared.b64 _, [%0];")
#define WAIT(parity) \\
    OF("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }", "r"(parity))
#define NAMED_ARRIVE(number) asm volatile("bar.arrive " #number ", 64;" ::: "memory")
#define NAMED_SYNC(number) asm volatile("bar.sync " #number ", 64;" ::: "memory")
#define SIGNAL if (t % 32 == 0) atomicAdd(&flag[0], 1)
#define LATER { if (t % 32 == 0) while (!atomicAdd(&flag[0], 0)) ; __syncwarp(); }
__device__ int flag[1];
__global__ void k(const int *in, int *out) {
    __shared__ unsigned long long barrier;
    __shared__ int s[128];
    int t = threadIdx.x, w = t / 32;
    if (t == 0) INIT(2);
    __syncthreads();
"""
BODIES = {  # (right, wrong)
    "an mbarrier": (
        """if (t == 0) { s[0] = in[0]; ARRIVE; WAIT(0); s[1] = in[1]; ARRIVE; SIGNAL; }
        if (t == 32) ARRIVE;
        if (t == 64) { LATER; WAIT(0); out[0] = s[in[0]]; }""",
        """if (t == 0) { s[0] = in[0]; ARRIVE; WAIT(0); s[1] = in[1]; ARRIVE; SIGNAL; }
        if (t == 32) ARRIVE;
        if (t == 64) { LATER; WAIT(0); out[0] = s[in[1]]; }""",
    ),
    "two buffers": (
        """if (w < 2) for (int i = 0; i < 6; i++) {
            if (t == 0) s[i & 1] = in[i];
            if (t % 32 == 0) { ARRIVE; WAIT(i & 1); out[t + i] = s[i & 1]; }
        }""",
        """if (w < 2) for (int i = 0; i < 6; i++) {
            if (t == 0) s[0] = in[i];
            if (t % 32 == 0) { ARRIVE; WAIT(i & 1); out[t + i] = s[0]; }
        }""",
    ),
    "one more arrival": (
        """if (t == 0) { s[0] = in[0]; ARRIVE; }
        if (t == 32) { s[1] = in[1]; ARRIVE; WAIT(0); ARRIVE; }
        if (t == 64) { WAIT(0); out[0] = s[0] + s[1]; }""",
        """if (t == 0) { s[0] = in[0]; ARRIVE; }
        if (t == 32) { s[1] = in[1]; ARRIVE; ARRIVE; }
        if (t == 64) { WAIT(0); out[0] = s[0] + s[1]; }""",
    ),
    "a named barrier": (
        """if (w == 0) { s[t] = in[t]; NAMED_ARRIVE(1); }
        if (w == 1) { NAMED_SYNC(1); SIGNAL; NAMED_ARRIVE(1); }
        if (w == 3) { LATER; NAMED_SYNC(1); out[t] = s[t - 96]; }""",
        """if (w == 0) { s[t] = in[t]; NAMED_ARRIVE(1); }
        if (w == 1) { NAMED_SYNC(1); SIGNAL; }
        if (w == 2) { LATER; NAMED_ARRIVE(1); }
        if (w == 3) { LATER; NAMED_SYNC(1); out[t] = s[t - 96]; }""",
    ),
}


@pytest.mark.parametrize("schedule", [None, "independent:1", "waves:1"])
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_an_arrival_of_another_phase_orders_nothing(name: str, wrong: bool, schedule: str | None) -> None:
    kernel = engine.kernel(f"{HEAD}{BODIES[name][wrong]}}}")
    run = kernel.run(1, 128, (np.arange(128, dtype=np.int32), np.zeros(160, np.int32)), schedule=schedule)
    assert [one.kind for one in run.findings] == ["shared-race"] * wrong


def test_the_finding_names_both_warps_and_the_missing_wait() -> None:
    kernel = engine.kernel(f"{HEAD}{BODIES['one more arrival'][True]}}}")
    run = kernel.run(1, 128, (np.arange(128, dtype=np.int32), np.zeros(160, np.int32)))
    assert sentence("race.unordered-arrival", run.findings[0].message)

"""All threads of a block must reach the same __syncthreads(): whole warps, too.

compute-sanitizer's synccheck agrees, but takes warps that have ended for arrived, whatever they did before.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.barrier_checks import may_store_and_return
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Source
from tests.backends.emulator.small_kernels import execute, zeros
from tests.sentences import sentence

SYNC = "__syncthreads();"
UNDEFINED = {
    "a_warp_skips": f"if (t < 32) {SYNC}\nout[t] = 1;",
    "a_barrier_for_each_warp": f"if (t < 32) {{ out[0] = 1;\n{SYNC} }} else {{ out[32] = 2;\n{SYNC} }}\nout[t] = 3;",
    "different_numbers_of_barriers": f"for (int k = 0; k <= t / 32; k++) {{ out[t] += k;\n{SYNC} }}\nout[t] = 4;",
    "a_sum_behind_different_numbers": f"int sum = 0;\nfor (int k = 0; k <= t / 32; k++) {{ sum += in[k + t];\n{SYNC} }}"
    "\nout[t] = sum;",
    "n_ends_with_a_warp": f"if (t < in[32]) {{ s[t] = 1;\n{SYNC}\nout[t] = s[t ^ 1]; }}\nin[t] = 5;",
    "a_warp_meets_the_next_barrier": f"if (t < 32) {{ out[t] = 1;\n{SYNC} }}\nin[t] += 2;\n{SYNC}\n"
    "out[t] += in[t ^ 32];",
    "a_warp_skips_in_a_loop": f"for (int k = 0; k < in[5]; k++) {{ if (t < 32) {SYNC} out[t] += k; }}\nin[t] = 2;",
    "a_warp_skips_and_stores_one_value": f"int v = 7;\nif (t < 32) {{ out[t] = 1;\n{SYNC}\nv = 2; }}\nout[t] = v;",
    "an_else_without_the_barrier": f"if (t < 32) {{ out[t] = 1;\n{SYNC}\nout[t] = 2; }} else out[t] = 7;",
    "a_warp_skips_behind_a_guard": "if (t >= in[64]) return;\nint v = 7;\nif (t < 32) { s[t] = t;\n"
    f"{SYNC}\nv = s[t ^ 1]; }}\nout[t] = v;",
    "a_warp_skips_in_front_of_a_trap": f"if (t < 32) {SYNC}\nif (in[3] != 3) __trap();\nout[t] = 1;",
    "half_a_warp_skips": f"if (t < 40) {SYNC}\nout[t] = 1;",
    "a_warp_skips_in_front_of_a_guarded_store": f"if (t < 32) {SYNC}\nif (t < in[64]) out[t] = 1;",
    "a_warp_skips_a_vote": "int q = 0;\nif (t < 32) q = __syncthreads_count(t & 1);\nif (t < in[64]) out[t] = q;",
    "a_warp_skips_another_vote": "if (t < 32) s[t] = __syncthreads_or(t);\nout[t] = 1;",
    "different_numbers_of_votes": "int sum = 0;\nfor (int k = 0; k <= t / 32; k++) sum += __syncthreads_and(in[k]);\n"
    "out[t] = sum;",
    "a_warp_skips_barrier_3": 'if (t < 32) asm volatile("bar.sync 3;" ::: "memory");\nout[t] = 1;',
    "a_vote_for_each_warp": "if (t < 32) out[t] = __syncthreads_count(t);\nelse in[t] = __syncthreads_and(t);",
}
DEFINED = {
    "warps_return": f"if (t >= 32) return;\nout[t] = 1;\n{SYNC}\nout[t] = 2;",
    "warps_store_and_return": f"if (t >= 32) {{ out[t] = 7; return; }}\nout[t] = 1;\n{SYNC}\nout[t] = 2;",
    "warps_store_and_return_twice": f"if (t >= 48) {{ out[t] = 7; return; }}\nif (t >= 32) {{ out[t] = 8;\nreturn; }}\n"
    f"{SYNC}\nout[t] = 2;",
    "warps_return_from_a_loop": f"for (int k = 0;; k++) {{ if (k == in[t / 32 + 1]) return;\n{SYNC} out[t] += k; }}",
    "warps_return_in_front_of_votes": "if (t >= 32) return;\nfor (int k = 0; k <= in[1]; k++)\n"
    "if (__syncthreads_or(k)) out[t] += __syncthreads_count(t & k);",
    "a_guarded_store_in_a_loop": f"for (int k = 0; k < 3; k++) {{ s[t] = k;\n{SYNC} if (t < in[9]) out[t] += s[t ^ 32];"
    f"\n{SYNC} }}\nif (t < in[9]) in[t] = 5;",
    "nothing_follows": f"if (t < 32) {{ out[t] = 1; {SYNC} }}",
    "a_block_decides": f"if (in[3] == 3) {{ out[t] = 1; {SYNC} }}\nout[t] = 2;",
    "warps_with_barriers_of_their_own": 's[t] = t;\nif (t < 32) asm volatile("bar.sync 1, 32;" ::: "memory");'
    f' else asm volatile("bar.sync 2, 32;" ::: "memory");\nout[t] = s[t ^ 1];\n{SYNC}\nout[t] += 1;',
    "a_warp_fills_and_a_warp_empties": "for (int k = 0; k < 3; k++) if (t < 32) { s[t] = k;"
    ' asm volatile("bar.arrive 1, 64;\\n bar.sync 2, 64;" ::: "memory"); } else { asm volatile("bar.sync 1, 64;" :::'
    ' "memory"); out[t] = s[t - 32]; asm volatile("bar.arrive 2, 64;" ::: "memory"); }',
    "rare_code": f"if (__builtin_expect(t == 5, 0)) {{ s[0] = 3; out[1] = 3; }}\n{SYNC}\nout[t] = s[0];",
}
TEXT = "".join(
    f'extern "C" __global__ void {name}(int *in, int *out) {{\n__shared__ int s[64]; int t = threadIdx.x;\n{body}\n}}\n'
    for name, body in {**UNDEFINED, **DEFINED}.items()
)
CALL = f"""__device__ void stores_and_returns(int *s, int *out) {{
    int t = threadIdx.x;
    if (t >= 32) {{ out[t] = 7; return; }}
    s[t] = t;
    {SYNC}
    if (t < 20) out[t] = s[t ^ 1];
}}
extern "C" __global__ void calls(int *in, int *out) {{ __shared__ int s[64]; stores_and_returns(s, out); }}"""
SCHEDULES = (LOCKSTEP, Schedule("independent", seed=3))


def found(name: str, schedule: Schedule = LOCKSTEP, text: str = TEXT) -> list[tuple[str, str]]:
    hazards = Hazards()
    arrays = {"in": np.arange(96, dtype=np.int32), "out": zeros(64)}
    execute(text, 1, 64, name=name, observers=[hazards], schedule=schedule, **arrays)
    return [(finding.kind, finding.message) for finding in hazards.findings()]


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", UNDEFINED)
def test_threads_that_miss_a_barrier_are_found(name: str) -> None:
    for schedule in SCHEDULES:
        assert "divergent-barrier" in {kind for kind, _ in found(name, schedule)}


def test_a_macro_may_return_behind_a_store() -> None:
    store = "#define LEAVE { out[t] = 7; return; }\n"
    assert may_store_and_return(Source("test.cu", store + TEXT, "int32"), "a_warp_skips")
    assert may_store_and_return(Source("test.cu", TEXT, "int32"), "warps_store_and_return")
    assert not may_store_and_return(Source("test.cu", TEXT, "int32"), "warps_return")


@pytest.mark.parametrize("name", DEFINED)
def test_a_defined_use_is_not_accused(name: str) -> None:
    assert [found(name, schedule) for schedule in SCHEDULES] == [[], []]


def test_a_function_may_store_and_return() -> None:
    assert may_store_and_return(Source("test.cu", TEXT + CALL, "int32"), "calls")
    assert may_store_and_return(Source("test.cu", TEXT + CALL, "int32"), "a_warp_skips")
    assert [found("calls", schedule, CALL) for schedule in SCHEDULES] == [[], []]


HALVES = """#include <cooperative_groups.h>
extern "C" __global__ void f(int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    auto block = cooperative_groups::this_thread_block();
    if (t % 32 < 16) { s[t] = 1; FIRST } else { s[t] = 2; SECOND }
    out[t] = s[t ^ 63];
}"""
UNALIGNED = 'asm volatile("barrier.sync 1, 64;" ::: "memory");'


def test_the_halves_of_a_warp_may_execute_a_barrier_that_is_not_aligned() -> None:
    for barrier in (UNALIGNED, "block.sync();"):
        text = HALVES.replace("FIRST", barrier).replace("SECOND", barrier)
        assert [found("f", schedule, text) for schedule in SCHEDULES] == [[], []]
    skipped = HALVES.replace("FIRST", "block.sync();").replace("SECOND", "")
    assert "divergent-barrier" in {kind for kind, _ in found("f", LOCKSTEP, skipped)}
    aligned = UNALIGNED.replace("barrier.sync", "bar.sync")
    kind, message = found("f", LOCKSTEP, HALVES.replace("FIRST", aligned).replace("SECOND", aligned))[0]
    assert kind == "divergent-barrier" and sentence("barrier.half-warp-numbered", message.split(": ", 1)[1])


def test_the_findings_name_the_threads_and_the_barriers() -> None:
    assert sentence("barrier.warp-skips", found("a_warp_skips")[0][1].split(": ", 1)[1])
    assert sentence("barrier.vote-skipped", found("a_warp_skips_a_vote")[0][1].split(": ", 1)[1])
    assert sentence("barrier.two-votes", found("a_vote_for_each_warp")[0][1].split(": ", 1)[1])
    assert sentence("barrier.numbered", found("a_warp_skips_barrier_3")[0][1].split(": ", 1)[1])
    assert sentence("barrier.two-places", found("a_barrier_for_each_warp")[0][1].split(": ", 1)[1])

"""Of the warp-wide functions only __syncwarp() and the syncs of groups order memory; all others only converge."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute, zeros
from tests.sentences import sentence

SCHEDULES = (LOCKSTEP, Schedule("independent", seed=3))
GROUPS = "namespace cg = cooperative_groups; auto warp = cg::tiled_partition<32>(cg::this_thread_block());"
CONVERGE = {
    "shuffle": "v = __shfl_sync(~0u, 1, 0);",
    "shuffle_of_the_word": "v = __shfl_xor_sync(~0u, s[t], 1);",
    "ballot": "v = __ballot_sync(~0u, t & 1);",
    "match": "v = __match_any_sync(~0u, t & 1);",
    "reduce": "v = __reduce_add_sync(~0u, 1);",
    "tile_shuffle": f"{GROUPS} v = warp.shfl(t, 0);",
    "tile_vote": f"{GROUPS} v = warp.any(t & 1);",
}
ORDER = {
    "syncwarp": "__syncwarp();",
    "tile_sync": f"{GROUPS} warp.sync();",
    "block_sync": "cooperative_groups::this_thread_block().sync();",
    "syncthreads": "__syncthreads();",
    "syncthreads_count": "v = __syncthreads_count(t & 1);",
}
TEXT = "#include <cooperative_groups.h>\n" + "".join(
    f'extern "C" __global__ void {space}_{name}(int *g, int *out) {{\n'
    f"__shared__ int words[64]; int t = threadIdx.x, v = 0, *s = {space};\n"
    f"s[t] = t;\n{body}\nout[t] = s[t ^ 1] + v;\n}}\n"
    for name, body in {**CONVERGE, **ORDER, "activemask": "v = __activemask();"}.items()
    for space in ("words", "g")
)
# Which lanes are together differs from order to order: each reads a word of another member of its group.
TEXT += "".join(
    f"""extern "C" __global__ void {space}_coalesced{sync}(int *g, int *out) {{
    __shared__ int words[64]; int t = threadIdx.x, *s = {space};
    auto group = cooperative_groups::coalesced_threads();
    s[t] = t;
    {sync and "group.sync();"}
    out[t] = s[group.shfl(t, (group.thread_rank() + 1) % group.size())];
}}
"""
    for space in ("words", "g")
    for sync in ("", "_sync")
)


def found(name: str, schedule: Schedule) -> list[tuple[str, str]]:
    hazards = Hazards()
    execute(TEXT, 1, 64, name=name, observers=[hazards], schedule=schedule, g=zeros(64), out=zeros(64))
    return [(finding.kind, finding.message) for finding in hazards.findings()]


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", [*CONVERGE, "coalesced"])
def test_converging_does_not_order_memory(name: str) -> None:
    for schedule in SCHEDULES:
        assert {kind for kind, _ in found(f"words_{name}", schedule)} == {"warp-race"}
        assert {kind for kind, _ in found(f"g_{name}", schedule)} == {"global-race"}


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.kind)
def test_asking_who_is_active_does_not_order_memory(schedule: Schedule) -> None:
    assert "warp-race" in {kind for kind, _ in found("words_activemask", schedule)}
    assert {kind for kind, _ in found("g_activemask", schedule)} == {"global-race"}


@pytest.mark.parametrize("name", [*ORDER, "coalesced_sync"])
def test_a_sync_orders_memory(name: str) -> None:
    assert [found(f"{space}_{name}", schedule) for space in ("words", "g") for schedule in SCHEDULES] == [[]] * 4


def test_the_finding_names_the_function_that_does_not_order() -> None:
    assert sentence("race.shuffle-does-not-order", found("words_shuffle", LOCKSTEP)[0][1])


def test_the_usual_result_is_what_the_hardware_gives() -> None:
    made = execute(TEXT, 1, 64, name="words_shuffle", g=zeros(64), out=zeros(64))
    assert made["out"].tolist() == ((np.arange(64) ^ 1) + 1).tolist()

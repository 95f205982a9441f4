"""Counters of whole kernels against those that Nsight Compute read on an H200."""

import json
from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest

from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.watching import results
from engine.records import Buffer, Launch, Scalar, Source
from tests.backends.emulator.small_kernels import execute, zeros

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "kernels.json").read_text())
N = 16384
PAIRS = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld": "shared_load_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st": "shared_store_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom": "shared_atomic_wavefronts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld": "shared_load_conflicts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st": "shared_store_conflicts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom": "shared_atomic_conflicts",
    "smsp__inst_executed_op_shared_ld_pred_on_any": "shared_load_requests",
    "smsp__inst_executed_op_shared_st_pred_on_any": "shared_store_requests",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld": "global_load_requests",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st": "global_store_requests",
    "l1tex__t_requests_pipe_lsu_mem_global_op_red": "global_red_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld": "global_load_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st": "global_store_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_red": "global_red_sectors",
}  # fmt: skip
# Of the kernels that the file leaves out: (shared load wavefronts, conflicts, store wavefronts, load sectors, store or
# red sectors, divergent branches of PTX), read in the same session on the H200.
OTHERS = {
    "r0": (6016, 0, 3456, 2048, 128, 3072),
    "r1": (6016, 3840, 3456, 2048, 128, 768),
    "r2": (2176, 0, 1536, 2048, 128, 768),
    "r4": (2176, 0, 1536, 2048, 128, 128),
    "sh": (0, 0, 0, 2048, 512, 512),
    "hi": (32, 0, 32, 2048, 128, 0),
    "co": (0, 0, 0, 2048, 2048, 8656),
    "st": (0, 0, 0, 14336, 16384, 0),
    "mm": (12288, 0, 1024, 4096, 512, 0),
}
SHAPES = {"hi": ((128, 1, 1), (16, 1, 1)), "mm": ((256, 1, 1), (4, 4, 1))}


def counted(name, block, grid):
    device, counters = Device(), results.all_counters()
    device.place(Buffer("g", "int32", N, "input"), {"g": np.arange(N, dtype=np.int32) % 97})
    device.place(Buffer("o", "int32", 1 << 18, "zero"), {})
    source = Source("kernels.cu", GOLDEN["source"], "int32")
    step = Launch(name, source, grid, block, ("g", "o", Scalar("uint32", N)), shared_bytes=2048)
    launch(device, step, counters)
    return results.details(counters)


def small(body: str, threads: int = 32) -> dict[str, float]:
    """The counters of one block that runs `body` with t = threadIdx.x and an int *o."""
    device, counters = Device(), results.all_counters()
    device.place(Buffer("o", "int32", 1024, "zero"), {})
    text = f'extern "C" __global__ void small(int *o) {{ int t = threadIdx.x; {body} }}'
    step = Launch("small", Source("small.cu", text, "int32"), (1, 1, 1), (threads, 1, 1), ("o",))
    launch(device, step, counters)
    return results.details(counters)


@pytest.mark.parametrize("name", sorted(GOLDEN["kernels"]))
def test_memory_counters_equal_the_profiler(name):
    recorded = GOLDEN["kernels"][name]
    ours = counted(name, literal_eval(recorded["block"]), literal_eval(recorded["grid"]))
    theirs = {ours_name: recorded.get(metric, 0) for metric, ours_name in PAIRS.items()}
    assert {key: ours[key] for key in theirs} == theirs


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_memory_counters_equal_the_table(name):
    block, grid = SHAPES.get(name, ((128, 1, 1), (128, 1, 1)))
    ours = counted(name, block, grid)
    stored = ours["global_store_sectors"] + ours["global_red_sectors"]
    assert (
        ours["shared_load_wavefronts"], ours["shared_load_conflicts"], ours["shared_store_wavefronts"],
        ours["global_load_sectors"], stored, ours["divergent_branches"],
    ) == OTHERS[name]  # fmt: skip


def test_shared_atomics_are_not_merged():
    assert counted("hi", *SHAPES["hi"])["shared_atomic_wavefronts"] == 675


@pytest.mark.parametrize(("body", "passes"), [
    ("atomicAdd(&s[t & 1], 1);", 1), ("atomicAdd(&s[t % 64], 1);", 2), ("atomicAdd(&s[t & 1], 2);", 16),
    ("o[t] = atomicAdd(&s[t & 1], 1);", 16), ("atomicInc((unsigned *)&s[0], 0xffffffffu);", 1),
    ("atomicInc((unsigned *)&s[0], 7);", 32), ("atomicSub(&s[t & 1], 1);", 16), ("atomicExch(&s[0], 1);", 32),
    ("atomicOr(&s[t & 1], 1 << t);", 16), ("atomicMax((unsigned *)&s[t & 1], t + 1);", 16),
])  # fmt: skip
def test_only_counting_in_shared_memory_is_merged(body: str, passes: int) -> None:
    """The constant 1 added to a word without looking at the result: an instruction of its own, which merges lanes."""
    threads = 64 if "64" in body else 32
    ours = small(f"__shared__ int s[64]; s[t % 64] = 0; __syncthreads(); {body}", threads)
    assert (ours["shared_atomic_wavefronts"], ours["shared_atomic_conflicts"]) == (passes, passes - threads // 32)


@pytest.mark.parametrize(("body", "kind"), [
    ("atomicAdd(&o[t], 1);", "red"), ("atomicExch(&o[t], 1);", "atom"), ("atomicCAS(&o[t], 0, 1);", "atom"),
    ("o[t + 64] = atomicAdd(&o[t], 1);", "atom"),
])  # fmt: skip
def test_an_exchange_is_never_a_reduction(body: str, kind: str) -> None:
    """The GPU has no exchange and no compare-and-swap without a result."""
    ours = small(body)
    requests = {name: ours[f"global_{name}_requests"] for name in ("red", "atom")}
    assert requests == {"red": int(kind == "red"), "atom": int(kind == "atom")}


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(("body", "sectors"), [
    ("atomicAdd(o, t);", 2), ("atomicMax(o, t);", 2), ("if (t & 1) atomicOr(o, t);", 2),
    ("atomicAdd(&o[blockIdx.x], 1);", 2),
    ("o[t + 64] = atomicAdd(o, 1);", 2), ("if (t % 3) o[t + 64] = atomicAdd(o, 5);", 2),
    ("o[t + 64] = atomicAdd(o, t);", 2), ("if (t != 63) o[t + 64] = atomicAdd(o, t);", 32),
    ("atomicAdd((unsigned long long *)o, 1ull);", 2),
    ("atomicAdd((unsigned long long *)o, (unsigned long long)t);", 64),
    ("o[t + 64] = atomicMax(o, t);", 64), ("atomicInc((unsigned *)o, t);", 64), ("atomicExch(o, t);", 64),
    ("atomicAdd((float *)o, 1.0f);", 64), ("atomicAdd(&o[t / 32], t);", 64), ("atomicAdd(&o[o[t]], t);", 64),
])  # fmt: skip
def test_one_lane_goes_to_memory_for_its_warp(body: str, sectors: int) -> None:
    """As the assembler for sm_90 translates them: of two warps, one lane each or all 64 (or one warp and 31)."""
    ours = small(body, threads=64)
    assert ours["global_red_sectors"] + ours["global_atom_sectors"] == sectors
    assert ours["global_red_requests"] + ours["global_atom_requests"] == 2
    assert ours["atomic_max_contention"] >= 10  # what the program asks for stays in sight


def test_constant_memory_has_requests_of_its_own() -> None:
    device, counters = Device(), results.all_counters()
    device.place(Buffer("o", "int32", 1024, "zero"), {})
    text = """__constant__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
extern "C" __global__ void f(int *o) { o[threadIdx.x] = table[o[threadIdx.x] & 7] + table[blockIdx.x]; }"""
    launch(device, Launch("f", Source("test.cu", text, "int32"), (2, 1, 1), (64, 1, 1), ("o",)), counters)
    found = results.details(counters)
    totals = {name: value for one in counters for name, value in one.totals().items()}
    assert totals["constant_requests"] == 8  # two of each of four warps
    assert found["global_load_requests"] == 4 and found["global_load_sectors"] == 16


@pytest.mark.parametrize(
    ("index", "passes"),
    [("0", 4), ("blockIdx.x", 4), ("t % 8", 8 * 4), ("t % 32", 32 * 4), ("t / 16 % 2", 2 * 4),
     ("t % 3 + blockIdx.x", 3 * 4),
     ("(t * t + blockIdx.x) % 64", 12 * 4)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["int", "double"])
def test_a_constant_request_is_served_once_for_each_different_word(index: str, passes: int, kind: str) -> None:
    device, counters = Device(), results.all_counters()
    device.place(Buffer("o", "int32", 1024, "zero"), {})
    text = f"""__constant__ {kind} table[64] = {{1, 2, 3}};
extern "C" __global__ void f(int *o) {{ unsigned t = threadIdx.x; o[t] = (int)table[{index}]; }}"""
    launch(device, Launch("f", Source("test.cu", text, "int32"), (2, 1, 1), (64, 1, 1), ("o",)), counters)
    totals = {name: value for one in counters for name, value in one.totals().items()}
    assert (totals["constant_requests"], totals["constant_passes"]) == (4, passes)


def test_lanes_that_do_not_ask_take_no_pass_of_constant_memory() -> None:
    device, counters = Device(), results.all_counters()
    device.place(Buffer("o", "int32", 1024, "zero"), {})
    text = """__constant__ int table[64] = {1, 2, 3};
extern "C" __global__ void f(int *o) { unsigned t = threadIdx.x; if (t >= 30 && t < 34) o[t] = table[t]; }"""
    launch(device, Launch("f", Source("test.cu", text, "int32"), (1, 1, 1), (64, 1, 1), ("o",)), counters)
    totals = {name: value for one in counters for name, value in one.totals().items()}
    assert (totals["constant_requests"], totals["constant_passes"]) == (2, 4)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("guard", ["", "if (t < 40)", "if (b != 1)", "if (in[i] & 1)", "if (in[i] & 1 && t != 7)"])
def test_atomics_at_one_address_cost_one_pass_a_lane(space, guard):
    text = f"""extern "C" __global__ void f(const int *in, int *out) {{
        __shared__ int s; int t = threadIdx.x, b = blockIdx.x, i = b * 64 + t;
        if (t == 0) s = 0;
        __syncthreads();
        {guard} out[i + 1] = atomicMax({"out" if space == "global" else "&s"}, in[i]); }}"""
    values = np.random.default_rng(0).integers(0, 1000, 192).astype(np.int32)
    counters = results.all_counters()
    execute(text, grid=3, block=64, observers=counters, **{"in": values, "out": zeros(193)})
    t, b = np.arange(64), np.arange(3)[:, None]
    odd = values.reshape(3, 64) & 1 == 1
    lanes = {"": t >= 0, "if (t < 40)": t < 40, "if (b != 1)": (b != 1) & (t >= 0), "if (in[i] & 1)": odd}.get(
        guard, odd & (t != 7)
    )
    count = np.broadcast_to(lanes, (3, 64)).reshape(6, 32).sum(axis=1)
    found = results.details(counters)
    kind, cost = ("global_atom", "sectors") if space == "global" else ("shared_atomic", "wavefronts")
    assert found[f"{kind}_requests"] == np.count_nonzero(count)
    assert found[f"{kind}_{cost}"] == count.sum()
    assert found["atomic_max_contention"] == count.max()

"""The trace of one block: every step in its order, its lanes, and the pass that serves each of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.backends.emulator.watching import trace as traces
from engine.backends.emulator.watching.wavefronts import serving_wavefronts, shared_wavefronts
from engine.catalogue import default_choice
from engine.records import Choice, NotRunnable
from tests.cases import code_line
from tests.made import measure
from tests.made import trace as trace_of

FULL = 0xFFFFFFFF


def traced(kernel, n=4096, block_size=128, **how):
    return trace_of(Choice(kernel, n, block_size, dtype="int32", device="emulator"), **how)


def shared(trace, kind, line=None):
    return [s for s in trace.steps if s.space == "shared" and s.kind == kind and line in (None, s.line)]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from((4, 8, 16)),
    st.sampled_from(("ld", "st", "atom")),
    st.lists(st.integers(0, 63), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
)
def test_the_last_lane_is_served_in_the_last_wavefront(size, op, units, awake):
    address, active = np.array(units) * size, np.array(awake)
    served = serving_wavefronts(address, active, size, op)
    assert max(served) == shared_wavefronts(address, active, size, op)[0]
    assert [turn > 0 for turn in served] == awake
    assert set(range(1, max(served) + 1)) == set(served) - {0}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 200), min_size=32, max_size=32))
def test_in_one_wavefront_every_bank_serves_one_word(words):
    served = serving_wavefronts(np.array(words) * 4, np.ones(32, bool), 4, "ld")
    taken: dict[tuple[int, int], int] = {}
    assert len(served) == 32
    for turn, word in zip(served, words, strict=True):
        assert taken.setdefault((turn, word % 32), word) == word


def test_a_stride_of_two_words_is_served_in_two_passes_half_a_warp_each():
    served = serving_wavefronts(np.arange(32) * 8, np.ones(32, bool), 4, "ld")
    assert served == (1,) * 16 + (2,) * 16


def test_the_strided_tree_meets_in_few_banks_and_the_sequential_one_in_none():
    loads = shared(traced("reduce_strided"), "load", code_line("reduce_strided", "partial[index] += "))
    first = [step.requests[0] for step in loads if step.requests[0].warp == 0]
    assert [request.passes for request in first[::2][:4]] == [2, 4, 4, 4]
    assert first[0].places[:4] == (0, 8, 16, 24)
    assert loads[0].array == "partial" and loads[0].size == 4
    assert all(r.conflicts == 0 for s in shared(traced("reduce_sequential"), "load") for r in s.requests)


def test_lanes_that_take_part():
    trace = traced("reduce_interleaved")
    assert trace.warps == 4 and trace.blocks == 32 and (trace.launch, trace.launches) == (1, 2)
    adds = shared(trace, "store", code_line("reduce_interleaved", "partial[tid] += "))
    assert adds[0].lanes == (0x55555555,) * 4
    assert adds[1].lanes == (0x11111111,) * 4
    split = [
        step
        for step in trace.steps
        if any(jump and jump != lanes for jump, lanes in zip(step.taken, step.lanes, strict=False))
    ]
    assert split and split[0].line == code_line("reduce_interleaved", "if (tid % (2 * stride) == 0)")
    assert all(sum(map(int.bit_count, step.lanes)) > 0 for step in trace.steps)


@pytest.mark.parametrize("kernel", ["reduce_strided", "reduce_warp_shuffle", "reduce_unroll_syncwarp"])
def test_a_trace_of_the_only_block_adds_up_to_the_counters(kernel):
    choice = Choice(kernel, 120, 128, device="emulator", combine=None)
    trace, counted = trace_of(choice), measure(choice)
    assert trace.blocks == trace.launches == 1
    counters = counted.counters
    assert counters is not None

    def total(value):
        return sum(value(step) for step in trace.steps)

    warps = [sum(1 for lanes in step.lanes if lanes) for step in trace.steps]
    assert sum(w * s.instructions for w, s in zip(warps, trace.steps, strict=True)) == counters["warp_instructions"]
    assert total(lambda s: s.instructions * sum(map(int.bit_count, s.lanes))) == counters["thread_instructions"]
    assert sum(w for w, s in zip(warps, trace.steps, strict=True) if s.kind == "barrier") == counters["barriers"]
    for space, kind, unit in (("shared", "load", "wavefronts"), ("shared", "store", "wavefronts"),
                              ("global", "load", "sectors")):  # fmt: skip
        steps = [s for s in trace.steps if (s.space, s.kind) == (space, kind)]
        assert sum(len(s.requests) for s in steps) == counters[f"{space}_{kind}_requests"]
        assert sum(r.passes for s in steps for r in s.requests) == counters[f"{space}_{kind}_{unit}"]


def test_sectors_of_a_global_load_are_numbered_in_the_order_of_addresses():
    load = next(s for s in traced("reduce_sequential", block=1).steps if s.space == "global")
    request = load.requests[0]
    assert load.array == "in" and request.passes == 4 and request.conflicts is None
    assert request.places[0] == 128 * 4
    assert request.served == tuple(1 + lane // 8 for lane in range(32))


@pytest.mark.thorough
def test_a_trace_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(traces, "MOST_STEPS", 10)
    trace = traced("reduce_sequential")
    assert len(trace.steps) == 10 and trace.steps_in_all > 50
    monkeypatch.undo()
    big = trace_of(Choice("matmul_tiled", 256, 16, dtype="float32", device="emulator"))
    assert sum(len(s.requests) for s in big.steps) <= traces.MOST_REQUESTS + 32
    assert big.steps_in_all > len(big.steps) and len(pickle.dumps(big)) < 2_000_000


def test_the_last_block_of_a_later_launch_and_of_a_wave():
    trace = traced("reduce_sequential", block=0, launch=2)
    assert trace.blocks == 1 and trace.steps
    wave = traced("reduce_sequential", block=31, schedule="waves:8")
    assert wave.schedule == "waves of 8 blocks"
    assert [s.line for s in wave.steps] == [s.line for s in traced("reduce_sequential", block=31).steps]


def test_independent_lanes_run_apart_in_the_trace():
    together, apart = traced("reduce_sequential"), traced("reduce_sequential", schedule="independent:1")
    assert len(apart.steps) > len(together.steps)


def test_a_run_that_fails_gives_the_steps_up_to_there():
    source = """extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n)
{
    T sum = in[threadIdx.x];
    out[n + threadIdx.x] = sum;
}
"""
    trace = trace_of(Choice("reduce_sequential", 4096, 64, device="emulator", source=source, source_name="mine.cu"))
    assert trace.ended and "line 4" in trace.ended
    assert [s.kind for s in trace.steps if s.space] == ["load"]


@pytest.mark.parametrize(
    ("choice", "how", "words"),
    [
        (default_choice("trapezoid_scalar"), {}, "no block to look"),
        (Choice("reduce_sequential", 4096, 128), {"block": 32}, "blocks 0 to 31"),
        (Choice("reduce_sequential", 4096, 128), {"launch": 3}, "makes 2"),
        (Choice("reduce_sequential", 4096, 128), {"schedule": "backwards"}, "lockstep"),
    ],
)
def test_what_cannot_be_traced_is_refused_in_a_sentence(choice, how, words):
    with pytest.raises(NotRunnable, match=words):
        trace_of(choice, **how)

"""How a kernel is executed changes neither its answer nor its counters; in which order only what is racy."""

import numpy as np
import pytest

import engine
from engine.backends.emulator.launch import execute
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.catalogue import KERNELS, topic_of
from engine.plan import plan
from engine.records import Choice, Launch, RunFailed
from tests.backends.emulator import small_kernels
from tests.backends.emulator.small_kernels import zeros
from tests.cases import case
from tests.sentences import refused

WAYS = {
    "flat": Options(flat=True),
    "no sums": Options(sums=False),
    "one warp a chunk": Options(lanes=32),
    "small chunks": Options(lanes=1 << 10),
    "flat, small chunks": Options(flat=True, sums=False, lanes=1 << 9),
}
SAMPLE = (
    "reduce_interleaved", "reduce_strided", "reduce_unroll_syncwarp", "reduce_warp_shuffle", "reduce_vectorized",
    "reduce_register_tree", "matmul_tiled", "matmul_naive",
)  # fmt: skip
NAMES = [
    name
    for name, kernel in KERNELS.items()
    if kernel.expect == "ok" and kernel.emulated and topic_of(kernel).name in ("reduction", "matmul", "trapezoid")
]


def run(name, options=None, schedule=LOCKSTEP, dtype=None, n=None, block_size=None):
    kernel = KERNELS[name]
    topic = topic_of(kernel)
    block_size = block_size or kernel.block_sizes[min(1, len(kernel.block_sizes) - 1)]
    n = n or (37 if topic.name == "matmul" else 1000)
    made = plan(Choice(name, n, block_size, dtype=dtype or kernel.dtypes[0], device="emulator"))
    inputs = {key: np.resize(values, count) for key, (values, count) in topic.input_recipe(made.choice).items()}
    result = execute(made, inputs, schedule=schedule, options=options or Options())
    return result, topic.check(made, result.output), made


def on_gpu(name):
    made = plan(Choice(name, 1000, KERNELS[name].block_sizes[0], dtype=KERNELS[name].dtypes[0], device="emulator"))
    return all(not hasattr(step, "function") for step in made.steps)


@pytest.mark.sampled(quick=4, thorough=3)
@pytest.mark.parametrize("way", [case(way, quick=way in ("flat", "small chunks")) for way in sorted(WAYS)])
@pytest.mark.parametrize("name", SAMPLE)
def test_shapes_and_chunks_change_nothing(name, way):
    usual, check, made = run(name)
    other, _, _ = run(name, WAYS[way])
    assert check.ok
    np.testing.assert_array_equal(other.output, usual.output)
    assert other.findings == usual.findings
    if not any(isinstance(step, Launch) and step.cooperative for step in made.steps):
        assert other.counts == usual.counts


RACY_LOOPS = """extern "C" __global__ void f(const int *in, int *out) {
    __shared__ int s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], steps = 0;
    s[threadIdx.x] = v;
    __syncthreads();
    while (v != 1 && steps < 60) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        if (v % 5 == 0) continue;
        steps++;
        if (steps > 40 && s[threadIdx.x] % 3 == 0) break;
        for (int k = 0; k < v % 4; k++) steps += s[(threadIdx.x + k) % 64] & 1;
    }
    out[i] = steps * 1000 + v % 1000;
}"""


@pytest.mark.sampled(thorough=2)
@pytest.mark.parametrize("way", [case(way, quick=way == "flat, small chunks") for way in sorted(WAYS)])
def test_dense_divergence_is_the_same_in_all_shapes(way):
    values = np.random.default_rng(2).integers(1, 1000, 64 * 9).astype(np.int32)

    def outcome(options):
        from engine.backends.emulator.watching import results

        counters = results.all_counters()
        made = small_kernels.execute(RACY_LOOPS, grid=9, block=64, observers=counters, options=options,
                                     **{"in": values}, out=zeros(values.size))  # fmt: skip
        return made["out"], results.details(counters)

    usual, counted = outcome(Options())
    other, also_counted = outcome(WAYS[way])
    np.testing.assert_array_equal(other, usual)
    per_lane = (
        "thread_instructions",
        "divergent_branches",
        "branches",
        "global_load_sectors",
        "shared_load_wavefronts",
    )
    assert {key: also_counted[key] for key in per_lane} == {key: counted[key] for key in per_lane}


# What is no sample waits for a release: test_differential.py and test_machine_hazards.py have every kernel in all kinds
# of order, at other sizes.
@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", [case(name, quick=name in SAMPLE, thorough=False) for name in NAMES if on_gpu(name)])
@pytest.mark.parametrize("schedule", [Schedule("independent", 1), Schedule("waves", blocks_per_wave=2)])
def test_correct_kernels_are_right_under_every_schedule(name, schedule):
    result, check, _ = run(name, schedule=schedule, n=24 if topic_of(KERNELS[name]).name == "matmul" else 500)
    assert check.ok
    assert result.findings == ()


def test_a_schedule_is_repeatable():
    first, _, _ = run("reduce_unroll_volatile", schedule=Schedule("independent", 5))
    again, _, _ = run("reduce_unroll_volatile", schedule=Schedule("independent", 5))
    np.testing.assert_array_equal(first.output, again.output)


def test_the_volatile_tail_is_right_in_lockstep_and_wrong_for_independent_lanes():
    _, check, _ = run("reduce_unroll_volatile")
    assert check.ok
    answers = [run("reduce_unroll_volatile", schedule=Schedule("independent", seed))[1] for seed in range(6)]
    assert not all(answer.ok for answer in answers)
    assert len({answer.result for answer in answers}) > 1


def test_a_race_between_blocks_loses_other_sums_in_other_waves():
    answers = {run("reduce_racy", schedule=Schedule("waves", blocks_per_wave=k))[1].result for k in (1, 2, 3, 8)}
    assert len(answers) > 1


LOCK = """extern "C" __global__ void f(unsigned *lock, volatile int *sum) {
    while (atomicCAS(lock, 0, 1) != 0) ;
    __threadfence();
    *sum = *sum + threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}"""


def test_a_lock_between_lanes_needs_independent_scheduling():
    with refused("emulator.waits-for-own-warp", RunFailed) as failure:
        small_kernels.execute(LOCK, lock=zeros(1, "uint32"), sum=zeros(1))
    assert failure.value.status == "deadlock"
    for seed in range(3):
        made = small_kernels.execute(
            LOCK, lock=zeros(1, "uint32"), sum=zeros(1), schedule=Schedule("independent", seed)
        )
        assert made["sum"][0] == 31 * 16


def test_lanes_wait_for_those_that_a_shuffle_names():
    text = """extern "C" __global__ void f(int *out) {
        int v = threadIdx.x;
        if (threadIdx.x % 3 == 0) for (int k = 0; k < 5; k++) v += out[k];
        v = __shfl_xor_sync(~0u, v, 1) + __popc(__ballot_sync(~0u, v & 1));
        out[32 + threadIdx.x] = v;
    }"""
    usual = small_kernels.execute(text, out=np.arange(64, dtype=np.int32))["out"]
    for seed in range(5):
        other = small_kernels.execute(text, out=np.arange(64, dtype=np.int32), schedule=Schedule("independent", seed))
        np.testing.assert_array_equal(other["out"], usual)


STACK = """extern "C" __global__ void f(int *top, int *slots, int *popped) {
    if (threadIdx.x == THREAD) {
        int number = atomicExch(slots + atomicSub(top, 1) - 1, 0);
        atomicExch(slots + atomicAdd(top, 1), number);
        popped[blockIdx.x] = number;
    }
}"""


@pytest.mark.parametrize("kind", ["lockstep", "waves", "independent"])
def test_only_independent_blocks_run_between_the_atomics_of_another_block(kind):
    """A stack without a lock: between an atomic on `top` and its slot another block may take the same slot."""
    seeds = range(8) if kind == "independent" else range(1)
    orders = [Schedule(kind, seed, blocks_per_wave=1 if kind == "waves" else None) for seed in seeds]
    lost = 0
    for order in orders:
        made = small_kernels.execute(STACK.replace("THREAD", "0"), grid=8, block=32, schedule=order, top=zeros(1) + 8,
                                     slots=np.arange(1, 9, dtype=np.int32), popped=zeros(8))  # fmt: skip
        assert made["top"][0] == 8
        lost += (made["popped"] == 0).any()
    assert bool(lost) == (kind == "independent")


LEADERS = """__global__ void k(const int *in, int *out) {
    int t = threadIdx.x;
    unsigned all = __ballot_sync(~0u, in[t] & 1);
    if (in[t] & 1) out[t] = __activemask() == all;
}"""


@pytest.mark.parametrize("seed", [1, 2])
def test_lanes_run_apart_behind_a_vote_and_a_branch(seed: int) -> None:
    arrays = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    run = engine.kernel(LEADERS).run(1, 32, arrays, schedule=f"independent:{seed}")
    assert run.arrays["out"].sum() == 0


ACTIVE = """__global__ void k(const int *in, int *out) {
    __shared__ int s[32];
    int t = threadIdx.x, v = in[t];
    if (t < 16) {
        s[t] = v;
        __syncwarp(__activemask());
        v = s[t ^ 3];
    }
    out[t] = v;
}"""


@pytest.mark.parametrize("grid", [1, 4])
def test_lanes_that_converge_by_their_active_mask_are_found_in_one_order(grid: int) -> None:
    arrays = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    kinds = [
        {finding.kind for finding in engine.kernel(text).run(grid, 32, arrays, schedule="independent:1").findings}
        for text in (ACTIVE, ACTIVE.replace("__activemask()", "0xffff"))
    ]
    assert "warp-race" in kinds[0] and not kinds[1]

"""The debugger tells what a thread knew, as sums made in NumPy, the answer, and the written text say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.backends.emulator import launch
from engine.catalogue import KERNELS, Kernel, default_choice, inputs_of
from engine.lab.debugger import NOT_SET, Debugger, Shown
from engine.lab.kernels import kernel
from engine.lab.recording import record_rung
from engine.plan import plan
from engine.records import Launch, NotRunnable
from tests.cases import case
from tests.sentences import refused, says

SUM = """struct Pair { float a; int b[3]; };
template <typename T> __device__ T twice(T x) {
    T y = x + x;
    return y;
}
__global__ void sum(const float *in, float *out, int n) {
    __shared__ float s[64];
    int t = threadIdx.x;
    Pair p;
    p.a = 0;
    for (int k = 0; k < 3; ++k) p.b[k] = t * k;
    s[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        float other = t < stride ? s[t + stride] : 0;
        if (t < stride) s[t] += other;
        __syncthreads();
    }
    p.a = twice(s[0]);
    if (t == 0) *out = p.a + p.b[2];
}
"""
ADDED, STORED, DOUBLED = 16, 12, 3  # lines of SUM
X = np.arange(64, dtype=np.float32) + 1


@pytest.fixture(scope="module")
def summed() -> Debugger:
    return kernel(SUM, called="sum.cu").record(1, 64, (X, np.zeros(1, np.float32), 64))


def by_name(shown: tuple[Shown, ...]) -> dict[str, Shown]:
    return {one.name: one for one in shown}


def test_a_sum_in_shared_memory_is_what_numpy_makes_of_it_at_every_step(summed: Debugger) -> None:
    s = X.copy()
    moments = np.flatnonzero(summed.at_line(ADDED))
    for stride in (32, 16, 8, 4, 2, 1):
        here = [at for at in moments if summed.state(thread=3, moment=int(at))["stride"] == stride]
        state = summed.state(thread=1, moment=int(here[0]))
        assert summed.memory("s", int(here[0])).values == tuple(s.tolist())
        if stride > 1:
            assert state["other"] == s[1 + stride]
        assert (state["t"], state["p"]) == (1, {"a": 0.0, "b": [0, 1, 2]})
        s[:stride] += s[stride : 2 * stride]
    assert summed.memory("out", summed.moments).values == (float(2 * X.sum()),)


def test_variables_have_their_types_and_an_address_names_its_element(summed: Debugger) -> None:
    known = by_name(summed.variables(5, int(summed.search(summed.at_line(ADDED), 0) or 0)))
    assert {name: one.type for name, one in known.items()} == {
        "in": "const float *", "out": "float *", "n": "int", "t": "int", "p": "Pair", "stride": "int", "other": "float",
    }  # fmt: skip
    assert known["in"].text == "&in[0]" and known["n"].text == "64"
    assert [part.name for part in known["p"].parts] == ["a", "b"]


def test_a_variable_is_not_set_before_its_first_value(summed: Debugger) -> None:
    at = summed.search(summed.at_line(10), -1)
    assert at is not None
    pair = by_name(summed.variables(0, at))["p"]
    assert [part.note for part in pair.parts if part.name == "a"] == [NOT_SET]
    assert summed.memory("s", at).values[0] is None


def test_a_called_function_has_its_own_variables_and_those_of_its_caller(summed: Debugger) -> None:
    at = summed.search(summed.at_line(DOUBLED), 0)
    assert at is not None
    names = [frame.function.name for frame in summed.frames(0, at) if frame.function]
    assert names == ["sum", "twice<float>"]
    known = summed.variables(0, at)
    assert {one.name for one in known if one.function == "twice<float>"} == {"x", "y"}
    assert (
        by_name(known)["y"].note == NOT_SET
        and by_name(known)["x"].number == X.sum()
        and by_name(known)["t"].number == 0
    )


def test_going_back_shows_the_same_state_and_recording_again_the_same_moments(summed: Debugger) -> None:
    again = kernel(SUM, called="sum.cu").record(1, 64, (X, np.zeros(1, np.float32), 64))
    assert again.moments == summed.moments
    forth = [summed.variables(7, at) for at in range(summed.moments)]
    assert [again.variables(7, at) for at in reversed(range(summed.moments))] == forth[::-1]


def test_it_says_who_wrote_an_element_and_finds_its_writes(summed: Debugger) -> None:
    first = summed.search(summed.writing("s", 3), -1)
    assert first is not None and summed.last_writer("s", 3, first) is None
    writer = summed.last_writer("s", 3, first + 1)
    assert writer is not None and (writer.thread, writer.line, writer.moment) == (3, STORED, first)
    later = [summed.search(summed.writing("s", 3), at) for at in (first, summed.moments)]
    assert later[0] is not None and later[0] > first and later[1] is None
    assert summed.search(summed.at_barrier(), summed.moments, back=True) is not None


def test_one_variable_in_all_threads_and_the_first_that_differs(summed: Debugger) -> None:
    at = int(np.flatnonzero(summed.at_line(ADDED))[0])
    assert summed.row("t", 0, at) == [str(t) for t in range(64)]
    assert not summed.diverging("stride", 0, at).any()
    other = summed.search(summed.diverging("t", 0, at), -1)
    assert other is not None and summed.recording.lines[other] == 8
    set_at = summed.search(summed.diverging("other", 0, at), -1)
    assert set_at is not None and summed.recording.lines[set_at] == ADDED - 1


def test_a_notebook_asks_for_a_line_and_a_thread() -> None:
    run = kernel(SUM, called="sum.cu").run(1, 64, (X, np.zeros(1, np.float32), 64))
    state = run.at(line=ADDED, thread=0)
    assert state["stride"] == 1 and set(state) >= {"other", "t", "p"} and len(state) == 7
    assert "stride" in state._repr_html_()
    assert run.at(thread=2, time=state.moment)["t"] == 2
    with refused("debugger.never-there", NotRunnable):
        run.at(line=1)
    with pytest.raises(NotRunnable):
        run.at(time=-1)
    with refused("debugger.no-thread", NotRunnable):
        run.at(thread=64)
    with refused("debugger.no-block", NotRunnable):
        run.at(line=ADDED, block=1)
    with refused("debugger.no-array", NotRunnable):
        run.debugger().memory("z", 0)
    with refused("debugger.no-variable", NotRunnable):
        run.debugger().row("z", 0, 0)


def test_a_race_opens_with_both_accesses() -> None:
    text = SUM.replace("s[t] += other;\n        __syncthreads();", "s[t] += other;")
    found = kernel(text, called="race.cu").record(1, 64, (X, np.zeros(1, np.float32), 64))
    pair = found.pair(ADDED, ADDED - 1)
    assert pair is not None
    one, other = pair
    assert one.thread != other.thread and (one.array, one.index) == (other.array, other.index) == ("s", one.index)
    assert (one.writes, other.writes) == (True, False) and one.moment <= other.moment
    at_barrier = found.recording.barriers[one.moment : other.moment]
    assert not at_barrier.any()
    right = kernel(SUM, called="sum.cu").record(1, 64, (X, np.zeros(1, np.float32), 64))
    assert right.pair(ADDED, ADDED - 1) is None


def test_the_block_that_writes_an_element_last_is_found() -> None:
    text = (
        "__global__ void f(float *y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) y[i] = i;\n  atomicAdd(y, 1.f);\n}\n"
    )
    own = kernel(text, called="f.cu")
    found = own.record(4, 64, (np.zeros(256, np.float32), 256), element=("y", 200))
    assert found.recording.block == 3
    writer = found.last_writer("y", 200, found.moments)
    assert writer is not None and (writer.block, writer.thread, writer.line) == (3, 8, 3)
    assert found.memory("y", found.moments, 0, 1).values == (256.0,)
    with refused("debugger.nobody-writes", NotRunnable):
        own.record(4, 64, (np.zeros(256, np.float32), 100), element=("y", 200))


def test_a_run_that_fails_is_recorded_up_to_its_failure() -> None:
    text = "__global__ void f(int *y, int n) {\n  int i = threadIdx.x;\n  int far = i * n;\n  y[far] = i;\n}\n"
    found = kernel(text, called="f.cu").record(1, 32, (np.zeros(32, np.int32), 1000))
    assert found.recording.ended is not None and "line 4" in found.recording.ended
    assert found.state(line=4, thread=5)["far"] == 5000


def test_an_array_has_the_type_of_its_parameter_though_words_are_copied_to_it() -> None:
    text = "__global__ void f(float *y) {\n  float4 four = {1.5f, -2.0f, 0.0f, 8.0f};\n  *(float4 *)y = four;\n}\n"
    found = kernel(text, called="f.cu").record(1, 1, (np.zeros(4, np.float32),))
    assert found.memory("y", found.moments).values == (1.5, -2.0, 0.0, 8.0)


def test_a_long_recording_ends_with_a_sentence() -> None:
    text = "__global__ void f(int *y, int n) {\n  int k = 0;\n  while (k < n)\n    ++k;\n  y[threadIdx.x] = k;\n}\n"
    found = kernel(text, called="f.cu").record(1, 32, (np.zeros(32, np.int32), 20_000), most_bytes=1 << 20)
    assert found.recording.ended is not None and says("debugger.too-long", found.recording.ended)
    assert found.state(line=4)["k"] > 1000


FEW_LINES = 90  # of a kernel that is stepped through in seconds
ENDING = [one for one in KERNELS.values() if one.emulated and one.processor == "gpu" and one.expect == "ok"]


@pytest.mark.sampled(quick=0, thorough=20)
@pytest.mark.parametrize("entry", [
    case(each, quick=False, thorough=each.text.count("\n") <= FEW_LINES, id=each.name) for each in ENDING
])  # fmt: skip
def test_the_memory_at_the_end_is_the_answer_and_every_variable_can_be_told(entry: Kernel) -> None:
    """The unoptimised build of every kernel; all blocks of the last launch run together."""
    topic_n = {"matmul": 32, "transpose": 32, "matrix sums": 32}.get(entry.topic, 64 if entry.tile else 256)
    choice = replace(default_choice(entry.name), n=topic_n, device="emulator", schedule=None)
    try:
        made = plan(choice)
    except NotRunnable:
        made = plan(choice := replace(default_choice(entry.name), device="emulator", schedule=None))
    launches = sum(isinstance(step, Launch) for step in made.steps)
    found = record_rung(choice, number=launches)
    assert found.moments and found.recording.ended is None
    threads = {0, found.recording.threads - 1, found.recording.threads // 2}
    for at in np.linspace(0, found.moments - 1, 7).astype(int).tolist():
        for thread in threads:
            for one in found.variables(thread, at):
                assert one.text or one.note or one.parts, one
    last = found.recording.block == found.recording.blocks - 1 or found.recording.blocks == 1
    if isinstance(made.steps[-1], Launch) and last:
        answer = launch.run(made, inputs_of(choice)).output
        seen = found.memory(made.result, found.moments, 0, min(made.result_count, 32))
        wanted = np.asarray(answer).reshape(-1)[: len(seen.values)]
        got = np.array([0 if value is None else value for value in seen.values])
        assert np.allclose(got.astype(wanted.dtype), wanted, rtol=1e-5), (got, wanted)

"""Planted bugs are found and named; correct kernels stay silent."""

from dataclasses import replace

import numpy as np
import pytest

from engine.backends.emulator import launch
from engine.backends.emulator.state.schedule import Schedule
from engine.backends.emulator.watching import results
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.catalogue import KERNELS, inputs_of
from engine.plan import plan
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import GRID_SYNC, execute, zeros
from tests.cases import case, turn
from tests.gpu.sanitize import choice_of
from tests.sentences import sentence

HEAD = """extern "C" __global__ void f(const int *in, int *out) {
    __shared__ int s[128];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
"""


def found(body, grid=4, block=64, schedule=None, **arguments):
    """[(kind, line, other line)] of a kernel with this body; its first line is line 4."""
    hazards = Hazards()
    text = body if "__global__" in body else HEAD + body + "\n}"
    arguments = arguments or {"in": np.arange(grid * block, dtype=np.int32), "out": zeros(grid * block)}
    execute(text, grid=grid, block=block, observers=[hazards], schedule=schedule or Schedule(), **arguments)
    return hazards.findings()


def kinds(findings):
    return [(finding.kind, finding.line, finding.other_line) for finding in findings]


PLANTED = {
    "no barrier between write and read": (
        "s[t] = in[i];\nout[i] = s[63 - t];",
        [("shared-race", 5, 4)],
    ),
    "no barrier between read and write": (
        "s[t] = in[i];\n__syncthreads();\nint v = s[(t + 32) % 64];\ns[t] = v + 1;\n__syncthreads();\nout[i] = s[t];",
        [("shared-race", 7, 6)],
    ),
    "no barrier in the tree": (
        "s[t] = in[i];\n__syncthreads();\nfor (int k = 32; k; k >>= 1)\n  if (t < k) s[t] += s[t + k];\nout[i] = s[0];",
        [("warp-race", 7, 7), ("shared-race", 8, 7)],
    ),
    "the lanes of a warp exchange without __syncwarp": (
        "volatile int *v = s;\nv[t] = in[i];\nout[i] = v[t ^ 1];",
        [("warp-race", 6, 5)],
    ),
    "two lanes store different values to one word": (
        "s[t / 2] = in[i];\n__syncthreads();\nout[i] = s[t / 2];",
        [("shared-race", 4, 4)],
    ),
    "every thread stores its own value to one word": (
        "s[0] = in[i];\n__syncthreads();\nout[i] = s[0];",
        [("shared-race", 4, 4)],
    ),
    "a word that nobody has written": (
        "if (t < 60) s[t] = in[i];\n__syncthreads();\nout[i] = s[t];",
        [("uninitialised-shared", 6, None)],
    ),
    "a barrier that half a warp skips": (
        "s[t] = in[i];\nif (t < 40)\n  __syncthreads();\nout[i] = s[t];",
        [("divergent-barrier", 6, None)],
    ),
    "two barriers for one warp": (
        "s[t] = in[i];\nif (t % 2) {\n s[t] += 1;\n __syncthreads();\n} else {\n s[t] += 2;\n"
        " __syncthreads();\n}\nout[i] = s[t];",
        [("divergent-barrier", 7, None), ("divergent-barrier", 10, None)],
    ),
    "a race in one block only": (
        "s[t] = in[i];\nif (blockIdx.x != 2) __syncthreads();\nout[i] = s[63 - t];",
        [("shared-race", 6, 4)],
    ),
    "threads write the neighbour's element": (
        "out[i] = in[i];\nif (i) out[i - 1] += 1;",
        [("global-race", 5, 4)],
    ),
    "blocks add to one element": (
        "if (t == 0) *out += in[i];",
        [("global-race", 4, 4)],
    ),
    "one block reads what another wrote": (
        "if (blockIdx.x == 0) out[t] = in[i];\nif (blockIdx.x == 1) out[64 + t] = out[t];",
        [("global-race", 4, 5)],
    ),
    "plain reads beside atomics": (
        "atomicAdd(out, in[i]);\nif (t == 0) out[1 + blockIdx.x] = out[0];",
        [("global-race", 4, 5)],
    ),
    "a shuffle names lanes that stay away": (
        "int v = in[i];\nif (t % 32 < 16)\n  v += __shfl_down_sync(~0u, v, 1);\nout[i] = v * 3;",
        [("divergent-barrier", 6, None), ("warp-race", 7, 6)],
    ),
    "a ticket without a fence": (
        "__shared__ bool last;\nif (t == 0) {\n out[1 + blockIdx.x] = in[i];\n"
        "last = atomicInc((unsigned *)out, gridDim.x - 1) == gridDim.x - 1;\n}\n__syncthreads();\n"
        "if (last && t < gridDim.x) out[100 + t] = out[1 + t];",
        [("global-race", 10, 6)],
    ),
    "an atomic adds to a word that nobody has written": (
        "if (t == 0) s[0] = 0;\n__syncthreads();\natomicAdd(s + t % 2, in[i]);\n__syncthreads();\nout[i] = s[t % 2];",
        [("uninitialised-shared", 6, None)],
    ),
    "a sum is read beside the atomics of the other warps": (
        "if (t == 0) s[0] = 0;\n__syncthreads();\natomicAdd(s, in[i]);\nif (t == 0) out[i] = s[0];",
        [("shared-race", 7, 6)],
    ),
    "the first ticket does not wait for the last": (
        "if (t == 0) s[0] = 0;\n__syncthreads();\nint k = atomicAdd(s, 1);\nif (t == 0) out[i] = s[0] + k;",
        [("shared-race", 7, 6)],
    ),
    "one pair of lines races in a warp and between warps": (
        "s[t] = in[i];\nout[i] = s[(t * 5 + 1) % 64];",
        [("shared-race", 5, 4)],  # said once
    ),
    "half warps meet by themselves and read each other": (
        "unsigned half = 0xffffu << (t & 16);\ns[t] = in[i];\n__syncwarp(half);\nout[i] = s[t ^ 16];",
        [("warp-race", 7, 5)],
    ),
    "half warps that meet often know no more of each other": (
        "unsigned half = 0xffffu << (t & 16);\ns[t] = in[i];\nfor (int k = 0; k < 3; k++) __syncwarp(half);\n"
        "if (t & 16) __syncwarp(half);\nout[i] = s[t ^ 31];",
        [("warp-race", 8, 5)],
    ),
    "half a warp initialises one barrier": (
        "auto *b = (unsigned long long *)s;\n"
        'if (t < 16) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"((int)__cvta_generic_to_shared(b)));',
        [("shared-race", 5, 5)],
    ),
    "half warps meet by themselves, in one block only": (
        "unsigned some = blockIdx.x == 3 ? 0xffffu << (t & 16) : 0xffffffffu;\ns[t] = in[i];\n__syncwarp(some);\n"
        "out[i] = s[t ^ 16];",
        [("warp-race", 7, 5)],
    ),
}


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", sorted(PLANTED))
def test_a_planted_bug_is_found(name):
    body, expected = PLANTED[name]
    reported = kinds(found(body))
    assert set(expected) <= set(reported)
    assert {kind for kind, _, _ in reported} <= {kind for kind, _, _ in expected}


SILENT = {
    "a tree with barriers": (
        "s[t] = in[i];\n__syncthreads();\nfor (int k = 32; k; k >>= 1) {\n"
        " if (t < k) s[t] += s[t + k];\n__syncthreads();\n}\nout[i] = s[0];"
    ),
    "__syncwarp within a warp": (
        "volatile int *v = s;\nv[t] = in[i];\n__syncwarp();\nint x = v[t ^ 1];\n__syncwarp();\n"
        "v[t] = x;\n__syncwarp();\nout[i] = v[t ^ 3];"
    ),
    "a warp tail with __syncwarp": (
        "s[t] = in[i];\n__syncthreads();\nif (t < 32) {\n int v = s[t];\n"
        "for (int k = 16; k; k >>= 1) { v += s[t + k]; __syncwarp(); s[t] = v; __syncwarp(); }\n}\n"
        "if (t == 0) out[i] = s[0];"
    ),
    "shuffles need no memory": (
        "int v = in[i];\nfor (int k = 16; k; k >>= 1) v += __shfl_down_sync(~0u, v, k);\nout[i] = v;"
    ),
    "half warps meet by themselves": (
        "unsigned half = 0xffffu << (t & 16);\ns[t] = in[i];\n__syncwarp(half);\nout[i] = s[t ^ 7];"
    ),
    "quarters meet in pairs, one pair after the other": (
        "unsigned low = 0xffu << (t & 16), pair = 0xffffu << (t & 16);\ns[t] = in[i];\n"
        "if (t & 8) __syncwarp(low << 8); else __syncwarp(low);\n__syncwarp(pair);\n__syncwarp();\nout[i] = s[t ^ 31];"
    ),
    "what one lane has heard it tells the next": (
        "s[t] = in[i];\nint q = t & 31, v = 0;\nif (q < 2) __syncwarp(3u);\nif (q == 1 || q == 2) __syncwarp(6u);\n"
        "if (q == 2) v = s[t - 2];\nout[i] = v;"
    ),
    "the last ticket comes after all others": (
        "__shared__ int last;\nif (t == 0) { s[0] = 0; }\n__syncthreads();\nint place = atomicAdd(s, 1);\n"
        "if (place == 63) { last = s[0]; s[0] = 0; }\n__syncthreads();\nout[i] = last;"
    ),
    "a word set by an exchange": (
        "if (t == 0) atomicExch(s, 5);\n__syncthreads();\natomicAdd(s, 1);\n__syncthreads();\nout[i] = s[0];"
    ),
    "the last block takes the ticket back with a plain store": (
        "if (t == 0) {\n out[1 + blockIdx.x] = in[i];\n __threadfence();\n"
        "if (atomicAdd(out, 1) == gridDim.x - 1) out[0] = 0;\n}"
    ),
    "a flag that many set": (
        "__shared__ int any;\nif (t == 0) any = 0;\n__syncthreads();\nif (in[i] % 3 == 0) any = 1;\n"
        "__syncthreads();\nout[i] = any;"
    ),
    "shared atomics": (
        "if (t < 16) s[t] = 0;\n__syncthreads();\natomicAdd(s + in[i] % 16, 1);\n__syncthreads();\n"
        "if (t < 16) atomicAdd(out + t, s[t]);"
    ),
    "a counter and its places": ("int place = atomicAdd(out, 1);\nout[1 + place % 255] = 5;"),
    "double use of a buffer": (
        "for (int k = 0; k < 3; k++) {\n s[t] = in[i] + k;\n __syncthreads();\n"
        " out[i] += s[63 - t];\n __syncthreads();\n}"
    ),
    "an early exit before a barrier": ("if (t >= 50) return;\ns[t] = in[i];\n__syncthreads();\nout[i] = s[49 - t];"),
    "a return behind the barrier of a tree": (
        "s[t] = in[i];\n__syncthreads();\nfor (int k = blockDim.x / 2; k > 0; k /= 2) {\n"
        " if (t < k) s[t] += s[t + k];\n __syncthreads();\n if (t >= k) return;\n}\nif (t == 0) out[blockIdx.x] = s[0];"
    ),
    "bytes side by side": ("char *c = (char *)s;\nc[t] = in[i];\n__syncthreads();\nout[i] = c[63 - t];"),
    "vectors": ("((int4 *)s)[t % 16] = make_int4(1, 2, 3, 4);\n__syncthreads();\nout[i] = s[t];"),
    "a ticket with a fence": (
        "__shared__ bool last;\nif (t == 0) {\n out[1 + blockIdx.x] = in[i];\n __threadfence();\n"
        "last = atomicInc((unsigned *)out, gridDim.x - 1) == gridDim.x - 1;\n}\n__syncthreads();\n"
        "if (last && t < gridDim.x) out[100 + t] = out[1 + t];"
    ),
    "a lock": (
        "if (t == 0) {\n while (atomicCAS(out, 0, 1)) ;\n __threadfence();\n"
        " out[1] = out[1] + in[i];\n__threadfence();\n atomicExch(out, 0);\n}"
    ),
    "one block writes its own part again": ("out[i] = in[i];\n__syncthreads();\nout[blockIdx.x * 64 + 63 - t] += 1;"),
}


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", sorted(SILENT))
@pytest.mark.parametrize("schedule", [Schedule(), Schedule("independent", 3), Schedule("waves", blocks_per_wave=1)])
def test_a_correct_kernel_is_not_accused(name, schedule):
    assert kinds(found(SILENT[name], schedule=schedule)) == []


def test_grid_sync_is_an_order():
    hazards = Hazards()
    execute(GRID_SYNC, grid=5, block=64, cooperative=True, observers=[hazards], a=zeros(320), out=zeros(320))
    assert kinds(hazards.findings()) == []


def test_a_finding_is_a_sentence():
    (finding,) = found(PLANTED["no barrier between write and read"][0])
    assert sentence("race.finding", finding.message)


def test_the_volatile_tail_races_within_its_warp():
    text = """extern "C" __global__ void f(const int *in, int *out) {
        __shared__ int s[128];
        int t = threadIdx.x;
        s[t] = in[t];
        __syncthreads();
        if (t < 32) {
            volatile int *v = s;
            v[t] += v[t + 32];
            v[t] += v[t + 16];
        }
        if (t == 0) out[0] = s[0];
    }"""
    reported = found(text, grid=1, **{"in": np.arange(64, dtype=np.int32), "out": zeros(1)})
    assert ("warp-race", 9, 8) in kinds(reported)
    assert {finding.kind for finding in reported} == {"warp-race"}


OUTSIDE = {
    "a load behind the end": ("out[i] = in[i + 7];", "test.cu, line 4: thread 57 of block 3 reads element 256 of `in`"),
    "a load of what is written as well": (
        "out[i] += out[(int)i - 1];",
        "line 4: thread 0 of block 0 reads element -1 of `out`",
    ),
    "a store": ("out[2 * i] = in[i];", "test.cu, line 4: thread 0 of block 2 writes element 256 of `out`"),
    "an atomic": ("atomicAdd(out + 200 + t, 1);", "test.cu, line 4: thread 56 of block 0 updates element 256 of `out`"),
    "some lanes of a loop": (
        "int v = 0;\nfor (int k = t; k < 300 + in[0]; k += 64) v += out[k];\nout[i] = v;",
        "test.cu, line 5: thread 0 of block 0 reads element 256 of `out`, which has 256 elements",
    ),
}


@pytest.mark.parametrize("name", sorted(OUTSIDE))
def test_an_address_outside_ends_the_run_with_the_same_sentence_whoever_watches(name):
    body, sentence = OUTSIDE[name]
    said = []
    for observers in ([], [Hazards()], results.usual_observers()):
        with pytest.raises(RunFailed) as failure:
            execute(HEAD + body + "\n}", grid=4, block=64, observers=observers,
                    **{"in": np.arange(256, dtype=np.int32), "out": zeros(256)})  # fmt: skip
        assert failure.value.status == "out-of-bounds"
        said.append(str(failure.value))
    assert sentence in said[0] and len(set(said)) == 1


def test_shared_memory_through_an_address_that_is_a_sum_of_thread_and_block():
    body = "if (i < 128) s[i] = in[i];\n__syncthreads();\nout[i] = i < 128 ? s[i] : 0;"
    assert kinds(found(body)) == []


# The thorough run takes the order that test_differential.py does not take, for half of the kernels; a release both.
ORDERS = (Schedule("independent", seed=2), Schedule("waves", blocks_per_wave=1))
IN_ORDERS = [
    case(name, schedule, quick=False,
         thorough=(number % 2 == at and turn(name, 0, 2)) or kernel.topic in ("atomics", "volta"),
         id=f"{name}-{schedule.kind}")
    for number, (name, kernel) in enumerate(KERNELS.items())
    if kernel.expect in ("ok", "rounds")
    for at, schedule in enumerate(ORDERS)
]  # fmt: skip


@pytest.mark.sampled(thorough=12)
@pytest.mark.parametrize(("name", "schedule"), IN_ORDERS)
def test_no_correct_kernel_of_the_catalogue_is_accused(name, schedule):
    choice = choice_of(name)
    if choice is None:
        pytest.skip("runs on the CPU")
    made = plan(replace(choice, device="emulator"))
    assert kinds(launch.run(made, inputs_of(made.choice), schedule=schedule).findings) == []


NAMED = 'asm volatile("bar.sync %0, 64;" :: "r"(t / 64 + 1) : "memory");\n'
SEVERAL_READS = "int v = 0;\nfor (int k = 0; k < 9; ++k) v += s[t / 64 * 64 + (t + 5 * k) % 64];\n"


@pytest.mark.parametrize("seed", [1, 3])
def test_a_named_barrier_orders_all_readers_of_a_word_whenever_each_of_them_read(seed):
    def accused(between):
        body = f"s[t] = in[i];\n{NAMED}{SEVERAL_READS}{between}s[t] = v;\nout[i] = v;"
        return {kind for kind, *_ in kinds(found(body, grid=1, block=128, schedule=Schedule("independent", seed=seed)))}

    assert accused(NAMED) == set()
    assert {"shared-race", "warp-race"} & accused("")

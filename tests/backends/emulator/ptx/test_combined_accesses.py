"""Loads and stores of shared memory are counted as the GPU's assembler makes them, and races as the PTX has them."""

from __future__ import annotations

import pytest

from engine.backends.emulator import loading
from engine.backends.emulator.loading import load, requests_of
from engine.backends.emulator.ptx.program import MachineRequest
from engine.backends.emulator.running.dependence import caveats_of
from engine.backends.emulator.watching import results
from engine.compile.assembly import SharedAccess
from engine.compile.control_flow import PREDICATED
from engine.records import Source
from tests.backends.emulator.small_kernels import GRID_SYNC, execute, zeros

HEAD = 'extern "C" __global__ void f(int *out) { __shared__ int s[1024]; int t = threadIdx.x;'


def counted(body, block=32, text="", **arguments):
    """Counters and findings of a kernel with this body."""
    observers = results.usual_observers()
    execute(text or f"{HEAD} {body} }}", block=block, observers=observers, **(arguments or {"out": zeros(1024)}))
    return results.totals(observers), results.findings(observers)


LOADS, PASSES = "shared_load_requests", "shared_load_wavefronts"
FILL = "for (int k = 0; k < 8; k++) s[t + 128 * k] = out[t + 128 * k]; __syncthreads();"


@pytest.mark.parametrize(
    ("body", "requests", "passes"),
    [
        ("out[t] = s[8] + s[9] + s[10] + s[11];", 1, 2),  # 16 bytes: two passes at least
        ("out[t] = s[t] + s[t + 1] + s[t + 2] + s[t + 3];", 4, 4),  # with a start that is not aligned to its size
        ("assert(t < 512); out[t] = s[8] + s[9] + s[10] + s[11];", 1, 2),  # a call says its number in a comment
        ("out[t] = s[4 * t] + s[4 * t + 1];", 1, 4),  # every other pair of banks, by half warp
        ("out[t] = s[4 * t + 3] + 2 * s[4 * t + 1] + 3 * s[4 * t + 2] + 4 * s[4 * t];", 1, 4),
        ("out[t] = s[4 * t + 4] + s[4 * t + 5] + s[4 * t + 6];", 1, 4),  # the fourth is read, and not used
        ("volatile int *v = s; out[t] = v[8] + v[9] + v[10] + v[11];", 4, 4),  # asked for one by one
        ("int sum = 0; for (int k = 0; k < 64; k++) sum += s[k]; out[t] = sum;", 16, 32),
        ("int sum = 0; for (int k = 63; k >= 0; k--) sum += (k + 1) * s[k]; out[t] = sum;", 16, 32),
    ],
)  # fmt: skip
def test_neighbouring_loads_are_one_request(body, requests, passes):
    totals, _ = counted(FILL + body, block=128)
    assert (totals[LOADS], totals[PASSES]) == (4 * requests, 4 * passes)


@pytest.mark.parametrize(
    ("use", "requests", "passes"),
    [
        ("v.x - v.y", 1, 4), ("v.z * v.w", 1, 4), ("v.x * v.z", 2, 8), ("v.y - v.z", 2, 8), ("v.x * v.y - v.w", 1, 4),
        ("v.x + v.y * v.z - v.w", 1, 4), ("v.w", 1, 4),
    ],
)  # fmt: skip
def test_of_a_vector_the_used_parts_are_loaded(use, requests, passes):
    """As in sm_90's machine code: one load of two words in a half of the four, else a load a word, or all four."""
    body = f"int4 v = ((int4 *)s)[t ^ 5]; out[t] = {use};"
    text = HEAD.replace("int s[1024]", "__align__(16) int s[1024]") + FILL + body + "}"
    totals, _ = counted("", block=128, text=text)
    assert (totals[LOADS], totals[PASSES]) == (4 * requests, 4 * passes)
    assert caveats_of(load(Source("test.cu", text, "int32"), "f")) == ()


@pytest.mark.parametrize(
    ("use", "requests", "sectors"),
    [
        ("v.x - v.y", 1, 16), ("v.x * v.z", 2, 32), ("v.y - v.z", 2, 32), ("v.x * v.w", 2, 32), ("v.z - v.w", 1, 16),
        ("v.x * v.y - v.w", 1, 16), ("v.y", 1, 16),
    ],
)  # fmt: skip
def test_of_a_vector_in_global_memory_the_used_parts_are_loaded(use, requests, sectors):
    """As in sm_90's machine code: two words of different halves are two loads."""
    body = f"int4 v = in[threadIdx.x]; out[threadIdx.x] = {use};"
    text = f'extern "C" __global__ void f(int *out, const int4 *in) {{ {body} }}'
    totals, _ = counted("", block=64, text=text, out=zeros(64), **{"in": zeros(256)})
    counters = (totals["global_load_requests"], totals["global_load_sectors"])
    assert counters == (2 * requests, 2 * sectors)


def test_neighbouring_stores_are_one_request():
    body = "for (int k = 0; k < 4; k++) s[4 * t + k] = k * t; __syncthreads(); out[t] = s[5 * t];"
    totals, _ = counted(body)
    assert (totals["shared_store_requests"], totals["shared_store_wavefronts"]) == (1, 4)


def test_neighbouring_variables_are_one_request():
    body = "__shared__ int b[2], c[2]; if (t < 2) { b[t] = out[t]; c[t] = out[t + 4]; } __syncthreads();"
    totals, _ = counted(f"{body} out[t] = b[0] * t + c[0] + b[1] + 3 * c[1];")
    assert (totals[LOADS], totals[PASSES]) == (1, 2)


def test_turns_of_a_loop_that_are_joined_ask_once(monkeypatch):
    """Where the assembler unrolls a loop that PTX has: four turns of 4 bytes are one request of 16."""
    body = "for (int k = t; k < 64; k += 32) s[k] = k; __syncthreads(); int sum = 0;"
    body += '_Pragma("unroll 1") for (int k = 0; k < 64; k++) sum += s[k]; out[t] = sum;'
    made = program(body)
    (turn,) = places(made)
    stores = [SharedAccess(place, "st", 4) for place in places(made, "st")]
    found = requests_of(made, [*stores, SharedAccess(turn, "ld", 16), SharedAccess(turn, "ld", 16)])
    assert found.by_place == {turn: MachineRequest(16, 0, 4)} and not found.unsure
    loading.load.cache_clear()
    monkeypatch.setattr(loading, "requests_of", lambda program, accesses: found)
    totals, _ = counted(body)
    assert (totals[LOADS], totals[PASSES]) == (16, 32)
    loading.load.cache_clear()


def test_races_stay_those_of_the_ptx():
    _, findings = counted("for (int k = 0; k < 4; k++) s[4 * t + k] = k; out[t] = s[4 * (t ^ 32) + 2];", block=64)
    assert [finding.kind for finding in findings] == ["shared-race"]
    assert "s[" in findings[0].message


def program(body):
    return load(Source("test.cu", f"{HEAD} {body} }}", "int32"), "f")


def places(program, op="ld"):
    return [item.place for block in program.blocks for item in block.body
            if item.space == "shared" and item.words[0] == op]  # fmt: skip


def test_what_is_not_understood_is_counted_as_the_ptx_says_and_said():
    made = program("s[t] = out[t]; __syncthreads(); out[t] = s[t] + s[7 * t];")
    first, second = places(made)
    (stored,) = places(made, "st")
    store = SharedAccess(stored, "st", 4)
    assert not requests_of(made, [store, SharedAccess(first, "ld", 4), SharedAccess(second, "ld", 4)]).by_place
    gone = requests_of(made, [store, SharedAccess(first, "ld", 4)])
    assert (gone.by_place, gone.unsure) == ({}, {1})
    mixed = requests_of(
        made, [store, SharedAccess(first, "ld", 4), SharedAccess(second, "ld", 4), SharedAccess(second, "ld", 16)]
    )
    assert (mixed.by_place, mixed.unsure) == ({}, {1})


def test_a_word_that_was_read_before_is_not_asked_for_again():
    made = program("s[t] = out[t]; __syncthreads(); volatile int *v = s; out[t] = v[3] + v[3];")
    first, second = places(made)
    (stored,) = places(made, "st")
    found = requests_of(made, [SharedAccess(stored, "st", 4), SharedAccess(first, "ld", 4)])
    assert found.by_place == {second: MachineRequest(0)} and not found.unsure


def test_waiting_for_others_is_said_with_its_line():
    spin = 'extern "C" __global__ void f(int *out) {\n  while (atomicAdd(out, 0) < 1)\n    ;\n}'
    (told,) = caveats_of(load(Source("test.cu", spin, "int32"), "f"))
    assert told.line == 2 and "depends on timing" in told.message
    assert {caveat.line for caveat in caveats_of(load(Source("test.cu", GRID_SYNC, "int32"), "f"))} <= {7, 9}
    assert caveats_of(load(Source("test.cu", GRID_SYNC, "int32"), "f"))
    assert not caveats_of(program("for (int k = t; k < 99; k += 32) atomicAdd(out + 5, 1);"))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("int i = atomicAdd(out, 1);\nout[i] = t;", [2]),
        ("int i = atomicAdd(out, 32 * (t == 0)); i = __shfl_sync(~0u, i, 0);\nout[i + t] = out[5];", [2]),
        ("if (t == 0) s[0] = atomicAdd(out, 32); __syncthreads();\nout[s[0] + t] = t;", []),
        ("int i = atomicAdd(out, 1);\nout[t] = i;", []),
        ("int i = atomicAdd(s, 1);\ns[i] = t; __syncthreads(); out[t] = s[t];", []),
    ],
)
def test_places_that_an_atomic_hands_out_are_said(body, lines):
    told = caveats_of(program(body))
    assert [caveat.line for caveat in told] == lines
    assert all("hands out" in caveat.message for caveat in told)


def test_a_load_that_the_assembler_moves_into_a_branch_is_said():
    text = HEAD.replace("int *out", "int *out, int n") + "s[t] = out[t]; __syncthreads();\nint sum = s[0];"
    text += "for (int k = t; k < n; k += 32) out[k] /= sum; }"
    (told,) = caveats_of(load(Source("test.cu", text, "int32"), "f"))
    assert told.line == 2


def test_a_load_that_the_assembler_moves_out_of_a_branch_is_said():
    made = program("s[t] = out[t]; __syncthreads();\nif (out[t] > 3) out[t] = s[99 - t];")
    (place,) = places(made)
    (stored,) = places(made, "st")
    store = SharedAccess(stored, "st", 4, frozenset())
    moved = requests_of(made, [store, SharedAccess(place, "ld", 4, frozenset())])
    assert moved.unsure == {2}
    assert not requests_of(made, [store, SharedAccess(place, "ld", 4, frozenset({PREDICATED}))]).unsure


def test_a_load_behind_a_branch_is_joined_with_one_before_it():
    body = "__shared__ int c, o; if (t == 0) { c = out[5]; o = 2 * c; } __syncthreads(); if (t >= c) out[t] = o;"
    totals, _ = counted(body)
    assert totals[LOADS] == 1


def test_an_atomic_that_is_a_loop_in_the_machine_code_is_said():
    text = HEAD.replace("int s", "float s") + "s[t] = out[t];\natomicAdd(&s[t % 3], 2.5f); out[t] = s[t]; }"
    (told,) = caveats_of(load(Source("test.cu", text, "int32"), "f"))
    assert told.line == 2 and "of a warp alone" in told.message


def test_printf_is_said_as_a_gpu_counts_its_accesses():
    (told,) = caveats_of(program('if (out[t] > 88)\nprintf("%d", t);'))
    assert told.line == 2 and "printf" in told.message


@pytest.mark.parametrize(
    "body",
    [
        "if (t < 16) s[t] += s[t + 16]; __syncthreads(); if (t == 0) out[0] = s[0];",
        "if (t >= out[5]) return; s[t] = 2 * s[t + 1]; out[t] = s[t];",
        "for (int k = 0; k < out[5]; k++) { if (out[k] & 1) s[t + k] += k; } out[t] = s[t];",
        "for (int k = 16; k > 0; k /= 2) { if (t < k) s[t] += s[t + k]; __syncwarp(); } out[t] = s[t];",
        "if (out[5] > 88) __trap(); out[t] = s[t + 1];",
        "if (s[t] > 88) { s[t + 1] = 3; __trap(); } out[t] = s[t + 1];",
        "assert(s[t] < 88); out[t] = s[t + 1];",
    ],
)
def test_an_access_at_its_own_branch_has_no_caveat(body):
    assert not caveats_of(program(f"s[t] = out[t]; __syncthreads(); {body}"))

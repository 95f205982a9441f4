"""Racing accesses of all widths: what a student writes ends in findings, never in a fault of the emulator."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching import results
from engine.records import Finding, RunFailed
from tests.backends.emulator.small_kernels import execute
from tests.cases import case

SIZES = {
    "unsigned char": 1, "short": 2, "int": 4, "long long": 8, "uchar2": 2, "uchar4": 4, "short2": 4, "short4": 8,
    "int2": 8, "int4": 16, "float3": 12, "double2": 16,
}  # fmt: skip
PLACES = {
    "shared": "__shared__ __align__(16) unsigned char s[4096];",
    "global": "unsigned char *s = g;",
    "local": "__align__(16) unsigned char s[1024]; s[t] = g[t];",
}
GUARDS = ("", "if (t % 3 == blockIdx.x % 3)", "if (t < 40 + blockIdx.x)")
INDICES = ("t", "(t / 2)", "(t + blockIdx.x)", "0")


def findings(text: str, schedule: Schedule = LOCKSTEP, grid: int = 3, block: int = 96) -> tuple[Finding, ...]:
    """What is found in a kernel f(unsigned char *g, unsigned char *out)."""
    watching = results.usual_observers()
    execute(
        text, grid=grid, block=block, schedule=schedule, observers=watching,
        g=np.arange(1024, dtype=np.int32), out=np.zeros(4 * 96 * 3, np.int32),
    )  # fmt: skip
    return results.findings(watching)


def racing(place: str, loaded: str, stored: str, guard: str, index: str) -> str:
    """A load of one type and then a store of another, among threads that nothing puts in order."""
    last = 1024 if place == "local" else 4096
    return f"""extern "C" __global__ void f(unsigned char *g, unsigned char *out) {{
  unsigned t = threadIdx.x;
  {PLACES[place]}
  ((int *)s)[t ^ 1] = t;
  {loaded} x = (({loaded} *)s)[{index} % {last // SIZES[loaded]}];
  {stored} y;
  memset(&y, t + *(unsigned char *)&x, sizeof y);
  {guard} (({stored} *)s)[{index} % {last // SIZES[stored]}] = y;
  *({loaded} *)(out + 16 * (t + blockIdx.x * blockDim.x)) = (({loaded} *)s)[{index} % {last // SIZES[loaded]}];
}}"""


def test_a_racing_store_of_a_whole_word_after_a_load_of_its_bytes() -> None:
    text = """extern "C" __global__ void f(unsigned char *g, unsigned char *out) {
  __shared__ uchar4 s[96];
  unsigned t = threadIdx.x;
  s[(t + 32) % 96] = make_uchar4(t, t, t, t);
  uchar4 mine = s[t];
  ((int *)s)[t] = mine.x + 2 * mine.y + mine.z * 3 + mine.w;
  __syncthreads();
  ((int *)out)[t] = ((int *)s)[t];
}"""
    kinds = [(finding.kind, finding.line, finding.other_line) for finding in findings(text)]
    assert kinds == [("shared-race", 5, 4), ("shared-race", 6, 4)]


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("place", [case(place, quick=place == "shared") for place in PLACES])
def test_no_pair_of_widths_ends_in_a_fault(place: str) -> None:
    pairs = [(loaded, stored) for loaded, stored in product(SIZES, SIZES)]
    for number, (loaded, stored) in enumerate(pairs[:: 5 if place == "shared" else 3]):
        text = racing(place, loaded, stored, GUARDS[number % 3], INDICES[number % 4])
        findings(text, Schedule("independent", seed=1) if number % 2 else LOCKSTEP)


STRUCTS = """struct P { float x, y, z; };
__device__ P kept[32];
__device__ int last;
extern "C" __global__ void f(unsigned char *g, unsigned char *out) {
  __shared__ P s[96];
  unsigned t = threadIdx.x;
  s[t].y = t;
  out[t + 96] = s[(t + 32) % 96].y;
  kept[t % 32].z = t;
  last = t;
  out[t] = PLACE[t + FIRST].x;
}"""


@pytest.mark.parametrize(
    ("place", "first", "named"),
    [("s", 70, "thread 26 of block 0 reads element 96 of the shared array `s`, which has 96 elements"),
     ("kept", 1, "thread 31 of block 0 reads element 32 of `kept`, which has 32 elements")],
)  # fmt: skip
def test_a_read_past_structs_counts_them_as_the_source_does(place: str, first: int, named: str) -> None:
    with pytest.raises(RunFailed, match=named):
        findings(STRUCTS.replace("PLACE", place).replace("FIRST", str(first)))


def test_a_finding_counts_structs_as_the_source_does() -> None:
    told = " ".join(finding.message for finding in findings(STRUCTS.replace("PLACE", "s").replace("FIRST", "0 * t")))
    race = re.search(r"reads `s\[(\d+)\]`, which thread (\d+) of block", told)
    assert race and race[1] == race[2] and " to `kept[0]`" in told and " to `last` " in told

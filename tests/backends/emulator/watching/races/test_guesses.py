"""The plain read in front of a compare-and-swap loop is a guess and no race; every other use of its value is one."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute, zeros

SET = "do { seen = old; old = atomicCAS(a, seen, seen + v); } while (seen != old);"
LOOP = f"int old = *a, seen; {SET}"
AS_FLOAT = "__int_as_float(atomicCAS(a, __float_as_int(seen), __float_as_int({})))"
CONFIRMED = {
    "add": LOOP,
    "volatile": LOOP.replace("*a", "*(volatile int *)a"),
    "float": f"float old = *(float *)a, seen; do {{ seen = old; old = {AS_FLOAT.format('seen + v')}; }}"
    " while (seen != old);",
    "float_max": f"float old = *(float *)a; while (old < v) {{ float seen = old; old = {AS_FLOAT.format('v')};"
    " if (old == seen) break; }",
    "double_add": "unsigned long long *p = (unsigned long long *)a, old = *p, seen; do { seen = old;"
    " old = atomicCAS(p, seen, __double_as_longlong(v + __longlong_as_double(seen))); } while (seen != old);"
    " o[i] = (int)old;",
    "max": "int old = *a, seen; while (old < v) { seen = old; old = atomicCAS(a, seen, v); if (old == seen) break; }",
    "gives_up_early": "int old = *a, seen; if (old >= v) return; do { seen = old; if (seen >= v) break;"
    " old = atomicCAS(a, seen, v); } while (seen != old);",
    "reads_again": "int old; do { old = *a; } while (atomicCAS(a, old, old + v) != old);",
    "with_a_bool": "bool done = false; int old = *a; while (!done) { int seen = atomicCAS(a, old, old * 2 + v);"
    " done = seen == old; old = seen; }",
    "returns": LOOP + " o[i] = seen;",
    "place_from_index": LOOP.replace("a,", "b,").replace("*a", "*b").join(("int *b = a + i % 3; ", " o[i] = old;")),
    "in_a_loop": "for (int k = 0; k < 4; k++) { int *b = a + (i + k) % 7, old = *b, seen;"
    " do { seen = old; old = atomicCAS(b, seen, max(seen, v)); } while (seen != old); }",
    "bytes_of_a_word": "int old = *a, seen, at = 8 * (i % 4); do { seen = old; int one = ((seen >> at) + 1) & 255;"
    " old = atomicCAS(a, seen, seen & ~(255 << at) | one << at); } while (seen != old);",
    "two_formulas": "int old = *a, seen; do { seen = old; int n; if (seen & 1) n = seen * 3 + 1; else n = seen / 2;"
    " old = atomicCAS(a, seen, n); } while (seen != old);",
    "field": "int *p = (int *)((char *)a + 4), old = *p, seen;" + SET.replace("a,", "p,"),
    "shared": "__shared__ int s; if (!threadIdx.x) s = 0; __syncthreads(); int old = s, seen;"
    + SET.replace("a,", "&s,")
    + " __syncthreads(); o[i] = s;",
}
RACES = {
    "stores_the_guess": LOOP.replace("seen;", "seen; o[i] = old;", 1),
    "stores_the_first_guess": LOOP.replace("seen;", "seen, first = old;", 1) + " o[i] = first;",
    "swaps_no_value": "int old = *a; if (old < v) atomicAdd(a, v);",
    "swaps_in_another_value": "int old = *a; atomicCAS(a, 5, old);",
    "expects_another_value": "int old = *a; atomicCAS(a, old / 2, v);",
    "one_try": "int old = *a; atomicCAS(a, old, old + v); o[i] = old;",
    "stores_behind_a_branch": LOOP.replace("seen;", "seen; if (old > 5) o[i] = 1;", 1),
    "swaps_elsewhere_too": "int old = *a, seen; atomicAdd(a, v); do { seen = old; old = atomicCAS(a + 1, seen, v); }"
    " while (seen != old);",
    "reads_afterwards": LOOP + " o[i] = *a;",
    "plain_store": LOOP + " if (i == 5) *a = 0;",
    "plain_neighbour": LOOP + " a[1] += 1;",
}
TEXT = "".join(
    f'extern "C" __global__ void k_{name}(int *a, int v, int *o) {{\n'
    f"int i = threadIdx.x + blockIdx.x * 64;\n{body}\n}}\n"
    for name, body in {**CONFIRMED, **RACES}.items()
)
SCHEDULES = (LOCKSTEP, Schedule("independent", seed=3))


def found(name: str, schedule: Schedule) -> set[str]:
    hazards = Hazards()
    execute(TEXT, 2, 8, name=f"k_{name}", observers=[hazards], schedule=schedule, a=zeros(64), v=3, o=zeros(128))
    return {finding.kind for finding in hazards.findings()}


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", CONFIRMED)
def test_a_guess_that_the_swap_confirms_is_no_race(name: str) -> None:
    assert [found(name, schedule) for schedule in SCHEDULES] == [set(), set()]


@pytest.mark.parametrize("name", RACES)
def test_any_other_use_of_the_value_is_a_race(name: str) -> None:
    assert all("global-race" in found(name, schedule) for schedule in SCHEDULES)


def test_the_sums_are_right() -> None:
    made = execute(TEXT, 2, 8, name="k_add", a=zeros(64), v=3, o=zeros(128))
    assert made["a"][0] == np.int32(3 * 16)

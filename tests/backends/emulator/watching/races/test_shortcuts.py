"""Accesses that need no check are only noted: what is found later is the same as if each had been checked."""

from __future__ import annotations

import pytest

from engine.backends.emulator.watching import results
from engine.backends.emulator.watching.races.hazards import Hazards
from tests.backends.emulator.small_kernels import execute, zeros

HEAD = 'extern "C" __global__ void f(int *out, int n) { __shared__ int s[4096];\n'
HEAD += "int t = threadIdx.x, b = blockDim.x, i = blockIdx.x * b + t;\n"
# body, whether it has a race
KERNELS = {
    "own elements": ("out[i] += 2;\nout[i] *= 3;\nif (out[i] & 1) out[i]--;", False),
    "own pairs": ("((int2 *)out)[i] = make_int2(t, i);\nout[2 * i] += out[2 * i + 1];", False),
    "the next element": ("out[i] += 2;\nout[i] *= 3;\nn = out[i + 1];\nout[i + 512] = n;", True),
    "the next element first": ("n = out[i + 1];\nout[i] = n;\nout[i + 512] = n;", True),
    "behind a barrier": ("out[i] = t;\n__syncthreads();\nout[i + 512] = out[i ^ 31];", False),
    "behind a barrier of another block": ("out[i] = t;\n__syncthreads();\nout[i + 512] = out[(i + b) % 256];", True),
    "two lanes of one store": ("out[i] = i;\nout[i / 2 * 2 + 512] = i;", True),
    "an atomic": ("out[i] = i;\natomicAdd(out + i / 2, 1);", True),
    "own words of shared memory": (
        "for (int k = 0; k < 8; k++) s[t + k * b] = k;\nfor (int k = 0; k < 8; k++) n += s[t + k * b];\n"
        "for (int k = 0; k < 8; k++) s[t + k * b] = n;\nout[i] = n;", False,
    ),
    "all words of shared memory": (
        "for (int k = 0; k < 8; k++) s[t + k * b] = k; __syncthreads();\n"
        "for (int k = 0; k < 2 * b; k++) n += s[k];\nfor (int k = 0; k < 8; k++) s[t + k * b] = n;\nout[i] = n;", True,
    ),
    "a store that an atomic covers": (
        "if (t == 0) s[0] = 5;\nif (t == 31) atomicAdd(s, 1);\nif (t == 31) n += s[0];\nout[i] = n;", True,
    ),
    "rows that others wrote": (
        "for (int k = 0; k < 8; k++) s[t * 8 + k] = k;\nfor (int k = 0; k < 8; k++) n += s[t * 8 + k] + s[k];\n"
        "out[i] = n;", True,
    ),
}  # fmt: skip


def races(body, block, monkeypatch, shortcuts):
    if not shortcuts:
        monkeypatch.setattr(Hazards, "_has_owners", lambda self, access: False)
        monkeypatch.setattr(Hazards, "_is_deferred", lambda self, access, shadow: False)
    observers = results.usual_observers()
    execute(f"{HEAD} {body} }}", grid=3, block=block, observers=observers, out=zeros(4096), n=5)
    return results.findings(observers)


@pytest.mark.parametrize("block", [32, 64])
@pytest.mark.parametrize("name", KERNELS)
def test_findings_are_the_same_without_shortcuts(name, block, monkeypatch):
    body, has_race = KERNELS[name]
    found = races(body, block, monkeypatch, True)
    assert bool(found) == has_race
    assert found == races(body, block, monkeypatch, False)

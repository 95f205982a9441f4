"""The kernels: one atomic each, in global or shared memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.small.case import SmallCase

_CALLS = {name: f"atomic{name.capitalize()}({{place}}, {{value}})" for name in
          ("add", "sub", "min", "max", "and", "or", "xor", "exch", "inc", "dec")}  # fmt: skip
_CALLS["cas"] = "atomicCAS({place}, 5, {value})"
_TYPES = {"int": "int", "unsigned": "unsigned", "long": "unsigned long long", "float": "float", "double": "double"}
# Served by an instruction in both memories, or in global memory alone: in shared memory those are loops.
_WORDS = {"int": ("add", "sub", "min", "or", "exch", "cas"), "unsigned": ("add", "max", "inc", "dec")}
_GLOBAL = {**_WORDS, "long": ("add", "max", "cas"), "float": ("add", "exch"), "double": ("add",)}
_LOOPS = {"long": ("add", "xor"), "float": ("add",), "double": ("add",)}
_PLACES = {"one": "p", "few": "p + (t & 3)", "read": "p + k"}
_CROWDED = {**_PLACES, "random": "p + (in[t] & 63)", "own": "p + t", "pairs": "p + t / 2", "bank": "p + (t & 3) * 32",
            "sixth": "p + (t % 6) * 16", "apart": "p + t * 2"}  # fmt: skip
_VALUES = {"one": "1", "two": "2", "mine": "in[t]"}
_LANES = {"all": "", "some": "if (t % 3 == 0)", "half": "if (t < 16)", "data": "if (in[t] > 40)",
          "turns": "for (int i = t; i < 80; i += blockDim.x)"}  # fmt: skip


_NUMBERS = np.arange(128) * 37 % 101 + 1
ARRAYS = {"out": np.zeros(1024, np.uint32), "in": _NUMBERS.astype(np.uint32)}
COUNTERS = (
    "global_red_requests", "global_red_sectors", "global_atom_requests", "global_atom_sectors",
    "shared_load_requests", "shared_load_wavefronts", "shared_store_requests", "shared_store_wavefronts",
    "shared_atomic_requests", "shared_atomic_wavefronts", "shared_atomic_conflicts",
)  # fmt: skip


def _in_global(kind: str, name: str, place: str, value: str, lanes: str, used: bool) -> SmallCase:
    kernel = f"global_{name}_{kind}_{place}_{value}_{lanes}{'_used' * used}"
    body = _statement(kind, name, _PLACES[place], value, lanes, used)
    return SmallCase(kernel, f"{_head(kernel, kind)} {_TYPES[kind]} *p = out; {body} }}", 1, 64, ARRAYS, 1)


def _in_shared(kind: str, name: str, place: str, value: str, lanes: str, used: bool, threads: int = 64) -> SmallCase:
    kernel = f"shared_{name}_{kind}_{place}_{value}_{lanes}{'_used' * used}"
    body = _statement(kind, name, _CROWDED[place], value, lanes, used)
    text = (f"{_head(kernel, kind)} __shared__ {_TYPES[kind]} p[128]; "
            f"for (int i = t; i < 128; i += blockDim.x) p[i] = 1; __syncthreads(); {body} "
            "__syncthreads(); out[t] = p[t]; }")  # fmt: skip
    return SmallCase(kernel, text, 1, threads, ARRAYS, 1)


def _head(kernel: str, kind: str) -> str:
    return (f'extern "C" __global__ void {kernel}({_TYPES[kind]} *out, const int *in, int n) '
            "{ int t = threadIdx.x, k = in[40] & 3;")  # fmt: skip


def _statement(kind: str, name: str, place: str, value: str, lanes: str, used: bool) -> str:
    call = _CALLS[name].format(place=place, value=f"({_TYPES[kind]})({_VALUES[value]})")
    return f"{_LANES[lanes]} {'out[t + 100] = ' * used}{call};"


def _all() -> Iterator[SmallCase]:
    for make, kinds in ((_in_global, _GLOBAL), (_in_shared, _WORDS)):
        for kind, names in kinds.items():
            for name in names:
                for place in _PLACES:
                    for value in ("one", "two", "mine") if name in ("add", "inc") else ("two", "mine"):
                        for used in (False, True):
                            yield make(kind, name, place, value, "all", used)
                            if place == "one" and value == "mine":
                                yield make(kind, name, place, value, "turns", used)
    for kind, names in _LOOPS.items():  # one warp: between two it depends on time who is first
        for name in names:
            for place in _CROWDED:
                for lanes in ("all", "some", "half", "data"):
                    yield _in_shared(kind, name, place, "mine", lanes, False, threads=32)


CASES = tuple(_all())

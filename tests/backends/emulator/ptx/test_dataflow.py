"""Registers that differ between threads, from the program's text: the basis of warp-aggregated atomics."""

import numpy as np
import pytest

from engine.backends.emulator.state.events import Access
from engine.backends.emulator.watching.observer import Observer
from tests.backends.emulator.small_kernels import execute


class Seen(Observer):
    """Whether the addresses and the values of the atomics of a run are the same for every thread, by their text."""

    def __init__(self) -> None:
        self.flags: set[tuple[bool, bool]] = set()

    def on_access(self, access: Access) -> None:
        if access.site.op in ("atom", "red"):
            self.flags.add((access.site.uniform_address, access.site.uniform_value))


BODIES = {
    "one word, one value": ("atomicAdd(out, n);", (True, True)),
    "one word, a value of each thread's own": ("atomicAdd(out, threadIdx.x);", (True, False)),
    "a word of each thread's own": ("atomicAdd(out + threadIdx.x, 2u);", (False, True)),
    "a word per block": ("atomicAdd(out + blockIdx.x, 2u);", (True, True)),
    "a word that memory names": ("atomicAdd(out + out[5] % 4, 2u);", (True, True)),
    "a word that this thread's memory names": ("atomicAdd(out + out[threadIdx.x] % 4, 2u);", (False, True)),
    "the same number of turns for all": (
        "unsigned int *p = out;\n#pragma unroll 1\nfor (unsigned int i = 0; i < n; ++i) { atomicAdd(p, 2u); p += 3; }",
        (True, True),
    ),
    "a number of turns of each thread's own": (
        "unsigned int *p = out;\n#pragma unroll 1\nfor (unsigned int i = 0; i < threadIdx.x; ++i) p += 3;\n"
        "atomicAdd(p, 2u);",
        (False, True),
    ),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("threads", [1, 32, 64])
def test_what_differs_is_told_from_the_text_for_any_block(name: str, threads: int) -> None:
    body, expected = BODIES[name]
    text = f'extern "C" __global__ void kernel(unsigned int *out, unsigned int n)\n{{\n{body}\n}}'
    seen = Seen()
    execute(text, grid=2, block=threads, name="kernel", observers=[seen], out=np.zeros(512, np.uint32), n=3)
    assert seen.flags == {expected}

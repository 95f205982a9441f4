"""A shared GPU runs what the emulator has tried."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.catalogue import default_choice
from engine.choices import settle
from engine.lab.trial import tried, tried_choice
from engine.records import CompileError, NotRunnable, Settled

HEAD = "__global__ void k(int *a, int n) {\n  int i = threadIdx.x;\n  "


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("a[i + 1] = n;", "k.cu, line 3: thread 31 of block 0 writes element 32 of `a`"),
        ("while (((volatile int *)a)[0] == 0) {}", "line 3"),
        ('if (n < 0) asm("// end inline asm\\n wgmma.fence.sync.aligned;"); a[i] = n;', "does not know wgmma"),
        ("*(int *)(16ull << n) = 1;", "line 3"),
    ],
)  # fmt: skip
def test_what_does_not_end_well_stays_away_from_a_shared_gpu(body: str, words: str) -> None:
    kernel = engine.kernel(f"{HEAD}{body}\n}}\n")
    with pytest.raises(NotRunnable, match=words.replace("k.cu", "kernel.cu")):
        tried(kernel, 1, 32, (np.zeros(32, "i4"), 32), seconds=5)


def test_what_ends_well_is_handed_back() -> None:
    run = tried(engine.kernel(HEAD + "a[i] = n; }"), 1, 32, (np.zeros(32, "i4"), 7))
    assert run.ok and (run.arrays["a"] == 7).all()


def _own(body: str) -> Settled:
    text = f'extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n) {{ {body} }}'
    choice = default_choice("reduce_sequential")
    return settle(type(choice)(choice.kernel, 1 << 24, 128, device="gpu", source=text, source_name="mine.cu"))


def test_an_edited_rung_is_tried_at_a_small_n() -> None:
    assert tried_choice(_own("out[blockIdx.x] = in[blockIdx.x];"), 1000).output.size == 1
    with pytest.raises(NotRunnable, match=r"mine.cu, line 1: thread 0 of block 0 reads element 1000 of `in`"):
        tried_choice(_own("out[blockIdx.x] = in[n];"), 1000)
    with pytest.raises(CompileError):
        tried_choice(_own("oops"), 1000)

"""Blocks that wait for a flag are ordered behind it; a block between them that does not wait is found."""

from __future__ import annotations

import numpy as np
import pytest

import engine

READERS = """__global__ void k(int *data, volatile int *flag, int *out) {
    int b = blockIdx.x, t = threadIdx.x;
    if (b == 3) {
        WRITE
        __syncthreads();
        __threadfence();
        if (t == 0) flag[0] = 1;
    } else if (b != ABSENT) {
        while (!flag[0]);
        __threadfence();
    }
    out[b * 64 + t] = data[PLACE];
}"""
FORMS = {"one word": ("if (t == 0) data[0] = 5;", "0"), "one word per thread": ("data[t] = 5;", "63 - t")}


@pytest.mark.parametrize("schedule", [None, "independent:1", "independent:2"])
@pytest.mark.parametrize("absent", [0, 1, 2, None])
@pytest.mark.parametrize("form", FORMS)
def test_a_block_that_does_not_wait_races_with_the_writer(form: str, absent: int | None, schedule: str | None) -> None:
    write, place = FORMS[form]
    text = READERS.replace("WRITE", write).replace("PLACE", place)
    text = text.replace("ABSENT", "9" if absent is None else str(absent))
    arrays = np.zeros(64, np.int32), np.zeros(1, np.int32), np.zeros(256, np.int32)
    run = engine.kernel(text).run(4, 64, arrays, schedule=schedule)
    assert {one.kind for one in run.findings} == (set() if absent is None else {"global-race"})

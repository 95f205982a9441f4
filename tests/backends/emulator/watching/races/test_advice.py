"""A finding between two lanes of a warp advises a __syncwarp() only if other warps do not run the access."""

from __future__ import annotations

import numpy as np
import pytest

from engine.lab.kernels import kernel
from tests.sentences import sentence

TREE = """__global__ void f(int *out) {
    __shared__ int words[128];
    int t = threadIdx.x;
    words[t] = t;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride) words[t] += words[t + stride];
        BARRIER
    }
    if (t < 32) for (int stride = 16; stride > LAST; stride /= 2) if (t < stride) words[t] += words[t + stride];
    if (t == 0) out[0] = words[0];
}"""


@pytest.mark.parametrize(("block", "last", "barrier", "kind", "key"), [
    (32, 99, "", "warp-race", "race.warp-of-any-block"), (128, 99, "", "shared-race", "race.no-barrier"),
    (128, 0, "__syncthreads();", "warp-race", "race.last-warp-alone")])  # fmt: skip
def test_the_advice_holds_at_other_block_sizes(block: int, last: int, barrier: str, kind: str, key: str) -> None:
    text = TREE.replace("LAST", str(last)).replace("BARRIER", barrier)
    first = next(one for one in kernel(text).run(1, block, [np.zeros(1, "i4")]).findings)
    assert first.kind == kind and sentence(key, first.message)


def test_a_race_of_lanes_beside_one_of_warps_is_left_out() -> None:
    text = TREE.replace("LAST", "99").replace("BARRIER", "")
    found = kernel(text).run(1, 128, [np.zeros(1, "i4")]).findings
    assert {one.kind for one in found if (one.line, one.other_line) == (7, 7)} == {"shared-race"}

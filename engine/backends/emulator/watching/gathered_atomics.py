"""Atomics on global memory that one lane of a warp does for all.

Where an address is the same for every thread of a block, the GPU's assembler lets the warp put its values together
first (REDUX, POPC, or a scan by SHFL), and one lane goes to memory. PTX shows nothing of it. The rules are those of the
assembler for sm_90, read from its output; the sectors equal Nsight Compute's on the catalogue.
"""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.state.events import Access

_WORDS, _LONG = ("u32", "s32", "b32"), ("u64", "s64")
_REDUCIBLE = ("add", "min", "max", "and", "or", "xor")


def gathered_sectors(access: Access, apart: int) -> int:
    """Sectors of a global atomic: one a warp where one lane does it for all, else `apart`, those of lane by lane."""
    if not access.site.one_word:
        return apart
    *_, name, code = access.site.opcode.split(".")
    unread, same_value = access.site.op == "red", access.site.one_value
    if code in _WORDS and unread and name in _REDUCIBLE:
        return access.mask.warps
    if name != "add" or code not in (*_WORDS, *_LONG):
        return apart
    if same_value:  # lanes are counted; each knows its place among them
        return access.mask.warps
    if code in _LONG:
        return apart
    # Different values whose sums so far are wanted: a scan, where all lanes take part. Else each lane by itself.
    lanes = access.mask.row_lanes()
    count = lanes.reshape(-1, WARP, lanes.shape[1]).sum(axis=1)
    sectors = np.where(count == WARP, 1, count).sum()
    times: int = access.mask.width // lanes.shape[1]  # equal blocks that a column stands for
    return int(sectors) * times

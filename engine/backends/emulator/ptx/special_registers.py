"""The emulated special registers of PTX: the computation of each, and whether it varies over threads or time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.catalogue.gpu_models import GPU, MULTIPROCESSORS, WARP
from engine.records import Array

Size = tuple[int, int, int]
_TYPES = {"u32": np.uint32, "u64": np.uint64, "pred": np.bool_}


RESERVED_PLACE = "%reserved_smem_offset_1"


@dataclass(frozen=True)
class SpecialContext:
    """The lanes that read a special register, and their launch. `threads` (T, 1), `blocks` (1, B): int64 numbers in the
    block and in the grid. `reserved_place`: the byte of shared memory where that of the GPU itself begins. `workspace`:
    the address where grid.sync() counts. `clock`: the value of clocks, in issued instructions."""

    threads: Array
    blocks: Array
    block: Size
    grid: Size
    shared_bytes: int
    dynamic_shared_bytes: int
    reserved_place: int
    workspace: int
    clock: int


@dataclass(frozen=True)
class SpecialRegister:
    """`make`: computes non-negative integers that broadcast to (T, B). `differs`: between threads of a block
    ("thread"), over "time", or neither ("block")."""

    make: Callable[[SpecialContext], Array | int]
    differs: Literal["thread", "time", "block"] = "block"
    code: Literal["u32", "u64", "pred"] = "u32"

    def value(self, asked: SpecialContext) -> Array:
        """Return the register of all lanes, in its own type and as small as its dependences allow: {1, T} x {1, B}."""
        made = np.array(self.make(asked), np.int64, ndmin=2)
        if self.code == "u32":
            made = made & 0xFFFFFFFF
        return made.astype(_TYPES[self.code])


def _coordinate(linear: Array, size: Size, axis: int) -> Array | int:
    """Return the x, y or z (0, 1, 2) of linear numbers; 0 if the size is 1."""
    if size[axis] == 1:
        return 0
    return linear // int(np.prod(size[:axis], dtype=np.int64)) % size[axis]


def _all_rows() -> dict[str, SpecialRegister]:
    row = SpecialRegister
    made = {
        "%laneid": row(lambda asked: asked.threads % WARP, "thread"),
        "%warpid": row(lambda asked: asked.threads // WARP, "thread"),
        "%nwarpid": row(lambda asked: GPU.threads // WARP),
        "%smid": row(lambda asked: asked.blocks % MULTIPROCESSORS),
        "%nsmid": row(lambda asked: MULTIPROCESSORS),
        "%lanemask_eq": row(lambda asked: 1 << asked.threads % WARP, "thread"),
        "%lanemask_lt": row(lambda asked: (1 << asked.threads % WARP) - 1, "thread"),
        "%lanemask_le": row(lambda asked: (2 << asked.threads % WARP) - 1, "thread"),
        "%lanemask_gt": row(lambda asked: ~((2 << asked.threads % WARP) - 1), "thread"),
        "%lanemask_ge": row(lambda asked: ~((1 << asked.threads % WARP) - 1), "thread"),
        "%clock": row(lambda asked: asked.clock, "time"),
        "%clock_hi": row(lambda asked: asked.clock >> 32, "time"),
        "%clock64": row(lambda asked: asked.clock, "time", "u64"),
        "%globaltimer": row(lambda asked: asked.clock, "time", "u64"),
        "%globaltimer_lo": row(lambda asked: asked.clock, "time"),
        "%globaltimer_hi": row(lambda asked: asked.clock >> 32, "time"),
        # The address of grid.sync()'s workspace, which the driver gives to a cooperative launch.
        "%envreg1": row(lambda asked: asked.workspace >> 32),
        "%envreg2": row(lambda asked: asked.workspace),
        "%dynamic_smem_size": row(lambda asked: asked.dynamic_shared_bytes),
        "%total_smem_size": row(lambda asked: asked.shared_bytes),
        "%aggr_smem_size": row(lambda asked: asked.shared_bytes),
        RESERVED_PLACE: row(lambda asked: asked.reserved_place),
        "%current_graph_exec": row(lambda asked: 0, code="u64"),  # the launch is not part of a graph
        # Without an explicit size a cluster is one block.
        "%is_explicit_cluster": row(lambda asked: 0, code="pred"),
        "%cluster_ctarank": row(lambda asked: 0),
        "%cluster_nctarank": row(lambda asked: 1),
    }
    made |= {f"{name}.w": row(lambda asked: 0) for name in _rows_of_axis(0)}  # there is no fourth axis
    for axis, letter in enumerate("xyz"):
        made |= {f"{name}.{letter}": made_of for name, made_of in _rows_of_axis(axis).items()}
    return made


def _rows_of_axis(axis: int) -> dict[str, SpecialRegister]:
    """Return the registers that have x, y and z components."""
    row = SpecialRegister
    return {
        "%tid": row(lambda asked: _coordinate(asked.threads, asked.block, axis), "thread"),
        "%ntid": row(lambda asked: asked.block[axis]),
        "%ctaid": row(lambda asked: _coordinate(asked.blocks, asked.grid, axis)),
        "%nctaid": row(lambda asked: asked.grid[axis]),
        "%clusterid": row(lambda asked: _coordinate(asked.blocks, asked.grid, axis)),
        "%nclusterid": row(lambda asked: asked.grid[axis]),
        "%cluster_ctaid": row(lambda asked: 0),
        "%cluster_nctaid": row(lambda asked: 1),
    }


SPECIAL_REGISTERS: dict[str, SpecialRegister] = _all_rows()
# Other special registers of PTX: a program may name them, but not read them.
_REFUSED = re.compile(r"%(n?(tid|ctaid|clusterid)|cluster_\w+|gridid|envreg\d+|reserved_smem_\w+|pm\d+)$")


def is_special(name: str) -> bool:
    """Return whether this is a special register of PTX, emulated or not."""
    return name in SPECIAL_REGISTERS or _REFUSED.match(name) is not None

"""The special registers of PTX: each of the table gives what PTX says, every other one is refused with its line."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.ptx.special_registers import SPECIAL_REGISTERS
from engine.backends.emulator.ptx.syntax import WIDTHS
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute, zeros
from tests.sentences import sentence

GRID, BLOCK = (2, 3, 2), (8, 5, 2)  # 12 blocks of 80 threads: the last warp is ragged
THREADS, BLOCKS = 80, 12


def read(name: str) -> np.ndarray:
    """The register as every thread reads it: uint32[blocks, threads]."""
    code = SPECIAL_REGISTERS[name].code if name in SPECIAL_REGISTERS else "u32"
    kind = {"u32": ("unsigned", "r"), "u64": ("unsigned long long", "l")}
    if code == "pred":
        line = f'asm volatile("{{ .reg .pred p; mov.pred p, %{name}; selp.u32 %0, 1, 0, p; }}" : "=r"(value));'
        line = f"unsigned value; {line}"
    else:
        line = f'{kind[code][0]} value; asm volatile("mov.{code} %0, %{name};" : "={kind[code][1]}"(value));'
    text = f"""extern "C" __global__ void f(unsigned *out) {{
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    {line}
    out[b * {THREADS} + t] = (unsigned)value;
}}"""
    found = execute(text, grid=GRID, block=BLOCK, out=zeros(THREADS * BLOCKS, "uint32"))
    return found["out"].reshape(BLOCKS, THREADS)


THREAD, INSIDE = np.arange(THREADS)[None, :], np.arange(BLOCKS)[:, None]
LANE = THREAD % 32
EXPECTED = {
    "%tid.x": THREAD % 8, "%tid.y": THREAD // 8 % 5, "%tid.z": THREAD // 40, "%tid.w": 0,
    "%ntid.x": 8, "%ntid.y": 5, "%ntid.z": 2, "%ntid.w": 0,
    "%ctaid.x": INSIDE % 2, "%ctaid.y": INSIDE // 2 % 3, "%ctaid.z": INSIDE // 6, "%ctaid.w": 0,
    "%nctaid.x": 2, "%nctaid.y": 3, "%nctaid.z": 2, "%nctaid.w": 0,
    "%clusterid.y": INSIDE // 2 % 3, "%nclusterid.y": 3, "%cluster_ctaid.x": 0, "%cluster_nctaid.z": 1,
    "%cluster_ctarank": 0, "%cluster_nctarank": 1, "%is_explicit_cluster": 0,
    "%laneid": LANE, "%warpid": THREAD // 32, "%nwarpid": 64, "%smid": INSIDE % 132, "%nsmid": 132,
    "%lanemask_eq": 1 << LANE, "%lanemask_lt": (1 << LANE) - 1, "%lanemask_le": (2 << LANE) - 1,
    "%lanemask_gt": ~((2 << LANE) - 1) & 0xFFFFFFFF, "%lanemask_ge": ~((1 << LANE) - 1) & 0xFFFFFFFF,
    "%envreg1": 0, "%envreg2": 0, "%dynamic_smem_size": 0, "%total_smem_size": 0, "%aggr_smem_size": 0,
    "%clock_hi": 0, "%globaltimer_hi": 0, "%current_graph_exec": 0,
}  # fmt: skip


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_register_of_the_table_gives_what_ptx_says(name: str) -> None:
    found = read(name)
    assert (found == np.broadcast_to(EXPECTED[name], found.shape)).all()


@pytest.mark.thorough
def test_every_register_of_the_table_can_be_read_in_its_own_width() -> None:
    assert len(SPECIAL_REGISTERS) > 20
    for name, row in SPECIAL_REGISTERS.items():
        assert read(name).shape == (BLOCKS, THREADS) and row.code in WIDTHS


@pytest.mark.parametrize(
    "name", ["%pm3", "%envreg7", "%gridid", "%reserved_smem_offset_begin", "%cluster_nosuch", "%tid"]
)
def test_a_register_that_is_not_emulated_is_refused_with_its_line(name: str) -> None:
    with pytest.raises(RunFailed) as caught:
        read(name)
    assert f" {name} " in str(caught.value)
    assert sentence("ptx.register-not-emulated", str(caught.value).replace(name, "%gridid"))
    assert caught.value.line == 4


def test_a_register_that_is_not_emulated_matters_only_where_it_is_read() -> None:
    text = """extern "C" __global__ void f(unsigned *out, int n) {
    unsigned value = 5;
    if (n > 7) asm volatile("mov.u32 %0, %%gridid;" : "=r"(value));
    out[threadIdx.x] = value;
}"""
    assert (execute(text, out=zeros(32, "uint32"), n=7)["out"] == 5).all()
    with pytest.raises(RunFailed, match=r"line 3: the register %gridid is not emulated"):
        execute(text, out=zeros(32, "uint32"), n=8)

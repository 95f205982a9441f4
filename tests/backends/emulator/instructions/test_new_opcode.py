"""An opcode that the emulator has never heard of comes in by one module: its row, its executor, its registration."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.instructions.registry import executes
from engine.backends.emulator.loading import module_of
from engine.backends.emulator.ptx.dataflow import varying_registers
from engine.backends.emulator.ptx.program import link
from engine.backends.emulator.ptx.syntax import InvalidPtx, PtxError
from engine.backends.emulator.ptx.traits import Traits, describe
from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.registers.operands import reader, writer
from engine.backends.emulator.watching import results
from engine.records import Source
from tests.backends.emulator.small_kernels import execute, zeros


def of_two_rows(item):
    if len(item.words) < 3:
        raise InvalidPtx(f"{item.opcode} does not say how many rows it has")


@executes(Traits("rowsum.sync", "dv", choices=("pair", "warp"), check=of_two_rows, converges="warp", varies=True))
def row_sum(machine, item):
    """d = the sum of the operand over the lanes of the warp, which all come."""
    get = reader(item.operands[1], "u32", machine.program.widths, item.line)
    put = writer(item.operands[0], "u32", machine.program.widths, item.line)

    def step(registers, mask):
        assert mask.dense is None and mask.row_index is None  # the whole warp is there
        value = np.broadcast_to(get(registers), (mask.height, mask.width))
        sums = value.reshape(-1, WARP, mask.width).sum(axis=1, dtype=np.uint32)
        put(registers, np.repeat(sums, WARP, axis=0))

    return step


describe(Traits("rowsum.bulk", writes=False))  # has a row, and nothing that executes it

TEXT = """extern "C" __global__ void f(unsigned *out) {
    unsigned mine = threadIdx.x, all;
    if (mine % 2) asm volatile("mul.lo.u32 %0, %0, 10;" : "+r"(mine));
    asm volatile("rowsum.sync.warp.u32 %0, %1;" : "=r"(all) : "r"(mine));
    @
    out[blockIdx.x * blockDim.x + threadIdx.x] = all;
}"""


def test_it_runs_and_its_warp_meets_before_it():
    counters = results.all_counters()
    made = execute(TEXT.replace("@", ""), block=64, grid=2, observers=counters, out=zeros(128, "uint32"))["out"]
    lanes = np.arange(64)
    wanted = np.where(lanes % 2, lanes * 10, lanes).reshape(2, 32).sum(axis=1).repeat(32)
    assert made.tolist() == np.tile(wanted, 2).tolist()
    assert results.by_line(counters, "test.cu")[4]["warp_instructions"] == 4


def test_its_row_answers_for_the_program():
    program = link(module_of(Source("test.cu", TEXT.replace("@", ""), "int32")), "f")
    (block,) = [block for block in program.blocks if block.body and block.body[0].opcode == "rowsum.sync.warp.u32"]
    target = block.body[0].operands[0].index
    assert block.defs >> target & 1 and target in varying_registers(program)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ('asm volatile("rowsum.sync.warp.u32 %0, %1, %1;" : "=r"(all) : "r"(mine));', "takes 2 operands but gets"),
        ('asm volatile("rowsum.sync.half.u32 %0, %1;" : "=r"(all) : "r"(mine));', "which of pair, warp it is"),
    ],
)
def test_its_form_is_checked(statement, said):
    with pytest.raises(InvalidPtx, match=said):
        module_of(Source("test.cu", TEXT.replace("@", statement), "int32"))


def test_a_row_without_a_step_is_refused_where_it_is_executed():
    text = TEXT.replace("@", 'if (mine == 1000) asm volatile("rowsum.bulk;");')
    execute(text, out=zeros(32, "uint32"))
    with pytest.raises(Exception, match=r"rowsum\.bulk"):
        execute(text.replace("== 1000", "< 1000"), out=zeros(32, "uint32"))


def test_no_opcode_has_two_rows():
    with pytest.raises(AssertionError, match=r"ld\.param is described twice"):
        describe(Traits("ld.param"))
    assert issubclass(InvalidPtx, PtxError)

"""PTX that is none is refused before it runs, and a fault of the emulator itself ends in a sentence as well."""

from __future__ import annotations

import re

import numpy as np
import pytest

from engine.backends.emulator.instructions import arithmetic
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import link
from engine.backends.emulator.ptx.syntax import InvalidPtx, PtxError, Register, Symbol
from engine.backends.emulator.ptx.traits import check_instruction
from engine.backends.emulator.state.machine import Options
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute
from tests.sentences import says, sentence

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 out)
{{
\t.reg .pred %p<3>;
\t.reg .b32 %r<5>;
\t.reg .b64 %rd<3>;
\t{}
\tret;
}}
"""
INVALID = {
    "add.s32 %r1,, %r2": "an operand is missing",
    "ld.global.u32 %r1, [%rd1": "an operand is missing or does not end",
    "mov.u32 %r1, %r2, %r3": "mov.u32 takes 2 operands but gets 3",
    "mov.b64 {%r1, %r2, %r3}, %rd1": "mov.b64 cannot split its register into 3",
    "mov.foo %r1, %r2": "mov.foo does not end in a type that mov takes",
    "ld.global.v2.u32 %r1, [%rd1]": "ld.global.v2.u32 moves 2 numbers, not 1",
    "ld.global.u32 %r1, %rd1": "ld.global.u32 takes an address in square brackets, not a register",
    "ld.global.u32 %r1, [%p1]": "the address of ld.global.u32 is in a register of 1 bits",
    "st.shared.u32 %r1, %r2": "takes an address in square brackets",
    "shfl.sync.bfly.b32 %r1, %r2, 1, 31": "shfl.sync.bfly.b32 takes 5 operands but gets 4",
    "shfl.sync.left.b32 %r1, %r2, 1, 31, -1": "does not say which of up, down, bfly, idx it is",
    "bar.sync 99": "the number of bar.sync is at most 15",
    "bar.sync 0, 33": "the count of bar.sync is a multiple of 32 threads",
    "mov.u32 %r1, %r7": "the register %r7 is not declared",
    "bra nowhere": "bra goes to the label nowhere, which does not exist",
    "bra 5": "bra takes a label, not 5",
    "brx.idx %r1, nowhere": "brx.idx goes to the label nowhere, which does not exist",
    "@%r1 exit": "a guard must be a predicate register: @%r1",
    "@%p1": "no instruction follows the guard @%p1",
    "mov.u32 %r1, 99999999999999999999": "this constant has more than 64 bits",
    "ld.global.u32 %r1, [%rd1+0f3F800000]": "an offset must be a whole number",
    "same: same:": "the label same is defined twice",
    ".shared .align 3 .b8 few[4]": "this declaration cannot be read",
}
BEYOND = {
    ".reg .b32 %x<99999999999>": "f declares more than 100,000 registers",
    ".reg .b128 %x": "registers of 128 bits are not emulated",
    "vadd.u32.u32.u32 %r1, %r1.b0, %r2": "%r1.b0 is a part of a register, which is not emulated",
    "vmin.s32.s32.s32 %r1.h1, %r1, %r2, %r1": "%r1.h1 is a part of a register",
    "ld.global.b128 %r1, [%rd1]": "moves 128 bits at once, which is not emulated",
    "red.global.v4.f32.add [%rd1], {%r1, %r1, %r1, %r1}": "is an atomic of several elements, which is not emulated",
    "suld.b.1d.b32.trap {%r1}, [%rd1, {%r1}]": "a surface, a gather from a texture or a map for the copy engine",
    "tex.cube.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1, %r2, %r3, %r4}]": "this form of texture is not emulated",
    ".global .b8 huge[99999999999]": "`huge` has 99,999,999,999 bytes",
}
VALID = (
    "bar.sync 0", "bar.red.popc.u32 %r1, 0, %p1", "@!%p1 bra over; over: exit", "mov.b64 %rd1, {%r1, %r2}",
    "ld.global.nc.v2.u32 {%r1, _}, [%rd1+-8]", "atom.global.cas.b32 _, [%rd1], %r1, %r2", "cp.async.wait_group 0",
    "st.shared.v4.u32 [%r1], {%r1, 0, %r2, 1}", "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1",
    "red.async.relaxed.cluster %r1",
)  # fmt: skip


@pytest.mark.parametrize("statement", INVALID)
def test_ptx_that_is_none_is_refused_with_its_line(statement: str) -> None:
    with pytest.raises(InvalidPtx) as caught:
        link(parse(KERNEL.format(statement + ";"), "mine.cu"), "f")
    assert INVALID[statement] in str(caught.value)
    text = caught.value.sentence("mine.cu")
    assert re.match(r"mine\.cu, PTX line (9|11): [^\n]+", text) and says("ptx.not-valid", text)


@pytest.mark.parametrize("statement", BEYOND)
def test_ptx_beyond_the_emulator_is_refused_with_its_line(statement: str) -> None:
    with pytest.raises(PtxError) as caught:
        link(parse(KERNEL.format(statement + ";"), "mine.cu"), "f")
    assert BEYOND[statement] in str(caught.value)
    assert caught.value.sentence("mine.cu").endswith(" it on a GPU.")


def test_what_the_compiler_may_write_passes() -> None:
    for statement in VALID:
        assert link(parse(KERNEL.format(statement + ";"), "mine.cu"), "f").blocks


def test_a_label_of_an_inner_scope_is_its_own() -> None:
    twice = "{ bra L; L: } { bra L; mov.u32 %r1, 1; L: } L: bra L;"
    module = parse(KERNEL.format(twice), "mine.cu")
    jumps = [item for item in module.functions["f"].body if getattr(item, "opcode", "") == "bra"]
    targets = [item.operands[0] for item in jumps]
    assert len({target.name for target in targets if isinstance(target, Symbol)}) == 3


def test_the_registers_of_an_operand_have_their_widths_checked() -> None:
    item = parse(KERNEL.format("ld.global.u32 %r1, [%rd1];"), "mine.cu").functions["f"].body[0]
    assert not hasattr(item, "name")
    with pytest.raises(InvalidPtx):
        check_instruction(item, (16,) * 12)  # type: ignore[arg-type]
    assert isinstance(item.operands[0], Register)  # type: ignore[union-attr]


def test_a_fault_of_the_emulator_is_told_as_one_and_keeps_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*operands: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(arithmetic, "_single", lambda *given: broken)
    text = 'extern "C" __global__ void f(float *a) {\n  a[threadIdx.x] *= a[0] + 1;\n}'
    with pytest.raises(RunFailed) as caught:
        execute(text, a=np.ones(32, np.float32))
    assert sentence("emulator.own-fault", str(caught.value))
    assert caught.value.line == 2 and isinstance(caught.value.__cause__, ZeroDivisionError)
    behind_a_fence = text.replace("{", "{\n  __threadfence();").replace(";\n}", ";\n  a[40] = 1;\n}")
    with pytest.raises(RunFailed) as caught:  # without observers the fence executes nothing
        execute(behind_a_fence, a=np.ones(64, np.float32))
    assert caught.value.line == 3


def test_a_loop_in_which_lanes_wait_for_lanes_that_never_come_ends_at_the_limit_too() -> None:
    text = """extern "C" __global__ void f(int *a) {
  int sum = threadIdx.x;
  if (threadIdx.x < 16)
    asm volatile("{ .reg .pred p; AGAIN: shfl.sync.down.b32 %0, %0, 1, 31, -1; add.u32 %0, %0, 1;"
                 "setp.ne.u32 p, %0, -1; @p bra AGAIN; }" : "+r"(sum));
  __syncthreads();
  a[0] = sum;
}"""
    with pytest.raises(RunFailed) as caught:
        execute(text, a=np.zeros(32, np.int32), options=Options(step_limit=2_000))
    assert caught.value.status == "timeout"

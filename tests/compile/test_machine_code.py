"""What is read from machine code: loops, multiply-adds and loads on their way, of code made by hand and compiled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import default_choice
from engine.compile.cubin import code_of, resources_of
from engine.compile.machine_code import MachineCode, Mix, machine_code
from engine.compile.nvrtc import compile_source
from engine.lectures.reasons import reasons
from engine.plan import settle
from engine.records import Source

FREE, ALWAYS = 7 << 110, 7 << 12 | 7 << 87  # no scoreboard; no condition
FFMA = 0x223 | ALWAYS | FREE | 5 << 24
MOVE = 0x224 | ALWAYS | FREE | 255 << 24  # 0 * b + c
MUFU, EXIT, NOP = (0x308 | ALWAYS | FREE, 0x94D | ALWAYS | FREE, 0x918 | ALWAYS | FREE)
ALWAYS_GOES = 7  # a branch's condition
WORD, SIXTEEN = 4 << 73, 6 << 73
CHAIN = """extern "C" __global__ void k(float* x, int n, float b, float c) {
    float a = x[threadIdx.x];
#pragma unroll 1
    for (int i = 0; i < n; ++i) { a = a * b + c; a = a * c + b; a = a * b + c; a = a * c + b; }
    x[threadIdx.x] = a;
}"""
MANY = """extern "C" __global__ void k(const float* x, float* y) {
    float held[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) held[i] = x[i * 64 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; ++i) y[i * i + threadIdx.x] = held[i] * held[63 - i];
}"""


EITHER = """extern "C" __global__ void k(const float* x, float* y, int which) {
    __shared__ float near[256];
    near[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    const float* from = which ? near : x;
    float a = 0;
#pragma unroll 4
    for (int i = 0; i < which; ++i) a += from[(threadIdx.x * 7 + i) % 256];
    y[threadIdx.x] = a;
}"""


def load(size: int, board: int) -> int:
    return 0x981 | ALWAYS | size | board << 110


def waits(instruction: int, board: int) -> int:
    return instruction | 1 << 116 << board


def branch(at: int, to: int, condition: int = 0) -> int:
    """From instruction `at` to `to`, in words of 4 bytes from the next one, the low 8 bits apart."""
    words = (to - at - 1) * 4 & (1 << 56) - 1
    return 0x947 | condition << 12 | 7 << 87 | FREE | (words & 0xFF) << 16 | words >> 8 << 34


def read(*code: int) -> MachineCode:
    return machine_code(b"".join(one.to_bytes(16, "little") for one in code))


def compiled(text: str, *options: str) -> tuple[Source, MachineCode]:
    source = Source("k.cu", text, "", options=options)
    return source, machine_code(code_of(compile_source(source, "sm_90"), "k"))


def test_the_loop_with_the_most_multiply_adds_is_the_hottest() -> None:
    found = read(MUFU, FFMA, branch(2, 1), MUFU, FFMA, FFMA, MOVE, branch(7, 3), EXIT, NOP)
    assert found.whole == Mix(9, {"FFMA": 3})
    assert found.loop == Mix(5, {"FFMA": 2}), "moves in the form of a multiply-add are none"
    assert (found.widest_load, found.bytes_in_flight, found.copy_engine) == (None, None, False)


def test_of_two_that_multiply_alike_the_shorter_one_counts() -> None:
    assert read(MUFU, FFMA, branch(2, 0), FFMA, branch(4, 3), EXIT).loop == Mix(2, {"FFMA": 1})


def test_a_loop_does_not_count_what_a_loop_inside_it_does() -> None:
    found = read(FFMA, MUFU, branch(2, 1), FFMA, branch(4, 0), EXIT)
    assert found.loop == Mix(3, {"FFMA": 2})


def fused(*registers: int, kept: int = 0, held: int = 1) -> int:
    """An FFMA of three registers; bit 0 of `kept`: the first operand is kept; `held`: the cycles behind it."""
    first, second, third = registers
    operands = first << 24 | second << 32 | third << 64
    return 0x223 | ALWAYS | FREE | operands | kept << 122 | held << 105


def test_operands_of_one_bank_that_are_not_kept_are_conflicts() -> None:
    back = branch(3, 0)
    assert read(fused(2, 3, 4), fused(2, 5, 7), fused(255, 5, 8), back, EXIT).issue.bank_conflicts == 2
    kept = (fused(2, 3, 7, kept=1), fused(2, 5, 6), fused(5, 7, 9, kept=0))
    assert read(*kept, back, EXIT).issue.bank_conflicts == 2, "3 and 7; the 2 was kept; 5, 7 and 9"
    assert read(fused(2, 3, 5, kept=2), MUFU, fused(4, 3, 6), back, EXIT).issue.bank_conflicts == 2, "what is between"
    assert read(MUFU, branch(1, 0), EXIT).issue.bank_conflicts is None


def test_a_pass_takes_the_cycles_that_its_instructions_are_held() -> None:
    found = read(fused(2, 3, 4, held=4), waits(fused(2, 3, 5, held=0), 2), branch(2, 0), NOP, EXIT).issue
    assert (found.cycles, found.waits) == (4 + 1 + 1, 1)
    assert read(FFMA, EXIT).issue is None, "without a loop there is no pass"


def test_loads_of_unnamed_memory_are_on_their_way_too() -> None:
    assert compiled(EITHER)[1].bytes_in_flight == 4 * 4
    assert read(load(SIXTEEN, 1) ^ 0x981 ^ 0x980, EXIT).widest_load == 16


def test_code_that_stands_apart_and_jumps_back_is_no_loop() -> None:
    assert read(branch(0, 3), FFMA, EXIT, MUFU, branch(4, 1, ALWAYS_GOES)).loop is None


def test_bytes_are_in_flight_until_something_waits_for_them() -> None:
    at_once = read(load(SIXTEEN, 0), load(SIXTEEN, 1), load(WORD, 1), waits(FFMA, 0), waits(FFMA, 1), EXIT)
    assert (at_once.widest_load, at_once.bytes_in_flight) == (16, 36)
    one_by_one = read(load(SIXTEEN, 0), waits(load(SIXTEEN, 1), 0), waits(FFMA, 1), EXIT)
    assert one_by_one.bytes_in_flight == 16


def test_what_a_branch_leaves_in_flight_is_so_where_the_ways_meet() -> None:
    ways = (branch(0, 3), load(SIXTEEN, 0), branch(2, 4, ALWAYS_GOES), load(WORD, 1), load(WORD, 2), EXIT)
    assert read(*ways).bytes_in_flight == 20, "16 and 4 bytes by the one way, 4 and 4 by the other"
    in_a_loop = (branch(0, 2), load(WORD, 0), load(SIXTEEN, 1), waits(waits(FFMA, 0), 1), branch(4, 0), EXIT)
    assert read(*in_a_loop).bytes_in_flight == 20


def test_asynchronous_copies_are_in_flight_in_groups() -> None:
    copy, group = 0xFAE | ALWAYS | FREE | SIXTEEN, 0x9AF | ALWAYS
    left = [0x91A | ALWAYS | FREE | many << 38 for many in (0, 1)]
    for many, bytes_ in ((0, 16), (1, 32)):
        assert read(copy, group, left[many], branch(3, 0), EXIT).bytes_in_flight == bytes_


def test_a_chain_of_multiply_adds_as_it_was_written() -> None:
    source, found = compiled(CHAIN)
    assert found.loop is not None and found.loop.multiply_adds == {"FFMA": 4}
    assert 6 <= found.loop.instructions <= 12, "the counter, its test and the branch come to them"
    needed = resources_of(source, "k", "sm_90")
    assert needed.local_bytes == 0 and 5 <= needed.registers <= 16
    assert (found.widest_load, found.bytes_in_flight) == (4, 4)


def test_a_kernel_without_loops_that_spills() -> None:
    source, found = compiled(MANY, "-maxrregcount=32")
    needed = resources_of(source, "k", "sm_90")
    assert needed.registers <= 32 and needed.local_bytes > 0, "32 products and their addresses do not fit"
    assert found.loop is None and found.whole.multiply_adds.get("FFMA") is None
    assert resources_of(compiled(MANY)[0], "k", "sm_90").local_bytes == 0


@pytest.mark.thorough
def test_the_matrix_product_as_the_page_on_fast_kernels_counts_it() -> None:
    prefetch = reasons(settle(replace(default_choice("matmul_prefetch"), block_size=16, device="gpu"))).kernels[0]
    assert prefetch.code.loop is not None and prefetch.code.loop.multiply_adds["FFMA"] == 1024
    assert abs(prefetch.code.loop.instructions - 1118) <= 12 and abs(prefetch.resources.registers - 224) <= 8
    assert prefetch.resources.local_bytes == 0 and prefetch.occupancy.limited_by == ("registers",)

# ruff: noqa: E501  (a program in a line reads better than one in five)
"""The reference interpreter itself, against cases worked out by hand."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import pytest

from tests.backends.emulator import oracle
from tests.backends.emulator.exact import combine, compare, decode, distance, divided, encode, rounded, to_integer

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b32 %r<20>; .reg .b64 %q<10>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<9>;"


def results(body: str, threads: int = 1, words: int = 4, head: str = "", functions: str = "") -> list[list[int]]:
    """The words that each thread stored to [%q0]; %r0 is its number."""
    text = f"""{HEADER}{head}{functions}
    .visible .entry probe(.param .u64 out) {{ {REGISTERS}
      ld.param.u64 %q0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %q1, %r0, {4 * words}; add.s64 %q0, %q0, %q1;
      {body}
      ret; }}"""
    out = bytearray(4 * words * threads)
    oracle.run(text, "probe", (1, 1, 1), (threads, 1, 1), [out], 100_000)
    numbers = struct.unpack(f"<{words * threads}I", out)
    return [list(numbers[start : start + words]) for start in range(0, len(numbers), words)]


def test_integers_wrap_and_signs_decide() -> None:
    body = """mov.b32 %r1, -7; mov.b32 %r2, 2; div.s32 %r3, %r1, %r2; rem.s32 %r4, %r1, %r2; shr.s32 %r5, %r1, 1; mul.hi.u32 %r6, %r1, %r2;
      st.global.v4.u32 [%q0], {%r3, %r4, %r5, %r6};"""
    assert results(body) == [[2**32 - 3, 2**32 - 1, 2**32 - 4, 1]]


def test_bit_fields() -> None:
    body = """mov.b32 %r1, 0x12345678; bfe.u32 %r2, %r1, 8, 12; bfi.b32 %r3, 0xAB, %r1, 4, 8; prmt.b32 %r4, %r1, 0, 0x0123;
      shf.l.wrap.b32 %r5, %r1, 0xF, 4; st.global.v4.u32 [%q0], {%r2, %r3, %r4, %r5};"""
    assert results(body) == [[0x456, 0x12345AB8, 0x78563412, 0xF1]]


def test_carry_runs_through_words() -> None:
    body = """mov.b32 %r1, -1; add.cc.u32 %r2, %r1, 1; addc.u32 %r3, 0, 5; sub.cc.u32 %r4, 0, 1; subc.u32 %r5, 5, 0;
      st.global.v4.u32 [%q0], {%r2, %r3, %r4, %r5};"""
    assert results(body) == [[0, 6, 2**32 - 1, 4]]


def test_the_carry_of_a_difference_is_set_unless_it_borrows() -> None:
    body = """sub.cc.u32 %r1, 5, 3; addc.u32 %r2, 0, 0; sub.cc.u32 %r1, 3, 5; addc.u32 %r3, 0, 0;
      mov.b32 %r1, -1; add.cc.u32 %r1, %r1, 1; subc.u32 %r4, 9, 4; add.cc.u32 %r1, 0, 0; subc.u32 %r5, 9, 4;
      st.global.v4.u32 [%q0], {%r2, %r3, %r4, %r5};"""
    assert results(body) == [[1, 0, 5, 4]]


def test_predicates_guards_and_branches() -> None:
    body = """setp.gt.s32 %p1|%p2, %r0, 1; mov.b32 %r1, 10; @%p1 mov.b32 %r1, 20; @!%p2 bra $L; mov.b32 %r2, 1; bra $M;
      $L: mov.b32 %r2, 2; $M: st.global.v2.u32 [%q0], {%r1, %r2};"""
    assert [row[:2] for row in results(body, threads=3)] == [[10, 1], [10, 1], [20, 2]]


def test_loops_and_tables() -> None:
    body = """mov.b32 %r1, 0; mov.b32 %r2, 0; $T: add.s32 %r1, %r1, %r0; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 5; @%p1 bra $T;
      $C: .branchtargets $A, $B; and.b32 %r3, %r0, 1; brx.idx %r3, $C; $A: mov.b32 %r4, 7; bra $E; $B: mov.b32 %r4, 9;
      $E: st.global.v2.u32 [%q0], {%r1, %r4};"""
    assert [row[:2] for row in results(body, threads=3)] == [[0, 7], [5, 9], [10, 7]]


def test_threads_exchange_through_shared_memory() -> None:
    body = """mov.u32 %r1, s; mad.lo.s32 %r2, %r0, 4, %r1; mul.lo.s32 %r3, %r0, %r0; st.shared.u32 [%r2], %r3; bar.sync 0;
      sub.s32 %r4, 2, %r0; mad.lo.s32 %r4, %r4, 4, %r1; ld.shared.u32 %r5, [%r4]; st.global.u32 [%q0], %r5;"""
    assert [row[0] for row in results(body, threads=3, head=".shared .align 4 .b8 s[12];\n")] == [4, 1, 0]


def test_atomics_take_turns() -> None:
    body = """ld.param.u64 %q2, [out]; atom.global.add.u32 %r1, [%q2+60], 3; red.global.max.s32 [%q2+56], %r0; atom.global.cas.b32 %r2, [%q2+52], 0, 8;
      st.global.v2.u32 [%q0], {%r1, %r2};"""
    rows = results(body, threads=4)
    assert [row[:2] for row in rows] == [[0, 0], [3, 8], [6, 8], [9, 8]]
    assert rows[3][1:] == [8, 3, 12]


def test_shuffles_votes_and_their_kin() -> None:
    body = """shfl.sync.bfly.b32 %r1|%p1, %r0, 1, 31, -1; shfl.sync.up.b32 %r2|%p2, %r0, 2, 0, -1; setp.lt.u32 %p3, %r0, 3;
      vote.sync.ballot.b32 %r3, %p3, -1; and.b32 %r4, %r0, 30; match.any.sync.b32 %r4, %r4, -1; st.global.v4.u32 [%q0], {%r1, %r2, %r3, %r4};"""
    rows = results(body, threads=32)
    assert rows[0] == [1, 0, 7, 3]
    assert rows[5] == [4, 3, 7, 0b110000]
    assert results("redux.sync.add.s32 %r1, %r0, 0xF; st.global.u32 [%q0], %r1;", threads=4)[2][0] == 6


def test_votes_of_a_block() -> None:
    body = "setp.ne.s32 %p1, %r0, 4; bar.red.popc.u32 %r1, 0, %p1; bar.red.and.pred %p2, 0, %p1; selp.b32 %r2, 1, 0, %p2; st.global.v2.u32 [%q0], {%r1, %r2};"
    assert results(body, threads=40)[7][:2] == [39, 0]


def test_calls_and_local_memory() -> None:
    functions = """.func (.param .b32 back) twice(.param .b32 a) { .reg .b32 %r<4>; .local .align 4 .b8 keep[8]; .reg .b64 %q<2>;
      ld.param.b32 %r1, [a]; mov.u64 %q0, keep; st.local.u32 [%q0+4], %r1; ld.local.u32 %r2, [%q0+4]; add.s32 %r3, %r1, %r2;
      st.param.b32 [back], %r3; ret; }"""
    body = "{ .param .b32 p; st.param.b32 [p], %r0; .param .b32 b; call.uni (b), twice, (p); ld.param.b32 %r1, [b]; } st.global.u32 [%q0], %r1;"
    assert [row[0] for row in results(body, threads=3, functions=functions)] == [0, 2, 4]


def test_constants_and_narrow_loads() -> None:
    head = ".const .align 4 .b8 table[4] = {255, 2, 128, 4};\n"
    body = "mov.u64 %q2, table; ld.const.s8 %r1, [%q2]; ld.const.u8 %r2, [%q2+2]; ld.const.u16 %q3, [%q2+2]; cvt.u32.u64 %r3, %q3; st.global.v2.u32 [%q0], {%r1, %r2}; st.global.u32 [%q0+8], %r3;"
    assert results(body, head=head)[0][:3] == [2**32 - 1, 128, 0x480]


def test_it_notices_what_never_ends_or_never_meets() -> None:
    with pytest.raises(oracle.Endless):
        results("$L: bra $L;")
    with pytest.raises(oracle.Stuck):
        results("setp.eq.s32 %p1, %r0, 0; @%p1 bar.sync 0; @!%p1 shfl.sync.bfly.b32 %r1, %r0, 1, 31, 3;", threads=2)
    with pytest.raises(oracle.Fault):
        results("st.global.u32 [%q0+16], %r0;")


def test_rounding_is_exact() -> None:
    tiny, one = decode(1, "f32"), 1.0
    assert rounded(Fraction(1, 3), "f32") == struct.unpack("<f", struct.pack("<f", 1 / 3))[0]
    assert rounded(Fraction(1, 3), "f64") == 1 / 3
    assert rounded(Fraction(1, 3), "f64", "rp") == math.nextafter(1 / 3, 1)
    assert rounded(Fraction(tiny) / 2, "f32") == 0 and rounded(Fraction(tiny) / 2, "f32", "rp") == tiny
    assert (
        rounded(Fraction(10) ** 400, "f64") == math.inf
        and rounded(Fraction(10) ** 400, "f64", "rz") == math.ulp(0) * 0 + 1.7976931348623157e308
    )
    assert combine("fma", "f64", "rn", one + 2**-30, one - 2**-30, -1.0) == -(2.0**-60)
    assert (
        combine("sqrt", "f64", "rn", 2.0) == math.sqrt(2.0)
        and combine("sqrt", "f32", "rn", 2.0) == 1.41421353816986083984375
    )
    assert (
        math.isnan(combine("fma", "f32", "rn", 0.0, math.inf, 1.0))
        and combine("fma", "f64", "rn", 1e300, 1e300, -math.inf) == -math.inf
    )
    assert (
        math.copysign(1, combine("add", "f32", "rm", 1.0, -1.0)) == -1
        and math.copysign(1, combine("add", "f32", "rn", 1.0, -1.0)) == 1
    )
    assert combine("div", "f32", "rn", 1.0, -0.0) == -math.inf


def test_conversions_comparisons_and_distances() -> None:
    assert to_integer(2.5, "s32", "rni", False) == 2 and to_integer(3e9, "s32", "rzi", False) == 2**31 - 1
    assert to_integer(-1.0, "u32", "rzi", False) == 0 and to_integer(math.nan, "s64", "rzi", True) == 1 << 63
    assert not compare("ne", math.nan, 1.0) and compare("neu", math.nan, 1.0) and compare("nan", math.nan, 1.0)
    assert divided(-(2**31), -1, "s32")[0] == 2**31
    assert (
        distance(1.0, 1 + 2**-23, "f32") == 1
        and distance(-0.0, 0.0, "f32") == 0
        and distance(math.nan, math.nan, "f64") == 0
    )
    assert encode(-1, "s16") == 0xFFFF and decode(0x8000, "s16") == -32768

"""What the parser and the linker make of PTX."""

import pytest

from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import link
from engine.backends.emulator.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Pair,
    PtxError,
    Register,
    Special,
    Symbol,
    Vector,
)
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import Source
from tests.sentences import refused

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def module(text, main="k.cu"):
    return parse(HEAD + text, main)


def body(text):
    """The instructions of a kernel with this body."""
    function = module(f".visible .entry f(.param .u64 f_param_0)\n{{\n{text}\n}}\n").functions["f"]
    return [item for item in function.body if isinstance(item, Instruction)], function


@pytest.mark.parametrize(("written", "opcode"), [
    ("lg2.approx.f32.ftz", "lg2.approx.ftz.f32"), ("add.f64.rm", "add.rm.f64"), ("vadd.u32.u32.u32.sat", None),
    ("fma.f32.ftz.sat.rn", "fma.rn.ftz.sat.f32"), ("min.ftz.f32", None), ("cvt.rn.f16x2.f32", None),
])  # fmt: skip
def test_modifiers_behind_the_type_as_curand_has_them(written, opcode):
    items, _ = body(f".reg .b32 %r<9>; .reg .f64 %d<9>; {written} %r1, %r2, %r3, %r4;")
    assert items[0].opcode == (opcode or written)


def test_operands():
    items, function = body("""
        .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<5>;
        ld.param.u64 %rd1, [f_param_0];   // an argument
        @!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+-8];
        shfl.sync.down.b32 %r1|%p2, %r2, 16, 0x1f, -1;
        mov.f32 %f3, 0f3F800000;
        mov.u32 %r3, %tid.x;
        st.volatile.shared.u32 [s+4], %r3;
        atom.global.add.u32 _, [%rd1], 7;
    """)
    r = {"p1": 1, "p2": 2, "r1": 4, "r2": 5, "r3": 6}
    assert items[1].guard == Register(r["p1"], negated=True)
    assert isinstance(items[1].operands[0], Vector) and items[1].operands[1].offset == -8
    assert items[2].operands == (
        Pair(Register(r["r1"]), Register(r["p2"])), Register(r["r2"]), Immediate(16), Immediate(31), Immediate(-1),
    )  # fmt: skip
    assert items[3].operands[1] == Immediate(0x3F800000, 32)
    assert items[4].operands[1] == Special("%tid.x")
    assert items[5].operands[0] == Address(Symbol("s"), 4)
    assert function.widths == (1,) * 3 + (32,) * 9 + (64,) * 4 + (32,) * 5


def test_inner_scopes_hide_outer_names():
    items, function = body("""
        .reg .b32 %r<3>;
        add.s32 %r1, %r1, 1;
        { .reg .b64 %r1; add.s64 %r1, %r1, 1; }
        add.s32 %r1, %r1, 2;
    """)
    outer, inner, again = (item.operands[0].index for item in items)
    assert outer == again != inner
    assert (function.widths[outer], function.widths[inner]) == (32, 64)


def test_local_is_not_a_location():
    _, function = body(".local .align 8 .b8 __local_depot0[24];\n.shared .align 4 .b8 s[512];\n.loc 1 3 1\nret;")
    assert [(v.name, v.space, v.size) for v in function.variables] == [
        ("__local_depot0", "local", 24),
        ("s", "shared", 512),
    ]


def test_variables_have_their_bytes():
    made = module(
        ".global .align 4 .u32 table[3] = {1, 2, 0xffffffff};\n.const .align 8 .f64 pi = 0d400921FB54442D18;\n"
        ".global .align 8 .u64 where[1] = {generic(table)};\n.extern .shared .align 16 .b8 s[];\n"
    ).variables
    assert made["table"].data == b"\1\0\0\0\2\0\0\0\xff\xff\xff\xff"
    assert made["pi"].data.hex() == "182d4454fb210940"
    assert made["where"].references == ((0, "table"),)
    assert (made["s"].external, made["s"].size) == (True, 0)


def test_inlined_code_belongs_to_the_line_that_the_student_sees():
    text = """__device__ int twice(int x) {
        return x + x;
    }
    extern "C" __global__ void f(int *out) {
        out[0] = twice(out[1]);
        out[2] = __shfl_down_sync(~0u, out[3], 1);
    }"""
    source = Source("cuda/k.cu", text, "int32")
    program = link(parse(compile_source(source, EMULATED_ARCHITECTURE).decode(), source.name), "f")
    lines = {item.opcode.split(".")[0]: item.line for block in program.blocks for item in block.body}
    assert lines["shfl"] == 6
    assert lines["shl"] == 2 if "shl" in lines else lines["add"] in (2, 5)


def test_guarded_instructions_become_blocks():
    program = link(module("""
        .visible .entry f(.param .u64 f_param_0) {
            .reg .pred %p<2>; .reg .b32 %r<4>;
            setp.eq.u32 %p1, %r1, %r2;
            @%p1 mov.u32 %r3, 5;
            @%p1 bra DONE;
            mov.u32 %r3, 6;
        DONE:
            st.shared.u32 [0], %r3;
            ret;
        }"""), "f")  # fmt: skip
    assert [block.terminator.opcode if block.terminator else None for block in program.blocks] == [
        "skip",
        None,
        "bra",
        None,
        "ret",
    ]
    assert [block.successors for block in program.blocks] == [(2, 1), (2,), (4, 3), (4,), ()]


def test_live_registers():
    program = link(module("""
        .visible .entry f(.param .u64 f_param_0) {
            .reg .pred %p1; .reg .b32 %r<4>;
            mov.u32 %r1, 0;
            mov.u32 %r2, 10;
        LOOP:
            add.u32 %r1, %r1, 1;
            add.u32 %r3, %r1, %r2;
            setp.lt.u32 %p1, %r1, %r2;
            @%p1 bra LOOP;
            st.shared.u32 [0], %r3;
            ret;
        }"""), "f")  # fmt: skip
    r1, r2, r3 = (1 << index for index in (2, 3, 4))
    first, loop, last = program.blocks
    assert (first.live_in, first.live_out) == (0, r1 | r2)
    assert (loop.live_in, loop.live_out) == (r1 | r2, r1 | r2 | r3)
    assert (last.live_in, last.live_out) == (r3, 0)


def test_calls_are_inlined_with_names_of_their_own():
    program = link(module("""
        .func (.param .b32 back) inc(.param .b32 given) {
            .reg .b32 %r<3>;
            ld.param.u32 %r1, [given];
            add.s32 %r2, %r1, 1;
            st.param.b32 [back+0], %r2;
            ret;
        }
        .visible .entry f(.param .u64 f_param_0) {
            .reg .b32 %r<3>;
            { .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0;
              call.uni (retval0), inc, (param0); ld.param.b32 %r2, [retval0+0]; }
            { .param .b32 param0; st.param.b32 [param0+0], %r2; .param .b32 retval0;
              call.uni (retval0), inc, (param0); ld.param.b32 %r1, [retval0+0]; }
            ret;
        }"""), "f")  # fmt: skip
    adds = [item for block in program.blocks for item in block.body if item.opcode == "add.s32"]
    assert len(adds) == 2 and adds[0].operands[0] != adds[1].operands[0]


@pytest.mark.parametrize("text, key", [
    (".reg .b32 %r<3>; mov.u32 %r1, %unheard_of;", "ptx.unknown-register"),
    (".reg .b32 %r<3>; mov.u32 %r1, 12q;", "ptx.unknown-constant"),
])  # fmt: skip
def test_what_cannot_be_read_is_named(text, key):
    with refused(key, PtxError):
        link(module(f".visible .entry f(.param .u64 p)\n{{\n{text}\nret;\n}}\n"), "f")


def test_a_missing_kernel_is_named():
    with pytest.raises(PtxError, match="no kernel named g"):
        link(module(".visible .entry f(.param .u64 p)\n{\nret;\n}\n"), "g")

"""The instructions and literals of random PTX programs."""

# The registers of programs: kind -> (register prefix, number).
REGISTERS = {
    "b32": ("%r", 8),
    "b64": ("%q", 3),
    "f32": ("%f", 4),
    "f64": ("%d", 2),
    "b16": ("%h", 2),
    "pred": ("%p", 4),
}
LITERALS = {
    "b32": ("0", "1", "2", "3", "5", "31", "32", "100", "-1", "-7", "32767", "2147483647", "-2147483648"),
    "b64": ("0", "1", "3", "31", "64", "-1", "-7", "4294967296"),
    "f32": ("0f3F800000", "0fC0200000", "0f00000001", "0f7F800000", "0f80000000", "0f4B000001"),
    "f64": ("0d3FF0000000000000", "0dC004000000000000", "0d0000000000000001", "0d4340000000000001"),
    "b16": ("0", "1", "7", "15", "-1", "-300"),
    "pred": (),
}

# Instructions by family. A small letter is a register (r b32, q b64, f f32, d f64, h b16, p predicate), a capital one a
# register or a literal; `n` is a small number, `test`, `join` and `way` words. If a line has several, a guard takes the
# last. %r of b64 pairs are named, because two halves must be two registers. A product of floats names its rounding, so
# that it is not joined to a sum.
FAMILIES = {
    "integer": """
        add.s32 {r}, {r}, {R}
        sub.s32 {r}, {R}, {r}
        mul.lo.s32 {r}, {r}, {R}
        mad.lo.s32 {r}, {r}, {R}, {R}
        mul.hi.s32 {r}, {r}, {R}
        mul.hi.u32 {r}, {r}, {R}
        {join}.b32 {r}, {r}, {R}
        not.b32 {r}, {r}
        shl.b32 {r}, {r}, {R}
        shr.s32 {r}, {r}, {R}
        shr.u32 {r}, {r}, {R}
        min.s32 {r}, {r}, {R}
        max.u32 {r}, {r}, {R}
        neg.s32 {r}, {r}
        abs.s32 {r}, {r}
        mov.b32 {r}, {R}
        selp.b32 {r}, {R}, {R}, {p}
        sad.s32 {r}, {r}, {R}, {R}
        div.s32 {r}, {r}, {n}
        rem.u32 {r}, {r}, {n}
        rem.s32 {r}, {r}, -{n}
        mul.wide.u16 {r}, {h}, {h}
        mul.wide.s16 {r}, {h}, {h}
        add.cc.u32 {r}, {r}, %r1; addc.u32 %r4, %r4, 0
        sub.cc.u32 {r}, {r}, %r5; subc.u32 %r3, %r3, 0
        mad.lo.cc.u32 {r}, {r}, %r5, %r4; madc.hi.u32 %r6, %r6, %r5, 1""",
    "bits": """
        popc.b32 {r}, {r}
        clz.b32 {r}, {r}
        brev.b32 {r}, {r}
        bfind.u32 {r}, {r}
        bfind.shiftamt.s32 {r}, {r}
        bfe.s32 {r}, {r}, {R}, {R}
        bfe.u32 {r}, {r}, {R}, {R}
        bfi.b32 {r}, {r}, {r}, {R}, {R}
        shf.l.wrap.b32 {r}, {r}, {r}, {R}
        shf.r.clamp.b32 {r}, {r}, {r}, {R}
        prmt.b32 {r}, {r}, {r}, {R}
        lop3.b32 {r}, {r}, {r}, {r}, {n}
        add.s16 {h}, {h}, {H}
        mul.lo.s16 {h}, {h}, {H}
        {join}.b16 {h}, {h}, {H}
        shl.b16 {h}, {h}, {R}
        shr.s16 {h}, {h}, {R}
        min.s16 {h}, {h}, {H}
        selp.b16 {h}, {h}, {H}, {p}
        not.b16 {h}, {h}""",
    "long": """
        add.s64 {q}, {q}, {Q}
        sub.s64 {q}, {q}, {Q}
        mul.lo.s64 {q}, {q}, {Q}
        {join}.b64 {q}, {q}, {Q}
        shl.b64 {q}, {q}, {R}
        shr.s64 {q}, {q}, {R}
        shr.u64 {q}, {q}, {R}
        min.s64 {q}, {q}, {Q}
        max.u64 {q}, {q}, {Q}
        mul.wide.s32 {q}, {r}, {R}
        mul.wide.u32 {q}, {r}, {R}
        mad.wide.s32 {q}, {r}, {R}, {q}
        mul.hi.u64 {q}, {q}, {Q}
        mul.hi.s64 {q}, {q}, {Q}
        rem.s64 {q}, {q}, {n}
        div.u64 {q}, {q}, {n}
        selp.b64 {q}, {q}, {Q}, {p}
        brev.b64 {q}, {q}
        neg.s64 {q}, {q}
        popc.b64 {r}, {q}
        clz.b64 {r}, {q}""",
    "single": """
        add.f32 {f}, {f}, {F}
        sub.f32 {f}, {f}, {F}
        mul.rn.f32 {f}, {f}, {F}
        fma.rn.f32 {f}, {f}, {F}, {F}
        div.rn.f32 {f}, {f}, {F}
        sqrt.rn.f32 {f}, {f}
        rcp.rn.f32 {f}, {f}
        abs.f32 {f}, {f}
        neg.f32 {f}, {f}
        min.f32 {f}, {f}, {F}
        max.f32 {f}, {f}, {F}
        mov.f32 {f}, {F}
        selp.f32 {f}, {f}, {F}, {p}
        add.rz.f32 {f}, {f}, {F}
        mul.rp.f32 {f}, {f}, {F}
        fma.rm.f32 {f}, {f}, {F}, {F}""",
    "double": """
        add.f64 {d}, {d}, {D}
        sub.f64 {d}, {d}, {D}
        mul.rn.f64 {d}, {d}, {D}
        fma.rn.f64 {d}, {d}, {D}, {D}
        div.rn.f64 {d}, {d}, {D}
        sqrt.rn.f64 {d}, {d}
        rcp.rn.f64 {d}, {d}
        abs.f64 {d}, {d}
        neg.f64 {d}, {d}
        min.f64 {d}, {d}, {D}
        max.f64 {d}, {d}, {D}
        selp.f64 {d}, {d}, {D}, {p}""",
    "predicate": """
        setp.{test}.s32 {p}, {r}, {R}
        setp.{test}.u32 {p}, {r}, {R}
        setp.{test}.s64 {p}, {q}, {Q}
        setp.{test}.s16 {p}, {h}, {H}
        setp.{test}.f32 {p}, {f}, {F}
        setp.{test}u.f32 {p}, {f}, {F}
        setp.{test}u.f64 {p}, {d}, {D}
        setp.nan.f64 {p}, {d}, {D}
        setp.num.f32 {p}, {f}, {F}
        setp.{test}.{join}.s32 {p}, {r}, {R}, {p}
        setp.{test}.{join}.u32 {p}, {r}, {R}, !{p}
        setp.{test}.s32 %p0|%p3, {r}, {R}
        setp.{test}.{join}.f32 %p1|%p2, {f}, {F}, {p}
        {join}.pred {p}, {p}, {p}
        not.pred {p}, {p}
        mov.pred {p}, {p}""",
    "convert": """
        cvt.rn.f32.s32 {f}, {r}
        cvt.rn.f32.u32 {f}, {r}
        cvt.rn.f64.s64 {d}, {q}
        cvt.rn.f32.u64 {f}, {q}
        cvt.{way}.s32.f32 {r}, {f}
        cvt.{way}.u32.f64 {r}, {d}
        cvt.{way}.s64.f64 {q}, {d}
        cvt.{way}.u64.f32 {q}, {f}
        cvt.{way}.f32.f32 {f}, {f}
        cvt.f64.f32 {d}, {f}
        cvt.rn.f32.f64 {f}, {d}
        cvt.u32.u64 {r}, {q}
        cvt.s64.s32 {q}, {r}
        cvt.u64.u32 {q}, {r}
        cvt.s8.s32 {r}, {r}
        cvt.sat.u8.s32 {r}, {r}
        cvt.s32.s16 {r}, {h}
        cvt.u16.u32 {h}, {r}
        cvt.u32.u16 {r}, {h}
        mov.b64 {q}, {{{r}, {r}}}
        mov.b64 {{%r2, %r6}}, {q}
        mov.b32 {{%h0, %h1}}, {r}""",
    "memory": """
        {own}; ld.local.u32 {r}, [%a3]
        {own}; st.local.u32 [%a3], {R}
        {own}; ld.local.s8 {r}, [%a3+{byte}]
        {own}; st.local.u16 [%a3+2], {h}
        {read}; ld.global.u32 {r}, [%a3]
        {read}; ld.global.s16 {q}, [%a3+2]
        {read}; ld.global.u8 {h}, [%a3+{byte}]
        {read}; ld.global.nc.u32 {r}, [%a3]
        {four}; ld.global.v2.u32 {{%r0, %r5}}, [%a3+8]
        {four}; ld.global.v4.u32 {{%r1, %t9, %r7, %r2}}, [%a3]
        {mine}; st.global.u64 [%a3], {q}
        {mine}; ld.global.u64 {q}, [%a3]
        {mine}; st.global.u8 [%a3+5], {r}
        {mine}; st.global.v2.u32 [%a3], {{{r}, {r}}}
        st.shared.u64 [%t10], {q}
        ld.shared.u32 {r}, [%t10+4]
        ld.shared.v2.u32 {{%r3, %r6}}, [%t10]
        st.shared.u8 [%t10+3], {r}""",
}
TEMPLATES = {name: [line.strip() for line in text.strip().split("\n")] for name, text in FAMILIES.items()}
FREQUENT = ("integer", "integer", "integer", "bits", "predicate", "memory", *TEMPLATES)

# Among the lanes %t7, of which %t8 is the first; the forms in `FULL` need whole warps.
COLLECTIVES = """
    shfl.sync.idx.b32 {r}, {r}, %t8, 31, %t7
    shfl.sync.idx.b32 {r}|%k2, {r}, %t8, 31, %t7
    redux.sync.add.s32 {r}, {r}, %t7
    redux.sync.min.u32 {r}, {r}, %t7
    redux.sync.max.s32 {r}, {r}, %t7
    redux.sync.xor.b32 {r}, {r}, %t7
    vote.sync.any.pred {p}, {p}, %t7
    vote.sync.all.pred {p}, !{p}, %t7
    vote.sync.uni.pred {p}, {p}, %t7
    vote.sync.ballot.b32 {r}, {p}, %t7
    match.any.sync.b32 {r}, {r}, %t7
    match.any.sync.b64 {r}, {q}, %t7
    match.all.sync.b32 {r}|{p}, {r}, %t7
    bar.warp.sync %t7"""
FULL = """
    shfl.sync.bfly.b32 {r}|{p}, {r}, {byte}, {down}, -1
    shfl.sync.up.b32 {r}|{p}, {r}, {R}, {up}, -1
    shfl.sync.down.b32 {r}|{p}, {r}, {R}, {down}, -1
    shfl.sync.idx.b32 {r}, {r}, {R}, {down}, -1
    shfl.sync.up.b32 {r}, {r}, %t0, {up}, -1"""

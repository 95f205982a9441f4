"""Ways to break a PTX text, drawn from a seeded generator."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Make = random.Random
_TYPES = (
    "u8",
    "u16",
    "u32",
    "u64",
    "s8",
    "s16",
    "s32",
    "s64",
    "b8",
    "b16",
    "b32",
    "b64",
    "f16",
    "f32",
    "f64",
    "pred",
    "b128",
)
_NUMBERS = (
    "0", "1", "-1", "3", "31", "32", "33", "255", "4096", "2147483647", "-2147483648", "4294967295", "4294967296",
    "9223372036854775807", "-9223372036854775808", "0f7F800000", "0f7FC00000", "0d7FF8000000000000", "07", "0x1F",
    "1.5",
)  # fmt: skip
_SPECIALS = ("%tid.x", "%tid.y", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid", "%warpid", "%lanemask_lt", "%clock",
             "%clock64", "%smid", "%globaltimer", "%tid.w", "%nosuch", "%envreg1")  # fmt: skip
# Instructions that a student's code may hold, wherever they make sense or not.
_INSERTED = (
    "bar.sync 0", "bar.sync 1, 32", "bar.sync %r1", "bar.sync 0, 33", "barrier.sync 17", "bar.arrive 1, 64",
    "bar.warp.sync 0", "bar.warp.sync -1", "bar.warp.sync %r1", "exit", "ret", "trap", "brkpt", "membar.gl",
    "nanosleep.u32 1000000000", "shfl.sync.bfly.b32 %r1, %r2, 1, 31, 0",
    "shfl.sync.down.b32 %r1|%p1, %r2, %r3, %r1, -1", "shfl.sync.idx.b32 %r1, %r2, 99, 31, %r3",
    "vote.sync.ballot.b32 %r1, %p1, %r2", "vote.sync.any.pred %p1, %p1, 1", "match.any.sync.b32 %r1, %r2, -1",
    "activemask.b32 %r1", "redux.sync.add.s32 %r1, %r2, 2147483648", "redux.sync.add.f32 %r1, %r2, -1",
    "elect.sync %r1|%p1, -1", "atom.global.add.u32 %r1, [%rd1], 1", "atom.shared.add.u32 %r1, [%r1], 1",
    "red.global.add.f64 [%rd2], %fd1", "atom.cas.b16 %rs1, [%rd1], 0, 1", "atom.global.exch.b128 %r1, [%rd1], %r2",
    "red.shared.inc.u32 [%r2], 7", "atom.global.add.noftz.f16x2 %r1, [%rd1], %r2", "ld.global.u32 %r1, [%rd1]",
    "ld.global.u32 %r1, [0]", "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+4]", "ld.shared.u32 %r1, [%r1+65536]",
    "ld.shared.v2.f64 {%rd1, %rd2}, [4]", "st.shared.u32 [-4], %r1", "st.global.u32 [%rd1+-4], %r1",
    "st.global.u8 [%rd3+9999999999], %r1", "ld.local.u32 %r1, [%rd1]", "st.local.u32 [0], %r1", "ld.u32 %r1, [%rd1]",
    "st.u32 [%rd2], %r2", "ld.const.u32 %r1, [%rd1]", "ld.param.u64 %rd1, [nosuch]", "ld.param.u32 %r1, [%r1]",
    "cvta.shared.u64 %rd1, %rd2", "cvta.to.shared.u64 %rd1, %rd1", "mul.lo.u32 %r1, %r1, 1000000007",
    "div.s32 %r1, %r2, 0", "rem.u64 %rd1, %rd2, 0", "div.s32 %r1, -2147483648, -1", "shl.b32 %r1, %r1, 4000000000",
    "sqrt.approx.f32 %r1, %r1", "sin.approx.f32 %r1, %r2", "ex2.approx.ftz.f16 %rs1, %rs1",
    "fma.rn.bf16x2 %r1, %r1, %r2, %r2",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2}, {%r1}, {%r2}, {%r3}",
    "tex.2d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [t, {%r1, %r2}]", "cp.async.ca.shared.global [%r1], [%rd1], 16",
    "cp.async.wait_all", "cp.async.bulk.commit_group", "setmaxnreg.inc.sync.aligned.u32 8", "call.uni nosuch",
    "call.uni (%r1), nosuch, (%r2)", "call.uni %rd1", "brx.idx %r1, nosuch", "bra nowhere", "mov.u32 %r1, nosuch",
    "mov.b64 {%r1, %r2}, %rd1", "mov.b64 %rd1, {%r1, %r2}", "mov.b32 %r1, {%rs1, %rs2}", "add.cc.u32 %r1, %r1, %r2",
    "addc.u32 %r1, %r2, %r3", "setp.eq.s32 %p1|%p2, %r1, %r2", "setp.lt.and.f32 %p1, %r1, %r2, !%p2",
    "selp.b32 %r1, %r2, %r3, %r4", "not.pred %p1, %r1", "isspacep.shared %p1, %rd1", "prefetch.global.L2 [%rd1]",
    "discard.global.L2 [%rd1], 128", "fence.proxy.async", "istypep.texref %p1, %rd1",
    "lop3.b32 %r1, %r1, %r2, %r3, %r1", "prmt.b32.f4e %r1, %r1, %r2, %r3", "add.s32 %r1", "add.s32",
    "add.s32 %r1, %r2, %r3, %r4, %r5", "add.s32 5, %r1, %r2", "add.s32 [%rd1], %r1, %r2", "foo.bar %r1",
    "@%p1 bar.sync 0", "@%r1 exit", "@!%p1 trap", "alloca.u64 %rd1, 8", "stacksave.u64 %rd1",
    "mapa.shared::cluster.u32 %r1, %r2, 0", "barrier.cluster.arrive", "wgmma.fence.sync.aligned", "griddepcontrol.wait",
)  # fmt: skip


def mutated_ptx(text: str, make: Make) -> str:
    """PTX with one to three things changed."""
    lines = text.split("\n")
    for _ in range(make.choice((1, 1, 1, 2, 3))):
        lines = make.choice(_PTX)(lines, make) or lines
    return "\n".join(lines)


def _instructions(lines: list[str]) -> list[int]:
    return [n for n, line in enumerate(lines) if line.rstrip().endswith(";") and not re.match(r"\s*(\.|//|\})", line)]


def _some(lines: list[str], make: Make, pattern: str = "") -> int | None:
    """The number of an instruction (that holds the pattern)."""
    found = [n for n in _instructions(lines) if not pattern or re.search(pattern, lines[n])]
    return make.choice(found) if found else None


def _changed(
    lines: list[str], at: int | None, pattern: str, new: Callable[[re.Match[str]], str], make: Make
) -> list[str]:
    """One match of the pattern in line `at` replaced."""
    if at is None:
        return lines
    matches = list(re.finditer(pattern, lines[at]))
    if not matches:
        return lines
    found = make.choice(matches)
    return [*lines[:at], lines[at][: found.start()] + new(found) + lines[at][found.end() :], *lines[at + 1 :]]


def _delete(lines: list[str], make: Make) -> list[str]:
    at = _some(lines, make)
    return lines if at is None else lines[:at] + lines[at + 1 :]


def _duplicate(lines: list[str], make: Make) -> list[str]:
    at, to = _some(lines, make), _some(lines, make)
    return lines if at is None or to is None else [*lines[:to], lines[at], *lines[to:]]


def _swap(lines: list[str], make: Make) -> list[str]:
    at, to = _some(lines, make), _some(lines, make)
    if at is None or to is None:
        return lines
    lines = list(lines)
    lines[at], lines[to] = lines[to], lines[at]
    return lines


def _insert(lines: list[str], make: Make) -> list[str]:
    at = _some(lines, make)
    return lines if at is None else [*lines[:at], f"\t{make.choice(_INSERTED)};", *lines[at:]]


def _other_type(lines: list[str], make: Make) -> list[str]:
    return _changed(
        lines, _some(lines, make), r"\.[busf](8|16|32|64)\b|\.pred\b", lambda m: "." + make.choice(_TYPES), make
    )


def _other_opcode(lines: list[str], make: Make) -> list[str]:
    opcodes = re.findall(
        r"^\s*(?:@!?%p\d+\s+)?([a-z]\w*(?:\.[\w:]+)*)", "\n".join(lines[n] for n in _instructions(lines)), re.M
    )
    return _changed(
        lines, _some(lines, make), r"(?<![%.\w])[a-z]\w*(?:\.[\w:]+)+", lambda m: make.choice(opcodes), make
    )


def _other_register(lines: list[str], make: Make) -> list[str]:
    names = re.findall(r"%[a-z]+\d+", "\n".join(lines))
    return _changed(
        lines,
        _some(lines, make),
        r"%[a-z]+\d+",
        lambda m: make.choice((*names[:: len(names) // 40 + 1], "%r99999", "%x1", *_SPECIALS)),
        make,
    )


def _other_number(lines: list[str], make: Make) -> list[str]:
    at = _some(lines, make, r"[ ,+]-?\d+\b")
    return _changed(lines, at, r"(?<=[ ,+])-?\d+\b", lambda m: make.choice(_NUMBERS), make)


def _other_label(lines: list[str], make: Make) -> list[str]:
    labels = [line.strip().rstrip(":") for line in lines if re.match(r"\s*[$\w]+:\s*$", line)]
    return _changed(lines, _some(lines, make, r"\bbra"), r"\$\w+", lambda m: make.choice(labels or ["$L"]), make)


def _label_moves(lines: list[str], make: Make) -> list[str]:
    at = [n for n, line in enumerate(lines) if re.match(r"\s*[$\w]+:\s*$", line)]
    to = _some(lines, make)
    if not at or to is None:
        return lines
    number = make.choice(at)
    kept = lines if make.random() < 0.2 else lines[:number] + lines[number + 1 :]
    return [*kept[:to], lines[number], *kept[to:]] if make.random() < 0.8 else kept


def _guard(lines: list[str], make: Make) -> list[str]:
    at = _some(lines, make)
    if at is None:
        return lines
    line = lines[at].strip()
    bare = re.sub(r"^@!?%p\d+\s+", "", line)
    return [
        *lines[:at],
        "\t" + (bare if line != bare else f"@{make.choice(('', '!'))}%p{make.randrange(6)} {line}"),
        *lines[at + 1 :],
    ]


def _barrier_goes(lines: list[str], make: Make) -> list[str]:
    at = _some(lines, make, r"\b(bar|barrier)\.")
    return _delete(lines, make) if at is None else lines[:at] + lines[at + 1 :]


def _declaration(lines: list[str], make: Make) -> list[str]:
    at = [
        n
        for n, line in enumerate(lines)
        if re.match(r"\s*\.(reg|shared|local|param|visible|extern|global|const)\b", line)
    ]
    if not at:
        return lines
    number = make.choice(at)
    if make.random() < 0.3:
        return lines[:number] + lines[number + 1 :]
    return _changed(lines, number, r"\d+", lambda m: make.choice(("0", "1", "7", "64", "100000", "99999999999")), make)


def _offset(lines: list[str], make: Make) -> list[str]:
    at = _some(lines, make, r"\[")
    return _changed(
        lines, at, r"(\+-?\d+)?\]", lambda m: f"+{make.choice((1, 2, 4, -4, 128, 65536, -1, 1 << 33, 1 << 60))}]", make
    )


def _cut(lines: list[str], make: Make) -> list[str]:
    return lines[: make.randrange(len(lines))]


def _garbage(lines: list[str], make: Make) -> list[str]:
    at = make.randrange(len(lines))
    line = lines[at]
    place = make.randrange(len(line) + 1)
    return [
        *lines[:at],
        line[:place] + make.choice("{}[]();:,.%$@!|+-_/*\"'0xé \t") + line[place + make.randrange(2) :],
        *lines[at + 1 :],
    ]


_PTX: tuple[Callable[[list[str], Make], list[str]], ...] = (
    _delete, _delete, _duplicate, _swap, _insert, _insert, _insert, _other_type, _other_type, _other_opcode,
    _other_opcode, _other_register, _other_register, _other_number, _other_number, _other_label, _label_moves, _guard,
    _barrier_goes, _declaration, _offset, _cut, _garbage,
)  # fmt: skip

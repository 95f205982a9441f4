"""Random PTX kernels: arbitrary control flow between barriers, shared-memory exchanges and warp collectives.

Every kernel ends, is free of races and reads nothing undefined, so all legal schedules give one answer. Control flow
inside a segment is an arbitrary graph, also an irreducible one. Every basic block costs a thread one unit of fuel, and
a thread without fuel jumps to the segment's end.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from tests.backends.emulator.random_forms import COLLECTIVES, FREQUENT, FULL, LITERALS, REGISTERS, TEMPLATES

IN_WORDS = 256
ROW = 32  # 64-bit words per thread in `out`
SUMS = 48
Size = tuple[int, int, int]
SHAPES: tuple[tuple[Size, Size], ...] = (
    ((3, 1, 1), (32, 1, 1)), ((2, 1, 1), (64, 1, 1)), ((3, 1, 1), (33, 1, 1)), ((1, 1, 1), (1, 1, 1)),
    ((2, 2, 1), (8, 4, 1)), ((2, 1, 2), (7, 3, 2)), ((5, 1, 1), (31, 1, 1)), ((1, 3, 1), (16, 3, 1)),
    ((2, 1, 1), (96, 1, 1)),
)  # fmt: skip

ADDRESSES = {
    "own": "and.b32 %t4, {r}, 15; mul.wide.u32 %a3, %t4, 4; add.s64 %a3, %a5, %a3",
    "read": f"and.b32 %t4, {{r}}, {IN_WORDS - 1}; mul.wide.u32 %a3, %t4, 4; add.s64 %a3, %a0, %a3",
    "four": f"and.b32 %t4, {{r}}, {IN_WORDS - 4}; mul.wide.u32 %a3, %t4, 4; add.s64 %a3, %a0, %a3",
    "mine": "and.b32 %t4, {r}, 3; mul.wide.u32 %a3, %t4, 8; add.s64 %a3, %a1, %a3",
}

# Uniform, per thread, per block, per lane and read values, so registers of every shape meet. %t0 thread in block, %t1
# block in grid, %t2 thread in grid, %t3 the warp's living lanes, %t10 the thread's place on the board; %a0 in, %a1 the
# thread's row of out, %a2 sums, %a5 local memory.
PROLOGUE = """
    ld.param.u64 %a0, [probe_in]; ld.param.u64 %a1, [probe_out]; ld.param.u64 %a2, [probe_sums]
    cvta.to.global.u64 %a0, %a0; cvta.to.global.u64 %a1, %a1; cvta.to.global.u64 %a2, %a2
    mov.u32 %t4, %ntid.x; mov.u32 %t5, %ntid.y; mov.u32 %t0, %tid.z; mov.u32 %t6, %tid.y
    mad.lo.s32 %t0, %t0, %t5, %t6; mov.u32 %t6, %tid.x; mad.lo.s32 %t0, %t0, %t4, %t6
    mov.u32 %t4, %nctaid.x; mov.u32 %t5, %nctaid.y; mov.u32 %t1, %ctaid.z; mov.u32 %t6, %ctaid.y
    mad.lo.s32 %t1, %t1, %t5, %t6; mov.u32 %t6, %ctaid.x; mad.lo.s32 %t1, %t1, %t4, %t6
    mad.lo.s32 %t2, %t1, {threads}, %t0; and.b32 %t4, %t0, -32; sub.s32 %t4, {threads}, %t4; min.s32 %t4, %t4, 32
    mov.b32 %t3, -1; sub.s32 %t5, 32, %t4; shr.u32 %t3, %t3, %t5
    mul.wide.u32 %a3, %t2, {row}; add.s64 %a1, %a1, %a3; and.b32 %t4, %t2, {last}; mul.wide.u32 %a3, %t4, 4
    add.s64 %a3, %a0, %a3; ld.global.u32 %r5, [%a3]; ld.param.u32 %r0, [probe_n]; mov.u32 %r1, %t0; mov.u32 %r2, %t1
    add.s32 %r3, %t0, %t1; mov.u32 %r4, %laneid; mov.b32 %r6, 7; mul.lo.s32 %r7, %t0, %t1; ld.global.s32 %q0, [%a0+16]
    cvt.u64.u32 %q1, %t0; mov.b64 %q2, {{%r5, %r1}}; cvt.rn.f32.s32 %f0, %r5; cvt.rn.f32.u32 %f1, %t0
    mov.f32 %f2, 0f3FC00000; cvt.rn.f32.s32 %f3, %r2; cvt.rn.f64.s64 %d0, %q2; cvt.f64.f32 %d1, %f1
    cvt.u16.u32 %h0, %r5; cvt.u16.u32 %h1, %t0; setp.lt.s32 %p0, %r5, 0; setp.lt.u32 %p1, %t0, %r2
    setp.eq.u32 %p2, %t1, 1; setp.gt.u32 %p3, %r0, 500; mov.u64 %a5, own; mov.u32 %t10, board
    mad.lo.s32 %t10, %t0, 8, %t10; st.shared.u64 [%t10], %q2"""


@dataclass(frozen=True)
class Launch:
    """A kernel (in, out, sums, n) and how to run it. `arguments()` are fresh: memory as bytearrays, n as bytes."""

    text: str
    grid: Size
    block: Size
    seed: int

    def arguments(self) -> list[bytearray | bytes]:
        """in: IN_WORDS int32; out: ROW 64-bit words per thread, zero; sums: SUMS int32, zero; n: 32 bits."""
        numbers = np.random.default_rng(self.seed)
        values = numbers.integers(-(2**31), 2**31, IN_WORDS, dtype=np.int64).astype(np.int32)
        small = numbers.random(IN_WORDS) < 0.5
        values[small] %= 100
        threads = int(np.prod(self.grid)) * int(np.prod(self.block))
        n = int(numbers.integers(0, 1000))
        return [bytearray(values.tobytes()), bytearray(8 * ROW * threads), bytearray(4 * SUMS), n.to_bytes(4, "little")]


def program(seed: int) -> Launch:
    """Return a random PTX kernel named `probe` with its launch."""
    make = random.Random(seed)
    grid, block = make.choice(SHAPES)
    return Launch(_Writer(make, block[0] * block[1] * block[2]).text(), grid, block, seed)


class _Writer:
    """Writes one kernel, line by line."""

    def __init__(self, make: random.Random, threads: int) -> None:
        self.make, self.threads = make, threads
        self.lines: list[str] = []
        self.names = 0
        self.complete = threads % 32 == 0  # every warp has all its lanes

    def text(self) -> str:
        self.put(PROLOGUE.format(threads=self.threads, row=8 * ROW, last=IN_WORDS - 1).strip().replace("\n", ";"))
        self.put("; ".join(f"st.local.u32 [%a5+{4 * place}], %r{place % 8}" for place in range(16)))
        for _ in range(self.make.randint(1, 4)):
            self.segment()
            if self.make.random() < 0.25:
                self.leave_early()
            self.make.choice((self.exchange, self.collective, self.vote_of_the_block, self.sums))()
        self.epilogue()
        declared = [f".reg .{kind} {prefix}<{count}>;" for kind, (prefix, count) in REGISTERS.items()]
        return "\n".join([
            ".version 9.0", ".target sm_90", ".address_size 64", f".shared .align 8 .b8 board[{8 * self.threads}];",
            ".visible .entry probe(.param .u64 probe_in, .param .u64 probe_out, .param .u64 probe_sums,",
            "  .param .u32 probe_n)", "{", *declared, ".reg .b32 %t<12>;", ".reg .b64 %a<8>;", ".reg .pred %k<4>;",
            ".local .align 8 .b8 own[64];", *self.lines, "}",
        ])  # fmt: skip

    def put(self, statements: str) -> None:
        """Add statements, separated by semicolons; labels end in a colon."""
        self.lines += [part if part.endswith(":") else part + ";" for part in map(str.strip, statements.split(";"))]

    def epilogue(self) -> None:
        place = 8
        for kind, (prefix, count) in REGISTERS.items():
            for name in (f"{prefix}{number}" for number in range(count)):
                stored = name
                if kind in ("f32", "f64"):  # the bits of a NaN are undefined
                    one = "0f7FFFFFFF" if kind == "f32" else "0d7FF8000000000000"
                    self.put(f"setp.nan.{kind} %k0, {name}, {name}; selp.{kind} {name}, {one}, {name}, %k0")
                elif kind == "pred":
                    self.put(f"selp.b32 %t4, 1, 0, {name}")
                    stored = "%t4"
                self.put(f"st.global.{'b32' if kind == 'pred' else kind} [%a1+{8 * place}], {stored}")
                place += 1
        self.put("ld.local.u64 %q0, [%a5+24]; st.global.u64 [%a1+56], %q0; ret")

    # ---- choices: what stands for a placeholder

    def fill(self, template: str) -> str:
        """Return the template with a fresh choice for every placeholder."""
        return template.format_map(self)

    def __getitem__(self, name: str) -> str:
        letters = {prefix[1]: kind for kind, (prefix, _) in REGISTERS.items()}
        if name.lower() in letters:
            kind = letters[name.lower()]
            prefix, count = REGISTERS[kind]
            if name.isupper() and self.make.random() < 0.3:
                return self.make.choice(LITERALS[kind])
            return f"{prefix}{self.make.randrange(count)}"
        if name in ADDRESSES:
            return self.fill(ADDRESSES[name])
        if name in ("up", "down"):
            return str((32 - self.make.choice((32, 16, 8, 4))) << 8 | (31 if name == "down" else 0))
        words = {
            "test": ("eq", "ne", "lt", "le", "gt", "ge"), "join": ("and", "or", "xor"), "byte": ("0", "1", "2", "3"),
            "way": ("rni", "rzi", "rmi", "rpi"), "n": ("3", "7", "10", "16", "1000"), "sign": ("", "!"),
        }  # fmt: skip
        return self.make.choice(words[name])

    # ---- a segment: any control flow

    def segment(self) -> None:
        self.names += 1
        blocks = [f"$B{self.names}_{number}" for number in range(self.make.randint(2, 7))]
        end = f"$E{self.names}"
        fuel = self.make.choice(
            (f"mov.u32 %t11, {self.make.randint(3, 14)}", "and.b32 %t11, %t0, 7", "and.b32 %t11, %r5, 15")
        )
        self.put(f"{fuel}; add.u32 %t11, %t11, 2")
        for name in blocks:
            self.put(f"{name}:; sub.u32 %t11, %t11, 1; setp.eq.u32 %k3, %t11, 0; @%k3 bra {end}")
            for _ in range(self.make.randint(0, 5)):
                self.instruction()
            self.leave([*blocks, end])
        self.put(f"{end}:")

    def instruction(self) -> None:
        template = self.make.choice(TEMPLATES[self.make.choice(FREQUENT)])
        before, _, last = self.fill(template).rpartition(";")
        guard = self.fill("@{sign}{p} ") if self.make.random() < 0.35 else ""
        self.put(f"{before}; {guard}{last.strip()}" if before else guard + last)

    def leave(self, targets: list[str]) -> None:
        """Add the end of a basic block, which may also fall through."""
        target = self.make.choice(targets)
        match self.make.randrange(6):
            case 0 | 1:
                self.put(self.fill("@{sign}{p} bra ") + target)
            case 2:
                self.put(self.fill("setp.{test}.s32 %k2, {r}, {R}; @{sign}%k2 bra ") + target)
            case 3:
                self.names += 1
                chosen = ", ".join(self.make.choice(targets) for _ in range(4))
                table = f"$T{self.names}"
                self.put(f"{self.fill('and.b32 %t4, {r}, 3')}; {table}:; .branchtargets {chosen}; brx.idx %t4, {table}")
            case 4:
                self.put(f"bra {target}")

    # ---- points where all threads of the block converge

    def leave_early(self) -> None:
        """Let some threads end; the others continue without them, also at barriers and in their warp."""
        self.complete = False
        self.put(self.fill("mov.pred %k1, {p}; vote.sync.ballot.b32 %t3, !%k1, %t3; @%k1 st.global.u32 [%a1+60], 9"))
        self.names += 1
        self.put(f"@!%k1 bra $S{self.names}; ret; $S{self.names}:")

    def exchange(self) -> None:
        """Exchange values through shared memory. Floats are stored as numbers, so shared memory never holds the bits of
        a NaN."""
        kind, letter = self.make.choice((("b32", "{r}"), ("b64", "{q}"), ("f32", "{f}")))
        step = self.make.choice((1, 3, 5))
        self.put(self.fill(
            f"bar.sync 0; st.shared.{kind} [%t10], {letter}; bar.sync 0; mad.lo.s32 %t4, %t0, {step}, {{n}}; "
            f"rem.u32 %t4, %t4, {self.threads}; mov.u32 %t5, board; mad.lo.s32 %t4, %t4, 8, %t5; "
            f"ld.shared.{kind} {letter}, [%t4]; bar.sync 0; st.shared.u64 [%t10], 0"
        ))  # fmt: skip

    def vote_of_the_block(self) -> None:
        self.put(self.fill(self.make.choice((
            "bar.red.popc.u32 {r}, 0, {p}", "bar.red.and.pred {p}, 0, {p}", "bar.red.or.pred {p}, 0, !{p}",
            "barrier.sync 0", "bar.sync 3", "barrier.sync 15",
        ))))  # fmt: skip

    def sums(self) -> None:
        """Atomics with any order and unused old values."""
        number, name = self.make.choice(
            list(enumerate(("add.u32", "min.s32", "max.s32", "xor.b32", "or.b32", "and.b32")))
        )
        form = self.make.choice(("red.global.{} [%a3], {{r}}", "atom.global.{} %t9, [%a3], {{r}}")).format(name)
        guard = self.make.choice(("", "@{p} "))
        self.put(self.fill(
            f"and.b32 %t4, {{r}}, 7; add.s32 %t4, %t4, {8 * number}; mul.wide.u32 %a3, %t4, 4; "
            f"add.s64 %a3, %a2, %a3; {guard}{form}"
        ))  # fmt: skip

    def collective(self) -> None:
        """Add a warp operation among all living lanes, or among those for which a predicate holds, inside their
        branch."""
        self.names += 1
        self.put("mov.b32 %t7, %t3")
        how = self.make.random()
        split = how < 0.5
        if how > 0.8:  # parties of lanes, each with a member mask of its own
            self.put(self.fill("match.any.sync.b32 %t7, {r}, %t3"))
        if split:
            sign = self["sign"]
            self.put(self.fill(f"mov.pred %k1, {{p}}; vote.sync.ballot.b32 %t7, {sign}%k1, %t3"))
            self.put(f"@{'' if sign else '!'}%k1 bra $W{self.names}")
        self.put("brev.b32 %t8, %t7; clz.b32 %t8, %t8")
        whole = self.complete and 0.5 <= how <= 0.8
        forms = COLLECTIVES + FULL + FULL if whole else COLLECTIVES
        for _ in range(self.make.randint(1, 3)):
            self.put(self.fill(self.make.choice(forms.strip().splitlines())))
        self.put(f"$W{self.names}:")

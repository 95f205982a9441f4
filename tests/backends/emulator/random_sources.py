"""Random .cu files: code as students may write it, compiled by NVRTC. Each file has several kernels.

As in `random_ptx`, every kernel ends, is free of races and gives one answer under all legal schedules. A kernel writes
its variables as 64-bit words; all NaNs are written as one word, because no rule fixes their bits.
"""

from __future__ import annotations

import random

from tests.backends.emulator.random_ptx import IN_WORDS, ROW, SHAPES, Launch

_LAST = IN_WORDS - 1
HELPERS = f"""
__device__ __noinline__ int far(int a, const int *in, int depth) {{
  int local[6];
  for (int k = 0; k < 6; k++) local[k] = in[(a + k * depth) & {_LAST}] + k;
  if (a & 1) local[a & 3] = depth;
  return local[(a >> 3) & 3] + local[4];
}}
__device__ __noinline__ double blend(double x, float y, int *count) {{
  *count += x > (double)y;
  return x < 0 ? x * y - 1 : x / (2.0 + fabsf(y));
}}
template <int N> __device__ int near(int a) {{
  int total = 0;
  #pragma unroll
  for (int k = 0; k < N; k++) total += (a >> k) & N;
  return total;
}}
__device__ unsigned long long word(float f) {{ return isnan(f) ? 1 : __float_as_uint(f); }}
__device__ unsigned long long word(double d) {{ return isnan(d) ? 1 : (unsigned long long)__double_as_longlong(d); }}
__constant__ int table[8] = {{3, -1, 4, 1, -5, 9, 2, -6}};
struct trio {{ int a; short b; unsigned char c; }};
"""

# Expressions by type. Placeholders: i int, l long long, f float, d double, c condition, n number, `test` a comparison.
EXPRESSIONS = {
    "i": """{i} + {i}
        {i} - {i}
        {i} * {i}
        {i} & {i}
        {i} ^ {i}
        {i} | {i}
        ~{i}
        (int)((unsigned){i} << ({i} & 31))
        {i} >> ({i} & 31)
        {i} / (({i} & 15) + 1)
        {i} % (({i} & 15) + 2)
        min({i}, {i})
        max({i}, {i})
        abs({i} >> 1)
        {c} ? {i} : {i}
        __popc({i})
        __clz({i})
        __ffs({i})
        (int)__brev({i})
        __mulhi({i}, {i})
        (int)__byte_perm({i}, {i}, {i} & 0x7777)
        (int)__funnelshift_l({i}, {i}, {i})
        (int)__usad({i}, {i}, {i} & 255)
        __dp4a({i}, {i}, {i})
        in[{i} & 255]
        own[{i} & 7]
        table[{i} & 7]
        far({i}, in, {i})
        near<5>({i})
        near<9>({i})
        (int)({d} < {d})
        (int)fminf(fmaxf({f}, -1e6f), 1e6f)
        __float2int_rd({f})
        (int)(short){i}
        (int)(signed char){i}
        (int)({l} >> 7)""",
    "l": """(long long){i} * l0
        l0 + {i}
        l0 ^ ((long long){i} << 33)
        l0 / ({i} | 1)
        l0 % (({i} & 1023) + 1)
        (long long)__umul64hi(l0, {i})
        {c} ? l0 : (long long){i}""",
    "f": """{f} + {f}
        {f} - {f}
        {f} * {f}
        {f} / {f}
        fmaf({f}, {f}, f0)
        sqrtf(fabsf({f}))
        fminf({f}, {f})
        floorf({f})
        truncf({f})
        rintf({f})
        fabsf({f})
        __frcp_rn({f})
        __fadd_rz({f}, {f})
        (float)d0
        (float){i}
        {c} ? {f} : {f}""",
    "d": """{d} + {d}
        {d} - {d}
        {d} * {d}
        {d} / {d}
        fma({d}, {d}, d0)
        sqrt(fabs({d}))
        fmax({d}, {d})
        ceil({d})
        (double)l0
        blend({d}, f1, &i2)""",
    "c": """{i} {test} {i}
        {f} {test} {f}
        d0 {test} {d}
        i0 & {n}
        u0 {test} u1
        t % {n} {test} 1
        {c} && {c}
        {c} || {c}""",
}
LEAVES = {
    "i": ("i0", "i1", "i2", "i3", "t", "b", "n", "(int)u0", "p.b", "-7", "12", "99", "0x7fffffff"),
    "l": ("l0",),
    "f": ("f0", "f1", "1.5f", "-0.25f", "(float)i1"),
    "d": ("d0", "0.1", "(double)f0", "(double)i0", "-3.0"),
    "c": ("(t & 1)", "(b == 1)", "(n & 1)", "(l0 > 0)", "(i0 < i1)", "(f0 > 2.0f)", "(t % 3 == 1)"),
}
CHOICES = {name: [line.strip() for line in text.split("\n")] for name, text in EXPRESSIONS.items()}
ASSIGNMENTS = (
    *("i0 = {i};", "i1 = {i};", "i2 += {i};", "i3 ^= {i};", "u0 = {i};", "u1 += {i};") * 2,
    "l0 = {l};", "f0 = {f};", "f1 = {f};", "d0 = {d};", "own[{i} & 7] = {i};", "p.a += {i};", "p.b = {i};",
    "p.c -= {i};",
    "out[16 + ({i} & 3)] += {i};",
)  # fmt: skip
COLLECTIVES = (
    "i1 ^= __ballot_sync(live, {c});", "i2 += __any_sync(live, {c}) + 2 * __all_sync(live, {c});",
    "i0 += __shfl_sync(live, i0, 0);", "u0 ^= __match_any_sync(live, i0 & 3);", "u1 += __reduce_add_sync(live, u0);",
    "__syncwarp(live); i3 += __popc(live);", "i1 += __syncthreads_count({c});",
    "i2 ^= __syncthreads_or({c}) + 4 * __syncthreads_and({c});",
    "{{ bool q = {c}; unsigned m = __ballot_sync(live, q);"
    " if (q) {{ i0 += __reduce_max_sync(m, i1); d0 += __shfl_sync(m, d0, __ffs(m) - 1); }} }}",
)  # fmt: skip
WHOLE_WARPS = (
    "i0 += __shfl_xor_sync(~0u, i0, 5);", "f0 += __shfl_down_sync(~0u, f0, 3);", "l0 ^= __shfl_up_sync(~0u, l0, 1, 8);",
    "d0 += __shfl_xor_sync(~0u, d0, 16);", "for (int s = 16; s; s >>= 1) i3 += __shfl_down_sync(~0u, i3, s, 32);",
)  # fmt: skip


def source(seed: int, kernels: int) -> tuple[str, list[tuple[str, Launch]]]:
    """Return the text of a .cu file and, by kernel name, the launch of each (with an empty text)."""
    make = random.Random(seed)
    parts, launches = [HELPERS], []
    for number in range(kernels):
        grid, block = make.choice(SHAPES)
        parts.append(_Writer(make, block[0] * block[1] * block[2]).kernel(f"probe{number}"))
        launches.append((f"probe{number}", Launch("", grid, block, seed * 100 + number)))
    return "\n".join(parts), launches


class _Writer:
    """Writes one kernel."""

    def __init__(self, make: random.Random, threads: int) -> None:
        self.make, self.threads = make, threads
        self.loops = self.nesting = 0
        self.depth = 2

    def kernel(self, name: str) -> str:
        body = [line for _ in range(self.make.randint(2, 5)) for line in (*self.statements(3), *self.meeting())]
        if self.make.random() < 0.3:
            body += [f"if ({self['c']}) {{", *self.stores(), "return;", "}", *self.statements(2)]
        threads = self.threads
        lines = [
            f'extern "C" __global__ void {name}(const int *in, unsigned long long *out, int *sums, int n) {{',
            f"__shared__ int board[{threads}]; __shared__ double wide[{threads}]; __shared__ int bins[16];",
            "int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;",
            "int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;",
            f"int g = b * {threads} + t; out += (long long)g * {ROW};",
            f"unsigned live = {threads} - (t & ~31) >= 32 ? ~0u : (1u << ({threads} & 31)) - 1;",
            f"int i0 = in[g & {_LAST}], i1 = t, i2 = n, i3 = b; unsigned u0 = in[(g * 7) & {_LAST}], u1 = t * 3;",
            "long long l0 = (long long)i0 * t; float f0 = i0 * 0.01f, f1 = t; double d0 = i0 / 3.0;",
            "trio p = {i0, (short)i1, 7}; int own[8]; for (int k = 0; k < 8; k++) own[k] = i0 >> k;",
            *body, *self.stores(), "}",
        ]  # fmt: skip
        return "\n".join(lines)

    def stores(self) -> list[str]:
        names = (
            "i0",
            "i1",
            "i2",
            "i3",
            "u0",
            "u1",
            "l0",
            "word(f0)",
            "word(f1)",
            "word(d0)",
            "p.a",
            "p.b",
            "p.c",
            "own[i0 & 7]",
        )
        return [f"out[{number}] = {name};" for number, name in enumerate(names)]

    def fill(self, template: str) -> str:
        """Return the template with a fresh expression for every placeholder."""
        return template.format_map(self)

    def __getitem__(self, name: str) -> str:
        if name == "test":
            return self.make.choice(("<", "<=", "==", "!=", ">", ">="))
        if name == "n":
            return self.make.choice(("2", "3", "4", "8"))
        if self.depth <= 0 or self.make.random() < 0.2:
            return self.make.choice(LEAVES[name])
        self.depth -= 1
        made = f"({self.fill(self.make.choice(CHOICES[name]))})"
        self.depth += 1
        return made

    # ---- statements

    def statements(self, most: int) -> list[str]:
        return [line for _ in range(self.make.randint(1, most)) for line in self.statement()]

    def statement(self) -> list[str]:
        self.nesting += 1
        kinds = [self.assignment] * 6
        if self.nesting < 5:
            kinds += [self.branch] * 3 + [self.counted, self.broken, self.switched, self.repeated]
        made = self.make.choice(kinds)()
        self.nesting -= 1
        return made

    def assignment(self) -> list[str]:
        return [self.fill(self.make.choice(ASSIGNMENTS))]

    def branch(self) -> list[str]:
        made = [f"if ({self['c']}) {{", *self.statements(3), "}"]
        return made if self.make.random() < 0.4 else [*made[:-1], "} else {", *self.statements(3), "}"]

    def counter(self) -> str:
        self.loops += 1
        return f"k{self.loops}"

    def counted(self) -> list[str]:
        k, bound = self.counter(), self.make.choice(("({i} & 7)", "(t & 7)", "(n & 3)", "(b + 2)", "4"))
        return [f"for (int {k} = 0; {k} < {self.fill(bound)}; {k}++) {{", *self.statements(2), f"i3 += {k};", "}"]

    def broken(self) -> list[str]:
        k, how = self.counter(), self.make.choice(("break", "continue"))
        return [f"for (int {k} = 0; {k} < 9; {k}++) {{", f"if ({self['c']}) {how};", *self.statements(2),
                f"if ({self['c']}) break;", "}"]  # fmt: skip

    def repeated(self) -> list[str]:
        k = self.counter()
        return [f"int {k} = {self['i']} & 5;", "do {", *self.statements(2), f"}} while (--{k} > 0);"]

    def switched(self) -> list[str]:
        made = [f"switch ({self['i']} & 7) {{"]
        for case in self.make.sample(range(8), self.make.randint(3, 6)):
            made += [f"case {case}: {{", *self.statements(2), "}", self.make.choice(("break;", "break;", ""))]
        return [*made, "default: i1 ^= 5;", "}"]

    # ---- points where all threads of the block are

    def meeting(self) -> list[str]:
        return self.make.choice((self.exchange, self.collective, self.counting, self.adding, self.tree))()

    def exchange(self) -> list[str]:
        place = f"(t * {self.make.choice((1, 3, 5))} + {self.make.randint(1, 40)}) % {self.threads}"
        board, put, take = self.make.choice((("board", "i0", "i1 +="), ("wide", "d0", "d0 = 0.5 *")))
        made = [f"{board}[t] = {put};", "__syncthreads();", f"{take} {board}[{place}];", "__syncthreads();"]
        if self.make.random() < 0.4:
            k = self.counter()
            return [f"for (int {k} = 0; {k} < (n & 3); {k}++) {{", *made, "}"]
        return made

    def tree(self) -> list[str]:
        half = 1 << (self.threads.bit_length() - 1)
        return ["board[t] = i0;", "__syncthreads();", f"for (int s = {half}; s > 0; s >>= 1) {{",
                f"if (t < s && t + s < {self.threads}) board[t] += board[t + s];", "__syncthreads();", "}",
                "i1 ^= board[0];", "__syncthreads();"]  # fmt: skip

    def counting(self) -> list[str]:
        name = self.make.choice(("atomicAdd", "atomicMax", "atomicXor"))
        return [f"for (int k = t; k < 16; k += {self.threads}) bins[k] = 0;", "__syncthreads();",
                self.fill(f"if ({{c}}) {name}(&bins[{{i}} & 15], {{i}});"), "__syncthreads();", "i2 += bins[i0 & 15];",
                "__syncthreads();"]  # fmt: skip

    def adding(self) -> list[str]:
        number, name = self.make.choice(list(enumerate(("atomicAdd", "atomicMin", "atomicMax", "atomicXor"))))
        return [self.fill(f"if ({{c}}) {name}(&sums[{12 * number} + (i0 & 7)], {{i}});")]

    def collective(self) -> list[str]:
        forms = COLLECTIVES if self.threads % 32 else (*COLLECTIVES, *WHOLE_WARPS, *WHOLE_WARPS)
        return [self.fill(self.make.choice(forms))]

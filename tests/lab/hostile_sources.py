"""A thousand sources that mean harm, made by families from one seed: what they hide, fill, hold up or break."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

COUNT = 1000
FOUND = "47110815"  # what a source prints or stores where it learned that a file exists
HEAD = "__global__ void k(float *a, int n) {\n"
Make = random.Random


@dataclass(frozen=True)
class Hostile:
    """`family`: what it tries; `raw`: the bytes of the file."""

    family: str
    raw: bytes


def hostile_sources(secrets: Path, count: int = COUNT, seed: int = 0) -> Iterator[Hostile]:
    """The same ones for the same seed. `secrets`: a folder with files that no source may show anything of."""
    make, seen = random.Random(seed), set[bytes]()
    families = list(FAMILIES)
    for number in range(count):
        family = families[number % len(families)]
        raw = _made(family, make, secrets)
        while raw in seen:  # has come before: with another one behind it, it is new
            other = _made(make.choice(families), make, secrets)
            raw = _made(family, make, secrets) + b"\n" + other.replace(b" k(", b" other(")
        seen.add(raw)
        yield Hostile(family, raw)


def _made(family: str, make: Make, secrets: Path) -> bytes:
    made = FAMILIES[family](make, secrets)
    return made if isinstance(made, bytes) else made.encode()


def _kernel(body: str, before: str = "") -> str:
    return f"{before}\n{HEAD}{body}\n}}\n"


def _targets(make: Make, secrets: Path) -> str:
    climb = "../" * make.randint(1, 12)
    return make.choice(
        (
            "/etc/passwd",
            "/etc/hostname",
            "/proc/self/environ",
            "/proc/self/cmdline",
            str(secrets / "secret.txt"),
            str(secrets / "secret.h"),
            f"{climb}etc/passwd",
            "secret.txt",
            "./secret.txt",
            "../secret.txt",
            "secret.h",
            f"cuda/../{climb}etc/passwd",
            "//etc/passwd",
            "/etc/./passwd",
            "~/.bashrc",
            "C:\\secret.txt",
            "/dev/zero",
            "/dev/stdin",
            "/proc/self/fd/0",
            "/proc/self/maps",
            "/dev/urandom",
        )
    )


def _include(make: Make, secrets: Path) -> str:
    name = _targets(make, secrets)
    word = make.choice(
        (
            "#include",
            "#  include",
            "%:include",
            "??=include",
            "#/**/include",
            "#include/**/",
            "#incl\\\nude",
            "#include_next",
            "#import",
            "#embed",
            "#\\\ninclude",
            "\t#\tinclude",
            "/* */#include",
            "#inc\\  \nlude",
            "#include_\\\nnext",
            "#/*\n*/include",
        )
    )
    quoted = make.choice((f'"{name}"', f"<{name}>", f'/**/"{name}"', f'"{name}" // x', f'\\\n"{name}"'))
    return make.choice(
        (
            f"{word} {quoted}\n{_kernel('a[0] = 1;')}",
            _kernel(f'const char *s =\n{word} {quoted}\n; printf("%s", s);'),
            f"#if 1\n{word} {quoted}\n#endif\n{_kernel('a[0] = 1;')}",
            f"/* */ // \\\n\n{word} {quoted}\n{_kernel('a[0] = 1;')}",
        )
    )


def _macro_include(make: Make, secrets: Path) -> str:
    name = _targets(make, secrets)
    return make.choice(
        (
            f'#define F "{name}"\n#include F\n',
            f"#define Q(x) #x\n#define F Q({name})\n#include F\n",
            f"#define F <{name}>\n#include F\n",
            f'#define I include\n#I "{name}"\n',
            f'#define H #\nH include "{name}"\n',
            f'#pragma include "{name}"\n',
            f'_Pragma("include \\"{name}\\"")\n',
            f'#pragma include_alias("x", "{name}")\n',
            f'#define F "{name}"\n#embed F\n',
            f'#include __FILE__ "{name}"\n',
            f'import "{name}";\n',
            f"import <{name}>;\n",
            f'#pragma push_macro("{name}")\n#include_next F\n',
            f'#include "x" \\\n"{name}"\n',
            "#include __FILE__\n",
            f'#pragma GCC dependency "{name}"\n',
            f'#pragma GCC poison k\n#include "{name}"\n',
            f'#use "{name}"\n',
        )
    ) + _kernel("a[0] = 1;")


def _exists(make: Make, secrets: Path) -> str:
    name = _targets(make, secrets)
    asked = make.choice(
        (
            f'__has_include("{name}")',
            f"__has_include(<{name}>)",
            f'__has_include_next("{name}")',
            f'__has_embed("{name}")',
            f'__has_inc\\\nlude("{name}")',
            f'__has_include/**/("{name}")',
            "__has_include(F)",
            "HAS(F)",
        )
    )
    head = f'#define F "{name}"\n#define HAS __has_include\n'
    return head + _kernel(f'#if {asked}\na[0] = {FOUND};\nprintf("%d", {FOUND});\n#endif')


def _line(make: Make, secrets: Path) -> str:
    name = _targets(make, secrets)
    number = make.choice((1, 2, 3, 10**6, 2**31 - 1, 0))
    broken = make.choice(("a[0] = ;", "int unused;", "a[0] = b;", "a[1 << 30] = 1;", "#error", "a[0] = a[n] / 0;"))
    return make.choice(
        (
            f'#line {number} "{name}"\n' + _kernel(broken),
            _kernel(f'#line {number} "{name}"\n{broken}'),
            f'# {number} "{name}" 1 3\n' + _kernel(broken),
            f'#define L {number}\n#define F "{name}"\n#line L F\n' + _kernel(broken),
            _kernel(f'printf("%s", __FILE__);\n#line {number} "{name}"\nprintf("%s", __FILE__); {broken}'),
        )
    )


def _inline(make: Make, secrets: Path) -> str:
    name = _targets(make, secrets)
    text = make.choice(
        (
            f'.file 1 \\"{name}\\"',
            f'.incbin \\"{name}\\"',
            f'.include \\"{name}\\"',
            f'.pragma \\"{name}\\";',
            ".section .debug_str { .b8 1 }",
            f'.loc 1 1 1; .file 7 \\"{name}\\"',
            "foo.bar %0;",
            "trap;",
            "brkpt;",
            "exit;",
            "}",
            "{",
            "L: bra L;",
            "bra NOWHERE;",
            "call (), exit, ();",
            ".reg .b32 x<1000000>;",
            ".local .b8 big[2000000000];",
            ".shared .b8 big[2000000000];",
            "// end inline asm\\n foo.bar;",
            "\\\\",
            "\\001",
            "mov.u64 %0, %%envreg1;",
            "ld.global.u32 %0, [0];",
            "st.global.u32 [4660], 1;",
            "ld.param.u32 %0, [k_param_9];",
            "setmaxnreg.inc.sync.aligned.u32 240;",
            "griddepcontrol.wait;",
            "nanosleep.u32 4000000000;",
            "pmevent 1;",
            "bar.sync 15, 32;",
            "barrier.sync 99;",
            "membar.sys;",
            "discard.global.L2 [0], 128;",
            "tex.1d.v4.f32.s32 {a};",
            "wgmma.fence.sync.aligned;",
            "cp.async.bulk.commit_group;",
            "mapa.u64 %0, %0, 1;",
            ".version 1.0",
            ".target sm_1",
            "@%%p bra X;",
            "mov.b32 %0, 99999999999999999999;",
            ".entry own() { ret; }",
            "ret; .func f() { ret; }",
        )
    )
    volatile = make.choice(("", "volatile"))
    return make.choice(
        (
            _kernel(f'asm {volatile}("{text}");\na[0] = 1;'),
            _kernel("a[0] = 1;", f'asm("{text}");'),
            _kernel(f'unsigned long long x; asm {volatile}("{text}" : "=l"(x)); a[0] = x;'),
            _kernel(f'if (n < 0) asm {volatile}("{text}");\na[0] = 1;'),
        )
    )


def _macros(make: Make, secrets: Path) -> str:
    depth, width = make.randint(5, 40), make.randint(2, 12)
    head = "#define M0 a[0] += 1;\n"
    head += "".join(f"#define M{i} {' '.join([f'M{i - 1}'] * width)}\n" for i in range(1, depth + 1))
    return make.choice(
        (
            _kernel(f"M{depth}", head),
            head + f"int big[] = {{ M{depth} }};\n" + _kernel("a[0] = 1;"),
            head.replace("a[0] += 1;", "(1") + _kernel(f"a[0] = M{depth};"),
            f"#define S(x) #x\n#define X(x) S(x)\n{head}" + _kernel(f"printf(X(M{depth}));"),
            "#define F(x) G(x, x)\n#define G(x, y) F(x y)\n"
            + _kernel("a[0] = " + "F(" * 2000 + "1" + ")" * 2000 + ";"),
        )
    )


def _templates(make: Make, secrets: Path) -> str:
    depth = make.choice((100, 899, 1000, 5000, 100_000, 10**9))
    return make.choice(
        (
            "template <int N> struct A { static const int v = A<N - 1>::v + 1; };\ntemplate <> struct A<0> "
            "{ static const int v = 0; };\n" + _kernel(f"a[0] = A<{depth}>::v;"),
            "template <int N> struct F { static const long long v = F<N - 1>::v + F<N - 2>::v; };\n"
            "template <> struct F<0> { static const long long v = 0; };\ntemplate <> struct F<1> "
            "{ static const long long v = 1; };\n" + _kernel("a[0] = F<90>::v;"),
            "template <class A, class B> struct P {};\n"
            "template <int N, class T> struct D { typedef typename D<N - 1, P<T, T> "
            ">::type type; };\ntemplate <class T> struct D<0, T> { typedef T type; };\n"
            + _kernel(f"D<{min(depth, 60)}, int>::type x; a[0] = sizeof(x);"),
            "template <class T> struct I { I<I<T> > x; };\n" + _kernel("I<int> x; a[0] = sizeof(x);"),
            "template <int... N> struct L {};\n" + _kernel(f"a[0] = sizeof(L<__integer_pack({depth})...>);"),
            "template <class... T> __device__ int f(T... t) { return f(t..., t...); }\n" + _kernel("a[0] = f(1, 2);"),
            "struct R { R *operator->(); };\nstruct S { S operator->() { return *this; } };\n" + _kernel("S s; s->x;"),
            "template <int N> __device__ void g(float *a) { a[N] += N; g<N - 1>(a); }\n"
            "template <> __device__ void g<0>(float *) {}\n" + _kernel(f"g<{min(depth, 800)}>(a);"),
        )
    )


def _constexpr(make: Make, secrets: Path) -> str:
    size = make.choice((10**4, 10**6, 10**9, 10**18))
    return make.choice(
        (
            "constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nconstexpr long v = f(60);\n"
            + _kernel("a[0] = v;"),
            f"constexpr long f(long n) {{ long s = 0; for (long i = 0; i < n; i++) s += i; return s; }}\n"
            f"constexpr long v = f({size});\n" + _kernel("a[0] = v;"),
            "constexpr int f(int n) { return f(n + 1); }\nconstexpr int v = f(0);\n" + _kernel("a[0] = v;"),
            "constexpr int f() { while (true) {} return 1; }\nconstexpr int v = f();\n" + _kernel("a[0] = v;"),
            f"struct B {{ char x[{min(size, 10**9)}]; constexpr B() : x() {{ }} }};\nconstexpr B b;\n"
            + _kernel("a[0] = b.x[n];"),
            f"constexpr int t[{min(size, 10**9)}] = {{1}};\n" + _kernel("a[0] = t[n];"),
        )
    )


def _sizes(make: Make, secrets: Path) -> str:
    size = make.choice((10**5, 10**7, 10**9, 2**31 - 1, 2**31, 2**40, 2**62))
    return make.choice(
        (
            _kernel(f"__shared__ float s[{size}]; s[n] = 1; __syncthreads(); a[0] = s[0];"),
            _kernel(f"float s[{size}]; for (int i = 0; i < n; i++) s[i * n] = i; a[0] = s[n];"),
            f"__device__ float g[{size}];\n" + _kernel("g[n] = 1; a[0] = g[threadIdx.x];"),
            f"__constant__ float g[{size}];\n" + _kernel("a[0] = g[threadIdx.x];"),
            f"__device__ char g[{size}] = {{1, 2}};\n" + _kernel("a[0] = g[threadIdx.x];"),
            f"struct S {{ char x[{size}]; }};\n__global__ void k(S s, float *a) {{ a[0] = s.x[a != 0]; }}\n",
            "".join(f"__device__ float g{i}[{size}];\n" for i in range(make.randint(2, 2000)))
            + _kernel("g0[n] = 1; g1[n] = 2; a[0] = 1;"),
            _kernel(f"float *p = (float *)alloca({size}); p[n] = 1; a[0] = p[0];"),
            _kernel(f"float *p = new float[{size}]; p[n] = 1; a[0] = p[0];"),
        )
    )


def _texts(make: Make, secrets: Path) -> str:
    size = make.choice((10**4, 10**5, 250_000, 400_000, 3_000_000))
    return make.choice(
        (
            _kernel(f'printf("{"x" * size}");'),
            _kernel(f'const char *s = "{"%s" * (size // 2)}"; printf(s);'),
            _kernel(f"int {'x' * size} = 1; a[0] = {'x' * size} + y;"),
            "//" + "x" * size + "\n" + _kernel("a[0] = 1;"),
            "/*" + "/*" * (size // 2) + _kernel("a[0] = 1;"),
            _kernel("a[0] = " + "1" * size + ";"),
            f'const char *s = R"{"(" * 10}({"y" * size})";\n' + _kernel("a[0] = 1;"),
            "\n" * size + _kernel("a[0] = b;"),
            "\\\n" * (size // 2) + _kernel("a[0] = 1;"),
            _kernel("a[0] = 1;" + " " * size + "b;"),
            _kernel(f"a[0] = '{'x' * size}';"),
            "#" * size + _kernel("a[0] = 1;"),
            "#\n" * (size // 2) + _kernel("a[0] = 1;"),
            "# /*" * (size // 4) + _kernel("a[0] = 1;"),
            '"' * size,
            "'" * size,
            "%:" * (size // 2),
            "??=" * (size // 3),
        )
    )


def _nested(make: Make, secrets: Path) -> str:
    depth = make.choice((100, 1000, 10_000, 60_000))
    left, right = make.choice((("(", ")"), ("{", "}"), ("[", "]"), ("-(", ")"), ("!", ""), ("*&", ""), ("(int)", "")))
    return make.choice(
        (
            _kernel("a[0] = " + left * depth + "n" + right * depth + ";"),
            _kernel("{" * depth + "a[0] = 1;" + "}" * depth),
            _kernel("if (n) " * depth + "a[0] = 1;"),
            _kernel("for (int i = 0; i < n; i++) " * min(depth, 6000) + "a[0] += 1;"),
            "namespace x {" * min(depth, 12_000) + _kernel("a[0] = 1;") + "}" * min(depth, 12_000),
            "#if 1\n" * min(depth, 25_000) + _kernel("a[0] = 1;") + "#endif\n" * min(depth, 25_000),
            "struct S {" * min(depth, 20_000) + "}" * min(depth, 20_000) + ";\n" + _kernel("a[0] = 1;"),
            _kernel("a[0] = n" + " + n" * min(depth, 40_000) + ";"),
            "float " + "*" * depth + "p;\n" + _kernel("a[0] = 1;"),
            _kernel("a[0] = " + "n ? " * min(depth, 20_000) + "1" + " : 2" * min(depth, 20_000) + ";"),
            "typedef int T0;\n"
            + "".join(f"typedef T{i} *T{i + 1};\n" for i in range(min(depth, 8000)))
            + _kernel("a[0] = 1;"),
        )
    )


def _floods(make: Make, secrets: Path) -> str:
    count = make.choice((100, 1000, 6000))
    return make.choice(
        (
            "".join(f'static_assert({i} < 0, "no {i}");\n' for i in range(count)) + _kernel("a[0] = 1;"),
            f'template <int N> struct A {{ static_assert(N < 0, "{"y" * 20_000}"); A<N - 1> x; }};\n'
            + _kernel("A<300> x;"),
            "#error x\n" * count + _kernel("a[0] = 1;"),
            "#warning x\n" * count + _kernel("a[0] = 1;"),
            _kernel("\n".join(f"int unused{i};" for i in range(count))),
            "}" * count + _kernel("a[0] = 1;"),
            _kernel("\n".join(f"a[{i}] = b{i};" for i in range(count))),
            "#pragma x\n" * count + _kernel("a[0] = 1;"),
            "".join(f"__global__ void k{i}(float *a) {{ a[{i}] = 1; }}\n" for i in range(count)),
            "".join(f"void h{i}(std::x y) {{ }}\nstruct S{i} {{ std::string s; }};\n" for i in range(min(count, 2500)))
            + _kernel("a[0] = 1;"),
            "".join(
                f"__device__ __noinline__ float f{i}(float x) {{ return f{i + 1}(x) + f{i + 1}(x + 1); }}\n"
                for i in reversed(range(40))
            )
            .replace("f40(x)", "x")
            .replace("f40(x + 1)", "1")
            + _kernel("a[0] = f0(n);"),
            _kernel("#pragma unroll\nfor (int i = 0; i < 100000; i++) a[i % 7] += a[i % 5] * i;"),
            _kernel("switch (n) {" + "".join(f"case {i}: a[{i}] = {i * i};" for i in range(count)) + "}"),
        )
    )


def _endless(make: Make, secrets: Path) -> str:
    return _kernel(
        make.choice(
            (
                "while (true) {}",
                "for (;;) a[0] += 1;",
                "while (a[0] == 0) {}",
                "while (atomicAdd(&a[0], 1.0f) >= 0) {}",
                "for (unsigned long long i = 0; i < 1ull << 62; i++) a[i % 64] += i;",
                "L: a[threadIdx.x] *= 1.1f; goto L;",
                "if (threadIdx.x) __syncthreads(); while (((volatile float *)a)[0] == 0) {}",
                "while (clock64() >= 0) {}",
                "unsigned x = n; do { x = x * 1664525 + 1013904223; a[x % 100] = x; } while (x != 12345);",
                "while (true) __syncthreads();",
                "while (true) __threadfence();",
                "__shared__ int s; while (!atomicCAS(&s, 0, 0)) {}",
                'while (true) printf("x");',
                "__nanosleep(4000000000u); while (true) __nanosleep(1000);",
                "for (int i = 0; i >= 0; i += 0) { a[i] = sinf(a[i]); }",
                "while (true) { a[threadIdx.x] = powf(a[1], 1.5f); }",
            )
        )
    )


def _recursion(make: Make, secrets: Path) -> str:
    return make.choice(
        (
            "__device__ __noinline__ int f(int x) { return x ? f(x + 1) * 2 + f(x + 2) : 1; }\n"
            + _kernel("a[0] = f(n);"),
            "__device__ int g(int);\n__device__ __noinline__ int f(int x) { return g(x) + 1; }\n"
            "__device__ __noinline__ int g(int x) { return f(x) * 3; }\n" + _kernel("a[0] = f(n);"),
            "__device__ __noinline__ int f(int x) {\nint b[1000]; b[x % 1000] = x; return f(x + b[x % 7]) + b[x];\n}\n"
            + _kernel("a[0] = f(n);"),
            "typedef int (*F)(int);\n__device__ int one(int x) { return x; }\n__device__ F table[2] = {one, one};\n"
            + _kernel("a[0] = table[n](n);"),
            _kernel("((void (*)(int))a)(n);"),
            _kernel("typedef int (*F)(int); F f = (F)(long long)n; a[0] = f(1);"),
            "struct B { __device__ virtual int f() { return 1; } };\n" + _kernel("B *b = (B *)a; a[1] = b->f();"),
            _kernel("k<<<1, 1>>>(a, n);"),
            _kernel("void *p = malloc(1 << 20); while (p) p = malloc(1 << 20);"),
        )
    )


def _wild(make: Make, secrets: Path) -> str:
    place = make.choice(
        ("0", "1", "-1", "1ull << 40", "0x7fffffffffffffff", "~0ull", "4660", "1ull << 36", "(3ull << 36)")
    )
    return _kernel(
        make.choice(
            (
                f"*(float *)({place}) = 1;",
                f"a[0] = *(float *)({place});",
                f"a[{place}] = 1;",
                f"a[0] = a[{place}];",
                f"atomicAdd((int *)({place}), 1);",
                f"memset((void *)({place}), 1, 1 << 30);",
                f"memcpy(a, (void *)({place}), n);",
                f"a[0] = *((char *)a + 1 + ({place}));",
                f"printf((const char *)({place}));",
                f'printf("%s", (char *)({place}));',
                f"__shared__ float s[4]; s[{place}] = 1; a[0] = s[n];",
                f"float s[4]; s[n + ({place})] = 1; a[0] = s[n];",
                "for (long i = 0; ; i += 4096) a[i] = i;",
                "a[0] = *(float *)a[1];",
                "memcpy(a, a - 1000, 1u << 31);",
                'asm volatile("st.global.u32 [%0], 1;" :: "l"((long long)n << 33));',
                "a[(long long)n << 40] = 1;",
            )
        )
    )


def _printf(make: Make, secrets: Path) -> str:
    number = make.choice((1000, 10**6, 10**9, 2**31 - 1, -(2**31)))
    return _kernel(
        make.choice(
            (
                f'for (int i = 0; i < {abs(number)}; i++) printf("%d %s\\n", i, "x");',
                f'printf("%{abs(number)}d", 1);',
                f'printf("%*d", {number}, 1);',
                f'printf("%.{abs(number)}f", 1.0);',
                f'printf("%.*f", {number}, 1.0);',
                'printf("%n", a);',
                'printf("%s%s%s%s%s%s%s%s%s%s%s%s%s%s");',
                'printf("%");',
                'printf("%d%d%d%d", 1);',
                "printf((char *)a);",
                'printf("%lc %ls %C", 1, a, 2);',
                'printf("\\033]0;x\\007\\033[2J");',
                "printf(0);",
                'printf("<script>alert(1)</script>");',
                f'for (int i = 0; i < 3000; i++) printf("{"y" * 3000}");',
                'printf("%s", "' + "%s" * 5000 + '");',
                "__shared__ char s[40000]; memset(s, 65, 40000); printf(s);",
                'printf("%#o %+d % d %-5d %05d %hhd %llx %zu %jd %td %p %a %G\\n", 8, 1, 2, 3, 4, 300, 1ll, 1ll, a, '
                "1., 2.);",
            )
        )
    )


def _findings(make: Make, secrets: Path) -> str:
    count = make.choice((60, 400, 3000))
    shared = "__shared__ float s[512]; "
    return make.choice(
        (
            _kernel(
                shared + "\n".join(f"s[(threadIdx.x + {i}) % 512] += a[0];" for i in range(count)) + "\na[1] = s[n];"
            ),
            _kernel("\n".join(f"a[(threadIdx.x * {i} + n) % 100] += {i};" for i in range(count))),
            _kernel(shared + "\n".join(f"a[threadIdx.x] += s[{i % 512}];" for i in range(count))),
            _kernel("\n".join(f"if (threadIdx.x < {i % 64}) __syncthreads();" for i in range(count))),
            _kernel("for (int i = 0; i < 1000000; i++)\n a[i % 200] = threadIdx.x;"),
            _kernel("\n".join(f"a[{i % 200}] = threadIdx.x;" for i in range(count))),
        )
    )


def _letters(make: Make, secrets: Path) -> bytes:
    kernel = _kernel("a[0] = 1;").encode()
    at = make.randrange(len(kernel))
    piece = make.choice(
        (
            b"\0",
            b"\0\0\0",
            b"\xff\xfe",
            b"\xc3(",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\x80",
            b"\x1b[2J",
            b"\x07",
            b"\r",
            b"\x0c",
            b"\x1a",
            "\u202e".encode(),
            "\ufeff".encode(),
            "\u2028".encode(),
            "ｘ".encode(),
            "é".encode(),
            b"\x7f",
            "\U0001f600".encode(),
            b"??/\n",
            b"??=",
            b"??<",
            b"\\u0000",
            b"\\U0010FFFF",
            b"\x85",
            b"\r\n",
            "\u0000".encode(),
        )
    )
    start = make.choice((b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"))
    return start + kernel[:at] + piece * make.choice((1, 1, 3, 1000)) + kernel[at:]


def _noise(make: Make, secrets: Path) -> bytes:
    size = make.choice((0, 1, 10, 1000, 50_000, 255 << 10, 256 << 10, (256 << 10) + 1, 1 << 20))
    kind = make.randrange(4)
    if kind == 0:
        return make.randbytes(size)
    if kind == 1:
        words = (
            "__global__",
            "void",
            "k(",
            "{",
            "}",
            ";",
            "template<",
            ">",
            "#define",
            "x",
            "\n",
            "(",
            ")",
            "asm(",
            '"',
            "/*",
        )
        return " ".join(make.choices(words, k=size // 4)).encode()
    if kind == 2:
        return bytes(make.choices(b" \n\t{}()<>;#\"'\\/*%:?=+-&|!~^,.[]_aA0", k=size))
    return (HEAD + "a[0] = 1; " * (size // 10) + "}\n").encode()


def _regexes(make: Make, secrets: Path) -> str:
    count = make.choice((1000, 20_000, 80_000))
    piece = make.choice(
        (
            "a ",
            "a\n",
            "__device__ ",
            "__global__ ",
            "__global__ k(",
            "template <",
            "/*",
            "//\\\n",
            "# /*",
            "#include ",
            'R"(',
            "a<",
            "a::",
            "= ",
            "{a ",
            "__has_include ",
            "#include /*",
            '"\\',
            "1'",
            "\\\n",
            "#if\n",
            "%:",
            "[[",
            "__launch_bounds__(",
            "x[",
            "struct ",
            "a,",
            'extern "C" {',
            "namespace a {",
            "@",
            "enum {",
            "<a ",
            "=a(",
            "operator()",
            "__align__(",
        )
    )
    text = piece * min(count, 255_000 // len(piece))
    return make.choice(
        (
            text + "\n" + _kernel("a[0] = 1;"),
            _kernel("a[0] = 1;") + text,
            _kernel(text),
            _kernel("a[300] = 1;") + "__device__ float a[3];" + text,
        )
    )


def _attributes(make: Make, secrets: Path) -> str:
    path = _targets(make, secrets)
    return make.choice(
        (
            f'extern "C" __attribute__((section("{path}"))) __device__ int x;\n' + _kernel("a[0] = x;"),
            f'__attribute__((alias("{path}"))) __device__ void f();\n' + _kernel("f(); a[0] = 1;"),
            f'#pragma comment(lib, "{path}")\n' + _kernel("a[0] = 1;"),
            f'#pragma message("{path}")\n' + _kernel("a[0] = 1;"),
            f'#ident "{path}"\n' + _kernel("a[0] = 1;"),
            f'#pragma GCC pch_preprocess "{path}"\n' + _kernel("a[0] = 1;"),
            _kernel(f'__asm__ (".incbin \\"{path}\\"");'),
            "#define __global__ x\n" + _kernel("a[0] = 1;"),
            "#define float int\n#define int float\n" + _kernel("a[0] = 1;"),
            "#undef __CUDA_ARCH__\n#define void int\n" + _kernel("a[0] = 1;"),
            "__global__ void __launch_bounds__(100000000) k(float *a) { a[0] = 1; }\n",
            "__global__ int k(float *a) { return 1; }\n",
            "__global__ void __cluster_dims__(64, 64, 64) k(float *a) { a[0] = 1; }\n",
            "__global__ void k(...) { }\n",
            "__global__ void k(float &a) { a = 1; }\n",
            f"__global__ void k({', '.join(f'int a{i}' for i in range(1500))}) {{ }}\n",
            'extern "C" __global__ void main() { }\n',
            "__global__ void k(float *a); __global__ void k(float *a) { a[0] = 1; }\n",
            "using namespace std; template <class T> __global__ void k(T *a) { a[0] = 1; }\n",
            "extern __device__ int x[];\n" + _kernel("a[0] = x[0];"),
            "static __device__ int x = x;\n" + _kernel("a[0] = x;"),
            "__managed__ int x[1000000];\n" + _kernel("x[0] = 1;"),
            "struct C { __device__ C() { while (1); } };\n__device__ C c;\n" + _kernel("a[0] = 1;"),
            "texture<float> t;\n" + _kernel("a[0] = 1;"),
            "__device__ unsigned long long kernel_ladder_element_bytes_0 = 7; __device__ float x[3];\n"
            + _kernel("x[n] = 1;"),
        )
    )


FAMILIES: Mapping[str, Callable[[Make, Path], str | bytes]] = {
    "an include": _include,
    "an include by a macro": _macro_include,
    "whether a file is there": _exists,
    "lines of another file": _line,
    "inline assembly": _inline,
    "macros that explode": _macros,
    "templates that explode": _templates,
    "constants that never end": _constexpr,
    "huge variables": _sizes,
    "huge texts": _texts,
    "nested without end": _nested,
    "floods": _floods,
    "kernels that never end": _endless,
    "recursion": _recursion,
    "wild pointers": _wild,
    "printf": _printf,
    "findings": _findings,
    "letters": _letters,
    "noise": _noise,
    "texts against regular expressions": _regexes,
    "attributes and directives": _attributes,
}

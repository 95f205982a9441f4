# ruff: noqa: E501  (a program in few lines reads better than one in many)
"""What students write of functions: recursion, pointers to functions, virtual functions, structures passed by value."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.backends.emulator.state.schedule import Schedule
from engine.backends.emulator.watching import results
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import Array, RunFailed, Source
from tests.backends.emulator import oracle
from tests.backends.emulator.small_kernels import execute
from tests.backends.emulator.student_rows import T

FIB = """__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void f(int *out) { out[threadIdx.x] = fib(threadIdx.x % 10); }"""
EVEN = """__device__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n) { return n == 0 ? true : odd(n - 1); }
__device__ __noinline__ bool odd(unsigned n) { return n == 0 ? false : even(n - 1); }
extern "C" __global__ void f(int *out) { out[threadIdx.x] = even(threadIdx.x); }"""
LOCAL_ARRAYS = """__device__ int sum(int depth) {
  int own[4]; for (int i = 0; i < 4; i++) own[i] = depth * i;
  if (depth == 0) return 1;
  int below = sum(depth - 1); return below + own[depth % 4] + own[(depth + 1) % 4];
}
extern "C" __global__ void f(int *out) { out[threadIdx.x] = sum(threadIdx.x); }"""
STRUCTURE_BACK = """struct R { int lo, hi; double mean; };
__device__ __noinline__ R walk(int lo, int hi) {
  if (hi - lo == 1) return {lo * 7 % 13, lo * 7 % 13, (double)lo};
  int m = (lo + hi) / 2; R x = walk(lo, m), y = walk(m, hi);
  return {min(x.lo, y.lo), max(x.hi, y.hi), x.mean + y.mean};
}
extern "C" __global__ void f(int *out) { R r = walk(0, threadIdx.x + 1); out[threadIdx.x] = r.lo + 100 * r.hi + 10000 * (int)r.mean; }"""
TABLE = """__device__ int add(int a, int b) { return a + b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ int mul(int a, int b) { return a * b; }
typedef int (*Operation)(int, int);
__device__ Operation table[3] = {add, sub, mul};
extern "C" __global__ void f(int *out) {
  int i = threadIdx.x; Operation own[2] = {sub, add};
  out[i] = table[i % 3](i, 2) + own[i & 1](i, 5);
}"""
VIRTUAL = """struct Shape { int a; __device__ Shape(int a) : a(a) {} __device__ virtual int area() const = 0;
               __device__ virtual int twice() const { return 2 * area(); } __device__ virtual ~Shape() {} };
struct Square : Shape { __device__ Square(int a) : Shape(a) {} __device__ int area() const override { return a * a; } };
struct Strip : Shape { __device__ Strip(int a) : Shape(a) {} __device__ int area() const override { return 3 * a; }
                       __device__ int twice() const override { return 7 * a; } };
extern "C" __global__ void f(int *out) {
  int i = threadIdx.x; Square square(i); Strip strip(i);
  Shape *shapes[3] = {&square, &strip, &square}; int sum = 0;
  for (int k = 0; k < 3; k++) sum += shapes[(i + k * k) % 3]->area() + shapes[(i + k) % 3]->twice() * (k + 1);
  out[i] = sum;
}"""


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def walked(n: int) -> int:
    values = [k * 7 % 13 for k in range(n)]
    return min(values) + 100 * max(values) + 10000 * (n * (n - 1) // 2)


def summed(depth: int) -> int:
    return 1 if depth == 0 else summed(depth - 1) + depth * (depth % 4) + depth * ((depth + 1) % 4)


def shapes(i: int) -> int:
    area, twice = [i * i, 3 * i, i * i], [2 * i * i, 7 * i, 2 * i * i]
    return sum(area[(i + k * k) % 3] + twice[(i + k) % 3] * (k + 1) for k in range(3))


PROGRAMS = {
    "recursion": (FIB, [fib(t % 10) for t in range(32)]),
    "functions that call each other": (EVEN, [t % 2 == 0 for t in range(32)]),
    "an array in each call": (LOCAL_ARRAYS, [summed(t) for t in range(32)]),
    "a structure given back by each call": (STRUCTURE_BACK, [walked(t + 1) for t in range(32)]),
    "tables of functions": (
        TABLE, [[t + 2, t - 2, t * 2][t % 3] + [t - 5, t + 5][t & 1] for t in range(32)]
    ),
    "virtual functions": (VIRTUAL, [shapes(t) for t in range(32)]),
}  # fmt: skip


def run(
    text: str, schedule: Schedule | None = None, **arguments: Array
) -> tuple[Array, dict[str, float], tuple[object, ...]]:
    """(out, counters, findings)."""
    observers = results.usual_observers()
    made = execute(text, observers=observers, schedule=schedule or Schedule("lockstep"), **arguments)
    return made["out"], results.totals(observers), results.findings(observers)


@pytest.mark.parametrize("what", PROGRAMS)
def test_calls_that_stay_calls(what: str) -> None:
    """The right answer, no findings, and as many thread instructions as the reference interpreter executes."""
    text, wanted = PROGRAMS[what]
    out, counters, findings = run(text, out=np.zeros(32, np.int32))
    assert out.tolist() == wanted and findings == ()
    ptx = compile_source(Source("test.cu", text, "int32"), EMULATED_ARCHITECTURE).decode()
    memory = bytearray(128)
    assert counters["thread_instructions"] == oracle.run(ptx, "f", (1, 1, 1), (32, 1, 1), [memory])
    assert out.tobytes() == bytes(memory)
    again, _, findings = run(text, Schedule("independent", seed=3), out=np.zeros(32, np.int32))
    assert again.tolist() == wanted and findings == ()


def test_lanes_that_call_together_return_together() -> None:
    """The deepest call runs first: a warp in which one lane goes deeper is one warp again behind the call."""
    text = """__device__ __noinline__ int down(int n, int *a) { if (n == 0) return 1; int below = down(n - 1, a); return (below ^ a[n]) * 3; }
extern "C" __global__ void f(int *a, int *out) { int v = down(threadIdx.x == 7 ? 9 : 2, a); out[threadIdx.x] = v; }"""
    observers = results.usual_observers()
    a, deeper = np.arange(32, dtype=np.int32), 1
    for n in range(1, 10):
        deeper = (deeper ^ n) * 3
    out = execute(text, observers=observers, a=a, out=np.zeros(32, np.int32))["out"]
    assert out.tolist() == [deeper if t == 7 else ((1 ^ 1) * 3 ^ 2) * 3 for t in range(32)]
    counters = results.totals(observers)
    assert counters["global_store_requests"] == 1
    assert counters["global_load_requests"] == 9  # once in each of the nine calls that add


def test_sorting_by_recursion_in_shared_memory() -> None:
    text = """__shared__ int s[64 * 8];
__device__ void sort(int lo, int hi) {
  if (lo >= hi) return;
  int pivot = s[hi], i = lo;
  for (int j = lo; j < hi; j++) if (s[j] < pivot) { int t = s[i]; s[i] = s[j]; s[j] = t; i++; }
  int t = s[i]; s[i] = s[hi]; s[hi] = t;
  sort(lo, i - 1); sort(i + 1, hi);
}
extern "C" __global__ void f(int *out) {
  int t = threadIdx.x; for (int k = 0; k < 8; k++) s[t + 64 * k] = out[t + 64 * k];
  __syncthreads(); sort(8 * t, 8 * t + 7); __syncthreads();
  for (int k = 0; k < 8; k++) out[t + 64 * k] = s[t + 64 * k];
}"""
    values = np.random.default_rng(0).integers(0, 100, 512).astype(np.int32)
    observers = results.usual_observers()
    out = execute(text, block=64, observers=observers, out=values)["out"]
    assert out.tolist() == np.sort(values.reshape(64, 8), axis=1).ravel().tolist()
    assert results.findings(observers) == () and results.totals(observers)["shared_load_requests"] > 100


def test_a_race_in_a_called_function_is_found_at_its_line() -> None:
    text = """__shared__ int s[64];
__device__ __noinline__ int fold(int i, int n) {
  if (n == 0) return s[0] + i;
  if (i < n) s[i] += s[i + n];
  if (n != 32) __syncthreads();
  return fold(i, n / 2) + 1;
}
extern "C" __global__ void f(int *out) { int i = threadIdx.x; s[i] = i; __syncthreads(); out[i] = fold(i, 32); }"""
    observers = results.usual_observers()
    execute(text, block=64, observers=observers, out=np.zeros(64, np.int32))
    found = results.findings(observers)
    assert found and {finding.line for finding in found} <= {3, 4}
    observers = results.usual_observers()
    out = execute(text.replace("if (n != 32) ", ""), block=64, observers=observers, out=np.zeros(64, np.int32))["out"]
    assert out.tolist() == [sum(range(64)) + 6 + t for t in range(64)] and results.findings(observers) == ()


def test_a_loop_in_a_called_function_that_never_ends() -> None:
    text = """__device__ __noinline__ int wait(int n, volatile int *a) { if (n > 3) { while (a[0] == n) ; return a[1]; }
  return wait(n + 1, a) + a[2]; }
extern "C" __global__ void f(int *a) { int v = wait(threadIdx.x & 1, a); a[threadIdx.x] = v; }"""
    with pytest.raises(RunFailed) as caught:
        execute(text, a=np.full(32, 4, np.int32))
    assert caught.value.status in ("deadlock", "timeout") and caught.value.line == 1


def test_a_structure_that_is_passed_to_a_kernel_and_read_at_computed_places() -> None:
    text = """struct P { int w[8]; float scale; int *where[2]; };
extern "C" __global__ void f(const __grid_constant__ P p, int *out) {
  int i = threadIdx.x; out[i] = p.w[i % 8] * (int)p.scale + p.w[3]; p.where[i & 1][i] = i;
}"""
    kernel = engine.kernel(text, "f")
    given = np.zeros(1, np.dtype([("w", "i4", 8), ("scale", "f4"), ("gap", "i4"), ("where", "u8", 2)]))
    given["w"], given["scale"] = np.arange(8) * 3, 2.0
    with pytest.raises(RunFailed, match="at address 0x"):
        kernel.run(1, 32, (given[0], np.zeros(32, np.int32)))
    reading = engine.kernel(text.replace("p.where[i & 1][i] = i;", ""), "f")
    made = reading.run(1, 32, (given[0], np.zeros(32, np.int32)))
    assert made.arrays["out"].tolist() == (T % 8 * 3 * 2 + 9).tolist() and made.findings == ()
    assert made.counters["constant_requests"] == 1 and made.counters["constant_passes"] == 8
    beyond = engine.kernel(text.replace("p.where[i & 1][i] = i;", "").replace("p.w[i % 8]", "p.w[i]"), "f")
    with pytest.raises(RunFailed) as caught:
        beyond.run(1, 32, (given[0], np.zeros(32, np.int32)))
    assert caught.value.line == 3 and "`parameter 1 of f`" in str(caught.value)


def test_structures_that_functions_take_by_value() -> None:
    text = """struct P { int n[16]; short tag; };
__device__ __noinline__ int pick(P p, int i) { return p.n[i & 15] + p.tag; }
__device__ __noinline__ int last(P p, int i) { if (i == 0) return p.n[0]; p.n[i & 3] += i; p.n[0] += p.n[i & 15]; return last(p, i - 1); }
extern "C" __global__ void f(P p, int *out) { int i = threadIdx.x; p.n[i & 15] = -i; out[i] = pick(p, i + 1); out[32 + i] = last(p, i & 7) + pick(p, i); }"""
    given = np.zeros(1, np.dtype([("n", "i4", 16), ("tag", "i2"), ("gap", "i2")]))
    given["n"], given["tag"] = np.arange(16) * 5, 7
    out = engine.kernel(text, "f").run(1, 32, (given[0], np.zeros(64, np.int32))).arrays["out"]
    for i in range(32):
        n = [5 * k for k in range(16)]
        n[i & 15] = -i
        assert out[i] == n[(i + 1) & 15] + 7
        picked = n[i & 15] + 7
        for k in range(i & 7, 0, -1):
            n[k & 3] += k
            n[0] += n[k & 15]
        assert out[32 + i] == n[0] + picked

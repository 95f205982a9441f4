"""malloc, free, new and delete in a kernel: answers, the heap's limit, wrong uses, races."""

import pytest

from engine.backends.emulator.watching import results
from engine.records import RunFailed
from tests.backends.emulator.small_kernels import execute, zeros

HEAD = """struct Node { int value; Node *next; __device__ virtual ~Node() { delete next; } };
struct Twice : Node { __device__ ~Twice() { value *= 2; } };
extern "C" __global__ void f(int *out, int n) {
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
"""


def run(body, grid=1, block=32):
    """(what the kernel wrote, its counters, its findings); its first line is line 5, and n is 64."""
    observers = results.usual_observers()
    out = execute(HEAD + body + "\n}", grid=grid, block=block, observers=observers, out=zeros(128), n=64)["out"]
    found = [(one.kind, one.line, one.other_line) for one in results.findings(observers)]
    return out.tolist(), results.details(observers), found


def test_each_lane_gets_memory_of_its_own() -> None:
    out, counters, found = run(
        """int *p = (int *)malloc(sizeof(int) * n);
        for (int k = 0; k < n; k++) p[k] = k * i;
        __syncthreads(); out[i] = p[n - 1] + (((size_t)p & 15) == 0 ? 0 : 1 << 20); free(p);""",
        2,
    )
    assert out[:64] == [63 * i for i in range(64)] and not found
    assert counters["global_store_requests"] == 2 * 65 and counters["global_load_requests"] >= 2


def test_lists_of_objects_with_destructors() -> None:
    body = """Node *list = nullptr;
    for (int k = 0; k <= t; k++) {
      Node *one = k % 2 ? new Twice : new Node;
      one->value = k; one->next = list; list = one;
    }
    int sum = 0;
    for (Node *p = list; p; p = p->next) sum += p->value;
    out[t] = sum;
    delete list;"""
    out, _, found = run(body)
    assert out[:32] == [t * (t + 1) // 2 for t in range(32)] and not found


@pytest.mark.thorough
def test_memory_freed_is_given_again_and_the_limit_is_eight_megabytes() -> None:
    turns = (
        "int k = 0; for (; k < 40; k++) { char *p = new char[n << 15]; if (!p) break; *p = k; delete[] p; } out[t] = k;"
    )
    assert run(turns, block=2)[0][:2] == [40, 40]
    out, _, _ = run("int k = 0; for (; k < n; k++) if (!malloc(n << 14)) break; out[t] = k;", block=1)
    assert out[0] == 7  # eight would fit without the 16 bytes that each allocation costs
    out, _, found = run("free(nullptr); void *p = malloc(n - 64), *q = malloc(-n); out[t] = !!p - 2 * !!q;")
    assert out[:32] == [1] * 32 and not found


def test_memory_stays_from_launch_to_launch_and_small_pieces_join() -> None:
    body = """if (t == 0) { for (int k = 0; k < 100; k++) { void *p[8]; int c = 0;
      for (; c < 8; c++) if (!(p[c] = malloc((n << 9) + 4096 * c + 64 * k))) break;
      for (int j = 0; j < c; j++) free(p[j]);
      out[0] += c; } }
      int *p = new int; *p = t; out[1 + t] = *p;"""
    assert run(body)[0][:33] == [800, *range(32)]


WRONG = {
    "past the end": ("int *p = new int[4];\np[n - 60] = 1; out[t] = p[0];", "out-of-bounds", 6),
    "before the start": ("int *p = new int[4];\np[n - 65] = 1; out[t] = p[0];", "out-of-bounds", 6),
    "in the last word": ("char *p = new char[5];\n((short *)p)[n - 62] = 1; out[t] = p[0];", "out-of-bounds", 6),
    "after free": ("int *p = new int[4];\nfree(p);\nif (n == 64) p[1] = n;\nout[t] = p[1];", "use-after-free", 7),
    "freed twice": ("int *p = new int[4];\nfree(p);\nif (n == 64)\n free(p);", "use-after-free", 8),
    "freed by two lanes": ("__shared__ int *p; if (t == 0) p = new int;\n__syncwarp();\nfree(p);", "use-after-free", 7),
    "the middle": ("int *p = new int[4];\nfree(p + n - 62);", "bad-free", 6),
    "an array of the host": ("free(out);", "bad-free", 5),
    "a shared array": ("__shared__ int s[9]; s[t % 9] = 1;\nfree(s + n - 64);", "bad-free", 6),
    "a null pointer": ("int *p = (int *)malloc(n << 20);\np[0] = n;", "out-of-bounds", 6),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_use_ends_the_run_at_its_line(what: str) -> None:
    body, finding, line = WRONG[what]
    with pytest.raises(RunFailed) as caught:
        run(body)
    assert (caught.value.finding, caught.value.line) == (finding, line)


SHARED = "__shared__ int *p; if (t == 0) p = (int *)malloc(4 * blockDim.x);\n__syncthreads();\n"
HAZARDS = {
    "unwritten": ("int *p = new int[4];\nout[t] = p[n - 63];", [("uninitialised-heap", 6, None)]),
    "given again": (
        "int *p; for (int k = 0; k < 3; k++) { p = new int[n << 12]; *p = 1; if (k < 2) free(p); }\nout[t] = p[1];",
        [("uninitialised-heap", 6, None)],
    ),
    "counted without a start": ("int *p = new int;\natomicAdd(p, t);\nout[t] = *p;", [("uninitialised-heap", 6, None)]),
    "a structure with a hole": (
        "struct S { char c; int v; }; S *p = new S[2]; p[0].c = t; p[0].v = n;\np[1] = p[0]; out[t] = p[1].v;", [],
    ),
    "no barrier": (
        SHARED + "p[t] = t;\nout[t] = p[blockDim.x - 1 - t];\n__syncthreads(); if (t == 0) free(p);",
        [("global-race", 8, 7)],
    ),
    "freed too early": (SHARED + "p[t] = t;\n__syncthreads(); out[t] = p[63 - t];\nif (t == 0) free(p);",
                        [("global-race", 9, 8)]),
    "right": (SHARED + "p[t] = t;\n__syncthreads(); out[t] = p[63 - t];\n__syncthreads(); if (t == 0) free(p);", []),
    "given to another thread": (
        "for (int k = 0; k < n; k++) { int *p = new int[2048]; p[0] = t; p[1] = p[0]; out[t] = p[1]; delete[] p; }", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HAZARDS)
def test_findings_on_the_heap(what: str) -> None:
    body, expected = HAZARDS[what]
    assert run(body, block=1 if what == "given again" else 64)[2] == expected

"""Asynchronous copies without a wait, and accesses to the destination of a copy in flight, are findings."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from engine.backends.emulator.state.schedule import Schedule
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Finding
from tests.backends.emulator.small_kernels import execute, zeros
from tests.cases import case
from tests.sentences import sentence

HEAD = """#include <cuda_pipeline.h>
extern "C" __global__ void f(const int *in, int *out) {
    __shared__ __align__(16) int s[128], r[128];
    int t = threadIdx.x, i = 64 * blockIdx.x + t;
    s[t] = s[64 + t] = -1; __syncthreads();
"""  # the body starts at line 6
COPY = "__pipeline_memcpy_async(s + t, in + t, 4); __pipeline_commit();\n"
WAIT = "__pipeline_wait_prior(0);\n"
SYNC = "__syncthreads();\n"
MINE, NEIGHBOUR = "out[i] = s[t];\n", "out[i] = s[63 - t];\n"
KIND = "unawaited-copy"


def found(body: str, grid: int = 3, schedule: Schedule | None = None, head: str = HEAD) -> tuple[Finding, ...]:
    hazards = Hazards()
    arguments: dict[str, Any] = {"in": np.arange(1, 1025, dtype=np.int32), "out": zeros(1024)}
    text = f"{head}{body}}}"
    execute(text, grid=grid, block=64, observers=[hazards], schedule=schedule or Schedule(), **arguments)
    return hazards.findings()


def places(findings: tuple[Finding, ...]) -> list[tuple[str, int | None, int | None]]:
    return [(finding.kind, finding.line, finding.other_line) for finding in findings]


PLANTED = {
    "its own thread reads before the wait": (COPY + MINE + WAIT, [(KIND, 7, 6)]),
    "no wait at all": (COPY + SYNC + MINE, [(KIND, 6, None), (KIND, 8, 6)]),
    "nobody waits, and nobody reads": (COPY + "out[i] = 1;\n", [(KIND, 6, None)]),
    "another thread reads behind a barrier, but before the wait": (COPY + SYNC + NEIGHBOUR + WAIT, [(KIND, 8, 6)]),
    "the wait is for older groups": (
        COPY + "__pipeline_wait_prior(1);\n" + SYNC + NEIGHBOUR + WAIT, [(KIND, 9, 6)]),
    "an open group is not waited for": (COPY.replace("__pipeline_commit();", "") + WAIT + MINE,
                                        [(KIND, 6, None), (KIND, 8, 6)]),
    "only half of the threads wait": (COPY + "if (t % 2) " + WAIT + MINE + WAIT, [(KIND, 8, 6)]),
    "the place is written": (COPY + "s[t] = 5;\n" + WAIT, [(KIND, 7, 6)]),
    "another thread's atomic writes the place": (COPY + SYNC + "atomicAdd(s + 63 - t, 1);\n" + WAIT, [(KIND, 8, 6)]),
    "another copy to the place": (COPY + COPY + WAIT, [(KIND, 7, 6)]),
    "the next copy of a loop to the same place": (
        "for (int k = 0; k < 3; k++) {\n" + COPY + "}\n" + WAIT, [(KIND, 7, 7)]),
    "the place has never been written": (
        "__pipeline_memcpy_async(r + t, in + t, 4); __pipeline_commit();\nout[i] = r[t];\n" + WAIT, [(KIND, 7, 6)]),
    "in one block only": (COPY + "if (blockIdx.x != 1) " + WAIT + SYNC + MINE + WAIT, [(KIND, 9, 6)]),
    "words of sixteen bytes": (
        "if (t < 16) __pipeline_memcpy_async(s + 4 * t, in + 4 * t, 16); __pipeline_commit();\n" + MINE + WAIT,
        [(KIND, 7, 6)]),
    "a wait and no barrier": (COPY + WAIT + NEIGHBOUR, [("shared-race", 8, 6)]),
    "a copy starts while others still read": (
        COPY + WAIT + SYNC + NEIGHBOUR + COPY + WAIT, [("shared-race", 10, 9)]),
    "a copy starts while others still read, and is waited for behind the next barrier": (
        COPY + WAIT + SYNC + NEIGHBOUR + COPY + SYNC + WAIT, [("shared-race", 10, 9)]),
}  # fmt: skip
SILENT = {
    "the thread's own copy": COPY + WAIT + MINE,
    "a barrier behind the wait": COPY + WAIT + SYNC + NEIGHBOUR,
    "other places meanwhile": COPY + "s[64 + t] = in[t];\n" + SYNC + "out[i] = s[127 - t];\n" + WAIT,
    "lanes of a warp meet behind the wait": COPY + WAIT + "__syncwarp();\nout[i] = s[t ^ 5];\n",
    "a barrier before the next copy": COPY + WAIT + SYNC + NEIGHBOUR + SYNC + COPY + WAIT,
    "two stages": (
        "int sum = 0;\n" + COPY + "for (int k = 0; k < 6; k++) {\n"
        " int next = 64 * ((k + 1) % 2);\n if (k < 5) __pipeline_memcpy_async(s + next + t, in + 64 * k + t, 4);\n"
        " __pipeline_commit();\n __pipeline_wait_prior(1);\n __syncthreads();\n"
        " sum += s[64 * (k % 2) + 63 - t];\n __syncthreads();\n}\nout[i] = sum;\n"
    ),
    "zeros that are waited for": "__pipeline_memcpy_async(s + t, in + 5000, 4, 4);\n__pipeline_commit();\n"
    + WAIT
    + MINE,
}
OFTEN = {
    "its own thread reads before the wait", "no wait at all", "another copy to the place", "words of sixteen bytes",
    "another thread reads behind a barrier, but before the wait", "a wait and no barrier", "two stages",
    "a copy starts while others still read, and is waited for behind the next barrier",
}  # fmt: skip
ORDERS = (Schedule(), Schedule("independent", seed=3))


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", [case(name, quick=name in OFTEN, id=name) for name in PLANTED])
def test_a_planted_bug_is_found(name: str) -> None:
    body, expected = PLANTED[name]
    assert places(found(body)) == expected


@pytest.mark.parametrize("name", [case(name, quick=name in OFTEN, id=name) for name in SILENT])
def test_a_correct_kernel_is_not_accused(name: str) -> None:
    for schedule in ORDERS:
        assert places(found(SILENT[name], schedule=schedule)) == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found_in_any_order_of_lanes(name: str) -> None:
    body, expected = PLANTED[name]
    for seed in (1, 2):
        seen = places(found(body, schedule=Schedule("independent", seed)))
        assert set(expected) <= set(seen) and {kind for kind, *_ in seen} <= {KIND, "shared-race", "warp-race"}


def test_a_finding_says_what_to_do() -> None:
    (own,) = found(PLANTED["its own thread reads before the wait"][0])
    (other,) = found(PLANTED["another thread reads behind a barrier, but before the wait"][0])
    (never,) = found(PLANTED["nobody waits, and nobody reads"][0])
    assert sentence("race.own-copy", own.message) and own.line == 7
    assert sentence("race.copy-of-another", other.message) and other.line == 8
    assert sentence("race.copy-never-awaited", never.message) and never.line == 6


# ---- random programs against the rule in plain words

OPS = ("copy", "copy", "commit", "wait 0", "wait 1", "sync", "sync", "read", "store")
LAST = 1 << 20  # after everything


def random_steps(draw: random.Random) -> list[tuple[str, int, bool]]:
    """What every thread does: (what, in which of two buffers, at its own word or at that of a thread elsewhere)."""
    return [(draw.choice(OPS), draw.randrange(2), draw.random() < 0.6) for _ in range(draw.randrange(3, 12))]


def kernel_of(name: str, steps: list[tuple[str, int, bool]]) -> str:
    lines = []
    for number, (what, buffer, own) in enumerate(steps):
        place = f"s[{64 * buffer} + {'t' if own else '63 - t'}]"
        lines.append({
            "copy": f"__pipeline_memcpy_async(&{place}, in + {64 * number} + t, 4);", "commit": "__pipeline_commit();",
            "wait 0": "__pipeline_wait_prior(0);", "wait 1": "__pipeline_wait_prior(1);", "sync": "__syncthreads();",
            "read": f"sum += {place};", "store": f"{place} = {-100 * number} - t;"}[what])  # fmt: skip
    start = "__shared__ int s[128];\nint t = threadIdx.x, sum = 0;\ns[t] = s[64 + t] = -1;\n__syncthreads();\n"
    # The compiler drops unused values; reading one after a barrier adds no mistake.
    body = "\n".join((*lines, "__syncthreads();", "out[64 * blockIdx.x + t] = sum + s[t] + s[64 + t];"))
    return f'extern "C" __global__ void {name}(const int *in, int *out) {{\n{start}{body}\n}}\n'


def is_wrong(steps: list[tuple[str, int, bool]]) -> bool:
    """Whether two accesses to one word, one of them a write, may happen at one time, or a copy is not waited for.

    An access lasts from its step to the one by which it is done. A thread's own come one after the other; those of
    two threads do if a __syncthreads() lies between them.
    """
    done: dict[int, int] = {}
    groups: list[list[int]] = [[]]
    for at, (what, _, _) in enumerate(steps):
        if what == "copy":
            groups[-1].append(at)
        elif what == "commit":
            groups.append([])
        elif what.startswith("wait"):
            closed = groups[:-1]
            for group in closed[: max(len(closed) - int(what[5:]), 0)]:
                done.update({copy: min(at, done.get(copy, LAST)) for copy in group})
    uses = [(at, done.get(at, LAST) if what == "copy" else at, *step) for at, step in enumerate(steps)
            if (what := step[0]) in ("copy", "read", "store")]  # fmt: skip
    syncs = [at for at, (what, _, _) in enumerate(steps) if what == "sync"]
    for start, end, what, buffer, own in uses:
        for later, _, other, where, mine in uses:
            if later <= start or where != buffer or what == other == "read":
                continue
            if end >= later or (own != mine and not any(end < sync < later for sync in syncs)):
                return True
    return any(end == LAST for _, end, *_ in uses)


@pytest.mark.thorough
def test_random_copies_are_judged_as_the_rule_says() -> None:
    draw = random.Random(1)
    programs = [random_steps(draw) for _ in range(24)]
    text = "#include <cuda_pipeline.h>\n" + "".join(kernel_of(f"f{at}", one) for at, one in enumerate(programs))
    verdicts = [is_wrong(steps) for steps in programs]
    assert 0.2 < np.mean(verdicts) < 0.9
    for schedule in ORDERS:
        for at, wrong in enumerate(verdicts):
            hazards = Hazards()
            arrays: dict[str, Any] = {"in": np.arange(1, 1025, dtype=np.int32), "out": zeros(192)}
            execute(text, grid=3, block=64, name=f"f{at}", observers=[hazards], schedule=schedule, **arrays)
            assert bool(hazards.findings()) == wrong, (programs[at], hazards.findings())

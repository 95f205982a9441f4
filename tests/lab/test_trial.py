"""A shared GPU runs what the emulator has tried."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.catalogue import default_choice
from engine.lab.checking import check_own, check_rung
from engine.lab.setups import right_of, setup_of
from engine.lab.shared_gpu import try_on_emulator
from engine.lab.trials import ends_for, searching_trials, sought
from engine.plan import settle
from engine.records import NotRunnable, Settled
from tests.sentences import says

HEAD = "__global__ void k(int *a, int n) {\n  int i = threadIdx.x;\n  "


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("a[i + 1] = n;", "k.cu, line 3: thread 31 of block 0 writes element 32 of `a`"),
        ("while (((volatile int *)a)[0] == 0) {}", "line 3"),
        ('if (n < 0) asm("// end inline asm\\n tcgen05.fence;"); a[i] = n;', "does not know tcgen05"),
        ("*(int *)(16ull << n) = 1;", "line 3"),
    ],
)  # fmt: skip
def test_a_kernel_that_fails_on_the_emulator_stays_away_from_a_shared_gpu(body: str, words: str) -> None:
    kernel = engine.kernel(f"{HEAD}{body}\n}}\n")
    with pytest.raises(NotRunnable, match=words.replace("k.cu", "kernel.cu")):
        try_on_emulator(kernel, 1, 32, (np.zeros(32, "i4"), 32), seconds=5)


def test_a_trial_that_ends_well_returns_its_run() -> None:
    run = try_on_emulator(engine.kernel(HEAD + "a[i] = n; }"), 1, 32, (np.zeros(32, "i4"), 7))
    assert run.ok and (run.arrays["a"] == 7).all()


def _own(body: str) -> Settled:
    text = f'extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n) {{ {body} }}'
    choice = default_choice("reduce_sequential")
    return settle(type(choice)(choice.kernel, 1000, 128, device="emulator", source=text, source_name="mine.cu"))


UNKNOWN = 'if (n == 9) asm("tcgen05.fence;");'


def test_an_edited_rung_passes_the_same_gate() -> None:
    assert check_rung(_own("out[blockIdx.x] = in[blockIdx.x];")).barred is None  # wrong, and tame
    wild = check_rung(_own("out[blockIdx.x] = in[n];")).barred
    assert wild and says("trial.shared-gpu", wild)
    assert "reads element 1000 of `in`" in wild
    assert "does not know tcgen05" in str(check_rung(_own(f"{UNKNOWN} out[blockIdx.x] = 1;")).barred)
    assert "does not compile" in str(check_rung(_own("oops")).barred)


def test_an_own_launch_passes_the_same_trial() -> None:
    setup = setup_of("k<<<1, 32>>>(int32[n], n)")
    assert check_own(setup, 32, HEAD + "a[i] = n; }", "mine.cu").barred is None
    assert "writes element 32 of `a`" in str(check_own(setup, 32, HEAD + "a[i + 1] = n; }", "mine.cu").barred)
    assert "does not know tcgen05" in str(check_own(setup, 32, f"{HEAD}{UNKNOWN} a[i] = n; }}", "mine.cu").barred)


@pytest.mark.parametrize(
    ("line", "found", "trials"),
    [("x.max()", "largest", 4), ("np.maximum.accumulate(x)", "largest", 4), ("argmin(x)", "least", 6),
     ("(x * x).max()", "", 8), ("np.minimum(x.max(), 9)", "", 8), ("np.sort(x)", "", 6), ("(x > 3).argmax()", "", 8),
     ("softmax(x)", "", 8)],
)  # fmt: skip
def test_a_search_of_the_largest_number_needs_no_trials_of_the_least(line: str, found: str, trials: int) -> None:
    right = right_of(f"y = {line}")
    assert sought(right) == found and len(ends_for(right)) + len(searching_trials(right)) == trials

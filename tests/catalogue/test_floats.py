"""The topic of float sums: where they saturate, how far they are off, and the bounds that they keep."""

from dataclasses import replace

import numpy as np
import pytest

from engine.catalogue import KERNELS, data, floats
from engine.records import Choice, HostRun, Launch, NotRunnable
from tests.made import measure

EVERY = pytest.mark.parametrize("kernel", floats.KERNELS, ids=lambda kernel: kernel.name)
SATURATED = Choice("floats_serial", floats.SATURATED_N, 256, dtype="float32", device="emulator")


@pytest.mark.thorough
def test_a_chain_of_ones_stops_at_two_to_the_24_and_a_tree_does_not():
    found = {kernel.name: measure(replace(SATURATED, kernel=kernel.name)) for kernel in floats.KERNELS}
    for stuck in ("floats_serial", "floats_atomic"):
        assert found[stuck].status == "wrong" and found[stuck].check.result == 2**24
        assert KERNELS[stuck].expect == "rounds"
    for right in ("floats_tree", "floats_kahan", "floats_double"):
        assert (
            found[right].status == "ok"
            and found[right].check.result == floats.SATURATED_N
            and found[right].check.error == 0
        )


def test_up_to_two_to_the_24_ones_every_rung_is_exact_and_doubles_are_beyond():
    for kernel in floats.KERNELS:
        assert measure(replace(SATURATED, kernel=kernel.name, n=2**20)).check.error == 0
    assert measure(replace(SATURATED, dtype="float64")).check.error == 0


@EVERY
def test_random_numbers_stay_within_the_largest_error_that_rounding_can_make(kernel):
    for n in (1, 1000, 2**18):
        choice = replace(SATURATED, kernel=kernel.name, n=n, parameter=0)
        found = measure(choice)
        assert found.status == "ok" and found.check.error <= floats.worst(kernel.name, choice)
        exact = np.resize(data.period("float32", floats.SEED), n).astype(np.float64).sum()
        assert found.check.expected == pytest.approx(exact, rel=1e-12)


def test_longer_chains_have_larger_bounds():
    choice = replace(SATURATED, n=2**20)
    serial, tree, kahan = (floats.worst(f"floats_{name}", choice) for name in ("serial", "tree", "kahan"))
    assert serial == (2**20 - 1) * 2**-24 * 2**20  # (n - 1) u sum of |x|
    assert tree == 20 * 2**-24 * 2**20  # log2(n) u sum of |x|
    assert kahan < tree < serial
    assert floats.worst("floats_serial", SATURATED) > floats.SATURATED_N, "the bound allows an answer of nothing"
    assert floats.worst("floats_tree", replace(choice, parameter=0)) < tree  # random numbers are smaller than ones


def test_the_serial_rungs_run_on_the_cpu_and_an_edited_text_does_not():
    for name in ("floats_serial", "floats_kahan"):
        kernel = KERNELS[name]
        choice = replace(SATURATED, kernel=name, n=100)
        assert isinstance(floats.plan(kernel, choice).steps[0], HostRun)
        edited = floats.plan(kernel, replace(choice, source=kernel.text + "// edited")).steps[0]
        assert isinstance(edited, Launch) and edited.grid == edited.block == (1, 1, 1)
        assert measure(replace(choice, source=kernel.text + "// edited", parameter=0)).status == "ok"


@pytest.mark.parametrize("ones", [0, 1])
def test_pythons_stand_ins_do_what_the_files_do(ones: int):
    for name, stand_in in (("floats_serial", floats._serial), ("floats_kahan", floats._kahan)):
        choice = replace(SATURATED, kernel=name, n=3000, parameter=ones)
        out = np.full(1, np.nan, "f4")
        stand_in(data.repeated(*floats.input_recipe(choice)["in"]), out, choice.n)
        assert measure(choice).check.result == out[0]


def test_whole_numbers_are_refused_with_a_reason():
    with pytest.raises(NotRunnable, match="never rounded"):
        measure(replace(SATURATED, dtype="int32"))


@pytest.mark.thorough
def test_the_note_says_what_rounding_can_do_at_worst():
    note = measure(replace(SATURATED, kernel="floats_tree")).environment["check"]
    assert "error of 26.6" in note

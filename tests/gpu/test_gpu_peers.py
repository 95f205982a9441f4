"""The libraries of this GPU are right, and what is said to give the same bits in every run does."""

from dataclasses import replace

import pytest

from engine.backends.backend import backend_of, quiet
from engine.catalogue import KERNELS, default_choice, topic_of
from engine.catalogue.repeatability import same_bits
from engine.plan import plan, settle
from engine.records import Choice

pytestmark = pytest.mark.gpu

RUNS = 30
FLOATS = [
    (kernel, dtype)
    for kernel in KERNELS.values()
    for dtype in kernel.dtypes
    if kernel.processor == "gpu" and not dtype.startswith("int") and same_bits(kernel, dtype)
]


def test_every_library_that_is_here_is_right():
    """What is missing, or has no such call, says so; no answer is wrong."""
    from engine.backends.gpu.peer_trial import build, try_libraries

    assert build() == [] or "nvcc" in " ".join(build())
    found = list(try_libraries())
    assert not [each for each in found if "answer is" in each.missing]
    assert {each.operation for each in found if not each.missing} >= {
        "sum",
        "maximum",
        "prefix sum",
        "integral",
        "copy",
        "transpose",
        "argmax",
        "sum of a slice",
    }


@pytest.mark.parametrize(("kernel", "dtype"), FLOATS, ids=lambda value: getattr(value, "name", value))
def test_the_bits_of_every_run_are_the_same(kernel, dtype):
    n = min(topic_of(kernel).default_n, 2**20)
    made = plan(settle(replace(default_choice(kernel.name), n=n, dtype=dtype, device="gpu")))
    assert len({backend_of(made).run(made, quiet).output.tobytes() for _ in range(RUNS)}) == 1


def test_sums_by_atomics_give_other_bits_now_and_then():
    made = plan(settle(replace(default_choice("reduce_warp_shuffle"), n=2**22, dtype="float32", device="gpu")))
    assert len({backend_of(made).run(made, quiet).output.tobytes() for _ in range(10 * RUNS)}) > 1


@pytest.mark.parametrize("value", KERNELS["reduce_unaligned"].parameter.values)
def test_a_slice_is_added_from_any_start_by_kernel_and_library(value):
    from engine.backends.gpu import launches, peers

    for dtype in KERNELS["reduce_unaligned"].dtypes:
        choice = settle(Choice("reduce_unaligned", 1_000_003, 256, dtype=dtype, parameter=value, device="gpu"))
        prepared = launches.prepare(plan(choice), topic_of("reduce_unaligned").input_recipe(choice))
        checked = topic_of("reduce_unaligned").check(prepared.plan, launches.execute(prepared).output)
        assert checked.ok and peers.first_here(prepared, ("CUB",)) == ("CUB",)


@pytest.mark.parametrize("value", KERNELS["copy_offset"].parameter.values)
def test_a_copy_s_library_copies_the_same_numbers_whatever_the_offset(value):
    from engine.backends.gpu import launches, peers

    choice = settle(replace(default_choice("copy_offset"), n=2**22, parameter=value, device="gpu"))
    made = plan(choice)
    prepared = launches.prepare(made, topic_of("copy_offset").input_recipe(choice))
    launches.execute(prepared)
    assert peers.first_here(prepared, ("CuPy",)) == ("CuPy",)

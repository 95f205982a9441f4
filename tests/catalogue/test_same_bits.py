"""What the catalogue says of the bits of an answer: the same in every order of lanes and blocks, or not."""

from dataclasses import replace

import pytest

from engine.backends.emulator import launch
from engine.backends.emulator.state.schedule import parse_schedule
from engine.catalogue import KERNELS, Kernel, default_choice, inputs_of, topic_of
from engine.catalogue.entries import same_bits
from engine.plan import plan, settle
from tests.cases import case

QUICK = "reduce_vectorized"
ORDERS = ("independent:1", "waves:1")
WIDTHS = {"matmul": 70, "tensor": 256, "matrix_sums": 40, "transpose": 40}
N = 1500
THOROUGH = ("reduction", "matrix_sums", "trapezoid")  # their sums of floats cross blocks


def claimed(dtype: str) -> list[Kernel]:
    return [
        kernel
        for kernel in KERNELS.values()
        if kernel.emulated and kernel.processor == "gpu" and dtype in kernel.dtypes and same_bits(kernel, dtype)
    ]


def bits(kernel: Kernel, schedule: str | None, **chosen: object) -> bytes:
    """The answer in an order, of the same numbers: the numbers of a search differ if the choice has the order."""
    usual = {"n": WIDTHS.get(kernel.topic, N), "dtype": "float32"}
    choice = settle(replace(default_choice(kernel.name), device="emulator", **{**usual, **chosen}))
    return launch.run(plan(choice), inputs_of(choice), schedule=parse_schedule(schedule)).output.tobytes()


CASES = [
    case(kernel, quick=kernel.name == QUICK, thorough=kernel.topic in THOROUGH, id=kernel.name)
    for kernel in claimed("float32")
]


@pytest.mark.sampled(thorough=2)
@pytest.mark.parametrize("kernel", CASES)
def test_what_is_said_to_give_the_same_bits_does_in_every_order(kernel: Kernel) -> None:
    assert len({bits(kernel, schedule) for schedule in (None, *ORDERS)}) == 1


def test_what_atomics_add_up_varies_in_floats_alone() -> None:
    for name in ("reduce_warp_shuffle", "column_sums_strips", "atomic_add", "matmul_stream_k"):
        kernel = KERNELS[name]
        assert same_bits(kernel, "float32") is False and same_bits(kernel, "int32") is True
    assert bits(KERNELS["reduce_warp_shuffle"], "waves:1") != b""
    assert same_bits(KERNELS["filter_atomic"], "int32") is False, "who comes first stands first"
    assert same_bits(KERNELS["filter_lookback"], "float32") is True, "in their order"
    assert same_bits(KERNELS["reduce_racy"], "int32") is None
    assert {topic_of(kernel).name for kernel in claimed("float64")} >= {"reduction", "trapezoid", "matrix_sums"}


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_that_look_back_add_in_the_same_order_however_far_they_look(dtype: str) -> None:
    """Far where all blocks begin together, one block where each has ended before the next one begins."""
    kernel = KERNELS["prefix_sum_lookback"]
    found = {bits(kernel, schedule, n=5_000, block_size=32, dtype=dtype) for schedule in (None, *ORDERS)}
    assert same_bits(kernel, dtype) is True and len(found) == 1

"""Bfloat16 data, their exact products, and kernels that are for one kind of GPU."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.catalogue import data, default_choice, tensor, topic_of
from engine.compile.cubin import code_of
from engine.compile.nvrtc import TENSOR_MAP_BYTES, compile_launch
from engine.plan import plan
from engine.records import Launch, NotRunnable, TensorMap
from tests.sentences import refused

CHOICE = replace(default_choice("tensor_persistent"), n=256, device="gpu")
MAPPED = ("tensor_wgmma", "tensor_specialized", "tensor_persistent", "tensor_whole_lines", "tensor_small_pieces")

HGMMA, WARPGROUP = 0x1F0, 0x1C5  # in the machine code of sm_90: a product, and a wait or a start of a group of them


def values(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def launch_of(kernel: str) -> Launch:
    (launch,) = plan(replace(CHOICE, kernel=kernel)).steps
    assert isinstance(launch, Launch)
    return launch


def test_the_data_are_the_floats_to_eight_binary_digits_and_never_zero() -> None:
    bits, count = topic_of("tensor_mma").input_recipe(CHOICE)["M"]
    exact = data.period("float32", tensor.SEEDS["M"])
    assert bits.dtype == np.uint16 and count == 256 * 256
    assert np.all(values(bits) != 0) and np.all(np.abs(values(bits) - exact) <= np.abs(exact) * 2.0**-8)


def test_the_product_is_checked_as_strictly_as_a_float_product() -> None:
    made = plan(CHOICE)
    left, right = (
        values(np.resize(period, count)).reshape(256, 256).astype(np.float64)
        for period, count in topic_of("tensor_mma").input_recipe(CHOICE).values()
    )
    product = left @ right
    assert tensor.check(made, product.astype(np.float32).ravel()).ok
    product[7, 9] += 0.01
    assert not tensor.check(made, product.astype(np.float32).ravel()).ok


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("kernel", tensor.KERNELS, ids=lambda kernel: kernel.name)
def test_every_kernel_compiles_for_hopper_and_takes_what_its_plan_passes(kernel) -> None:
    launch = launch_of(kernel.name)
    assert len(compile_launch(launch, "sm_90")) > 5000
    maps = [argument for argument in launch.args if isinstance(argument, TensorMap)]
    assert len(maps) == 2 * (kernel.name in MAPPED) and TENSOR_MAP_BYTES == 128
    # A box is what one copy brings: its rows of 128 bytes are what the copy engine swizzles.
    assert all(2 * one.columns == 128 for one in maps)


def test_the_bytes_of_a_product_are_what_the_threads_that_share_operands_read() -> None:
    """In operations per byte: a warp alone reads two 16 x 16 pieces for 16^3 products; a block shares larger ones."""
    plans = {name: plan(replace(CHOICE, kernel=name, n=4096)) for name in ("tensor_wmma", "tensor_mma")}
    assert {name: made.flops / made.bytes_moved for name, made in plans.items()} == {"tensor_wmma": 8, "tensor_mma": 64}


@pytest.mark.parametrize(
    ("kernel", "architecture", "key"),
    [
        ("tensor_persistent", "sm_80", "capability.tensor-on-8.0"),
        ("tensor_persistent", "sm_100", "capability.tensor-on-10.0"),
        ("tensor_mma", "sm_75", "capability.mma-on-7.5"),
    ],
)
def test_another_gpu_is_refused_before_anything_is_compiled(kernel: str, architecture: str, key: str) -> None:
    with refused(key, NotRunnable):
        compile_launch(launch_of(kernel), architecture)


def test_asynchronous_copies_are_refused_below_their_compute_capability() -> None:
    (launch,) = plan(replace(default_choice("matmul_async_copy"), n=64, device="gpu")).steps
    with refused("capability.async-copy-on-7.5", NotRunnable):
        compile_launch(launch, "sm_75")
    assert compile_launch(launch, "sm_80")


def test_each_warp_that_multiplies_has_room_to_turn_its_sums() -> None:
    assert launch_of("tensor_whole_lines").shared_bytes == launch_of("tensor_persistent").shared_bytes + 8 * 16 * 32 * 4


@pytest.mark.parametrize(
    ("n", "block_size", "blocks", "columns"),
    [(256, 128, 16, 64), (512, 128, 64, 64), (1024, 128, 128, 128), (1024, 256, 128, 64), (2048, 256, 256, 128)],
)
def test_small_pieces_are_the_smallest_that_all_run_at_once(n: int, block_size: int, blocks: int, columns: int) -> None:
    choice = replace(CHOICE, kernel="tensor_small_pieces", n=n, block_size=block_size)
    (launch,) = plan(choice).steps
    assert isinstance(launch, Launch)
    assert (launch.grid, launch.block) == ((blocks, 1, 1), (block_size + 32, 1, 1))
    assert ("COLUMNS", columns) in launch.source.defines


@pytest.mark.sampled(quick=5)
@pytest.mark.parametrize(
    "kernel", [kernel for kernel in tensor.KERNELS if kernel.name in MAPPED], ids=lambda kernel: kernel.name
)
def test_the_compiler_lets_products_overlap(kernel) -> None:
    """Where other instructions write the sums, ptxas puts a wait behind every product: a third of the speed went."""
    code = code_of(compile_launch(launch_of(kernel.name), "sm_90"), kernel.name)
    operations = [int.from_bytes(code[at : at + 2], "little") & 0x1FF for at in range(0, len(code), 16)]
    products, waits = operations.count(HGMMA), operations.count(WARPGROUP)
    assert products >= 4 and waits < products

"""Every kernel of the catalogue is right on the GPU, at awkward sizes too."""

from dataclasses import replace

import numpy as np
import pytest

from engine.backends.backend import backend_of, quiet
from engine.backends.cpu import host_step
from engine.catalogue import KERNELS, TOPICS, topic_of
from engine.plan import plan, settle
from engine.records import C_TYPES, Choice

pytestmark = pytest.mark.gpu

SIZES = {"reduction": (1, 31, 33, 1000, 4097, 2**18, 2**22 + 3), "matmul": (1, 31, 100, 257, 1025),
         "transpose": (1, 31, 100, 257, 1025), "tensor": (256, 768, 2048)}  # fmt: skip
BLOCKS = {"reduction": (32, 64, 128, 1024)}
RIGHT = [kernel for kernel in KERNELS.values() if kernel.expect != "wrong"]


def run(choice):
    made = plan(settle(choice))
    if host_step(made):
        pytest.skip("runs on the CPU")
    run = backend_of(made).run(made, quiet)
    return run.output, topic_of(choice.kernel).check(made, run.output)


def sizes(kernel):
    if kernel.name == "matmul_split":  # as those of the tensor cores, whose pieces it has
        return SIZES["tensor"]
    return SIZES.get(kernel.topic, (TOPICS[kernel.topic].default_n,))


@pytest.mark.parametrize("dtype", C_TYPES)
@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_the_answer_is_right(kernel, dtype):
    if dtype not in kernel.dtypes:
        pytest.skip(f"not with {dtype}")
    wrong = []
    for block_size in set(kernel.block_sizes) & set(BLOCKS.get(kernel.topic, kernel.block_sizes)):
        for n in sizes(kernel):
            _, checked = run(Choice(kernel.name, n, block_size, dtype=dtype, device="gpu"))
            if not checked.ok:
                wrong.append((n, block_size, checked))
    assert not wrong


@pytest.mark.parametrize("kernel", [kernel for kernel in RIGHT if len(kernel.combines) > 1], ids=lambda k: k.name)
def test_every_way_to_combine_the_blocks_gives_the_same_sum(kernel):
    for combine in kernel.combines:
        _, checked = run(Choice(kernel.name, 100_003, 128, device="gpu", combine=combine))
        assert checked.ok, (combine, checked)


@pytest.mark.parametrize(
    "kernel", ["reduce_racy", "reduce_unroll_plain", "reduce_unroll_guarded", "reduce_complete_guarded"]
)
def test_what_is_wrong_on_purpose_is_wrong(kernel):
    _, checked = run(Choice(kernel, 2**20, 128, device="gpu"))
    assert not checked.ok


@pytest.mark.parametrize("kernel", [k for k in RIGHT if k.topic == "reduction"], ids=lambda kernel: kernel.name)
def test_blocks_of_less_than_a_warp_are_right(kernel):
    combine = "host" if "host" in kernel.combines else None  # blocks of one thread cannot be relaunched
    for block_size in set(kernel.offered_block_sizes) - set(kernel.block_sizes):
        _, checked = run(Choice(kernel.name, 10_007, block_size, device="gpu", combine=combine))
        assert checked.ok, (block_size, checked)


@pytest.mark.parametrize("grid_size", [1, 2, 131, 1000])
@pytest.mark.parametrize("kernel", [k for k in RIGHT if k.coverage is None and not k.cooperative], ids=lambda k: k.name)
def test_any_grid_size_is_right(kernel, grid_size):
    choice = Choice(kernel.name, 100_003, 128, grid_size=grid_size, dtype=kernel.dtypes[0], device="gpu")
    _, checked = run(choice)
    assert checked.ok, checked


# Which thread comes first is open: the same numbers, at places of their own.
ANY_ORDER = {"order_place", "reserve_buffer", "filter_atomic", "filter_aggregated"}


@pytest.mark.parametrize("kernel", [k for k in RIGHT if "int32" in k.dtypes], ids=lambda kernel: kernel.name)
def test_gpu_and_emulator_give_the_same_whole_numbers(kernel):
    choice = Choice(kernel.name, 1000, kernel.block_sizes[-1], device="gpu")
    output, checked = run(choice)
    assert checked.ok, checked
    # In lockstep some locks are never given back; on the GPU lanes run on their own.
    schedule = "independent:1" if kernel.expect == "deadlock" else None
    emulated, checked = run(replace(choice, device="emulator", schedule=schedule))
    assert checked.ok, checked
    if kernel.name in ANY_ORDER:
        output, emulated = np.sort(output, axis=None), np.sort(emulated, axis=None)
    np.testing.assert_array_equal(output, emulated)

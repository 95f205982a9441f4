"""What can be run is planned; what cannot is refused with a sentence."""

from dataclasses import replace
from math import ceil

import pytest

from engine.catalogue import KERNELS, default_choice, matmul, topic_of
from engine.catalogue.products import MULTIPLE
from engine.plan import ELEMENTS, describe_launches, grid_for, offered_elements, plan, strides
from engine.records import Choice, HostSum, Launch, NotRunnable, TensorMap
from tests.sentences import refused

CHOICE = replace(default_choice("reduce_first_add"), source="")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"kernel": "reduce_interleavd"}, "plan.no-kernel"),
        ({"n": 0}, "plan.n-0"),
        ({"n": -5}, "plan.n-negative"),
        ({"n": 2**40}, "plan.n-too-large"),
        ({"n": 2**28, "device": "emulator"}, "plan.n-too-large-for-emulator"),
        (
            {"block_size": 33},
            "plan.block-no-power-of-two",
        ),
        ({"block_size": 2048}, "plan.block-too-large"),
        ({"block_size": 0}, "plan.block-0"),
        ({"kernel": "reduce_warp_shuffle", "block_size": 16}, "plan.block-multiple-of-32"),
        ({"kernel": "reduce_unroll_volatile", "block_size": 16}, "plan.block-from-32"),
        ({"kernel": "reduce_sequential", "block_size": 1}, "plan.relaunch-one-thread"),
        ({"kernel": "trapezoid_sequential", "dtype": "float64", "block_size": 33}, "plan.trapezoid-block-33"),
        ({"kernel": "trapezoid_sequential", "dtype": "float64", "block_size": 1}, "plan.trapezoid-block-1"),
        ({"kernel": "copy_strided", "block_size": 100}, "plan.block-offered"),
        ({"dtype": "int8"}, "plan.no-dtype"),
        ({"cache": "warm"}, "plan.no-cache"),
        ({"combine": "magic"}, "plan.no-combine"),
        ({"combine": "atomic"}, "plan.combine-offered"),
        ({"grid_size": 4}, "plan.grid-not-chosen"),
        ({"kernel": "reduce_vectorized", "grid_size": 0}, "plan.grid-0"),
        ({"kernel": "reduce_vectorized", "grid_size": 2**28}, "plan.grid-32-bits"),
        ({"kernel": "matmul_tiled", "n": 64, "block_size": 16}, "plan.matmul-dtype"),
        ({"kernel": "tensor_mma", "n": 1000, "block_size": 256, "dtype": "bfloat16"}, "plan.tensor-n-1000"),
        ({"kernel": "tensor_mma", "n": 1024, "block_size": 256, "dtype": "float32"}, "plan.tensor-dtype"),
        ({"kernel": "matmul_split", "n": 1000, "block_size": 16, "dtype": "float32"}, "plan.split-n-1000"),
        (
            {"kernel": "matmul_split", "n": 1024, "block_size": 16, "dtype": "float32", "device": "emulator"},
            "plan.only-on-gpu",
        ),
        ({"kernel": "matmul_tiled", "n": 64, "dtype": "float32", "block_size": 12}, "plan.tile-12"),
    ],
)
def test_a_choice_that_cannot_run_is_refused_with_the_reason(change: dict, key: str):
    with refused(key, NotRunnable):
        plan(replace(CHOICE, **change))


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [2, 33, 1000, 4097])
def test_every_thread_of_a_plan_has_a_block_and_every_launch_an_element(kernel: str, n: int):
    entry = KERNELS[kernel]
    if entry.topic == "tensor" or entry is matmul.SPLIT:
        n = max(1, n // MULTIPLE) * MULTIPLE
    assert entry.block_sizes and entry.combines
    for block_size in entry.block_sizes:
        for combine in entry.combines:
            choice = Choice(kernel, n, block_size, dtype=entry.dtypes[0], combine=combine, source="")
            made = plan(choice)
            launches = [step for step in made.steps if isinstance(step, Launch)]
            assert launches
            assert all(min(launch.grid) >= 1 for launch in launches)
            sizes = {buffer.name: buffer.count for buffer in made.buffers}
            assert sizes[made.result] >= made.result_count
            assert all(arg in sizes for launch in launches for arg in launch.args if isinstance(arg, str))
            assert all(arg.buffer in sizes for launch in launches for arg in launch.args if isinstance(arg, TensorMap))


@pytest.mark.parametrize(("kernel", "sources"), [("reduce_warp_shuffle", 1), ("reduce_complete_unroll", 3)])
def test_a_kernel_is_compiled_for_a_block_size_only_where_it_names_it(kernel: str, sources: int):
    made = [plan(replace(default_choice(kernel), block_size=size)) for size in (64, 128, 256)]
    assert len({step.source for one in made for step in one.steps if isinstance(step, Launch)}) == sources


def test_relaunching_ends_with_one_block_and_levels_that_shrink():
    relaunched = [kernel for kernel in KERNELS.values() if "relaunch" in kernel.combines]
    assert relaunched
    for kernel in relaunched:
        for combine in set(kernel.combines) & {"relaunch", "relaunch-resized"}:
            made = plan(replace(default_choice(kernel.name), n=1_000_003, combine=combine, source=""))
            grids = [step.grid[0] for step in made.steps if isinstance(step, Launch)]
            assert grids[-1] == 1 and grids == sorted(grids, reverse=True)


def test_a_host_sum_is_the_last_step_and_covers_every_block():
    made = plan(Choice("reduce_grid_stride_host", 1_000_003, 64, grid_size=7, source=""))
    assert made.steps[-1] == HostSum("out", 7)


def test_bytes_and_flops_are_the_lectures_counts():
    made = plan(Choice("reduce_sequential", 2**20, 128, dtype="float64", source=""))
    assert (made.bytes_moved, made.flops) == (8 * 2**20, 2**20 - 1)
    naive, tiled = (plan(Choice(k, 64, 16, dtype="float32", source="")) for k in ("matmul_naive", "matmul_tiled"))
    assert naive.bytes_moved == 4 * 2 * 64**3 and tiled.bytes_moved * 16 == naive.bytes_moved
    assert tiled.flops == 2 * 64**3


def test_default_choices_are_runnable():
    assert KERNELS
    for name in KERNELS:
        assert plan(replace(default_choice(name), source="")).grid_size >= 1
        assert default_choice(name).n == topic_of(name).default_n


@pytest.mark.parametrize(("n", "block_size"), [(2**22, 256), (1000, 32), (1, 1024), (10_000_000, 128)])
def test_every_number_of_elements_is_a_grid_that_covers_n(n: int, block_size: int) -> None:
    grids = [grid_for(n, block_size, each) for each in ELEMENTS]
    assert grids[0] == ceil(n / block_size) and min(grids) >= 1
    for each, grid in zip(ELEMENTS, grids, strict=True):
        assert ceil(n / (grid * block_size)) <= each


@pytest.mark.parametrize(
    ("n", "block_size", "most"), [(2**22, 256, 2**14), (2**16, 128, 512), (1000, 32, 32), (1, 32, 1)]
)
def test_the_offered_elements_per_thread_end_with_one_block(n: int, block_size: int, most: int) -> None:
    every = offered_elements(n, block_size)
    assert every == ELEMENTS[: len(every)] and every[-1] == most
    assert len({grid_for(n, block_size, each) for each in every}) == len(every)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS.values() if strides(kernel)], ids=lambda k: k.name)
def test_every_kernel_that_strides_takes_these_grids(kernel) -> None:
    for each in (1, 64):
        grid = grid_for(2**16, kernel.block_sizes[-1], each)
        made = plan(Choice(kernel.name, 2**16, kernel.block_sizes[-1], grid, dtype=kernel.dtypes[0]))
        assert made.grid_size == grid


def test_the_launches_are_described_in_words() -> None:
    asked = replace(CHOICE, kernel="reduce_interleaved", n=2**22, block_size=128)
    assert describe_launches(asked) == "32,768 blocks of 128 threads, then 256 blocks, then 2, then 1"
    assert describe_launches(replace(CHOICE, kernel="matmul_naive", n=1024, block_size=16, dtype="float32")) == (
        "64 x 64 blocks of 16 x 16 threads"
    )
    assert describe_launches(default_choice("reduce_scalar")) == "" == describe_launches(replace(CHOICE, n=0))

"""Which block sizes the sums take: those that the lectures draw and list run, and what is refused would be wrong."""

import struct
from dataclasses import replace

import pytest

from engine.backends.backend import backend_named, quiet
from engine.catalogue import KERNELS, Kernel, data, reduction
from engine.catalogue.entries import SMALL_BLOCKS
from engine.compile.cubin import code_of
from engine.compile.nvrtc import compile_source
from engine.plan import plan, settle
from engine.records import Choice, Launch, NotRunnable, RunFailed, Source
from tests.cases import case
from tests.made import measure

SMALL = [(kernel, size) for kernel in reduction.KERNELS for size in SMALL_BLOCKS if size in kernel.offered_block_sizes]
# The sizes that are refused, nearest to those that run: half a warp, or three quarters of a power of two.
TOO_SMALL = {reduction.LAST_WARP: (16,), reduction.WHOLE_WARPS: (16, 48), reduction.HALVED: (24, 96)}


@pytest.mark.sampled(quick=6, thorough=3)
@pytest.mark.parametrize(
    ("kernel", "block_size"),
    [case(kernel, size, quick=size in (2, 8), id=f"{kernel.name}-{size}") for kernel, size in SMALL],
)
def test_blocks_of_less_than_a_warp_run_where_the_kernel_needs_no_more(kernel: Kernel, block_size: int):
    choice = Choice(kernel.name, 100, block_size, device="emulator")
    if block_size == kernel.coverage == 1 and "relaunch" in kernel.combines:
        with pytest.raises(NotRunnable, match="never ends"):
            plan(settle(choice))
        choice = replace(choice, combine="host")
    found = measure(choice)
    assert found.status in ("ok", "hazard") or kernel.expect == "wrong"
    assert found.check.ok or kernel.name == "reduce_racy"


@pytest.mark.sampled(quick=8, thorough=3)
@pytest.mark.parametrize(
    ("kernel", "block_size"),
    [(kernel, size) for kernel in reduction.KERNELS for size in TOO_SMALL.get(kernel.needs, ())],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_is_refused_would_not_be_right(kernel: Kernel, block_size: int):
    choice = settle(Choice(kernel.name, 5000, block_size, dtype="float32", device="emulator"))
    with pytest.raises(NotRunnable, match="must be a"):
        plan(choice)
    made = reduction.plan(kernel, choice)  # past the door
    try:
        run = backend_named("emulator").run(made, quiet)
    except RunFailed:
        return
    assert run.findings or not reduction.check(made, run.output).ok


def test_the_lectures_picture_of_eight_numbers_runs_as_drawn():
    (launch,) = (step for step in plan(settle(Choice("reduce_sequential", 8, 8, device="emulator"))).steps)
    assert isinstance(launch, Launch) and (launch.grid[0], launch.block[0]) == (1, 8)
    assert measure(Choice("reduce_sequential", 8, 8, device="emulator")).status == "ok"


@pytest.mark.parametrize("kernel", ["reduce_complete_volatile", "reduce_complete_guarded"])
def test_every_case_of_the_switch_on_the_slides_runs(kernel: str):
    assert all(KERNELS[kernel].runs_with(1 << power) for power in range(11))
    assert not KERNELS[kernel].runs_with(2048) and not KERNELS[kernel].runs_with(96)


@pytest.mark.parametrize("block_size", [96, 160, 1024])
def test_whole_warps_are_enough_for_shuffles(block_size: int):
    for name in ("reduce_warp_shuffle", "reduce_last_block", "reduce_vectorized"):
        assert measure(Choice(name, 5000, block_size, device="emulator")).status == "ok"


@pytest.mark.parametrize("dtype", [case("int32", quick=True), case("float64", quick=False)])
def test_a_slice_is_added_from_any_start_and_nothing_else(dtype: str):
    for offset in (0, 1, 3, 6):
        for n in (2, 700 + offset):
            choice = Choice("reduce_unaligned", n, 64, dtype=dtype, parameter=offset, device="emulator")
            found = measure(choice)
            numbers = data.period(dtype, reduction.SEED)[offset : offset + n]
            assert found.status == "ok" and found.check.expected == pytest.approx(numbers.sum())
            assert reduction.input_recipe(choice)["in"][1] == n + offset


@pytest.mark.parametrize("block_size", [1, 7, 100])
def test_without_a_tree_any_block_size_runs(block_size: int):
    assert measure(Choice("reduce_atomic", 1000, block_size, device="emulator")).status == "ok"


LOAD, STORES, BARRIER = 0x984, (0x388, 0x988), 0xB1D  # opcodes of machine code from sm_70 on: LDS, STS, BAR


def last_warp(kernel: str, architecture: str) -> list[str]:
    """The accesses to shared memory behind the last barrier: "load 64" is of the word 64 bytes on, "store"."""
    source = Source(KERNELS[kernel].file_name, KERNELS[kernel].text, "int32", (("BLOCK_SIZE", 128),))
    made: list[str] = []
    for low, _ in struct.iter_unpack("<QQ", code_of(compile_source(source, architecture), kernel)):
        opcode = low & 0xFFF
        made = [] if opcode == BARRIER else made
        made += [f"load {low >> 40 & 0xFFFFFF}"] if opcode == LOAD else ["store"] if opcode in STORES else []
    return made


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("kernel", "in_order"),
    [("reduce_unroll_guarded", False), ("reduce_complete_guarded", False), ("reduce_unroll_plain", False),
     ("reduce_unroll_volatile", True), ("reduce_complete_volatile", True), ("reduce_unroll_syncwarp", True)],
)  # fmt: skip
def test_without_volatile_machine_code_loads_a_neighbours_number_before_the_neighbour_stores_it(
    kernel: str, in_order: bool, architecture: str
):
    made = last_warp(kernel, architecture)
    # partial[tid + 16] is 64 bytes on; it must be read after the store of the step that adds partial[tid + 32].
    assert (made.index("load 64") > made.index("store")) is in_order, made

"""The lecture's arithmetic gives the lecture's numbers, and the cubin's numbers are those of the compiler."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from shutil import which

import pytest

from engine.catalogue import KERNELS
from engine.catalogue.gpu_models import GPU_MODELS, H200, LECTURE_GPU, occupancy
from engine.compile.cubin import read_resources, resources_of
from engine.lectures.arithmetic import matmul
from engine.lectures.arithmetic.matmul import (
    cgma,
    float_operations,
    lecture_numbers,
    naive_reads,
)
from engine.plan import plan, settle
from engine.records import Choice, NotRunnable
from tests.cases import case
from tests.sentences import refused

MATMUL = [kernel for kernel in KERNELS.values() if kernel.topic == "matmul"]


def choice(kernel: str, block_size: int = 16, n: int = 1024) -> Choice:
    return Choice(kernel, n, block_size, dtype="float32", source=KERNELS[kernel].text)


def test_the_slides_numbers():
    assert naive_reads(1024) == 2 * 1024**3
    assert cgma(1024, naive_reads(1024)) == 3
    assert matmul.bound_gflop_s(200, 3) == 150
    assert matmul.bound_gflop_s(200, cgma(1024, naive_reads(1024) // 16)) == 2400


@pytest.mark.parametrize(("kernel", "operations"), [("matmul_naive", 2), ("matmul_tiled", 2 * 16)])
def test_two_loads_serve_two_operations_on_floats_or_those_of_a_tile(kernel: str, operations: int) -> None:
    assert float_operations(settle(replace(choice(kernel), device="gpu"))) == operations


def test_the_lectures_occupancy_examples():
    # 16 x 16: six blocks saturate 1536 threads; shared memory alone would allow eight.
    small = occupancy(LECTURE_GPU, 256, 0, 2048)
    assert (small.blocks, small.fraction, small.limited_by) == (6, 1.0, ("threads",))
    assert small.limits["shared memory"] == 8
    # 32 x 32: one block of 1024 threads, 2/3 occupancy.
    large = occupancy(LECTURE_GPU, 1024, 0, 8192)
    assert large.blocks == 1 and large.fraction == pytest.approx(2 / 3) and "threads" in large.limited_by


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "by"),
    [
        (256, 32, 0, 8, ("threads", "registers")),
        (256, 33, 0, 6, ("registers",)),
        (256, 128, 40960, 2, ("registers",)),
        (1024, 64, 0, 1, ("registers",)),
        (32, 16, 0, 32, ("blocks",)),
        (128, 16, 48 << 10, 4, ("shared memory",)),
        (96, 255, 0, 2, ("registers",)),
    ],
)
def test_occupancy_of_the_h200(threads: int, registers: int, shared: int, blocks: int, by: tuple[str, ...]):
    found = occupancy(H200, threads, registers, shared)
    assert (found.blocks, found.limited_by) == (blocks, by)
    assert found.warps == blocks * threads // 32 and found.fraction == found.warps / 64


def test_a_block_that_does_not_fit_is_refused():
    with refused("occupancy.no-room", NotRunnable):
        occupancy(H200, 1024, 255, 0)


@pytest.mark.sampled(quick=2, thorough=4)
@pytest.mark.parametrize(
    "kernel", [case(k, quick=k.name in ("matmul_tiled", "matmul_vectorized"), id=k.name) for k in MATMUL]
)
def test_every_matrix_kernel_fits_the_h200_without_spilling(kernel):
    assert kernel.block_sizes
    for block_size in kernel.block_sizes:
        numbers = lecture_numbers(choice(kernel.name, block_size), H200)
        # The wide tile's sums fill the registers: a few addresses, none of them used in the loop, find no room.
        spilled = 64 if kernel.name == "matmul_wide_tile" else 0
        assert numbers.resources.local_bytes <= spilled and numbers.occupancy.blocks >= 1
        assert len(matmul.sentences(numbers)) == 4
        assert numbers.reads <= numbers.naive_reads


def test_the_arithmetic_agrees_with_the_plan_and_the_lecture():
    for m in (8, 16, 32):
        tiled = lecture_numbers(choice("matmul_tiled", m))
        assert tiled.reads == naive_reads(1024) // m and tiled.resources.shared_bytes == 2 * m * m * 4
        assert plan(choice("matmul_tiled", m)).bytes_moved == 4 * tiled.reads
    naive = lecture_numbers(choice("matmul_naive"))
    assert naive.reads == naive.naive_reads and naive.cgma == 3 and naive.intensity == 0.25
    assert lecture_numbers(choice("matmul_register_2d")).reads == naive_reads(1024) // 128


def test_the_lectures_gpu_runs_the_compiled_kernel_too():
    for gpu in GPU_MODELS.values():
        assert lecture_numbers(choice("matmul_tiled"), gpu).occupancy.blocks >= 1
    with pytest.raises(NotRunnable, match="about matrix multiplication"):
        lecture_numbers(Choice("reduce_sequential", 1024, 128))


def test_a_cubin_without_the_kernel_and_a_file_that_is_none():
    with pytest.raises(ValueError, match="no cubin"):
        read_resources(b"not an ELF file", "k")
    from engine.compile.nvrtc import compile_source

    with pytest.raises(KeyError, match="no kernel other"):
        read_resources(compile_source(plan(choice("matmul_tiled")).steps[0].source, "sm_90"), "other")


@pytest.mark.sampled(quick=3)
@pytest.mark.skipif(which("ptxas") is None, reason="needs the toolkit's ptxas to compare with")
@pytest.mark.parametrize("kernel", ["matmul_tiled", "matmul_async_copy", "trapezoid_sequential"])
def test_resources_equal_what_the_compiler_says(kernel: str, tmp_path: Path):
    from engine.compile.nvrtc import compile_source

    dtype = KERNELS[kernel].dtypes[0]
    launch = plan(Choice(kernel, 1024, KERNELS[kernel].block_sizes[0], dtype=dtype)).steps[0]
    file = tmp_path / "kernel.ptx"
    file.write_bytes(compile_source(launch.source, "compute_90").rstrip(b"\0"))
    said = subprocess.run(["ptxas", "-arch=sm_90", "-v", file, "-o", tmp_path / "out"], capture_output=True, text=True)
    part = said.stderr.partition(f"Function properties for {kernel}")[2].partition("Compiling entry")[0]
    found = resources_of(launch.source, kernel, "sm_90")
    assert int(re.search(r"Used (\d+) registers", part)[1]) == found.registers
    assert int(re.search(r"(\d+) bytes smem", part)[1] if "smem" in part else 0) == found.shared_bytes
    assert int(re.search(r"(\d+) bytes stack frame", part)[1]) == found.local_bytes


def test_a_reduction_in_small_blocks_fills_half_an_sm():
    small, large = (matmul.residency(Choice("reduce_sequential", 2**20, size))[2] for size in (32, 256))
    assert (small.blocks, small.fraction, small.limited_by) == (32, 0.5, ("blocks",))
    assert large.fraction == 1.0
    with pytest.raises(NotRunnable, match="runs on the CPU"):
        matmul.residency(Choice("trapezoid_scalar", 65536, 256, dtype="float64"))

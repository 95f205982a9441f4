"""The lecture's arithmetic of matrix multiplication: reads, CGMA ratio, shared memory, blocks per SM and occupancy.

Pure functions of numbers, and one that applies them to a choice with the compiled kernel's registers and shared memory.
m is the tile width, n the matrix width; "SM" is a multiprocessor.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.catalogue import kernel_named, matmul
from engine.catalogue.gpu_models import H200, GpuModel, Occupancy, occupancy
from engine.compile.cubin import Resources, resources_of
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.plan import plan
from engine.records import Launch, NotRunnable, Settled

FLOAT_BYTES = 4

# The lecture counts 6 operations for each product: + and * of the numbers, and + and * of both addresses.
LECTURE_OPERATIONS = 6
ADDRESS_FREE_OPERATIONS = 2  # + and * of the numbers, which GFLOP/s counts


@dataclass(frozen=True)
class LectureNumbers:
    """The lecture's arithmetic for one kernel, n and m on one GPU.

    `reads` from global memory beside the naive kernel's; `cgma`: the lecture's operations per read; `bound_gflop_s`:
    the throughput that the bandwidth then allows, by the lecture's count of operations; `intensity`: FLOP per byte of
    these reads.
    """

    gpu: GpuModel
    n: int
    reads: int
    naive_reads: int
    cgma: float
    bound_gflop_s: float
    intensity: float
    threads: int
    resources: Resources
    occupancy: Occupancy


def naive_reads(n: int) -> int:
    """Return 2n^3: n^2 elements need 2n reads each."""
    return 2 * n**3


def cgma(n: int, reads: int) -> float:
    """Return the compute to global memory access ratio, operations per read; the lecture counts 3 for the naive
    kernel."""
    return LECTURE_OPERATIONS * n**3 / reads


def bound_gflop_s(bandwidth_gb_s: float, ratio: float) -> float:
    """Return the GFLOP/s that the bandwidth allows: 200 GB/s are 50 G floats/s, at 3 operations each 150 GFLOP/s."""
    return bandwidth_gb_s / FLOAT_BYTES * ratio


def intensity(n: int, reads: int) -> float:
    """Return the FLOP (2n^3, as GFLOP/s counts them) for each byte of `reads` floats."""
    return ADDRESS_FREE_OPERATIONS * n**3 / (FLOAT_BYTES * reads)


def float_operations(choice: Settled) -> float:
    """Return the operations on floats for each two loads from global memory, in the text of the PTX of the plan's first
    launch: a multiply-add is two. CompileError; NotRunnable: nothing is launched."""
    ptx = compile_source(_first_launch(choice).source, EMULATED_ARCHITECTURE).decode()
    operations = 2 * ptx.count("fma.rn.f32") + ptx.count("mul.f32") + ptx.count("add.f32")
    return 2 * operations / ptx.count("ld.global")


def _first_launch(choice: Settled) -> Launch:
    launch = next((step for step in plan(choice).steps if isinstance(step, Launch)), None)
    if launch is None:
        raise NotRunnable(f"{choice.kernel} runs on the CPU: it has no blocks.")
    return launch


def residency(choice: Settled, gpu: GpuModel = H200) -> tuple[int, Resources, Occupancy]:
    """Return (threads of a block, resources of the compiled kernel, its occupancy of an SM) for the plan's first
    launch.

    NotRunnable: nothing is launched, or no block fits. CompileError.
    """
    launch = _first_launch(choice)
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    needed = resources_of(launch.source, launch.kernel, gpu.architecture)
    return threads, needed, occupancy(gpu, threads, needed.registers, needed.shared_bytes)


def lecture_numbers(choice: Settled, gpu: GpuModel = H200) -> LectureNumbers:
    """Return the lecture's arithmetic for a matrix kernel, compiled for `gpu`. NotRunnable, CompileError."""
    kernel = kernel_named(choice.kernel)
    if kernel.topic != matmul.TOPIC.name:
        raise NotRunnable(f"The lecture's arithmetic is about matrix multiplication, and {kernel.name} is none.")
    threads, needed, held = residency(choice, gpu)
    reads = matmul.reads(kernel, choice.n, choice.block_size)
    ratio = cgma(choice.n, reads)
    return LectureNumbers(
        gpu=gpu,
        n=choice.n,
        reads=reads,
        naive_reads=naive_reads(choice.n),
        cgma=ratio,
        bound_gflop_s=bound_gflop_s(gpu.bandwidth_gb_s, ratio),
        intensity=intensity(choice.n, reads),
        threads=threads,
        resources=needed,
        occupancy=held,
    )


def sentences(numbers: LectureNumbers) -> tuple[str, ...]:
    """Return the arithmetic in the lecture's words, one statement each."""
    n, found = numbers, numbers.occupancy
    per_sm = "block" if found.blocks == 1 else "blocks"
    memory = f"{n.resources.shared_bytes:,} bytes of shared memory" if n.resources.shared_bytes else "no shared memory"
    more = "the same" if n.naive_reads == n.reads else f"{n.naive_reads / n.reads:.3g} times as many"
    return (
        f"{n.reads:,} reads from global memory; the naive kernel makes 2n³ = {n.naive_reads:,}, {more}.",
        f"CGMA ratio {n.cgma:.3g}:1, by the lecture's {LECTURE_OPERATIONS} operations for each product: "
        f"{n.gpu.bandwidth_gb_s:,.0f} GB/s allow {n.bound_gflop_s:,.0f} GFLOP/s if every read goes to memory.",
        f"A block of {n.threads:,} threads uses {n.resources.registers} registers a thread and {memory}.",
        f"{found.blocks} {per_sm} per SM, {found.warps} warps: occupancy {found.fraction:.0%}, limited by "
        f"{' and '.join(found.limited_by)}.",
    )

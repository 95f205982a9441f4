"""Plans and machine code for other GPUs than the one of the recorded runs."""

import re
from dataclasses import replace

import pytest

from engine.backends.emulator import launch, loading
from engine.catalogue import KERNELS, Kernel, default_choice, topic_of
from engine.catalogue.gpu_models import GPU, GPU_MODELS, model_of
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.history.recordings import KEY, Entry, entries
from engine.machine.devices import HostGpu, set_gpus
from engine.machine.environment import cuda_major, too_old
from engine.plan import gpu_of, plan, settle
from engine.records import Choice, Launch, NotRunnable, Settled
from tests.cases import case, turn
from tests.made import measure
from tests.sentences import refused, sentence

SMALL = model_of("A GPU of 20 multiprocessors", "86", 20)
MATRICES = {"matmul": 64, "tensor": 256, "matrix_sums": 64, "transpose": 64}  # widths that do for a test
SIZE, FILLING = 2000, 2**17  # elements: for one wave of blocks, and for more than 20 multiprocessors hold
EVERY = 997  # of the recorded rows the quick run plans one in so many


def chosen(kernel: str, **changes: object) -> Settled:
    return settle(replace(default_choice(kernel), device="gpu", **changes))


def recorded_code(entry: Entry) -> str | None:
    return entry.recording.sessions[entry.row["session"]].kernels.get(entry.key[0])


@pytest.mark.parametrize("step", [EVERY, case(9, quick=False), case(1, quick=False, thorough=False)])
def test_the_plans_for_the_recorded_gpu_are_those_of_the_recorded_rows(step: int) -> None:
    """Of a kernel whose code has changed since, nothing is asked: its rows are to be recorded anew."""
    rows = [entry for entry in entries() if entry.row["status"] == "ok" and entry.code == recorded_code(entry)]
    assert len(rows) > 20_000
    for entry in rows[::step]:
        named = dict(zip(KEY, entry.key, strict=True))
        made = plan(Settled(grid_size=named.pop("grid_asked"), device="gpu", **named), GPU)
        row = entry.row
        assert (made.grid_size, made.bytes_moved, made.flops) == (row["grid_size"], row["bytes_moved"], row["flops"])


@pytest.mark.parametrize(
    ("choice", "blocks"),
    [
        (Choice("reduce_warp_shuffle", 2**24, 128), 20 * 12),  # 1,536 threads are twelve blocks of 128
        (Choice("reduce_warp_shuffle", 2**24, 64), 20 * 16),  # and no more than sixteen blocks
        (Choice("reduce_warp_shuffle", 2**10, 128), 8),  # as many as there is work for
        (Choice("reduce_cooperative", 2**24, 128), 20 * 12 // 2),
        (Choice("reduce_vectorized", 2**20, 256), 20 * 4),
        (Choice("max_vectorized", 2**24, 256), 20 * 4),
        (Choice("prefix_sum_specialized", 2**24, 256), 20 * 6 // 2),
        (Choice("filter_specialized", 10_000, 256), 2),  # 7,168 numbers to a tile
        (Choice("histogram_shared", 2**24, 256), 20 * 6),
        (Choice("matmul_stream_k", 1024, 16, dtype="float32"), 20),
        (Choice("column_sums_strips", 4096, 256), 32 * 2),  # strips of 128 columns, two blocks for each
    ],
    ids=lambda value: value.kernel if isinstance(value, Choice) else "",
)  # fmt: skip
def test_the_grid_of_a_small_gpu_fills_that_one(choice: Choice, blocks: int) -> None:
    assert plan(settle(replace(choice, device="gpu")), SMALL).grid_size == blocks


def test_no_grid_of_a_small_gpu_is_larger_than_that_of_a_large_one() -> None:
    kernels = [
        kernel for kernel in KERNELS.values() if not kernel.capability.endswith("a") and kernel.processor == "gpu"
    ]
    assert len(kernels) > 100
    for kernel in kernels:
        choice = chosen(kernel.name)
        assert plan(choice, SMALL).grid_size <= plan(choice, GPU).grid_size


@pytest.mark.parametrize(
    ("kernel", "gpu", "key"),
    [
        ("tensor_persistent", GPU_MODELS["a100"],
         "capability.tensor-on-a100"),
        ("matmul_async_copy", GPU_MODELS["t4"],
         "capability.async-copy-on-t4"),
        ("tensor_wgmma", replace(GPU, name="Half an H200", shared_bytes=114 << 10),
         "capability.shared-memory"),
    ],
)  # fmt: skip
def test_what_a_gpu_lacks_is_said_in_a_sentence(kernel: str, gpu, key: str) -> None:
    with refused(key, NotRunnable):
        plan(chosen(kernel), gpu)


@pytest.mark.parametrize(
    ("capability", "threads", "shared"), [("60", 2048, 48), ("61", 2048, 48), ("70", 2048, 96), ("75", 1024, 64)]
)
def test_a_gpu_before_ampere_has_limits_of_its_own(capability: str, threads: int, shared: int) -> None:
    found = model_of("Some GPU", capability, 56)
    assert (found.threads, found.block_shared_bytes) == (threads, shared << 10)


def test_a_gpu_that_this_cuda_has_no_code_for_is_told_the_file_that_has() -> None:
    assert too_old(90, 13) is None and too_old(75, 13) is None and too_old(60, 12) is None
    assert sentence("doctor.too-old", too_old(70, 13) or "")
    assert sentence("doctor.older-than-all", too_old(52, 12) or "")


def test_a_plan_is_for_the_gpu_that_runs_it() -> None:
    choice = chosen("reduce_warp_shuffle", n=2**24)
    try:
        unsized = HostGpu("NVIDIA H200", "GPU-2", "580.1")
        set_gpus((HostGpu("A GPU of 20 multiprocessors", "GPU-1", "580.1", "86", 20), unsized))
        assert gpu_of(choice) == SMALL and plan(choice).grid_size == 240
        assert gpu_of(replace(choice, device="emulator")) == GPU
        assert gpu_of(replace(choice, model="NVIDIA H200")) == GPU  # whose driver does not say how large it is
        assert gpu_of(replace(choice, model="NVIDIA T4")) == GPU_MODELS["t4"]
    finally:
        set_gpus(None)
    assert gpu_of(choice) == GPU and gpu_of(replace(choice, model="unheard of")) == GPU


def small(kernel: Kernel, size: int = SIZE) -> Settled:
    n = MATRICES.get(kernel.topic, min(size, topic_of(kernel).emulator_max_n))
    return settle(replace(default_choice(kernel.name), n=n, device="emulator"))


RUN = [
    kernel for kernel in KERNELS.values()
    if kernel.emulated and kernel.processor == "gpu" and kernel.expect == "ok" and not kernel.capability.endswith("a")
]  # fmt: skip
PLANNED = [kernel for kernel in RUN if plan(small(kernel, FILLING), SMALL) != plan(small(kernel, FILLING), GPU)]


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", PLANNED, ids=lambda kernel: kernel.name)
def test_what_is_planned_for_a_small_gpu_is_right(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.plan.GPU", SMALL)
    choice = small(kernel, FILLING)
    found = measure(choice)
    assert found.status == "ok" and found.grid_size == plan(choice, SMALL).grid_size


# Of most kernels the PTX is the same for all generations but its heading; those that ask for theirs come in the
# thorough run with CUDA 12, which has the GPUs before Turing, too: of each kernel one of the two.
OLDER = ("compute_60", "compute_70") if cuda_major() < 13 else ()
ARCHITECTURES = (*OLDER, "compute_75", "compute_80", "compute_86", "compute_89", "compute_100")
GENERATIONS = [
    case(kernel, architecture, quick=False, id=f"{kernel.name}-{architecture}",
         thorough=bool(OLDER) and (turn(kernel.name, place, 2) if architecture in OLDER
                                   else "__CUDA_ARCH__" in kernel.text and architecture != "compute_89"))
    for kernel in RUN
    for place, architecture in enumerate(ARCHITECTURES)
    if int(architecture[8:]) >= int(kernel.capability or 0)
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "architecture"), GENERATIONS)
def test_the_ptx_of_another_generation_gives_the_same_answer(
    kernel: Kernel, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = small(kernel)
    sources = {step.source for step in plan(choice).steps if isinstance(step, Launch)}
    if all(body(source, architecture) == body(source, EMULATED_ARCHITECTURE) for source in sources):
        return
    for module in (launch, loading):
        monkeypatch.setattr(module, "EMULATED_ARCHITECTURE", architecture)
    # Since Volta a lock may be given back behind the loop, and for 10.0 the compiler puts it there: no lockstep.
    caches = (loading.module_of, loading.load)
    try:
        for cache in caches:
            cache.cache_clear()
        found = measure(choice, "independent:1" if kernel.topic == "volta" else None)
    finally:
        for cache in caches:
            cache.cache_clear()
    assert found.status == "ok", found.reason


def body(source, architecture: str) -> str:
    """PTX without the lines that say what it is for."""
    return re.sub(r"^\.(version|target).*$", "", compile_source(source, architecture).decode(), flags=re.MULTILINE)

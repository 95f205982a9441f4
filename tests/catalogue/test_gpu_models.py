"""What the models of GPUs say agrees with what is known by compute capability."""

from engine.catalogue.gpu_models import GPU, GPU_MODELS, LECTURE_GPU, model_of, resident_threads

REAL_GPUS = [gpu for gpu in GPU_MODELS.values() if gpu is not LECTURE_GPU]


def test_a_model_holds_as_many_threads_as_its_compute_capability() -> None:
    assert REAL_GPUS
    for gpu in REAL_GPUS:
        assert gpu.threads == resident_threads(gpu.architecture.removeprefix("sm_"))


def test_the_blocks_that_fill_the_gpu_of_the_recorded_runs() -> None:
    assert [GPU.filling_blocks(block_size) for block_size in (32, 64, 128, 1024)] == [4224, 4224, 2112, 264]


def test_a_gpu_that_no_model_names_holds_what_its_compute_capability_says() -> None:
    assert REAL_GPUS
    for gpu in REAL_GPUS:
        assert model_of(gpu.name, gpu.capability, gpu.multiprocessors) == gpu
        made = model_of("Another", gpu.capability, 20)
        assert (made.threads, made.blocks, made.shared_bytes) == (gpu.threads, gpu.blocks, gpu.shared_bytes)
        assert made.reserved == gpu.reserved and made.l1_bytes == gpu.l1_bytes

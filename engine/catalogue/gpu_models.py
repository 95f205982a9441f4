"""What GPUs hold, by model: for the lectures' arithmetic, the catalogue's grids, and the GPU that is emulated."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32


@dataclass(frozen=True)
class GpuModel:
    """What one SM of a GPU has room for, and its memory's bandwidth.

    `architecture`: what its kernels are compiled for. `l1_bytes`: L1 cache and shared memory together. `reserved`:
    whether the system keeps 1 KB of each block's shared memory for itself.
    """

    name: str
    architecture: str
    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    l1_bytes: int
    bandwidth_gb_s: float
    reserved: bool = True


# Occupancy limits: CUDA programming guide, "Technical specifications per compute capability". The lecture's GPU is put
# together from its slides: 1536 threads, 64K registers and 16 KB of shared memory an SM; 200 GB/s. Its kernels are
# compiled for 7.5, the oldest that today's compiler knows.
GPU_MODELS: dict[str, GpuModel] = {
    "lecture": GpuModel("The lecture's example (1,536 threads per SM)", "sm_75", 1536, 8, 65536, 16 << 10, 64 << 10,
                        200, reserved=False),
    "h200": GpuModel("NVIDIA H200", "sm_90", 2048, 32, 65536, 228 << 10, 256 << 10, 4800),
    "h100": GpuModel("NVIDIA H100 SXM", "sm_90", 2048, 32, 65536, 228 << 10, 256 << 10, 3350),
    "a100": GpuModel("NVIDIA A100 80 GB", "sm_80", 2048, 32, 65536, 164 << 10, 192 << 10, 2039),
    "rtx4090": GpuModel("NVIDIA RTX 4090", "sm_89", 1536, 24, 65536, 100 << 10, 128 << 10, 1008),
    "rtx3090": GpuModel("NVIDIA RTX 3090", "sm_86", 1536, 16, 65536, 100 << 10, 128 << 10, 936),
    "t4": GpuModel("NVIDIA T4", "sm_75", 1024, 16, 65536, 64 << 10, 96 << 10, 320, reserved=False),
}  # fmt: skip
# Of older lectures and homework, for launch limits alone: today's compiler makes nothing for it.
OLDER_MODELS: dict[str, GpuModel] = {
    "v100": GpuModel("NVIDIA Tesla V100", "sm_70", 2048, 32, 65536, 96 << 10, 128 << 10, 900, reserved=False),
}
LECTURE_GPU, H200 = GPU_MODELS["lecture"], GPU_MODELS["h200"]

# The H200 of the recorded runs, and the emulated GPU. A kernel that strides over the grid is launched as for this one
# wherever it runs: a choice then has one plan, on a GPU, on the emulator and in the recordings.
GPU, MULTIPROCESSORS = H200, 132

# Threads that a multiprocessor holds, by compute capability, where it is not 2048.
_RESIDENT = {"75": 1024, "86": 1536, "87": 1536, "89": 1536, "120": 1536}


def resident_threads(capability: str) -> int:
    """How many threads a multiprocessor of this compute capability ("90") holds."""
    return _RESIDENT.get(capability, 2048)


def filling_blocks(block_size: int) -> int:
    """The blocks of so many threads that fill GPU once; more than fit only wait."""
    return MULTIPROCESSORS * min(GPU.blocks, GPU.threads // block_size)


def model_named(name: str) -> GpuModel | None:
    """The GPU that a person means by "v100", "Tesla V100" or "NVIDIA H200"; None where none is known by it."""
    asked = name.lower().split()
    models = {**GPU_MODELS, **OLDER_MODELS}
    found = [gpu for key, gpu in models.items() if asked == [key] or set(asked) <= set(gpu.name.lower().split())]
    return found[0] if found and asked else None

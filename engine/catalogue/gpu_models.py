"""GPUs of the lectures and of today: their limits, and the number of resident blocks of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from engine.records import NotRunnable

WARP = 32


@dataclass(frozen=True)
class GpuModel:
    """The limits of one SM of a GPU, its memory's bandwidth, and its number of SMs.

    `architecture`: the compiler's target. `l1_bytes`: L1 cache and shared memory together. `reserved`: whether the
    system keeps 1 KB of each block's shared memory for itself. `bandwidth_gb_s`, `multiprocessors`: 0 if unknown.
    """

    name: str
    architecture: str
    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    l1_bytes: int
    bandwidth_gb_s: float
    multiprocessors: int
    reserved: bool = True

    @property
    def capability(self) -> str:
        """Return the compute capability: "90"."""
        return self.architecture.removeprefix("sm_")

    @property
    def block_shared_bytes(self) -> int:
        """Return the most shared memory that a block can ask for: before Volta less than an SM has."""
        if int(self.capability.rstrip("a")) < 70:
            return 48 << 10
        return self.shared_bytes - (1024 if self.reserved else 0)

    def filling_blocks(self, block_size: int) -> int:
        """Return the number of blocks of so many threads that fill the GPU once."""
        return self.multiprocessors * min(self.blocks, self.threads // block_size)


# Occupancy limits: CUDA programming guide, "Technical specifications per compute capability". The lecture's GPU is put
# together from its slides: 1536 threads, 64K registers and 16 KB of shared memory an SM; 200 GB/s. Its kernels are
# compiled for 7.5, the oldest that today's compiler knows. Bandwidths: data sheets; that of the H200: its attributes,
# as in the recorded runs' percentages of peak.
GPU_MODELS: dict[str, GpuModel] = {
    "lecture": GpuModel("The lecture's example (1,536 threads per SM)", "sm_75", 1536, 8, 65536, 16 << 10, 64 << 10,
                        200, 0, reserved=False),
    "h200": GpuModel("NVIDIA H200", "sm_90", 2048, 32, 65536, 228 << 10, 256 << 10, 4814, 132),
    "h100": GpuModel("NVIDIA H100 SXM", "sm_90", 2048, 32, 65536, 228 << 10, 256 << 10, 3350, 132),
    "a100": GpuModel("NVIDIA A100 80 GB", "sm_80", 2048, 32, 65536, 164 << 10, 192 << 10, 2039, 108),
    "rtx4090": GpuModel("NVIDIA RTX 4090", "sm_89", 1536, 24, 65536, 100 << 10, 128 << 10, 1008, 128),
    "rtx3090": GpuModel("NVIDIA RTX 3090", "sm_86", 1536, 16, 65536, 100 << 10, 128 << 10, 936, 82),
    "t4": GpuModel("NVIDIA T4", "sm_75", 1024, 16, 65536, 64 << 10, 96 << 10, 320, 40, reserved=False),
}  # fmt: skip
# GPUs of older lectures and homework, for launch limits alone: today's compiler has no code for them.
OLDER_MODELS: dict[str, GpuModel] = {
    "v100": GpuModel("NVIDIA Tesla V100", "sm_70", 2048, 32, 65536, 96 << 10, 128 << 10, 900, 80, reserved=False),
}
LECTURE_GPU, H200 = GPU_MODELS["lecture"], GPU_MODELS["h200"]

# The H200 of the recorded runs, and the emulated GPU: a plan is made for it unless another GPU runs the plan.
GPU = H200
MULTIPROCESSORS = GPU.multiprocessors

# By compute capability, from the same tables: threads and blocks of an SM, and the KB of its shared memory and of L1
# and shared memory together. An unlisted capability has the limits of its nearest older relative.
_LIMITS = {
    "60": (2048, 32, 64, 88), "61": (2048, 32, 96, 144), "62": (2048, 32, 64, 112), "70": (2048, 32, 96, 128),
    "75": (1024, 16, 64, 96), "80": (2048, 32, 164, 192), "86": (1536, 16, 100, 128), "87": (1536, 16, 164, 192),
    "89": (1536, 24, 100, 128), "90": (2048, 32, 228, 256), "100": (2048, 32, 228, 256), "120": (1536, 24, 100, 128),
}  # fmt: skip


def resident_threads(capability: str) -> int:
    """Return how many threads a multiprocessor of this compute capability ("90") holds."""
    return _limits(capability)[0]


def _limits(capability: str) -> tuple[int, int, int, int]:
    known = [each for each in _LIMITS if int(each) <= int(capability)]
    return _LIMITS[max(known, key=int, default="60")]


def model_of(name: str, capability: str, multiprocessors: int) -> GpuModel:
    """Return a present GPU, as its driver describes it."""
    listed = next((model for model in GPU_MODELS.values() if model.name == name), None)
    if listed is not None:
        return replace(listed, multiprocessors=multiprocessors)
    threads, blocks, shared, l1 = _limits(capability)
    return GpuModel(name, f"sm_{capability}", threads, blocks, 65536, shared << 10, l1 << 10, 0.0, multiprocessors,
                    reserved=int(capability) >= 80)  # fmt: skip


def model_named(name: str) -> GpuModel | None:
    """Return the GPU that a user calls "v100", "Tesla V100" or "NVIDIA H200"; None for an unknown name."""
    asked = name.lower().split()
    models = {**GPU_MODELS, **OLDER_MODELS}
    found = [gpu for key, gpu in models.items() if asked == [key] or set(asked) <= set(gpu.name.lower().split())]
    return found[0] if found and asked else None


_REGISTER_UNIT = 256  # registers are allocated to a warp in units of this size ...
_WARP_UNIT = 4  # ... for groups of so many warps, one per scheduler of an SM
_SHARED_UNIT = 128  # bytes


@dataclass(frozen=True)
class Occupancy:
    """How many blocks one SM holds. `limits`: the number that each resource allows; `limited_by`: the resources that
    allow fewest."""

    blocks: int
    warps: int
    fraction: float
    limits: dict[str, int]
    limited_by: tuple[str, ...]


def occupancy(gpu: GpuModel, threads: int, registers: int, shared: int) -> Occupancy:
    """Return the blocks of `threads` threads that one SM holds. `registers` a thread, `shared` bytes a block; 0: none.

    NotRunnable: not even one block fits.
    """
    warps = ceil(threads / WARP)
    limits = {"threads": gpu.threads // WARP // warps, "blocks": gpu.blocks}
    if registers:
        warp_registers = ceil(registers * WARP / _REGISTER_UNIT) * _REGISTER_UNIT
        limits["registers"] = gpu.registers // warp_registers // _WARP_UNIT * _WARP_UNIT // warps
    block_bytes = shared + (1024 if gpu.reserved else 0)
    if block_bytes:
        limits["shared memory"] = gpu.shared_bytes // (ceil(block_bytes / _SHARED_UNIT) * _SHARED_UNIT)
    blocks = min(limits.values())
    limited_by = tuple(name for name, limit in limits.items() if limit == blocks)
    if blocks == 0:
        raise NotRunnable(f"An SM of {gpu.name} has no room for one block of {threads:,} threads: {limited_by[0]}.")
    return Occupancy(blocks, blocks * warps, blocks * warps * WARP / gpu.threads, limits, limited_by)

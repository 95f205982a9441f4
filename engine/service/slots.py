"""The worker slots of this computer: one a GPU, and some for the emulator."""

from __future__ import annotations

from collections.abc import Sequence

from engine.host.devices import HostGpu
from engine.host.processors import cores, memory_bytes
from engine.service.worker_slot import WorkerSlot

EMULATOR_NICE = 5  # the emulator shares the cores with the web server, which must stay quick
EMULATED_BYTES = 5 << 28  # what a worker takes with the largest run: 2^26 doubles take 1.21 GB


def slots_for(found: Sequence[HostGpu], emulators: int | None = None) -> list[WorkerSlot]:
    """One worker slot a GPU, and `emulators` for the emulator (None: as this computer has cores), which see no GPU. No
    worker is started yet."""
    gpu_slots = [
        WorkerSlot(
            "gpu", gpu.name, warm="engine.service.worker:warm_gpu", environment={"CUDA_VISIBLE_DEVICES": gpu.uuid}
        )
        for gpu in found
    ]
    emulator_slots = [
        WorkerSlot(
            "emulator",
            "emulator",
            warm="engine.service.worker:warm_emulator",
            environment={"CUDA_VISIBLE_DEVICES": ""},
            nice=EMULATOR_NICE,
        )
        for _ in range(emulators_for(cores(), memory_bytes()) if emulators is None else emulators)
    ]
    return gpu_slots + emulator_slots


def emulators_for(cores: int, memory: int) -> int:
    """How many emulators run at once: one core is left to the server, and each may run the largest run there is."""
    return max(1, min(cores - 1, memory // EMULATED_BYTES))

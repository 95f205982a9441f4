"""The worker slots of this computer: one a GPU, and some for the emulator, of which one takes short runs only."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from engine.machine.devices import HostGpu, cores, memory_bytes
from engine.service.worker_slot import WorkerSlot

EMULATOR_NICE = 5  # the emulator shares the cores with the web server, which must stay quick
SHORT_S = 2.0  # a run that others wait for without minding; nearly all at the lectures' own sizes are shorter
EMULATED_BYTES = 5 << 28  # what a worker takes with the largest run: 2^26 doubles take 1.21 GB


def slots_for(found: Sequence[HostGpu], emulators: int | None = None) -> list[WorkerSlot]:
    """One worker slot a GPU, and `emulators` for the emulator, which see no GPU. None: as this computer has cores, and
    one more for short runs, which wait for no long one. No worker is started yet."""
    longest = longest_runs(cores(), memory_bytes()) if emulators is None else (inf,) * emulators
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
            most_s=most_s,
        )
        for most_s in longest
    ]
    return gpu_slots + emulator_slots


def longest_runs(cores: int, memory: int) -> tuple[float, ...]:
    """The emulators of a computer: of each, the seconds of the longest run that it takes. One core is left to the
    server, unless short runs need it for a moment, and each may run the largest run there is."""
    fit = memory // EMULATED_BYTES
    any_run = max(1, min(cores - 1, fit))
    return (inf,) * any_run + (SHORT_S,) * (fit > any_run)

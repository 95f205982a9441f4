"""Estimates of the kernels of the catalogue: from the file of known costs, or by a run on the emulator in a worker."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from engine.backends.emulator.backend import SECONDS
from engine.catalogue.gpu_models import GPU_MODELS, H200
from engine.model.estimate import Estimate, Gpu, anchored, estimate, gpu
from engine.model.run import costs_of
from engine.model.sample import known_costs
from engine.plan import key as key_of
from engine.records import Progress, Settled


def gpu_of_record(device: str | None) -> Gpu:
    """Return the GPU that a recording names ("NVIDIA H100 80GB HBM3"); the H200 for None and for an unknown name."""
    words = (device or "").lower().replace(" ", "")
    return gpu(next((model for name, model in GPU_MODELS.items() if name in words), H200))


@lru_cache(maxsize=1024)
def known(choice: Settled, on: str) -> Estimate | None:
    """Return the estimate of a rung whose costs are in the file; None: they are not."""
    if choice.source is not None:
        return None
    found = known_costs().get(key_of(replace(choice, cache="cold-clean")))
    return None if found is None else estimate(found, gpu_of_record(on))


def estimated(choice: Settled, on: str, recorded_us: float | None = None, progress: Progress | None = None) -> Estimate:
    """Run a choice on the emulator for its costs and estimate its time. `on`: a GPU as a recording names it.

    `recorded_us`: the recorded time of the catalogue's kernel; the estimate of a changed text (`choice.source`) is then
    this time, changed as the model says. NotRunnable, CompileError or RunFailed, as a run of the emulator.
    """
    emulated = replace(choice, device="emulator", schedule=None)
    own = costs_of(emulated, SECONDS, progress)
    if choice.source is None or recorded_us is None:
        return estimate(own, gpu_of_record(on))
    original = costs_of(replace(emulated, source=None, source_name=None), SECONDS, progress)
    return anchored(own, original, recorded_us, gpu_of_record(on))

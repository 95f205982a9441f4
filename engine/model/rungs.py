"""Estimates of the kernels of the catalogue: from the file of known costs, or by a run on the emulator in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from engine.backends.emulator.backend import SECONDS
from engine.catalogue import KERNELS
from engine.catalogue.gpu_models import GPU_MODELS, H200
from engine.history.recordings import KEY
from engine.model.estimate import Estimate, Gpu, anchored, estimate, gpu, no_estimate
from engine.model.run import costs_of
from engine.model.sample import known_costs, runs_in_seconds
from engine.plan import Key, plan
from engine.plan import key as key_of
from engine.records import HostRun, HostSum, NotRunnable, Progress, Settled

HOST = "The host copies the result and ends the work, which the model does not know."


def gpu_of_record(device: str | None) -> Gpu:
    """Return the GPU that a recording names ("NVIDIA H100 80GB HBM3"); the H200 for None and for an unknown name."""
    words = (device or "").lower().replace(" ", "")
    return gpu(next((model for name, model in GPU_MODELS.items() if name in words), H200))


def ends_on_the_host(choice: Settled) -> bool:
    """Return whether the host takes part in the timed work. NotRunnable: the choice cannot run."""
    return any(isinstance(step, (HostSum, HostRun)) for step in plan(choice).steps)


@lru_cache(maxsize=1024)
def known(choice: Settled, on: str) -> Estimate | None:
    """Return the estimate of a rung whose costs are in the file, or why there is none; None: it has to be run first."""
    if choice.source is not None:
        return None
    try:
        if ends_on_the_host(choice):
            return no_estimate(HOST, gpu_of_record(on))
    except NotRunnable as refused:
        return no_estimate(str(refused), gpu_of_record(on))
    found = known_costs().get(key_of(replace(choice, cache="cold-clean")))
    return None if found is None else estimate(found, gpu_of_record(on), choice.cache != "hot")


def size_for(choices: Sequence[Settled]) -> int | None:
    """Return the N at which to estimate these rungs together: their own if the emulator runs it in seconds, else the
    largest below it at which the costs of all are known. None: there is none."""
    n = choices[0].n
    counted = [choice for choice in choices if KERNELS[choice.kernel].runs_on("emulator")]
    if all(runs_in_seconds(KERNELS[choice.kernel], n) for choice in counted):
        return n
    sizes = [_known_sizes().get(_without_n(key_of(choice)), frozenset()) for choice in counted]
    return max((size for size in frozenset.intersection(*sizes) if size < n), default=None) if sizes else None


@lru_cache(maxsize=1)
def _known_sizes() -> dict[Key, frozenset[int]]:
    """Return every N with known costs, all else equal."""
    found: dict[Key, set[int]] = {}
    for key in known_costs():
        found.setdefault(_without_n(key), set()).add(key[KEY.index("n")])
    return {key: frozenset(sizes) for key, sizes in found.items()}


def _without_n(key: Key) -> Key:
    """Return a key without its N, in the usual state of the caches, whose costs are those of all."""
    changed = {KEY.index("n"): None, KEY.index("cache"): "cold-clean"}
    return tuple(changed.get(place, value) for place, value in enumerate(key))


def estimated(choice: Settled, on: str, recorded_us: float | None = None, progress: Progress | None = None) -> Estimate:
    """Run a choice on the emulator for its costs and estimate its time. `on`: a GPU as a recording names it.

    `recorded_us`: the recorded time of the catalogue's kernel; the estimate of a changed text (`choice.source`) is then
    this time, changed as the model says. NotRunnable, CompileError or RunFailed, as a run of the emulator.
    """
    if ends_on_the_host(choice):
        return no_estimate(HOST, gpu_of_record(on))
    emulated, cold = replace(choice, device="emulator", schedule=None), choice.cache != "hot"
    own = costs_of(emulated, SECONDS, progress)
    if choice.source is None or recorded_us is None:
        return estimate(own, gpu_of_record(on), cold)
    original = costs_of(replace(emulated, source=None, source_name=None), SECONDS, progress)
    return anchored(own, original, recorded_us, gpu_of_record(on), cold)

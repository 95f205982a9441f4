"""The door: what a user asks for becomes what will run. Behind it nobody resolves a choice again.

settle(choice) -> Settled, or NotRunnable            key(settled) -> what two equal runs share
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from engine.catalogue import kernel_named
from engine.catalogue.gpu_models import GPU, GpuModel, model_named, model_of
from engine.host.devices import device_summary, gpus
from engine.records import DEVICES, Choice, NotRunnable, Settled

Key = tuple[Any, ...]


def settle(choice: Choice) -> Settled:
    """The choice with its device, its kernel's own way to combine and its own knob named.

    "auto" is a GPU where this computer has one; "gpu" stays, whether there is one or not: what was recorded elsewhere
    can be looked up, and only a run is refused. NotRunnable: no such kernel or device, or a schedule for a GPU.
    """
    device, _, model = choice.device.partition(":")
    if device not in DEVICES or (model and device != "gpu"):
        raise NotRunnable(f"There is no device {choice.device!r}: choose {', '.join(DEVICES)}, or gpu:MODEL.")
    device = own_device() if device == "auto" else device
    if choice.schedule is not None and device != "emulator":
        raise NotRunnable("A GPU chooses the order of its lanes and blocks itself; choose the emulator for a schedule.")
    kernel = kernel_named(choice.kernel)
    values = {field.name: getattr(choice, field.name) for field in fields(Choice)}
    knob = kernel.knob(choice.parameter)
    named = {"device": device, "model": _model_of(model) or choice.model}
    return Settled(**values | named | {"combine": choice.combine or kernel.combines[0], "parameter": knob})


def gpu_of(choice: Settled) -> GpuModel:
    """The GPU that a choice is planned for: the one that runs it here; emulated, that of the recorded runs."""
    return gpu_here(choice.model) if choice.device == "gpu" else GPU


def gpu_here(model: str | None = None) -> GpuModel:
    """This computer's GPU, or its first of that name; else the model that is known by it, else that of the recorded
    runs."""
    found = next((gpu for gpu in gpus() if model in (None, gpu.name)), None)
    if found is not None and found.multiprocessors:
        return model_of(found.name, found.capability, found.multiprocessors)
    named = model_named(model) if model else None
    return named if named is not None and named.multiprocessors else GPU


def check_here(choice: Settled) -> None:
    """NotRunnable where this computer lacks what the choice asks for."""
    if choice.device == "gpu":
        check_gpu()
        if choice.model not in (None, *(gpu.name for gpu in gpus())):
            raise NotRunnable(f"There is no {choice.model} to run on: this machine has {device_summary()}.")


def check_gpu() -> None:
    """NotRunnable where this computer has no GPU."""
    if not gpus():
        raise NotRunnable("This machine has no GPU that CUDA can use: choose the emulator, or ask `doctor`.")


def _model_of(words: str) -> str | None:
    """The GPU model that these words name, or begin, or are a part of, as "h200" is; as they are where none fits."""
    names = dict.fromkeys(gpu.name for gpu in gpus() if words.lower() in gpu.name.lower())
    return next(iter(names), words) if words else None


def own_device() -> str:
    """What "auto" means on this computer: "gpu" or "emulator"."""
    return "gpu" if gpus() else "emulator"


def key(choice: Settled) -> Key:
    """What is run, without the device: (kernel, combine, parameter, n, block size, type, cache, grid asked for).

    The order of a recording's columns. An edited source is no part of it: who keeps edited runs adds its digest.
    """
    return (choice.kernel, choice.combine, choice.parameter, choice.n, choice.block_size, choice.dtype, choice.cache,
            choice.grid_size)  # fmt: skip

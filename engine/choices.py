"""The door: what a user asks for becomes what will run. Behind it nobody resolves a choice again.

settle(choice) -> Settled, or NotRunnable            key(settled) -> what two equal runs share
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from engine.catalogue import kernel_named
from engine.host.devices import gpus
from engine.records import DEVICES, Choice, NotRunnable, Settled

Key = tuple[Any, ...]


def settle(choice: Choice) -> Settled:
    """The choice with its device, its kernel's own way to combine and its own knob named.

    "auto" is a GPU where this computer has one; "gpu" stays, whether there is one or not: what was recorded elsewhere
    can be looked up, and only a run is refused. NotRunnable: no such kernel or device, or a schedule for a GPU.
    """
    if choice.device not in DEVICES:
        raise NotRunnable(f"There is no device {choice.device!r}: choose {', '.join(DEVICES)}.")
    device = own_device() if choice.device == "auto" else choice.device
    if choice.schedule is not None and device != "emulator":
        raise NotRunnable("A GPU chooses the order of its lanes and blocks itself; choose the emulator for a schedule.")
    kernel = kernel_named(choice.kernel)
    values = {field.name: getattr(choice, field.name) for field in fields(Choice)}
    knob = kernel.knob(choice.parameter)
    return Settled(**values | {"device": device, "combine": choice.combine or kernel.combines[0], "parameter": knob})


def check_here(choice: Settled) -> None:
    """NotRunnable where this computer lacks what the choice asks for."""
    if choice.device == "gpu":
        check_gpu()


def check_gpu() -> None:
    """NotRunnable where this computer has no GPU."""
    if not gpus():
        raise NotRunnable("This machine has no GPU that CUDA can use: choose the emulator, or ask `doctor`.")


def own_device() -> str:
    """What "auto" means on this computer: "gpu" or "emulator"."""
    return "gpu" if gpus() else "emulator"


def key(choice: Settled) -> Key:
    """What is run, without the device: (kernel, combine, parameter, n, block size, type, cache, grid asked for).

    The order of a recording's columns. An edited source is no part of it: who keeps edited runs adds its digest.
    """
    return (choice.kernel, choice.combine, choice.parameter, choice.n, choice.block_size, choice.dtype, choice.cache,
            choice.grid_size)  # fmt: skip

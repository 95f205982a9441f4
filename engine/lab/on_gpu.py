"""A kernel of any file on this computer's GPU: the same call as on the emulator, and its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np

from engine.host.devices import gpus
from engine.lab.arguments import Argument, GpuArray, Passed
from engine.records import Array, Launch, NotRunnable, Timing


@dataclass(frozen=True)
class Variable:
    """A variable of the module. `symbol`: what it is called there."""

    symbol: str
    size: int


def run(
    step: Launch, handed: Passed, variables: Mapping[str, Variable], symbols: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays and the module's variables after one launch, each in the type that was given for it."""
    arrays, found = _backend().run(step, handed.values, handed.arrays, _set(variables, symbols))
    return arrays, {name: _as_given(raw, symbols.get(name)) for name, raw in found.items()}


def time(
    step: Launch, handed: Passed, variables: Mapping[str, Variable], symbols: Mapping[str, Array], cache: str
) -> Timing:
    """The launch's time, as the catalogue's kernels are timed."""
    timing: Timing = _backend().time(step, handed.values, handed.arrays, _set(variables, symbols), cache)
    return timing


def as_given(arrays: Mapping[str, Array], names: Sequence[str], arguments: Sequence[Argument]) -> dict[str, Array]:
    """The arrays, as CuPy's where CuPy's were passed."""
    theirs = {name for name, one in zip(names, arguments, strict=True) if isinstance(one, GpuArray)}
    return {name: _backend().on_gpu(array) if name in theirs else array for name, array in arrays.items()}


def _set(variables: Mapping[str, Variable], symbols: Mapping[str, Array]) -> dict[str, tuple[str, int, Array | None]]:
    return {name: (one.symbol, one.size, symbols.get(name)) for name, one in variables.items()}


def _as_given(raw: Array, given: Array | None) -> Array:
    return raw if given is None else raw.view(np.asarray(given).dtype).reshape(np.shape(given))


def _backend() -> ModuleType:
    if not gpus():
        raise NotRunnable("This machine has no GPU that CUDA can use: the emulator runs and counts, but times nothing.")
    from engine.backends.gpu import any_kernel  # CuPy takes half a second to import: only where a GPU is used

    return any_kernel

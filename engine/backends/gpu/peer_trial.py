"""Try each library once at a small n: does it run on this computer, and is it right?"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from engine.backends.gpu import launches, nvcc_peers
from engine.backends.gpu.memory import stream
from engine.backends.gpu.peers import peers_of
from engine.catalogue import KERNELS, default_choice, topic_of
from engine.catalogue.libraries import NVCC_CUB, PEERS, SLICED, operation_of
from engine.compile import nvcc
from engine.machine.devices import cores
from engine.plan import plan, settle
from engine.records import CompileError, NotRunnable


@dataclass(frozen=True)
class Trial:
    """One library's work on one element type. `missing`: why it cannot be used here; "" if it can."""

    operation: str
    dtype: str
    peer: str
    missing: str


def build() -> list[str]:
    """Build the missing CUB calls with nvcc on all cores; returns a sentence for each that it refused."""
    wanted = [
        nvcc_peers.macros(operation, dtype)
        for operation, dtypes in _kinds().items()
        for dtype in dtypes
        if NVCC_CUB in PEERS[operation] and operation not in SLICED
    ]
    with ThreadPoolExecutor(cores()) as pool:
        architecture = launches.architecture()  # per thread
        refused = list(pool.map(lambda macros: _refused(macros, architecture), wanted))
    return list(dict.fromkeys(filter(None, refused)))


def _refused(macros: dict[str, str], architecture: str) -> str:
    try:
        nvcc.library(nvcc_peers.SOURCE, macros, architecture)
    except NotRunnable as reason:
        return str(reason)
    return ""


def try_libraries() -> Iterator[Trial]:
    """Try every library of every operation and element type, beside the first kernel that does the same."""
    for operation, dtypes in _kinds().items():
        for dtype, kernel in dtypes.items():
            choice = replace(default_choice(kernel), dtype=dtype, device="gpu")
            made = plan(settle(replace(choice, n=min(choice.n, topic_of(kernel).sizes[2]))))
            try:
                prepared = launches.prepare(made, topic_of(kernel).input_recipe(made.choice))
                with stream():
                    _, missing = peers_of(prepared, PEERS[operation])
            except (NotRunnable, CompileError) as refused:
                missing = dict.fromkeys(PEERS[operation], str(refused))
            for peer in PEERS[operation]:
                yield Trial(operation, dtype, peer, missing.get(peer, ""))


def _kinds() -> dict[str, dict[str, str]]:
    """Return operation -> element type -> a kernel that does it."""
    found: dict[str, dict[str, str]] = {}
    for kernel in KERNELS.values():
        operation = operation_of(kernel.name)
        if operation and kernel.processor == "gpu" and kernel.expect == "ok":
            for dtype in kernel.dtypes:
                found.setdefault(operation, {}).setdefault(dtype, kernel.name)
    return found

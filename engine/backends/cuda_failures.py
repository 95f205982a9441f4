"""The meaning of CUDA errors, in sentences for a student. This module does not need CuPy."""

from __future__ import annotations

import re

from engine.records import NotRunnable, RunFailed, Status

_ELSEWHERE = "run it on the emulator to see the line"
_FULL = "The GPU's memory is full: {size} does not fit; choose a smaller N."
_DAMAGED = f"{{kernel}} crashed on the GPU, which does not say why; {_ELSEWHERE}."
# The driver and the runtime name an error differently: CUDA_ERROR_ILLEGAL_ADDRESS, cudaErrorIllegalAddress. The keys
# are the name without prefix, "_" and case; the values are the run's status and a sentence.
CUDA_FAILURES: dict[str, tuple[Status, str]] = {
    "illegaladdress": (
        "out-of-bounds",
        "{kernel} read or wrote outside every array (an illegal address), and the GPU stopped it without saying "
        f"where; {_ELSEWHERE}.",
    ),
    "misalignedaddress": (
        "crashed",
        "{kernel} used an address that is not a multiple of the size it reads or writes there (misaligned), and the "
        f"GPU stopped it; {_ELSEWHERE}.",
    ),
    "invalidaddressspace": ("crashed", f"{{kernel}} used an address of the wrong memory space; {_ELSEWHERE}."),
    "illegalinstruction": ("crashed", "{kernel} reached an instruction that the GPU cannot execute."),
    "hardwarestackerror": ("crashed", "{kernel} overran its stack: look for a recursion that never ends."),
    "invalidpc": ("crashed", "{kernel} jumped to an address that holds no instruction."),
    "assert": ("crashed", "{kernel} reached an assert() that did not hold."),
    "launchtimeout": ("timeout", "{kernel} ran longer than this GPU's driver allows, and was stopped."),
    "launchfailed": ("crashed", _DAMAGED),
    "launchfailure": ("crashed", _DAMAGED),
    "eccuncorrectable": ("crashed", "{kernel} met a fault of the GPU's own memory, and is not to blame."),
    "launchoutofresources": (
        "refused",
        "{kernel} needs more registers or shared memory than a block of that size may have; choose a smaller block.",
    ),
    "outofmemory": ("refused", _FULL),
    "memoryallocation": ("refused", _FULL),
}


def cuda_failure(
    error: BaseException, kernel: str = "The kernel", size: str = "this N"
) -> RunFailed | NotRunnable | None:
    """Translate a CUDA error that CuPy raised into an exception with one sentence; None for any other exception.

    `kernel`: the sentence's name for the kernel, capitalised; `size`: the problem's size.
    """
    text, kind = str(error), type(error).__name__
    if kind == "OutOfMemoryError":  # CuPy's exceptions for CUDA's errors
        text = "CUDA_ERROR_OUT_OF_MEMORY"
    elif kind not in ("CUDADriverError", "CUDARuntimeError"):
        return None
    code, _, words = text.partition(": ")
    name = re.sub(r"^CUDA_ERROR_|^cudaError|_", "", code).lower()
    if name not in CUDA_FAILURES:
        return RunFailed("crashed", f"{kernel} failed on the GPU: {words} ({code}).")
    status, sentence = CUDA_FAILURES[name]
    told = sentence.format(kernel=kernel, size=size)
    return NotRunnable(told) if status == "refused" else RunFailed(status, f"{told} ({code})")

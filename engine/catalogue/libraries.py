"""The libraries that a user would call instead of writing a kernel: by operation, the plainest first."""

from __future__ import annotations

from engine.catalogue import KERNELS, topic_of

CUB, NVCC_CUB, TORCH, CUBLAS, CUPY = "CUB", "CUB by nvcc", "PyTorch", "cuBLAS", "CuPy"
CUBLAS_BFLOAT16 = "cuBLAS bfloat16"

# "CUB": the calls that CuPy has built; "CUB by nvcc": device-wide calls that CuPy lacks, or wraps in more work.
PEERS: dict[str, tuple[str, ...]] = {
    "sum": (CUB, NVCC_CUB, TORCH),
    "sum of a slice": (CUB, NVCC_CUB, TORCH),
    "product": (CUB, NVCC_CUB, TORCH),
    "minimum": (CUB, NVCC_CUB, TORCH),
    "maximum": (CUB, NVCC_CUB, TORCH),
    "argmax": (NVCC_CUB, TORCH, CUPY),
    "prefix sum": (CUB, NVCC_CUB, TORCH),
    "selection": (NVCC_CUB,),
    "histogram": (NVCC_CUB,),
    "row sums": (CUBLAS, NVCC_CUB, TORCH),
    "column sums": (CUBLAS, TORCH),
    "sums of short rows": (TORCH,),
    "sums by address": (CUBLAS, TORCH),
    "matrix product": (CUBLAS,),
    "bfloat16 product": (CUBLAS_BFLOAT16,),
    "integral": (CUPY,),
    "copy": (CUPY,),
    "copy of a slice": (CUPY,),
    "transpose": (CUBLAS, TORCH, CUPY),
}

SLICED = {"sum of a slice": "sum"}  # to a library a slice is an array like any other


def operation_of(kernel: str) -> str:
    """Return the libraries' name for the kernel's work; "" if none does it, as for a kernel outside the catalogue."""
    entry = KERNELS.get(kernel)
    if entry is None:
        return ""
    return entry.operation or topic_of(entry).operation


def peers_named(kernel: str) -> tuple[str, ...]:
    """Return the names of the libraries that do the kernel's work."""
    return PEERS.get(operation_of(kernel), ())

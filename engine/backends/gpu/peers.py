"""What a user would pick instead of writing a kernel: CUB and cuBLAS, checked like a kernel and timed alongside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import cub
from cupy_backends.cuda.api import runtime

from engine.backends.gpu.launches import Prepared
from engine.backends.gpu.memory import stream
from engine.catalogue import topic_of
from engine.records import NotRunnable


@dataclass(frozen=True)
class Peer:
    """`enqueue()` puts the library's work on the current stream; `fetch()` waits for it and brings its answer."""

    name: str
    enqueue: Callable[[], object]
    fetch: Callable[[], Any]


def peers_of(prepared: Prepared, names: Sequence[str]) -> tuple[tuple[Peer, ...], dict[str, str]]:
    """The peers of those names that run here and are right, and for each of the others one sentence why not."""
    peers = []
    missing = {}
    for name in names:
        try:
            peer = _BUILDERS[name](prepared)
            peer.enqueue()
            _check(prepared, peer)
        except NotRunnable as reason:
            missing[name] = str(reason)
        else:
            peers.append(peer)
    return tuple(peers), missing


def _check(prepared: Prepared, peer: Peer) -> None:
    plan = prepared.plan
    # The bound is the plan's, but a library may add in longer chains than a tree does.
    checked = topic_of(plan.choice.kernel).check(replace(plan, additions=max(plan.additions, 4096)), peer.fetch())
    if not checked.ok:
        raise NotRunnable(f"{peer.name}'s answer is wrong: {checked.result} instead of {checked.expected}.")


def _cub(prepared: Prepared) -> Peer:
    """CUB's DeviceReduce in CuPy, in the element type. `x.sum()` of int32 would add in int64, without CUB."""
    (values,) = (prepared.arrays[buffer.name] for buffer in prepared.plan.buffers if buffer.fill == "input")
    if not cub.available:
        raise NotRunnable("This CuPy was built without CUB.")
    answer: list[Any] = [None]

    def enqueue() -> None:
        answer[0] = cub.device_reduce(values, cub.CUPY_CUB_SUM, (0,), (), None, False)

    return Peer("CUB", enqueue, lambda: answer[0].get(stream=stream()).reshape(1))


def _cublas(prepared: Prepared) -> Peer:
    """cublasSgemm on the FP32 units (no TF32: that is opt-in, and we do not opt in).

    cuBLAS counts columns first, so that it sees every matrix transposed: it is asked for N^T M^T = (M N)^T.
    """
    library, handle = _cublas_handle()
    n = prepared.plan.choice.n
    product = cupy.empty(n * n, np.float32)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    left, right = prepared.arrays["M"].data.ptr, prepared.arrays["N"].data.ptr
    keep = library.CUBLAS_OP_N
    enqueue = partial(library.sgemm, handle, keep, keep, n, n, n, one.ctypes.data, right, n, left, n,
                      zero.ctypes.data, product.data.ptr, n)  # fmt: skip

    def alive(kept: object = (one, zero, product)) -> None:
        enqueue()

    return Peer("cuBLAS", alive, lambda: product.get(stream=stream()))


def _cublas_bfloat16(prepared: Prepared) -> Peer:
    """cublasGemmEx of bfloat16 on the tensor cores, with float sums and a float product; order as in `_cublas`."""
    library, handle = _cublas_handle()
    n = prepared.plan.choice.n
    product = cupy.empty(n * n, np.float32)
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    left, right = prepared.arrays["M"].data.ptr, prepared.arrays["N"].data.ptr
    keep, half, single = library.CUBLAS_OP_N, runtime.CUDA_R_16BF, runtime.CUDA_R_32F
    enqueue = partial(library.gemmEx, handle, keep, keep, n, n, n, one.ctypes.data, right, half, n, left, half, n,
                      zero.ctypes.data, product.data.ptr, single, n, library.CUBLAS_COMPUTE_32F,
                      library.CUBLAS_GEMM_DEFAULT)  # fmt: skip

    def alive(kept: object = (one, zero, product)) -> None:
        enqueue()

    return Peer("cuBLAS bfloat16", alive, lambda: product.get(stream=stream()))


@lru_cache(maxsize=1)
def _cublas_handle() -> tuple[Any, int]:
    try:
        from cupy_backends.cuda.libs import cublas

        handle = cublas.create()
    except Exception as error:  # whatever the loader raises: without the library there is no peer
        raise NotRunnable(
            "cuBLAS is not installed: `pip install -r requirements-gpu.txt` brings it."
            if isinstance(error, ImportError | OSError)
            else f"cuBLAS does not start here: {error}"
        ) from None
    cublas.setStream(handle, stream().ptr)
    cublas.setMathMode(handle, cublas.CUBLAS_DEFAULT_MATH)
    return cublas, handle


_BUILDERS: dict[str, Callable[[Prepared], Peer]] = {
    "CUB": _cub,
    "cuBLAS": _cublas,
    "cuBLAS bfloat16": _cublas_bfloat16,
}

"""The libraries that a user would call instead of writing a kernel (CUB, cuBLAS, ...), checked and timed alongside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import cub
from cupy_backends.cuda.api import runtime

from engine.backends.gpu import cupy_peers, nvcc_peers, torch_peers
from engine.backends.gpu.launches import Prepared
from engine.backends.gpu.memory import fill, stream
from engine.backends.gpu.peer import Peer, input_of, peer_of
from engine.catalogue import topic_of
from engine.catalogue.libraries import CUB, CUBLAS, CUBLAS_BFLOAT16, CUPY, NVCC_CUB, PEERS, SLICED, TORCH, operation_of
from engine.catalogue.topics.reduction import offset
from engine.records import NotRunnable

CHECKED_ON_HOST = 2**20  # elements of an answer; a longer one is compared with the plan's on the device
LONG_CHAIN = 4096  # roundings


def peers_of(prepared: Prepared, names: Sequence[str]) -> tuple[tuple[Peer, ...], dict[str, str]]:
    """Return the libraries of those names that run here and are right, and one sentence for each of the others."""
    operation = operation_of(prepared.plan.choice.kernel)
    peers = []
    missing = {}
    for name in names:
        try:
            peer = _BUILDERS[operation, name](prepared)
            peer.enqueue()
            _check(prepared, peer)
        except NotRunnable as reason:
            missing[name] = str(reason)
        else:
            peers.append(peer)
    return tuple(peers), missing


def first_here(prepared: Prepared, names: Sequence[str]) -> tuple[str, ...]:
    """Return the first of the names whose library runs here and is right, as a tuple; empty if none does."""
    with stream():
        return next(((name,) for name in names if peers_of(prepared, (name,))[0]), ())


def _check(prepared: Prepared, peer: Peer) -> None:
    plan = prepared.plan
    if plan.result_count > CHECKED_ON_HOST and peer.answer is not None:
        _check_on_device(prepared, peer.name, peer.answer())
        return
    # The bound is the plan's, but a library may add in longer chains than a tree.
    checked = topic_of(plan.choice.kernel).check(replace(plan, additions=max(plan.additions, 4096)), peer.fetch())
    if not checked.ok:
        raise NotRunnable(f"{peer.name}'s answer is wrong: {checked.result} instead of {checked.expected}.")


def _check_on_device(prepared: Prepared, name: str, answer: Any) -> None:
    """Compare a long answer with the plan's checked answer: the same numbers in any order, within the rounding of float
    sums.
    """
    fill(prepared.plan, prepared.arrays)
    prepared.enqueue()
    own = prepared.arrays[prepared.plan.result][: prepared.plan.result_count]
    if operation_of(prepared.plan.choice.kernel) == "selection":
        own, answer = cupy.sort(own), cupy.sort(answer)
    close = LONG_CHAIN * float(np.finfo(own.dtype).eps) if own.dtype.kind == "f" else 0.0
    if not bool((cupy.abs(own - answer) <= close * cupy.abs(own).max()).all()):
        raise NotRunnable(f"{name}'s answer is another than the kernel's.")


def _cub(prepared: Prepared) -> Peer:
    """Build CuPy's CUB DeviceReduce in the element type. `x.sum()` of int32 would add in int64, without CUB."""
    (values,) = (prepared.arrays[buffer.name] for buffer in prepared.plan.buffers if buffer.fill == "input")
    if not cub.available:
        raise NotRunnable("This CuPy was built without CUB.")
    answer: list[Any] = [None]

    def enqueue() -> None:
        answer[0] = cub.device_reduce(values, cub.CUPY_CUB_SUM, (0,), (), None, False)

    return Peer("CUB", enqueue, lambda: answer[0].get(stream=stream()).reshape(1))


def _cublas(prepared: Prepared) -> Peer:
    """Build cublasSgemm on the FP32 units (TF32 is opt-in and stays off).

    cuBLAS stores columns first, so it sees every matrix transposed: it computes N^T M^T = (M N)^T.
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
    """Build cublasGemmEx of bfloat16 on the tensor cores, with float sums and a float product; order as in
    `_cublas`.
    """
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
    except Exception as error:  # any error of the loader: without the library nothing is timed beside the plan
        raise NotRunnable(
            "cuBLAS is not installed: `pip install -r requirements-gpu.txt` brings it."
            if isinstance(error, ImportError | OSError)
            else f"cuBLAS does not start here: {error}"
        ) from None
    cublas.setStream(handle, stream().ptr)
    cublas.setMathMode(handle, cublas.CUBLAS_DEFAULT_MATH)
    return cublas, handle


def _gemv(prepared: Prepared, operation: str) -> Peer:
    """Build cublasSgemv or Dgemv with a vector of ones. cuBLAS stores columns first, so our rows are its columns."""
    choice, values = prepared.plan.choice, input_of(prepared)
    if values.dtype.kind != "f":
        raise NotRunnable("cuBLAS multiplies floats; for whole numbers it has no such call.")
    library, handle = _cublas_handle()
    width = choice.n if choice.parameter is None else choice.parameter
    rows, ragged = divmod(values.size, width)
    if ragged:
        raise NotRunnable(f"As a matrix {width:,} wide, {choice.n:,} numbers have a ragged last row.")
    by_row = operation == "row sums"
    ones = cupy.ones(width if by_row else rows, values.dtype)
    answer = cupy.empty(rows if by_row else width, values.dtype)
    one, zero = np.ones(1, values.dtype), np.zeros(1, values.dtype)
    call = library.sgemv if values.dtype == np.float32 else library.dgemv
    enqueue = partial(call, handle, library.CUBLAS_OP_T if by_row else library.CUBLAS_OP_N, width, rows,
                      one.ctypes.data, values.data.ptr, width, ones.data.ptr, 1, zero.ctypes.data, answer.data.ptr,
                      1)  # fmt: skip

    def alive(kept: object = (one, zero, ones)) -> None:
        enqueue()

    return peer_of(CUBLAS, alive, lambda: answer)


_Build = Callable[[Prepared], Peer]


def _geam(prepared: Prepared, operation: str) -> Peer:
    """Build cublasSgeam or Dgeam: one transposed matrix times one, plus nothing."""
    values, n = input_of(prepared), prepared.plan.choice.n
    if values.dtype.kind != "f":
        raise NotRunnable("cuBLAS transposes floats; for whole numbers it has no such call.")
    library, handle = _cublas_handle()
    answer = cupy.empty(n * n, values.dtype)
    one, zero = np.ones(1, values.dtype), np.zeros(1, values.dtype)
    call = library.sgeam if values.dtype == np.float32 else library.dgeam
    enqueue = partial(call, handle, library.CUBLAS_OP_T, library.CUBLAS_OP_N, n, n, one.ctypes.data, values.data.ptr, n,
                      zero.ctypes.data, answer.data.ptr, n, answer.data.ptr, n)  # fmt: skip

    def alive(kept: object = (one, zero)) -> None:
        enqueue()

    return peer_of(CUBLAS, alive, lambda: answer)


def _of_slice(prepared: Prepared, make: _Build) -> Peer:
    """Build the whole-input library on the slice that the plan's kernel takes."""
    start = offset(prepared.plan.choice)
    return make(replace(prepared, arrays={"in": input_of(prepared)[start:]}))


def _builders() -> dict[tuple[str, str], _Build]:
    """Return (operation, library's name) -> the function that builds it from a plan."""
    own: dict[str, dict[str, _Build]] = {
        "sum": {CUB: _cub},
        "matrix product": {CUBLAS: _cublas},
        "bfloat16 product": {CUBLAS_BFLOAT16: _cublas_bfloat16},
    }
    general: dict[str, Callable[[Prepared, str], Peer]] = {
        CUB: cupy_peers.reduced, NVCC_CUB: nvcc_peers.built, TORCH: torch_peers.shared, CUBLAS: _gemv,
    }  # fmt: skip
    special = {("prefix sum", CUB): cupy_peers.scanned, ("integral", CUPY): cupy_peers.integrated,
               ("copy", CUPY): cupy_peers.copied,
               ("copy of a slice", CUPY): cupy_peers.cut, ("transpose", CUPY): cupy_peers.transposed,
               ("transpose", TORCH): torch_peers.further, ("transpose", CUBLAS): _geam,
               ("argmax", NVCC_CUB): nvcc_peers.placed, ("argmax", TORCH): torch_peers.further,
               ("argmax", CUPY): cupy_peers.placed}  # fmt: skip
    made = {
        (operation, name): own.get(operation, {}).get(name)
        or _for(operation, special.get((operation, name)) or general[name])
        for operation, names in PEERS.items()
        if operation not in SLICED
        for name in names
    }
    return made | {
        (operation, name): partial(_of_slice, make=made[whole, name])
        for operation, whole in SLICED.items()
        for name in PEERS[operation]
    }


def _for(operation: str, make: Callable[[Prepared, str], Peer]) -> _Build:
    return lambda prepared: make(prepared, operation)


_BUILDERS = _builders()

"""A reduction and a tiled product in Numba's CUDA simulator, timed: prints one JSON object.

Run by `benchmark_emulator` with another Python, one that has numba, and NUMBA_ENABLE_CUDASIM=1. The kernels are
`reduce_sequential` and `matmul_tiled` of the catalogue, line by line.
"""

import json
import sys
import time

import numba
import numpy as np
from numba import cuda, float32, int32

BLOCK = 128
TILE = 16
WIDTH = 64


@cuda.jit
def reduce_sequential(numbers, out):
    partial = cuda.shared.array(BLOCK, int32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    partial[t] = numbers[i] if i < numbers.size else 0
    cuda.syncthreads()
    k = BLOCK // 2
    while k > 0:
        if t < k:
            partial[t] += partial[t + k]
        cuda.syncthreads()
        k //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@cuda.jit
def matmul_tiled(m, n, p):
    tile_m = cuda.shared.array((TILE, TILE), float32)
    tile_n = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for phase in range(m.shape[0] // TILE):
        tile_m[y, x] = m[row, phase * TILE + x]
        tile_n[y, x] = n[phase * TILE + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_m[y, k] * tile_n[k, x]
        cuda.syncthreads()
    p[row, column] = total


def timed(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main(n):
    numbers = np.random.default_rng(0).integers(-99, 100, n).astype(np.int32)
    blocks = -(-n // BLOCK)
    out = np.zeros(blocks, np.int32)
    reduction = timed(lambda: reduce_sequential[blocks, BLOCK](numbers, out))
    assert out.sum() == numbers.sum()
    left, right = np.random.default_rng(1).random((2, WIDTH, WIDTH)).astype(np.float32)
    product = np.zeros((WIDTH, WIDTH), np.float32)
    side = WIDTH // TILE
    matmul = timed(lambda: matmul_tiled[(side, side), (TILE, TILE)](left, right, product))
    assert np.allclose(product, left @ right, rtol=1e-4)
    print(json.dumps({"version": numba.__version__, "reduction": reduction, "matmul": matmul, "width": WIDTH}))


main(int(sys.argv[1]))

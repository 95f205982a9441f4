"""One launch of each kernel of this folder: sizes, and arrays made from a fixed seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.records import Array, Launch, Scalar, Source

Make = Callable[[np.random.Generator], Array]
Size = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """One launch. `arguments`: how to make an array, or a number; integers are int32, floats float32."""

    kernel: str
    file: str
    grid: Size
    block: Size
    arguments: tuple[Make | int | float, ...]

    def arrays(self) -> dict[str, Array]:
        """The arrays that are passed, by the names that `launch` gives them, as words; the same in every process."""
        random = np.random.default_rng(sum(self.kernel.encode()))
        return {f"a{at}": _words(made(random)) for at, made in enumerate(self.arguments) if callable(made)}

    def launch(self) -> Launch:
        """The launch, for any backend."""
        args = (f"a{at}" if callable(one) else Scalar("int32" if isinstance(one, int) else "float32", one)
                for at, one in enumerate(self.arguments))  # fmt: skip
        return Launch(self.kernel, source(self.file), self.grid, self.block, tuple(args))


@cache
def source(file: str) -> Source:
    """A file of this folder, compiled in a process of its own: after hundreds of others NVRTC may order the branches of
    a kernel in another way."""
    text = (Path(__file__).parent / f"{file}.cu").read_text(encoding="utf-8")
    return Source(f"{file}.cu", text, "float32", foreign=True)


def _words(array: Array) -> Array:
    raw = array.tobytes()
    return np.frombuffer(raw.ljust(-(-len(raw) // 4) * 4, b"\0"), np.uint32)


def real(count: int, dtype: str = "float32") -> Make:
    """Numbers from 0.5 to 1.5."""
    return lambda random: (random.random(count) + 0.5).astype(dtype)


def whole(count: int, below: int, dtype: str = "int32", start: int = 0) -> Make:
    """Whole numbers from `start` to below `below`."""
    return lambda random: random.integers(start, below, count).astype(dtype)


def zero(count: int, dtype: str = "float32") -> Make:
    """Zeros, which are what a result starts from."""
    return lambda random: np.zeros(count, dtype)


def _sorted(count: int, below: int) -> Make:
    return lambda random: np.sort(random.integers(0, below, count)).astype(np.int32)


def _permutation(count: int) -> Make:
    return lambda random: random.permutation(count).astype(np.int32)


def _rising(count: int) -> Make:
    return lambda random: np.linspace(0.5, 1.5, count).astype(np.float32)


def _neighbours(rows: int) -> Make:
    """The neighbours of each row, in rising order."""
    lengths = _row_lengths(rows)
    return lambda random: np.concatenate([np.sort(random.integers(0, rows, each)) for each in lengths]).astype(np.int32)


def _row_lengths(rows: int) -> Array:
    return np.arange(rows) * 7 % 41


def _row_starts(rows: int) -> Make:
    return lambda random: np.concatenate(([0], np.cumsum(_row_lengths(rows)))).astype(np.int32)


def _entries(rows: int) -> int:
    return int(_row_lengths(rows).sum())


def _nodes(rows: int) -> Make:
    lengths = _row_lengths(rows)
    return lambda random: np.stack((np.cumsum(lengths) - lengths, lengths), 1).ravel().astype(np.int32)


def _of_five(count: int, first: int) -> Make:
    """Of five neighbours the first so many are marked."""
    return lambda random: (np.arange(count) % 5 < first).astype(np.uint8)


def _text(count: int) -> Make:
    return lambda random: random.choice(np.frombuffer(b"abacabad ", np.uint8), count)


def _columns(count: int, below: int) -> Make:
    return lambda random: random.integers(-3, below, count).clip(-1).astype(np.int32)


def _case(file: str, kernel: str, grid: int | tuple[int, ...], block: int | tuple[int, ...], *arguments: Any) -> Case:
    return Case(kernel, file, _size(grid), _size(block), arguments)


def _size(given: int | tuple[int, ...]) -> Size:
    x, y, z = (*((given,) if isinstance(given, int) else given), 1, 1)[:3]
    return x, y, z


_SQUARE = 128 * 128
_ROWS = 500

CASES: tuple[Case, ...] = (
    _case("stencils", "stencil_1d", 20, 256, real(5_000), zero(5_000), 5_000),
    _case("stencils", "jacobi", (4, 16), (32, 8), real(_SQUARE), zero(_SQUARE), 128, 128),
    _case("stencils", "heat_tile", (8, 8), (16, 16), real(_SQUARE), zero(_SQUARE), 128, 128, 0.1),
    _case("stencils", "stencil_3d", (2, 4), (32, 8), real(64 * 32 * 10), zero(64 * 32 * 10), 64, 32, 10),
    _case("stencils", "convolution_rows", (2, 16), (16, 4), real(256 * 64), zero(256 * 64), 256, 256),
    _case("stencils", "convolution_2d", (7, 7), (20, 20), real(100 * 100), zero(100 * 100), 100, 100),
    _case("stencils", "sobel", (4, 13), (32, 8), whole(100 * 100, 256, "uint8"), zero(100 * 100, "uint8"), 100, 100),
    _case("stencils", "box_filter", 2, 64, whole(100 * 100, 256, "uint8"), zero(100 * 100, "uint8"), 100, 100, 4),
    _case("stencils", "life", (4, 16), (32, 8), whole(_SQUARE, 2, "uint8"), zero(_SQUARE, "uint8"), 128),
    _case("stencils", "hotspot", (10, 10), (16, 16), real(_SQUARE // 2), real(_SQUARE // 2), zero(_SQUARE // 2), 90, 2),

    _case("matrices", "transpose_naive", (4, 4), (32, 8), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "transpose_conflicts", (4, 4), (32, 8), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "transpose_padded", (4, 4), (32, 8), real(_SQUARE, "float64"), zero(_SQUARE, "float64"), 128),
    _case("matrices", "transpose_float4", (4, 4), (8, 32), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "matmul_8", (8, 8), (8, 8), real(4096), real(4096), zero(4096), 64),
    _case("matrices", "matmul_16", (8, 8), (16, 16), real(_SQUARE), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "matmul_32", (4, 4), (32, 32), real(_SQUARE), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "matmul_double", (4, 4), (16, 16), *(real(4096, "float64"),) * 2, zero(4096, "float64"), 64),
    _case("matrices", "matmul_integer", (4, 4), (16, 16), whole(4096, 9), whole(4096, 9), zero(4096, "int32"), 64),
    _case("matrices", "matmul_unroll_1", (4, 4), (16, 16), real(4096), real(4096), zero(4096), 64),
    _case("matrices", "matmul_unroll_4", (4, 4), (16, 16), real(4096), real(4096), zero(4096), 64),
    _case("matrices", "matmul_ragged", (4, 5), (16, 16), real(77 * 45), real(45 * 61), zero(77 * 61), 77, 61, 45),
    _case("matrices", "matmul_coarse", (4, 8), (16, 16), real(_SQUARE), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "matmul_registers", (2, 2), 256, real(_SQUARE), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "matmul_8x8", (2, 2), 64, real(_SQUARE), real(_SQUARE), zero(_SQUARE), 128),
    _case("matrices", "matmul_int8", (4, 4), (16, 16), whole(64 * 32, 2**31), whole(64 * 32, 2**31),
          zero(4096, "int32"), 64, 32),
    _case("matrices", "gemv_shared", 2, 128, real(200 * 300), real(300), zero(200), 200, 300),
    _case("matrices", "gemv_warp", 25, 128, real(100 * 300), real(300), zero(100), 100, 300),
    _case("matrices", "lu_diagonal", 1, 16, real(4096), 64, 16),
    _case("matrices", "gauss_step", (4, 4), (16, 16), real(4096), real(4096), real(64), 64, 5),
    _case("matrices", "floyd", (1, 100), 128, whole(100 * 100, 90, start=1), 100, 7),

    _case("sums", "dot", 16, 256, real(9_999), real(9_999), zero(16), 9_999),
    _case("sums", "sum_double", 8, 128, real(9_000, "float64"), zero(8, "float64"), 4_500),
    _case("sums", "sum_groups", 6, 128, whole(8_000, 9), zero(1, "int32"), 2_000),
    _case("sums", "block_sum", 20, 256, real(5_000), zero(20), 5_000),
    _case("sums", "arg_max", 8, 128, real(5_000), zero(8, "int32"), 5_000),
    _case("sums", "scan_hillis", 10, 256, real(2_560), zero(2_560)),
    _case("sums", "scan_blelloch", 10, 256, real(5_120), zero(5_120), 512),
    _case("sums", "scan_warps", 10, 512, whole(5_000, 9), zero(5_000, "int32"), 5_000),
    _case("sums", "scan_four", 10, 128, whole(5_120, 9), zero(5_120, "int32")),
    _case("sums", "histogram_bytes", 8, 192, whole(8_000, 2**31), zero(256, "int32"), 8_000),
    _case("sums", "histogram_64", 8, 64, whole(8_000, 256, "uint8"), zero(512, "int32"), 8_000),
    _case("sums", "histogram_text", 8, 128, _text(8_000), zero(7, "int32"), 8_000),
    _case("sums", "softmax", 20, 128, real(20 * 300), zero(20 * 300), 300),
    _case("sums", "softmax_warp", 6, 128, real(21 * 100), zero(21 * 100), 21, 100),
    _case("sums", "layer_norm", 12, 256, real(12 * 2000), real(2000), zero(12 * 2000), 500),
    _case("sums", "layer_forward", (1, 12), (16, 16), real(16 * 12 + 1), real((12 * 16 + 1) * 17 + 17), zero(192), 16),

    _case("searching", "bitonic", 6, 256, whole(3_072, 2**31), whole(3_072, 2**31)),
    _case("searching", "odd_even", 6, 128, whole(768, 10_000)),
    _case("searching", "rank_sort", 4, 128, real(500), zero(500), 500),
    _case("searching", "radix_counts", 10, 256, whole(2_500, 2**31), zero(160, "int32"), 2_500, 8),
    _case("searching", "binary_search", 8, 128, _sorted(5_000, 100_000), whole(1_000, 100_000), zero(1_000, "int32"),
          5_000, 1_000),
    _case("searching", "spmv_scalar", 4, 128, _row_starts(_ROWS), whole(_entries(_ROWS), _ROWS), real(_entries(_ROWS)),
          real(_ROWS), zero(_ROWS), _ROWS),
    _case("searching", "spmv_vector", 125, 128, _row_starts(_ROWS), whole(_entries(_ROWS), _ROWS),
          real(_entries(_ROWS)), real(_ROWS), zero(_ROWS), _ROWS),
    _case("searching", "spmv_ell", 4, 128, _columns(_ROWS * 9, _ROWS), real(_ROWS * 9, "float64"),
          real(_ROWS, "float64"), zero(_ROWS, "float64"), _ROWS, 9),
    _case("searching", "bfs_step", 4, 128, _nodes(_ROWS), whole(_entries(_ROWS), _ROWS), _of_five(_ROWS, 1),
          zero(_ROWS, "uint8"), _of_five(_ROWS, 2), zero(_ROWS, "int32"), _ROWS),
    _case("searching", "pathfinder", 5, 256, whole(1_000 * 8, 10), whole(1_000, 10), zero(1_000, "int32"), 1_000, 8),
    _case("searching", "needleman", 4, 16, whole(65 * 65, 10), whole(65 * 65, 10), 65, 10),
    _case("searching", "crc", 4, 128, whole(512 * 33, 256, "uint8"), zero(512, "int32"), 33),
    _case("searching", "string_search", 8, 256, _text(2_000), zero(2_000, "int32"), 2_000),
    _case("searching", "kmeans", 8, 128, real(8_000), real(88), zero(1_000, "int32"), 1_000, 11, 8),

    _case("physics", "nbody", 4, 128, real(2_048), zero(2_048), 512),
    _case("physics", "nbody_soa", 4, 64, real(256), real(256), real(256), zero(256), zero(256), 256),
    _case("physics", "particles_aos", 8, 128, real(7_000), 1_000, 0.01),
    _case("physics", "bodies_aligned", 8, 128, real(8_000), zero(8_000), 1_000),
    _case("physics", "struct_tile", 8, 128, real(5_000), zero(1_000), 1_000),
    _case("physics", "fft_shared", 4, 128, real(2_048), zero(2_048)),
    _case("physics", "walsh", 4, 256, real(4_096), zero(4_096)),
    _case("physics", "dct_8x8", (8, 8), (8, 8), real(4_096), zero(4_096), 64),
    _case("physics", "black_scholes", 4, 128, zero(1_000), zero(1_000), *(real(1_000),) * 3, 0.02, 0.3, 1_000),
    _case("physics", "monte_carlo", 4, 128, zero(4, "int32"), 20),
    _case("physics", "mandelbrot", (4, 13), (32, 8), zero(100 * 100, "int32"), 100, 100, 40),
    _case("physics", "gray", 8, 128, whole(3_000, 256, "uint8"), zero(1_000, "uint8"), 1_000),
    _case("physics", "saxpy_half2", 4, 128, real(4_000, "float16"), real(4_000, "float16"), 2_000),
    _case("physics", "half_tile", (2, 2), (32, 8), real(4_096, "float16"), zero(4_096, "float16"), 64),
    _case("physics", "half_dot", 4, 256, real(6_000, "float16"), real(6_000, "float16"), zero(4), 3_000),

    _case("moving", "copy_strided", 8, 128, real(5_000), zero(5_000), 5, 5_000),
    _case("moving", "copy_offset", 8, 128, real(1_000, "float64"), zero(1_000, "float64"), 3, 1_000),
    _case("moving", "copy_double2", 4, 128, real(4_000, "float64"), zero(4_000, "float64"), 2_000),
    _case("moving", "copy_unrolled", 4, 128, real(2_048), zero(2_048), 2_048),
    _case("moving", "copy_chunks", 4, 128, whole(2_048, 99), zero(2_048, "int32"), 2_048),
    _case("moving", "gather", 8, 128, real(4_000), whole(1_000, 4_000), zero(1_000), 1_000),
    _case("moving", "scatter", 8, 128, real(1_000), _permutation(1_000), zero(1_000), 1_000),
    _case("moving", "table_lookup", 4, 256, whole(4_000, 256, "uint8"), real(256), zero(4_000), 4_000),
    _case("moving", "banks", 4, 128, real(1_024), zero(512), 6),
    _case("moving", "banks_64", 4, 128, real(512, "float64"), zero(512, "float64"), 3),
    _case("moving", "own_strip", 4, 128, real(4_096), zero(512)),
    _case("moving", "fir", 8, 128, real(2_056), real(8), zero(2_048)),
    _case("moving", "reverse_blocks", 4, 512, whole(2_048, 99)),
    _case("moving", "dynamic_index", 4, 128, whole(2_048, 16), zero(512)),
    _case("moving", "async_tile", 4, 128, real(4 * 512 * 4), zero(2_048), 512),
    _case("moving", "async_words", 4, 256, real(1_026), zero(1_024)),
    _case("moving", "long_sums", 4, 128, whole(3_000, 2**40, "int64"), zero(1, "int64"), 3_000),
    _case("moving", "shorts", 4, 256, whole(1_000, 999, "int16"), zero(1_000, "int16"), 1_000),

    _case("images", "bilinear", (4, 13), (32, 8), whole(100 * 100, 2**31), zero(100 * 100, "int32"), 100, 100, 0.62),
    _case("images", "median_3x3", (4, 13), (32, 8), whole(100 * 100, 256, "uint8"), zero(100 * 100, "uint8"), 100, 100),
    _case("images", "erode", 40, 96, whole(40 * 130, 256, "uint8"), zero(40 * 130, "uint8"), 130, 40, 3),
    _case("images", "integral_columns", 2, 64, whole(100 * 60, 9), 100, 60),
    _case("images", "integral_rows", 2, 64, whole(60 * 100, 9), 60, 100),
    _case("images", "yuv_planes", (2, 8), (32, 4), whole(_SQUARE // 2, 2**31), zero(_SQUARE // 2, "uint8"),
          zero(_SQUARE // 4, "uint8"), 128, 64),
    _case("images", "rotate", (7, 5), (16, 16), whole(2 * 100 * 70, 2**31), zero(2 * 100 * 70, "int32"), 100, 70),
    _case("images", "equalise", 4, 256, whole(5_000, 256, "uint8"), whole(256, 99, start=1), zero(5_000, "uint8"),
          5_000),
    _case("images", "dither_threshold", (4, 20), 128, real(400 * 20), zero(13 * 20, "int32"), 400),
    _case("images", "base64", 4, 128, whole(1_500, 256, "uint8"), zero(500, "int32"), 500),
    _case("images", "run_heads", 10, 256, _text(2_500), zero(2_500, "int32"), zero(1, "int32"), 2_500),
    _case("images", "edit_distance", 1, 128, _text(100), _text(120), zero(1, "int32"), 100, 120),
    _case("images", "pack_bits", 4, 64, whole(8 * 250, 2**15, "int16"), zero(3 * 250, "int32"), 250),

    _case("networks", "max_pool", (1, 4, 6), (32, 8), real(6 * 64 * 64), zero(6 * 32 * 32), 6, 64, 64),
    _case("networks", "im2col", 4, 256, real(3 * 24 * 24), zero(27 * 24 * 24), 3, 24),
    _case("networks", "conv_channels", (3, 3), (16, 16), real(3 * 40 * 40), zero(2 * 40 * 40), 40),
    _case("networks", "batch_norm", 12, 256, real(4 * 12 * 100), zero(12), zero(12), 4, 12, 100),
    _case("networks", "attention_row", 20, 128, real(20 * 32), real(200 * 32), real(200 * 32), zero(20 * 32), 200),
    _case("networks", "embedding", 25, (16, 8), whole(200, 90), real(90 * 64), zero(200 * 64), 200),
    _case("networks", "embedding_grad", 25, (32, 8), whole(200, 30), real(200 * 48), zero(30 * 48), 200),
    _case("networks", "gelu_half2", 4, 128, real(1_000, "float16"), zero(1_000, "float16"), 500),
    _case("networks", "cross_entropy", 7, 128, real(100 * 37), whole(100, 37), zero(100), 100, 37),
    _case("networks", "rope", 30, (16, 6), real(30 * 6 * 32), 6, 16),
    _case("networks", "quantise", 6, 128, real(45 * 64), zero(45 * 16, "int32"), zero(45), 45),
    _case("networks", "matvec_int4", 50, 128, whole(50 * 100, 2**31), real(800), zero(50), 800),
    _case("networks", "top_two", 5, 128, real(20 * 250), zero(40, "int32"), 20, 250),

    _case("simulation", "lattice", (2, 20), 64, real(5 * 100 * 20), zero(5 * 100 * 20), 100, 20),
    _case("simulation", "red_black", (2, 12), (32, 8), real(96 * 96), 96, 1),
    _case("simulation", "ising", 9, 128, whole(48 * 48, 2, "int8", start=-1), real(48 * 24), 48, 0, 0.4),
    _case("simulation", "thomas", 2, 64, real(40 * 100), real(40 * 100), *(real(40 * 100),) * 2, zero(40 * 100), 40,
          100),
    _case("simulation", "cyclic_reduction", 5, 128, *(real(640),) * 4),
    _case("simulation", "move_vertices", 4, 128, whole(8 * 400, 2**20), real(3, "float64"), 400),
    _case("simulation", "cell_forces", 64, 32, real(2 * _entries(64)), _row_starts(64), zero(2 * _entries(64)), 8),
    _case("simulation", "wave", (3, 10), (32, 8), *(real(90 * 90, "float64"),) * 2, zero(90 * 90, "float64"), 90),
    _case("simulation", "page_rank", 32, 128, _row_starts(_ROWS), whole(_entries(_ROWS), _ROWS), real(_ROWS),
          whole(_ROWS, 9), zero(_ROWS), _ROWS),
    _case("simulation", "relax", 4, 128, _row_starts(_ROWS), whole(_entries(_ROWS), _ROWS),
          whole(_entries(_ROWS), 20), whole(_ROWS, 100), whole(_ROWS, 100), _ROWS),
    _case("simulation", "degrees", 6, 192, whole(2 * 3_000, 512), zero(512, "int32"), 3_000),
    _case("simulation", "xorshift", 4, 128, whole(4 * 512, 2**31), zero(2 * 512), 6),
    _case("simulation", "covariance", (4, 4), (16, 16), real(100 * 64), zero(64 * 64), 100, 64),
    _case("simulation", "merge_path", 1, 128, _sorted(200, 999), _sorted(220, 999), zero(420, "int32"), 200, 220),

    _case("bits", "count_bits", 6, 100, whole(1_500, 2**31), zero(1, "int32"), 1_500),
    _case("bits", "mark_bits", 6, 192, whole(1_100, 1_024), zero(32, "int32"), 1_100),
    _case("bits", "sieve", 1, 64, zero(3_000, "uint8"), 3_000),
    _case("bits", "upper_case", 5, 160, _text(3_001), 3_001),
    _case("bits", "swap_bytes", 4, 96, whole(4 * 370, 2**31), zero(4 * 370, "int32"), 370),
    _case("bits", "hash_words", 4, 128, whole(8 * 500, 2**31), zero(500, "int32"), 500),
    _case("bits", "insert_keys", 4, 128, _permutation(501), zero(1_024, "int32"), 1_024, 501),
    _case("bits", "find_keys", 4, 128, whole(500, 700, start=1), whole(700, 3), zero(500, "int32"), 700, 500),
    _case("bits", "bit_reverse", 8, 128, real(2_048), zero(2_048), 10),
    _case("bits", "life_bits", (1, 8), (8, 8), whole(8 * 60, 2**31), zero(8 * 60, "int32"), 8, 60),
    _case("bits", "keep_positive", 6, 192, whole(1_100, 60), zero(1_200, "int32"), zero(1, "int32"), 1_100),
    _case("bits", "split_by_bit", 5, 256, whole(1_280, 2**20), 4),
    _case("bits", "rotate_schedule", 4, 64, whole(16 * 256, 2**31), zero(16 * 256, "int32"), 20),

    _case("structures", "multiply_complex", 5, 192, real(1_800), real(1_800), zero(1_800), 900),
    _case("structures", "normalise", 5, 192, real(2_700), 900),
    _case("structures", "cross_shared", 8, 128, real(3_000), zero(3_000), 1_000),
    _case("structures", "apply_matrices", 5, 128, real(9 * 600), real(1_800), zero(1_800), 600),
    _case("structures", "blend", 6, 160, whole(900, 2**31), whole(900, 2**31), zero(900, "int32"), 77, 900),
    _case("structures", "hue", 6, 160, whole(2_700, 256, "uint8"), zero(900), 900),
    _case("structures", "mass_by_group", 4, 128, whole(6 * 500, 2**20), zero(16, "float64"), zero(8), 500),
    _case("structures", "hit_spheres", 4, 128, real(8 * 450), zero(450), 450),
    _case("structures", "norm_double", 4, 224, real(3_333, "float64"), zero(1, "float64"), 3_333),
    _case("structures", "transpose_bytes", (4, 4), (32, 8), whole(_SQUARE, 256, "uint8"), zero(_SQUARE, "uint8"), 128),
    _case("structures", "transpose_pairs", (5, 5), (16, 16), real(2 * 6_400), zero(2 * 6_400), 80),
    _case("structures", "best_of", 6, 192, real(1_100), zero(1, "int64"), 1_100),
    _case("structures", "goertzel", 3, 96, real(40 * 250, "float64"), zero(250, "float64"), 40, 250, 1.25),

    _case("coursework", "row_sums_33", 20, (33, 3), real(59 * 140), zero(59), 140, 59),
    _case("coursework", "blur_tile", (5, 13), (24, 8), real(100 * 100), zero(100 * 100), 100, 100),
    _case("coursework", "knapsack_row", 5, 256, whole(1_201, 900), zero(1_201, "int32"), 37, 55, 1_200),
    _case("coursework", "upsample_3", 7, 128, real(700), zero(2_100), 700),
    _case("coursework", "interpolate", 6, 192, real(1_100), _rising(33), real(33), zero(1_100), 33, 1_100),
    _case("coursework", "cumulate_columns", 3, 64, real(30 * 150, "float64"), 30, 150),
    _case("coursework", "triangles", 4, 64, _row_starts(200), _neighbours(200), zero(1, "int32"), 200),
    _case("coursework", "histogram_2d", 8, (16, 8), real(2_000), real(1_000), zero(256), 1_000),
    _case("coursework", "pool_groups", 5, 128, real(40 * 49), zero(40), 49),
    _case("coursework", "depthwise", (20, 6), 32, real(6 * 1_600), real(54), zero(6 * 400), 40),
    _case("coursework", "gemm_half", (4, 4), (16, 16), real(4_096, "float16"), real(4_096, "float16"), zero(4_096), 64),
    _case("coursework", "gemm_four", (3, 3), (8, 32), real(9_216), real(9_216), zero(9_216), 96),
    _case("coursework", "lattice_nine", (2, 20), 64, real(9 * 100 * 20), zero(9 * 100 * 20), 100, 20),
    _case("coursework", "scan_long", 6, 128, whole(1_536, 2**40, "int64"), zero(1_536, "int64")),
    _case("coursework", "minmax", 4, 128, whole(2_000, 100_000), zero(2, "int32"), 2_000),
    _case("coursework", "round_robin", 5, 192, whole(900, 90), zero(7, "int32"), zero(1, "int32"), 7, 900),
    _case("coursework", "noise", 5, 192, whole(256, 256, "uint8"), real(900), zero(900), 900),
    _case("coursework", "segment_sums", 6, 192, whole(1_100, 2), real(1_100), zero(1_100), 1_100),
    _case("coursework", "wave_2d_loop", 6, 128, real(60 * 70), real(60 * 70), 60, 70, 0.2),
    _case("coursework", "back_substitute", 1, 96, real(60 * 60), real(60), 60),
    _case("coursework", "convolve_constant", 9, 128, whole(1_100, 99, "int16"), zero(1_100, "int32"), 1_100),
)  # fmt: skip

"""The topic "transpose": what each rung does to memory, and that a number in a wrong place is found out."""

import numpy as np
import pytest

from engine.catalogue import TOPICS, data, transpose
from engine.plan import plan
from engine.records import Choice
from tests.cases import case
from tests.made import measure

N = 64
NAMES = tuple(kernel.name for kernel in transpose.KERNELS)


def counted(kernel: str, dtype: str) -> dict[str, float]:
    found = measure(Choice(kernel, N, 256, dtype=dtype, device="emulator"))
    assert found.status == "ok" and found.counters is not None
    return dict(found.counters)


@pytest.mark.parametrize("dtype", [case("float32", quick=True), case("float64", quick=False)])
def test_only_the_naive_transpose_scatters_its_stores_and_only_the_plain_tile_has_conflicts(dtype: str):
    many = {name: counted(name, dtype) for name in NAMES}
    whole = N * N * np.dtype(dtype).itemsize // 32
    for name, counters in many.items():
        assert counters["global_load_sectors"] == whole, name
        assert counters["global_store_sectors"] == (N * N if name == "transpose_naive" else whole), name
        assert (counters["bank_conflicts"] > 0) == (name == "transpose_tiled"), name
    assert many["transpose_copy"]["global_store_requests"] == many["transpose_vectorized"]["global_store_requests"]
    words = many["transpose_padded"]["global_load_requests"] / many["transpose_vectorized"]["global_load_requests"]
    assert words == 16 // np.dtype(dtype).itemsize


@pytest.mark.parametrize("n", [2, 7, 61])
def test_two_numbers_that_are_exchanged_are_found_out(n: int):
    for kernel in ("transpose_copy", "transpose_padded"):
        choice = Choice(kernel, n, 64, dtype="float32")
        made = plan(choice)
        matrix = data.repeated(*TOPICS["transpose"].input_recipe(choice)["in"]).reshape(n, n)
        right = (matrix if kernel == "transpose_copy" else matrix.T).ravel().copy()
        assert transpose.check(made, right).ok
        right[[0, n]] = right[[n, 0]]
        assert not transpose.check(made, right).ok


def test_the_tile_of_vectors_is_as_wide_as_sixteen_of_them():
    assert [plan(Choice("transpose_vectorized", 1000, 256, dtype=dtype)).grid_size for dtype in ("int32", "float64")] \
        == [16**2, 32**2]  # fmt: skip
    assert plan(Choice("transpose_vectorized", 1000, 256)).bytes_moved == 2 * 4 * 1000**2

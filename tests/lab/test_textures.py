"""Textures: all filters, address modes and element types against an H200 and against plain Python; refusals."""

from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.records import Array, NotRunnable, RunFailed
from tests.backends.emulator.texture_cases import CASES, COUNT, coordinates_of, kernel_of, texels_of

GOLDEN = Path(__file__).parents[1] / "golden" / "textures.npz"


def index_of(address: str, at: int, size: int) -> int | None:
    """The texel of one axis that a number of a texel means, None for the border."""
    if address == "border" and not 0 <= at < size:
        return None
    if address == "wrap":
        return at % size
    if address == "mirror":
        return at % size if at // size % 2 == 0 else size - 1 - at % size
    return min(max(at, 0), size - 1)


def expected(name: str) -> Array:
    """What the kernel of a case reads, by the formulas of the CUDA programming guide: [COUNT, channels]."""
    sizes, dtype, channels, filtered, address, normalized, read = CASES[name]
    texels = texels_of(name).reshape(*sizes, channels).astype(float)
    if read == "normalized":
        texels = np.maximum(texels / np.iinfo(dtype).max, -1)

    def texel(*at: int) -> Any:
        where = [index_of(address, one, size) for one, size in zip(at, reversed(sizes), strict=True)]
        return 0.0 * texels.flat[:channels] if None in where else texels[tuple(reversed(where))]

    def blend(at: tuple[float, ...], chosen: tuple[int, ...]) -> Any:
        if len(chosen) == len(at):
            return texel(*chosen)
        below = floor(at[len(chosen)] - 0.5)
        share = at[len(chosen)] - 0.5 - below
        return (1 - share) * blend(at, (*chosen, below)) + share * blend(at, (*chosen, below + 1))

    made = []
    for point in coordinates_of(name).T[:, : len(sizes)]:
        at = tuple(float(x) * (size if normalized else 1) for x, size in zip(point, reversed(sizes), strict=True))
        made.append(texel(*map(floor, at)) if filtered == "point" else blend(at, ()))
    return np.array(made)


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("name", CASES)
def test_a_texture_is_read_as_the_guide_says(name: str) -> None:
    sizes, dtype, channels, filtered, address, normalized, read = CASES[name]
    texture = engine.texture(
        texels_of(name), channels=channels, filter=filtered, address=address, normalized=normalized, read=read
    )
    kind = "f4" if dtype.startswith("float") or read == "normalized" else "i4"
    run = engine.kernel(kernel_of(name)).run(4, 64, (texture, coordinates_of(name).ravel(), np.zeros((COUNT, 4), kind)))
    made = run.arrays["out"]
    plain, step = expected(name), np.ptp(expected(name)) / 256  # shares and weights are rounded to a 256th
    assert np.abs(made[:, :channels] - plain).max() <= (1e-6 if filtered == "point" else (2 * len(sizes) - 1) * step)
    assert not run.findings and not made[:, channels:].any()
    gpu = np.load(GOLDEN)[name.replace(" ", "_")]
    apart = np.abs(made.astype(float) - gpu)[:, :channels]
    if filtered == "point" or not (normalized or len(sizes) == 3 or read == "normalized"):
        assert apart.max() <= (2e-5 if dtype == "float16" else 1e-6)
    else:  # a GPU rounds normalized coordinates otherwise if they lie between two 256ths
        assert apart.max() <= 2 * step and np.count_nonzero(apart.max(axis=1) > 1e-4 * np.ptp(plain)) <= 30


FETCH = """__global__ void f(cudaTextureObject_t a, cudaTextureObject_t b, int *out) {
  int t = threadIdx.x;
  cudaTextureObject_t own = t % 2 ? a : b;
  out[t] = tex1Dfetch<int>(own, t - 2);
}"""


def test_each_thread_may_read_a_texture_of_its_own_and_fetches_zeros_outside() -> None:
    a, b = np.arange(100, 120, dtype=np.int32), np.arange(200, 210, dtype=np.int32)
    run = engine.kernel(FETCH).run(1, 32, (engine.texture(a), engine.texture(b), np.zeros(32, "i4")))
    own = [(a, b)[t % 2 == 0] for t in range(32)]
    assert run.arrays["out"].tolist() == [
        int(array[t - 2]) if 0 <= t - 2 < array.size else 0 for t, array in enumerate(own)
    ]
    assert run.counters["global_load_requests"] == 0


def test_a_read_that_does_not_fit_its_texture_ends_the_run_at_its_line() -> None:
    flat, floats, ints = np.zeros((4, 4), "i4"), np.zeros(9, "f4"), np.zeros(9, "i4")
    kernel, out = engine.kernel(FETCH), np.zeros(32, "i4")
    for wrong in (engine.texture(flat), engine.texture(floats), 7):
        with pytest.raises(RunFailed, match="thread 1 of block 0 reads") as caught:
            kernel.run(1, 32, (wrong, engine.texture(ints), out))
        assert caught.value.line == 4
    with pytest.raises(NotRunnable, match="`out` of f"):
        engine.kernel("__global__ void f(int out) {}").run(1, 1, (engine.texture(ints),))


@pytest.mark.parametrize(
    ("shape", "dtype", "options"),
    [
        (9, "float64", {}), (9, "f4", {"filter": "cubic"}), (9, "f4", {"address": "repeat"}),
        (9, "f4", {"address": "wrap"}), (9, "i4", {"filter": "linear"}), (9, "f4", {"read": "normalized"}),
        (9, "f4", {"channels": 3}), ((9, 3), "f4", {"channels": 4}), ((2, 2, 2, 2), "f4", {}), (0, "f4", {}),
    ],
)  # fmt: skip
def test_what_cuda_has_not_is_refused(shape: Any, dtype: str, options: Any) -> None:
    with pytest.raises(NotRunnable):
        engine.texture(np.zeros(shape, dtype), **options)


def test_a_texture_is_refused_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.lab.kernels.gpus", lambda: ("a GPU",))
    arguments = (engine.texture(np.zeros(9, "i4")), engine.texture(np.zeros(9, "i4")), np.zeros(32, "i4"))
    with pytest.raises(NotRunnable, match="`a` is a texture"):
        engine.kernel(FETCH).run(1, 32, arguments, device="gpu")

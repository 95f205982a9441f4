"""What a texture read computes: CUDA programming guide, appendix "Texture Fetching", with the rounding of an H200."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.records import Array, Texture

_STEPS = 256  # of the fraction in linear filtering: 9 bits, 8 of them behind the point
_FARTHEST = float(1 << 30)


def fetch(texture: Texture, place: Array) -> list[Array]:
    """Return the four channels of the texels at whole numbers `place`; zeros outside (tex1Dfetch)."""
    index = place.astype(np.int64)
    inside = (index >= 0) & (index < texture.texels.shape[0])
    texels = texture.texels[np.where(inside, index, 0)]
    return _channels(texture, np.where(inside[..., None], _values(texture, texels), 0))


def sample(texture: Texture, coordinates: Sequence[Array]) -> list[Array]:
    """Return the four channels at float32 coordinates: x, then y, then z."""
    sizes = texture.texels.shape[-2::-1]
    at = [_in_texels(texture, x, size) for x, size in zip(coordinates, sizes, strict=True)]
    if texture.filter == "point":
        return _channels(texture, _taken(texture, [np.floor(x).astype(np.int64) for x in at]))
    fixed = [np.floor(x * _STEPS + 0.5).astype(np.int64) - _STEPS // 2 for x in at]
    below, shares = [x // _STEPS for x in fixed], [x % _STEPS for x in fixed]
    total: Array = np.zeros(1)
    for corner, weight in _weights(shares).items():
        texel = _taken(texture, [low + upper for low, upper in zip(below, corner, strict=True)])
        share = weight[..., None] / _STEPS
        total = total + np.where(share == 0, 0, share * texel)  # not 0 times infinity
    return _channels(texture, total.astype(texture.texels.dtype) if texture.texels.dtype == np.float16 else total)


def _weights(shares: Sequence[Array]) -> dict[tuple[int, ...], Array]:
    """Return the weight of each corner, in 256ths; `shares`: those of the upper texels along x, y, z.

    An H200 rounds the products of shares, and gives the rest to the other corners. One and two dimensions agree with
    it; in three dimensions a tenth of the results differs by a 256th.
    """
    x, last = shares[0], shares[-1]
    if len(shares) == 1:
        return {(0,): _STEPS - x, (1,): x}
    both = _rounded(x * last)
    plane: dict[tuple[int, ...], Array] = {
        (0, 0): _STEPS - x - last + both,
        (1, 0): x - both,
        (0, 1): last - both,
        (1, 1): both,
    }
    if len(shares) == 2:
        return plane
    made: dict[tuple[int, ...], Array] = {}
    for corner, weight in plane.items():
        upper = _rounded(weight * shares[1])
        made |= {(corner[0], 0, corner[1]): weight - upper, (corner[0], 1, corner[1]): upper}
    return made


def _rounded(product: Array) -> Array:
    return (product + _STEPS // 2) // _STEPS


def _in_texels(texture: Texture, x: Array, size: int) -> Array:
    """Return a coordinate in texels, as float64."""
    scaled = x.astype(np.float64) * (size if texture.normalized else 1)
    return np.clip(np.nan_to_num(scaled), -_FARTHEST, _FARTHEST)


def _taken(texture: Texture, index: Sequence[Array]) -> Array:
    """Return the values of the texels at whole numbers x, y, z by the address mode, channels in the last axis."""
    outside: Array = np.zeros(1, bool)
    places = []
    for at, size in zip(index, texture.texels.shape[-2::-1], strict=True):
        if texture.address == "border":
            outside = outside | (at < 0) | (at >= size)
        if texture.address == "wrap":
            at = at % size
        elif texture.address == "mirror":
            at = at % (2 * size)
            at = np.minimum(at, 2 * size - 1 - at)
        places.append(np.clip(at, 0, size - 1))
    texels = _values(texture, texture.texels[tuple(reversed(places))])
    return np.where(outside[..., None], 0, texels) if texture.address == "border" else texels


def _values(texture: Texture, texels: Array) -> Array:
    """Return texels as the numbers that a kernel reads: float64 or int64."""
    if texture.read == "normalized":
        return np.maximum(texels / np.iinfo(texels.dtype).max, -1.0)
    return texels.astype(np.float64 if texture.floating else np.int64)


def _channels(texture: Texture, values: Array) -> list[Array]:
    """Return the four channels as float32, or as uint32 with the bits of the integer; a missing channel is 0."""
    kept = values.astype(np.float32) if texture.floating else values.astype(np.uint32)
    missing = np.zeros(kept.shape[:-1], kept.dtype)
    return [kept[..., number] if number < kept.shape[-1] else missing for number in range(4)]

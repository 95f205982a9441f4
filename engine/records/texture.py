"""A texture: an array that a kernel reads through coordinates, with the options of CUDA's cudaTextureDesc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from engine.records.choice import Array, NotRunnable

Filter = Literal["point", "linear"]
AddressMode = Literal["clamp", "border", "wrap", "mirror"]
ReadMode = Literal["element", "normalized"]
_ELEMENTS = ("float16", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32")
_DIMENSIONS = (1, 2, 3)
_CHANNELS = (1, 2, 4)


@dataclass(frozen=True, eq=False)
class Texture:
    """A copy of an array, as a texture.

    `texels`: (depth, height, width, channels) without the missing dimensions. `address`: for coordinates outside, in
    all dimensions. `normalized`: coordinates count from 0 to 1 instead of in texels. `read`: "normalized" turns 8 and
    16 bit integers into floats from 0 (or -1) to 1, as cudaReadModeNormalizedFloat does.
    """

    texels: Array
    filter: Filter
    address: AddressMode
    normalized: bool
    read: ReadMode

    @property
    def dimensions(self) -> int:
        """Return 1, 2 or 3."""
        return self.texels.ndim - 1

    @property
    def floating(self) -> bool:
        """Return whether a kernel reads floats from it."""
        return self.texels.dtype.kind == "f" or self.read == "normalized"


def texture(
    array: Array, *, channels: int = 1, filter: Filter = "point", address: AddressMode = "clamp",
    normalized: bool = False, read: ReadMode = "element",
) -> Texture:  # fmt: skip
    """Return a texture of an array [depth,] [height,] width[, channels]; with one channel the last axis is the width.

    NotRunnable: CUDA has no such texture.
    """
    texels = np.array(array, order="C")
    if channels == 1:
        texels = texels[..., None]
    choices: tuple[tuple[str, object, tuple[object, ...]], ...] = (
        ("filter", filter, get_args(Filter)),
        ("address mode", address, get_args(AddressMode)),
        ("read mode", read, get_args(ReadMode)),
        ("number of channels", channels, _CHANNELS),
        ("element type", texels.dtype.name, _ELEMENTS),
        ("number of dimensions", texels.ndim - 1, _DIMENSIONS),
    )
    for what, given, possible in choices:
        if given not in possible:
            listed = ", ".join(str(one) for one in possible)
            raise NotRunnable(f"A texture cannot have the {what} {given!r}: choose one of {listed}.")
    if texels.shape[-1] != channels or not texels.size:
        raise NotRunnable(f"An array of the shape {np.shape(array)} is not a texture with {channels} channels.")
    made = Texture(texels, filter, address, normalized, read)
    if read == "normalized" and not (texels.dtype.kind in "iu" and texels.itemsize < 4):
        raise NotRunnable(f"Only integers of 8 and 16 bits can be read as normalized floats, not {texels.dtype}.")
    if filter == "linear" and not made.floating:
        raise NotRunnable(
            f"A texture of {texels.dtype} cannot be filtered linearly: CUDA interpolates floats, and integers of 8 and "
            "16 bits with read='normalized'."
        )
    if address in ("wrap", "mirror") and not normalized:
        raise NotRunnable(f"The address mode {address} needs normalized=True; CUDA would clamp instead.")
    return made

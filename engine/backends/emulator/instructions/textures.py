"""tex: reads of textures of one to three dimensions, without mipmaps and layers.

A read computes what the CUDA programming guide says in its appendix "Texture Fetching", with the rounding of an H200.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.instructions.memory_port import first_lane
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.ptx.syntax import Group, Instruction, PtxError, Vector
from engine.backends.emulator.ptx.traits import Traits
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers, reader, writer
from engine.backends.emulator.state.machine import Machine
from engine.records import Array, RunFailed, Texture

_DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3}


def check_form(item: Instruction) -> None:
    """Check that the texture has a form that is emulated, and that the operands fit it."""
    words = [word for word in item.words if word != "level"]
    if len(words) != 5 or words[1] not in _DIMENSIONS or words[2] != "v4" or words[3] not in ("f32", "s32", "u32"):
        raise PtxError(f"this form of texture is not emulated: {item.opcode}")
    match item.operands[:2]:
        case (Vector(items), Group((_, Vector(given)))) if len(items) == 4 and len(given) >= _DIMENSIONS[words[1]]:
            return
    raise PtxError(f"this form of texture is not emulated: {item.opcode}")


@executes(Traits("tex", check=check_form))
def read_texture(machine: Machine, item: Instruction) -> Executor:
    """Return the executor of a tex. `tex.level` reads the same, because a texture here has one level only."""
    target, place = item.operands[:2]
    assert isinstance(target, Vector) and isinstance(place, Group) and isinstance(place.items[1], Vector)
    geometry, _, made, kind = item.words[-4:]
    dimensions, widths = _DIMENSIONS[geometry], machine.program.widths
    get_handle = reader(place.items[0], "u64", widths, item.line)
    get_places = [reader(each, kind, widths, item.line) for each in place.items[1].items[:dimensions]]
    puts = [writer(each, made, widths, item.line) for each in target.items]

    def read(handle: int, places: Sequence[Array]) -> list[Array] | str:
        """Return the four channels, or what is wrong."""
        texture = machine.space.textures.get(handle)
        if texture is None:
            return (
                f"reads a texture with the handle {hex(handle)}, and no texture has it: pass engine.texture(array) "
                "from Python (the lab's form and the command line cannot pass one)"
            )
        wrong = _mismatch(texture, dimensions, made)
        if wrong:
            return wrong
        return fetch(texture, places[0]) if kind == "s32" and dimensions == 1 else sample(texture, places)

    def failed(what: str, lanes: Array, mask: Mask) -> RunFailed:
        row, column = first_lane(lanes)
        return machine.lane_failure("crashed", item.line, mask, row, column, what)

    def step(registers: Registers, mask: Mask) -> None:
        handles = get_handle(registers)
        places = np.broadcast_arrays(*(get(registers) for get in get_places))
        shape = (mask.height, mask.width)
        active = np.ones(shape, bool) if mask.dense is None else mask.dense
        spread = np.broadcast_to(handles, shape)
        if handles.size == 1:
            found = read(int(handles.item(0)), places)
            if isinstance(found, str):
                raise failed(found, active, mask)
        else:
            found = [np.zeros(shape, np.uint32) for _ in puts]
            for handle in np.unique(spread[active]).tolist():
                lanes = active & (spread == handle)
                part = read(handle, [np.broadcast_to(one, shape)[lanes] for one in places])
                if isinstance(part, str):
                    raise failed(part, lanes, mask)
                for whole, values in zip(found, part, strict=True):
                    whole[lanes] = values.view(np.uint32)
        for put, values in zip(puts, found, strict=True):
            put(registers, np.ascontiguousarray(values))

    return step


def _mismatch(texture: Texture, dimensions: int, made: str) -> str:
    """Return why a read does not fit its texture, "" if it does."""
    if texture.dimensions != dimensions:
        return f"reads {dimensions} dimensions of a texture that has {texture.dimensions}"
    if texture.floating != (made == "f32"):
        wanted = "floats" if made == "f32" else "whole numbers"
        read = " (read as normalized floats)" if texture.read == "normalized" else ""
        return f"reads {wanted} from a texture of {texture.texels.dtype}{read}"
    return ""


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

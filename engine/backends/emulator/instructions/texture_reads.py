"""tex: reads of textures of one to three dimensions, without mipmaps and layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.instructions.memory_port import first_lane
from engine.backends.emulator.instructions.registry import Executor, executes
from engine.backends.emulator.meanings.texture_fetch import fetch, sample
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

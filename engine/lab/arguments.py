"""Arguments of a launch, in the form of CuPy's RawKernel: NumPy arrays for pointers, numbers by value."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from engine.backends.emulator.launch import Device
from engine.backends.emulator.state.memory import DeviceArray
from engine.lab.signatures import Parameter
from engine.records import Array, NotRunnable
from engine.records.words import whole_number


@runtime_checkable
class GpuArray(Protocol):
    """An array in a GPU's memory with CuPy's interface."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

    def get(self) -> Array:
        """Copy it to the host."""


Argument = Array | GpuArray | np.generic | bool | int | float | complex | None
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}


@dataclass(frozen=True)
class LaunchArguments:
    """The arguments of a launch: the bytes of each, or the name of the array that it points to; and the host arrays by
    name.
    """

    values: tuple[bytes | str, ...]
    arrays: Mapping[str, Array]


def convert_arguments(
    kernel: str, wanted: Sequence[Parameter], arguments: Sequence[Argument], names: Sequence[str]
) -> LaunchArguments:
    """Convert arguments for a launch. An array is named by `names` (by its first name if it is passed twice); a number
    takes the parameter's type.

    NotRunnable, with the parameter's name, for an argument that does not fit.
    """
    if len(arguments) != len(wanted):
        listed = ", ".join(one.name for one in wanted)
        raise NotRunnable(f"{kernel} takes {_counted(len(wanted))} ({listed}) and is given {len(arguments)}.")
    for one, two in combinations([each for each in arguments if isinstance(each, np.ndarray)], 2):
        if one is not two and np.shares_memory(one, two):
            raise NotRunnable(f"{kernel} is given two arrays that lie in the same memory: pass one of them, or copies.")
    values: list[bytes | str] = []
    arrays: dict[str, Array] = {}
    first: dict[int, str] = {}  # array identity -> name
    for parameter, argument, name in zip(wanted, arguments, names, strict=True):
        if isinstance(argument, np.ndarray | GpuArray):
            if id(argument) not in first:
                first[id(argument)] = name
                arrays[name] = argument if isinstance(argument, np.ndarray) else argument.get()
            _check_array(kernel, parameter, arrays[first[id(argument)]])
            values.append(first[id(argument)])
        else:
            values.append(_by_value(kernel, parameter, argument))
    return LaunchArguments(tuple(values), arrays)


def place_arguments(device: Device, handed: LaunchArguments) -> tuple[tuple[bytes, ...], dict[str, DeviceArray]]:
    """Copy the arrays to the emulated device, by name, and return them with the bytes of every argument."""
    there = {name: device.space.add(name, array, array.itemsize) for name, array in handed.arrays.items()}
    values = (there[one].base.to_bytes(8, "little") if isinstance(one, str) else one for one in handed.values)
    return tuple(values), there


def contents(array: DeviceArray, like: Array) -> Array:
    """Copy an array from the device, in the shape and type of the caller's array."""
    return array.data[: like.nbytes].view(like.dtype).reshape(like.shape).copy()


def array_names(wanted: Sequence[Parameter], given: Sequence[str] | None) -> list[str]:
    """Return the arguments' names for messages: `given`, or the parameters' names; each once. NotRunnable:
    wrong count.
    """
    if given is not None and len(given) != len(wanted):
        raise NotRunnable(f"{_counted(len(wanted))} need as many names; {len(given)} are given.")
    return list(_unique([one.name for one in wanted] if given is None else given))


def _unique(names: Sequence[str]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def _check_array(kernel: str, parameter: Parameter, argument: Array) -> None:
    if parameter.size != 8 or parameter.kind not in "ub":
        raise NotRunnable(f"`{parameter.name}` of {kernel} is {_what(parameter)}, and an array is passed for it.")
    if argument.dtype.hasobject:
        raise NotRunnable(f"`{parameter.name}` of {kernel} is given an array of Python objects, which no GPU knows.")


def _by_value(kernel: str, parameter: Parameter, argument: Any) -> bytes:
    """Return the bytes of a number. A NumPy number must have the parameter's type; a Python number is converted
    to it.
    """
    where = f"`{parameter.name}` of {kernel} is {_what(parameter)}"
    if argument is None and parameter.size == 8:
        return bytes(8)
    if isinstance(argument, np.generic):
        floating = argument.dtype.kind in "f"
        fits = argument.nbytes == parameter.size and (parameter.kind == "b" or floating == (parameter.kind == "f"))
        if not fits:
            raise NotRunnable(f"{where}, and a {argument.dtype} is passed for it.")
        return argument.tobytes()
    if isinstance(argument, complex) and parameter.size in (8, 16) and parameter.kind == "b":
        return struct.pack("<2f" if parameter.size == 8 else "<2d", argument.real, argument.imag)
    if not isinstance(argument, bool | int | float):
        kind = "None" if argument is None else f"a {type(argument).__name__}"
        raise NotRunnable(f"{where}, and {kind} is passed for it.")
    if parameter.kind == "f" or (parameter.kind == "b" and parameter.size == 2):
        try:
            return struct.pack(_FLOATS[parameter.size], argument)
        except OverflowError:
            raise NotRunnable(f"{where}, which cannot hold {argument}.") from None
    if isinstance(argument, float) or parameter.kind == "b":
        raise NotRunnable(f"{where}, and {argument!r} is passed for it.")
    if not -(1 << 8 * parameter.size - 1) <= argument < 1 << 8 * parameter.size:
        raise NotRunnable(f"{where}, which cannot hold {argument:,}.")
    return (int(argument) & (1 << 8 * parameter.size) - 1).to_bytes(parameter.size, "little")


def _what(parameter: Parameter) -> str:
    size = "1 byte" if parameter.size == 1 else f"{parameter.size} bytes"
    if parameter.kind == "f":
        return f"a floating-point number of {size}"
    return f"a value of {size}" if parameter.kind == "b" else f"a whole number or a pointer of {size}"


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


FORMS = "a number, TYPE[SIZES] or TYPE[SIZES]=FILL (zeros, ones, range, random or a number), or a file NAME.npy"
ARRAY = re.compile(r"(\w+)\[([^\]]+)\](?:=(.+))?")
_MOST_BYTES = 1 << 30


def argument_of(words: str) -> Argument:
    """Parse a word into a number or an array. NotRunnable: it is neither."""
    found = ARRAY.fullmatch(words)
    if found:
        return _array(words, found[1], found[2], found[3] or "zeros")
    if words.endswith(".npy"):
        return _saved(Path(words))
    try:
        return _number(words)
    except ValueError:
        raise NotRunnable(f"{words!r} is no argument: {FORMS}.") from None


def _number(words: str) -> int | float:
    try:
        return whole_number(words)
    except ValueError:
        return int(words) if re.fullmatch(r"-?\d+", words) else float(words)


def _array(words: str, kind: str, sizes: str, fill: str) -> Array:
    try:
        dtype = np.dtype(kind)
        shape = tuple(whole_number(size) for size in sizes.split(","))
    except (TypeError, ValueError):
        raise NotRunnable(f"{words!r} is no array: {FORMS}.") from None
    if dtype.hasobject or min(shape) < 0 or prod(shape) * dtype.itemsize > _MOST_BYTES:
        raise NotRunnable(f"{words!r} is no array of at most {_MOST_BYTES >> 30} GB of numbers.")
    return _filled(words, shape, dtype, fill)


def _filled(words: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], fill: str) -> Array:
    count = prod(shape)
    if fill == "range":
        return np.arange(count).astype(dtype).reshape(shape)
    if fill == "random":  # a fixed seed
        make = np.random.default_rng(0)
        numbers = make.random(count) if dtype.kind in "fc" else make.integers(0, 2 if dtype.kind == "b" else 100, count)
        return numbers.astype(dtype).reshape(shape)
    try:
        value = {"zeros": 0, "ones": 1}.get(fill)
        return np.full(shape, _number(fill) if value is None else value, dtype)
    except (ValueError, OverflowError):
        raise NotRunnable(f"{words!r} cannot be filled with {fill}: {FORMS}.") from None


def _saved(path: Path) -> Array:
    try:
        loaded: Array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise NotRunnable(f"There is no file {path}.") from None
    except (OSError, ValueError) as error:
        raise NotRunnable(f"{path} is no array that NumPy can read: {error}.") from None
    return loaded

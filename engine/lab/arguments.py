"""Arguments of a launch, in the form of CuPy's RawKernel: NumPy arrays for pointers, numbers by value.

Arrays are filled with zeros, ones, a range, random numbers, or indices. Random numbers are the same in every program
run, and other ones for each argument of a launch and each trial. Floats are multiples of a quarter, or in further
trials of a smaller power of two, and so small that their sums and products are exact.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from dataclasses import fields as dataclass_fields
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from engine.backends.emulator.launch import Device
from engine.backends.emulator.state.memory import DeviceArray
from engine.lab.signatures import Parameter
from engine.lab.structures import Field
from engine.lab.top_level import parts
from engine.records import Array, NotRunnable, Texture
from engine.records.words import one_text, reason_text, whole_number


@runtime_checkable
class GpuArray(Protocol):
    """An array in a GPU's memory with CuPy's interface."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

    def get(self) -> Array:
        """Copy it to the host."""


Argument = Array | GpuArray | Texture | np.generic | bool | int | float | complex | None
Structure = Mapping[str, Any] | Sequence[Any]  # the fields of a struct, by name or in order; a dataclass too
Value = bytes | str | tuple[bytes | str, ...]
_PACKED = {2: "<e", 4: "<f", 8: "<d"}


@dataclass(frozen=True)
class LaunchArguments:
    """The arguments of a launch: the bytes of each, or the name of its array or texture, or the pieces of a struct;
    the host arrays and the textures by name."""

    values: tuple[Value, ...]
    arrays: Mapping[str, Array]
    textures: Mapping[str, Texture] = field(default_factory=dict)


def convert_arguments(
    kernel: str,
    wanted: Sequence[Parameter],
    arguments: Sequence[Argument | Structure],
    names: Sequence[str],
    fields: Callable[[int], tuple[Field, ...]] = lambda number: (),
) -> LaunchArguments:
    """Convert arguments for a launch. An array is named by `names` (by its first name if it is passed twice); a number
    takes the parameter's type. `fields`: those of the struct that is parameter number N.

    NotRunnable, with the parameter's name, for an argument that does not fit.
    """
    if len(arguments) != len(wanted):
        listed = ", ".join(one.name for one in wanted)
        raise NotRunnable(f"{kernel} takes {_counted(len(wanted))} ({listed}) but gets {len(arguments)}.")
    structures = {
        number: _by_field(kernel, parameter, fields(number), given)
        for number, (parameter, argument) in enumerate(zip(wanted, arguments, strict=True))
        if (given := fields_of(argument)) is not None
    }
    inside = [value for given in structures.values() for _, value in given]
    refuse_overlap(kernel, (*arguments, *inside))
    values: list[Value] = []
    arrays: dict[str, Array] = {}
    textures: dict[str, Texture] = {}
    first: dict[int, str] = {}  # array identity -> name

    def value_of(parameter: Parameter, argument: Any, name: str) -> bytes | str:
        if isinstance(argument, Texture):
            if parameter.size != 8 or parameter.kind not in "ub":
                raise NotRunnable(
                    f"`{parameter.name}` of {kernel} is {_what(parameter)}, but a texture is passed for it."
                )
            textures[name] = argument
            return name
        if not isinstance(argument, np.ndarray | GpuArray):
            return _by_value(kernel, parameter, argument)
        if id(argument) not in first:
            first[id(argument)] = name
            arrays[name] = argument if isinstance(argument, np.ndarray) else argument.get()
        _check_array(kernel, parameter, arrays[first[id(argument)]])
        return first[id(argument)]

    for number, (parameter, argument, name) in enumerate(zip(wanted, arguments, names, strict=True)):
        if number not in structures:
            values.append(value_of(parameter, argument, name))
            continue
        pieces: list[bytes | str] = []
        at = 0
        for own_field, value in structures[number]:
            own = f"{name}.{own_field.name}"
            if own_field.kind == "b" and not isinstance(value, bool | int | float | None):
                piece: bytes | str = np.asarray(value).tobytes()
                if len(piece) != own_field.size:
                    raise NotRunnable(
                        f"`{own}` of {kernel} has {own_field.size} bytes, but {len(piece)} are passed for it."
                    )
            else:
                kind = own_field.kind.replace("p", "u")
                piece = value_of(Parameter(own, kind, own_field.size, own_field.element), value, own)
            pieces += [bytes(own_field.offset - at), piece]
            at = own_field.offset + own_field.size
        values.append((*pieces, bytes(parameter.size - at)))
    return LaunchArguments(tuple(values), arrays, textures)


def fields_of(argument: object) -> Mapping[str, Any] | Sequence[Any] | None:
    """Return what is passed for the fields of a struct, by name or in order; None: the argument is no struct."""
    if is_dataclass(argument) and not isinstance(argument, type | Texture):
        return {one.name: getattr(argument, one.name) for one in dataclass_fields(argument)}
    return argument if isinstance(argument, Mapping | tuple | list) else None


def _by_field(
    kernel: str, parameter: Parameter, fields: Sequence[Field], given: Mapping[str, Any] | Sequence[Any]
) -> list[tuple[Field, Any]]:
    """Return the values of a struct's fields, in the order of the struct."""
    where = f"`{parameter.name}` of {kernel}"
    if not fields and not given and parameter.kind == "b" and parameter.size == 1:
        return []  # a struct without fields, such as a functor
    if not fields:
        raise NotRunnable(f"{where} is {_what(parameter)} and not a struct of this file, but fields are passed for it.")
    listed = ", ".join(one.name for one in fields)
    if len(given) != len(fields) or (isinstance(given, Mapping) and {*given} != {one.name for one in fields}):
        passed = ", ".join(map(str, given)) if isinstance(given, Mapping) else f"{len(given)} values"
        raise NotRunnable(f"{where} has the fields {listed}, but {passed} are passed for it.")
    values = [given[one.name] for one in fields] if isinstance(given, Mapping) else list(given)
    return sorted(zip(fields, values, strict=True), key=lambda pair: pair[0].offset)


def is_number(argument: object) -> TypeGuard[int | float]:
    """Return whether an argument is a single number, of Python or of NumPy."""
    return isinstance(argument, int | float | np.number)


def arrays_and_numbers(passed: Mapping[str, object]) -> tuple[dict[str, Array], dict[str, int | float]]:
    """Return the arrays and the single numbers among a launch's arguments, by name."""
    arrays = {name: one for name, one in passed.items() if isinstance(one, np.ndarray)}
    return arrays, {name: one for name, one in passed.items() if is_number(one)}


def as_held(parameter: Parameter, argument: Any) -> Any:
    """Return an argument as the kernel has it: a Python number rounded to a float of 4 bytes, another one as it is."""
    rounds = isinstance(argument, float) and parameter.kind == "f" and parameter.size == 4
    return float(np.float32(argument)) if rounds else argument


def place_arguments(device: Device, handed: LaunchArguments) -> tuple[tuple[bytes, ...], dict[str, DeviceArray]]:
    """Copy the arrays and textures to the emulated device, and return the arrays by name with the bytes of every
    argument."""
    there = {name: device.space.add(name, array, array.itemsize) for name, array in handed.arrays.items()}
    places = {name: array.base for name, array in there.items()}
    places |= {name: device.space.bind(texture) for name, texture in handed.textures.items()}
    return tuple(value_bytes(one, places) for one in handed.values), there


def value_bytes(value: Value, addresses: Mapping[str, int]) -> bytes:
    """Return the bytes of an argument, with the addresses of its arrays and textures."""
    pieces = value if isinstance(value, tuple) else (value,)
    return b"".join(addresses[one].to_bytes(8, "little") if isinstance(one, str) else one for one in pieces)


def contents(array: DeviceArray, like: Array) -> Array:
    """Copy an array from the device, in the shape and type of the caller's array."""
    return array.data[: like.nbytes].view(like.dtype).reshape(like.shape).copy()


def refuse_overlap(kernel: str, arguments: Sequence[object]) -> None:
    """NotRunnable: two different NumPy arrays share memory, as the launch gets a copy of each."""
    for one, two in combinations([each for each in arguments if isinstance(each, np.ndarray)], 2):
        if one is not two and np.shares_memory(one, two):
            raise NotRunnable(f"{kernel} is given two arrays that lie in the same memory: pass one of them, or copies.")


def array_names(wanted: Sequence[Parameter], given: Sequence[str] | None) -> list[str]:
    """Return the arguments' names for messages: `given`, or the parameters' names; each once. NotRunnable:
    wrong count."""
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
        raise NotRunnable(f"`{parameter.name}` of {kernel} is {_what(parameter)}, but an array is passed for it.")
    if argument.dtype.hasobject:
        raise NotRunnable(f"`{parameter.name}` of {kernel} is given an array of Python objects, which no GPU knows.")
    if parameter.element and not (
        _alike(argument.dtype, np.dtype(parameter.element)) or _is_packed(argument, np.dtype(parameter.element))
    ):
        raise NotRunnable(
            f"`{parameter.name}` of {kernel} points to {parameter.element}, and an array of {argument.dtype} is passed "
            f"for it: pass an array of {parameter.element}."
        )


def _is_packed(given: Array, wanted: np.dtype[Any]) -> bool:
    """Return whether the last size of an array of narrow integers fills a word of the pointer, as int8[n, 4] does."""
    integers = given.dtype.kind in "iu" and wanted.kind in "iu" and given.ndim > 1
    return integers and given.shape[-1] * given.itemsize == wanted.itemsize


def _alike(given: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Return whether an array fits a pointer: numbers of its size and kind, pairs of them, or the fields of a
    struct."""
    if given.kind not in "biufc":
        return True
    if given.kind == "c":
        return wanted.kind == "f" and given.itemsize == 2 * wanted.itemsize
    if given.itemsize != wanted.itemsize:
        return False
    return (given.kind == "f") == (wanted.kind == "f") or (given.itemsize == 2 and "i" not in given.kind + wanted.kind)


def _by_value(kernel: str, parameter: Parameter, argument: Any) -> bytes:
    """Return the bytes of a number. A NumPy number must have the parameter's type; a Python number is converted
    to it."""
    where = f"`{parameter.name}` of {kernel} is {_what(parameter)}"
    if argument is None and parameter.size == 8:
        return bytes(8)
    if isinstance(argument, np.generic):
        floating = argument.dtype.kind in "f"
        fits = argument.nbytes == parameter.size and (parameter.kind == "b" or floating == (parameter.kind == "f"))
        if not fits:
            raise NotRunnable(f"{where}, but {one_text(str(argument.dtype))} is passed for it.")
        return argument.tobytes()
    if isinstance(argument, complex) and parameter.size in (8, 16) and parameter.kind == "b":
        return struct.pack("<2f" if parameter.size == 8 else "<2d", argument.real, argument.imag)
    if not isinstance(argument, bool | int | float):
        kind = "None" if argument is None else one_text(type(argument).__name__)
        raise NotRunnable(f"{where}, but {kind} is passed for it.")
    if parameter.kind == "f" or (parameter.kind == "b" and parameter.size == 2):
        try:
            return struct.pack(_PACKED[parameter.size], argument)
        except OverflowError:
            raise NotRunnable(f"{where}, which cannot hold {argument}.") from None
    if isinstance(argument, float) or parameter.kind == "b":
        raise NotRunnable(f"{where}, but {argument!r} is passed for it.")
    if not -(1 << 8 * parameter.size - 1) <= argument < 1 << 8 * parameter.size:
        raise NotRunnable(f"{where}, which cannot hold {argument:,}.")
    return (int(argument) & (1 << 8 * parameter.size) - 1).to_bytes(parameter.size, "little")


def _what(parameter: Parameter) -> str:
    size = "1 byte" if parameter.size == 1 else f"{parameter.size} bytes"
    if parameter.kind == "f":
        return f"a floating-point number of {size}"
    if parameter.kind == "b":
        return f"a value of {size}"
    return f"a whole number {'or a pointer ' if parameter.size == 8 else ''}of {size}"


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


FORMS = (
    "a number, TYPE[SIZES] or TYPE[SIZES]=FILL (zeros, ones, range, random, indices or a number), or a file NAME.npy"
)
ARRAY = re.compile(r"(\w+)\[([^\]]+)\](?:=(.+))?")
_MOST_BYTES = 1 << 30
_MOST_FIELDS = 100  # of a struct: each of its arrays has random numbers of its own
_MOST_STRUCTS = 100
_MOST_SIZES = 32  # of an array: NumPy has 64


def argument_of(words: str, place: int = 0, trial: int = 0) -> Any:
    """Parse a word into a number or an array, or `{...}` into the fields of a struct. `place`: which argument of the
    launch it is; `trial`: which random numbers it gets. NotRunnable: it is none of these."""
    fields = written_fields(words)
    if fields is not None:
        inside = enumerate(fields, place * _MOST_FIELDS)
        return tuple(argument_of(field, number, trial) for number, field in inside)
    found = ARRAY.fullmatch(words)
    if found:
        dtype, shape = _array(words, found[1], found[2])
        fill = found[3] or "zeros"
        if fill in FILLS:
            return filled(shape, dtype, fill, place, trial)
        try:
            number = _number(fill)
            with np.errstate(over="raise"):
                return np.full(shape, number, dtype)
        except ValueError:
            raise NotRunnable(f"{words!r} cannot be filled with {fill}: {FORMS}.") from None
        except (OverflowError, FloatingPointError):
            raise NotRunnable(f"{words!r} cannot be filled with {fill}, which is too large for {dtype}.") from None
    if words.endswith(".npy"):
        return _saved(Path(words))
    try:
        return _number(words)
    except ValueError:
        raise NotRunnable(f"{words!r} is no argument: {FORMS}.") from None


def written_fields(words: str) -> list[str] | None:
    """Return the words of each field of a struct `{...}`; None for another argument. NotRunnable: too many structs."""
    if not (words.startswith("{") and words.endswith("}")):
        return None
    if words.count("{") > _MOST_STRUCTS:  # each may be inside the other, and Python's own stack has an end
        raise NotRunnable(f"An argument has at most {_MOST_STRUCTS} structs.")
    return [part.strip() for part in parts(words[1:-1])]


def _number(words: str) -> int | float:
    try:
        return whole_number(words)
    except ValueError:
        return int(words) if re.fullmatch(r"-?\d+", words) else float(words)


def _array(words: str, kind: str, sizes: str) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
    try:
        dtype = np.dtype(kind)
        shape = tuple(whole_number(size) for size in sizes.split(","))
    except (TypeError, ValueError):
        raise NotRunnable(f"{words!r} is not an array: {FORMS}.") from None
    if dtype.kind not in "biufc" or len(shape) > _MOST_SIZES:
        raise NotRunnable(f"{words!r} is not an array of numbers of at most {_MOST_SIZES} sizes.")
    if min(shape) < 0 or prod(shape) * dtype.itemsize > _MOST_BYTES:
        raise NotRunnable(f"{words!r} is not an array of at most {_MOST_BYTES >> 30} GB of numbers.")
    return dtype, shape


def _saved(path: Path) -> Array:
    try:
        loaded: Array = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise NotRunnable(f"There is no file {path}.") from None
    except (ValueError, EOFError):
        raise NotRunnable(f"{path} is not a file of numbers that NumPy has saved with np.save.") from None
    except OSError as error:
        raise NotRunnable(f"{path} cannot be read: {reason_text(error)}.") from None
    if loaded.dtype.kind not in "biufcV":
        raise NotRunnable(f"{path} has an array of {one_text(str(loaded.dtype))}: a kernel takes numbers.")
    return loaded


FILLS = ("zeros", "ones", "range", "random", "indices")
QUARTER = 0.25  # the unit of floats, so a conversion to int shows
_HALVED = 6  # times that the unit is halved, at most
_LONGER = 1 + 2.0**-30  # of doubles, so that a conversion to float shows
_WHOLE, _SHORT = 997, {"u": 253}  # sizes of whole numbers, and of unsigned ones of 8 bits
_FLOATS, _FEWEST, _FEW = 497, 5, 16  # in units: products of 256 x 256 matrices stay exact
_EXACT = {2: 2**11, 4: 2**24, 8: 2**53}  # whole numbers that a float of so many bytes holds exactly
MOST_INDICES = 100
_POSITIVE = 4  # the trial without negative numbers
_SAME = 7  # every seventh number, where neighbours are equal
_IMAGINARY = 1000  # is added to the place for the other half of complex numbers


def filled(shape: tuple[int, ...], dtype: np.dtype[np.generic], fill: str, place: int = 0, trial: int = 0) -> Array:
    """Return a new array with one of FILLS; `place`: which argument of the launch it is."""
    count = prod(shape)
    match fill:
        case "range":
            made: Array = np.arange(count).astype(dtype)
        case "random":
            made = random_numbers(count, dtype, place, trial)
        case "indices":  # of an array that is as long
            most = max(1, min(count, MOST_INDICES))
            made = np.random.default_rng([place, trial]).integers(0, most, count).astype(dtype)
        case _:
            made = np.full(count, {"zeros": 0, "ones": 1}[fill], dtype)
    return made.reshape(shape)


def random_numbers(count: int, dtype: np.dtype[np.generic], place: int, trial: int) -> Array:
    """Return `count` numbers: in even trials of both signs, in one of them all positive, in odd ones all negative (if
    the type has a sign) and far from 0. The largest is the last one in trial 0, the first one in trial 1 and the second
    one in trial 2; later it stands in between.

    No two neighbours are equal, but in every third trial some are. A float of 4 bytes rounds doubles of later trials.
    """
    make = np.random.default_rng([place, trial])
    if dtype.kind == "b" or not count:
        return make.integers(0, 2, count).astype(dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        real, imaginary = (random_numbers(count, part, place + more, trial) for more in (0, _IMAGINARY))
        return (real + 1j * imaginary).astype(dtype)
    most, signed, even = _most(count, dtype), dtype.kind != "u", trial % 2 == 0
    one_sign = signed and (not even or trial == _POSITIVE)
    far = most // 2 if one_sign and most > _FEW else 0  # from 0
    most -= far
    numbers = 2 + make.integers(1, most, count).cumsum() % most  # never the one before: less than `most` is added
    lowest, largest = 1, most + 2
    if trial == _POSITIVE:
        numbers, lowest, largest = numbers + far, lowest + far, largest + far
    elif signed:
        numbers = numbers * make.choice((-1, 1), count) if even else -far - numbers
        lowest, largest = -far - most - 2, largest + 1 if even else -far - 1  # no opposites, which have one abs()
    if trial % 3 == 2:
        numbers[_SAME::_SAME] = numbers[_SAME - 1 : -1 : _SAME]
    at = (count - 1, 0, min(1, count - 1))[trial] if trial < 3 else count * trial // 7 % count
    numbers[[count - 1 - at, at]] = lowest, largest  # a single number is the largest
    unit = QUARTER / 2 ** min(trial, _HALVED)  # so that a conversion of some multiple to int shows, too
    unit *= _LONGER if dtype.itemsize == 8 and trial else 1
    return (numbers * unit if dtype.kind == "f" else numbers).astype(dtype)


def _most(count: int, dtype: np.dtype[np.generic]) -> int:
    """Return how many sizes there are. Of floats so few that no order of adding all of them rounds."""
    if dtype.kind != "f":
        return _WHOLE if dtype.itemsize > 1 else _SHORT.get(dtype.kind, 97)
    return min(_FLOATS, max(_FEWEST, _EXACT.get(dtype.itemsize, 2**53) // count))

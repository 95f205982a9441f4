"""A debugger that goes back in time: a recorded block, and questions about any of its moments.

The kernel runs in an unoptimised build, which keeps every variable. A moment is a line of the text that some threads
execute together; the state at a moment is that before its line is executed. The order of execution is the same in every
run, so a moment's number always shows the same state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from engine.backends.emulator.registers.masks import WARP
from engine.backends.emulator.state.memory import LOCAL_WINDOW, RANGE_BITS, SHARED_WINDOW
from engine.backends.emulator.watching.recorder import (
    SPACES,
    RecordedArray,
    Recording,
    Values,
)
from engine.compile.debug_info import DebugInfo, Function, Location, Type, Variable
from engine.records import Array, NotRunnable

MOST_ELEMENTS = 64  # of an array that a variable shows
_LETTERS = {"float": "f", "int": "i", "uint": "u", "char": "i"}  # NumPy's
NOT_SET, NOT_KEPT = "not set yet", "not kept here by the compiler"


@dataclass(frozen=True)
class Shown:
    """A variable's value at a moment. `text`: the value, "" for a struct or an array, which has `parts`; `note`: why
    there is none. `function`: the one that declares it; `number`: the value, if it is one."""

    name: str
    type: str
    text: str
    note: str = ""
    number: float | int | bool | None = None
    parts: tuple[Shown, ...] = ()
    function: str = ""

    @property
    def value(self) -> Any:
        """The value in Python: a number, the text of an address, a dict for a struct, a list for an array, or None."""
        if self.parts:
            listed = self.parts[0].name.startswith("[")
            return [one.value for one in self.parts] if listed else {one.name: one.value for one in self.parts}
        return (self.text or None) if self.number is None else self.number


@dataclass(frozen=True)
class State(Mapping[str, Any]):
    """What a thread knows at a moment: the values of its variables by name, an inner one before an outer one.

    `moment`: its number; `line`: which the thread executes next.
    """

    moment: int
    line: int
    thread: int
    variables: tuple[Shown, ...]

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name].value

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    @property
    def _by_name(self) -> dict[str, Shown]:
        return {one.name: one for one in reversed(self.variables)}

    def _repr_html_(self) -> str:
        """Show the variables in Jupyter."""
        rows = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{escape(one.type)}</td>"
            f"<td style='text-align:left'>{escape(one.note or str(one.value))}</td></tr>"
            for one in self.variables
        )
        return f"<p>Thread {self.thread}, line {self.line}, moment {self.moment}</p><table>{rows}</table>"


@dataclass(frozen=True)
class Frame:
    """A function in which a thread is: its `line`, and the PTX `place`."""

    function: Function | None
    line: int
    place: int


@dataclass(frozen=True)
class Writer:
    """Who wrote a word: `thread` of `block`, at `line` in moment `moment`."""

    block: int
    thread: int
    line: int
    moment: int


@dataclass(frozen=True)
class Touch:
    """An access of a thread of the block to element `index` of `array`, at `line` in moment `moment`."""

    moment: int
    thread: int
    line: int
    writes: bool
    array: str
    index: int


@dataclass(frozen=True)
class Memory:
    """The elements of an array at a moment. `values`: None for an element that is not set; `writers`: of each, None if
    none wrote it since the block's chunk began."""

    name: str
    space: str
    values: tuple[float | int | None, ...]
    writers: tuple[Writer | None, ...]


@dataclass(frozen=True)
class Debugger:
    """A recorded block of a kernel. `text`: its file; `launch`: its number, from 1, of `launches`; `order`: of
    execution."""

    recording: Recording
    info: DebugInfo
    kernel: str
    text: str
    launch: int = 1
    launches: int = 1
    order: str = ""

    # ---- moments

    @property
    def moments(self) -> int:
        """Return the number of moments; the last state is that of this number."""
        return self.recording.moments

    @cached_property
    def _bits(self) -> Array:
        """Return whether a thread is in a moment, bool[moments, threads rounded up to warps]."""
        lanes = np.ascontiguousarray(self.recording.lanes)
        by_byte = lanes.view(np.uint8).reshape(len(lanes), 4 * lanes.shape[1])
        return np.unpackbits(by_byte, axis=1, bitorder="little").astype(bool)

    def threads_in(self, moment: int) -> Array:
        """Return the numbers of the threads that execute a moment."""
        return np.flatnonzero(self._bits[moment]) if moment < self.moments else np.zeros(0, np.int64)

    def moments_of(self, thread: int) -> Array:
        """Return the moments of a thread. NotRunnable: the block has no such thread."""
        if not 0 <= thread < self.recording.threads:
            raise NotRunnable(f"The block has threads 0 to {self.recording.threads - 1}, so there is no {thread}.")
        return np.flatnonzero(self._bits[:, thread])

    def next_of(self, thread: int, moment: int) -> int | None:
        """Return the first moment of a thread from `moment` on; None: it has ended."""
        own = self.moments_of(thread)
        at = int(np.searchsorted(own, moment))
        return int(own[at]) if at < len(own) else None

    def lines_of_threads(self, moment: int) -> list[int]:
        """Return the line that each thread executes next; 0 for one that has ended."""
        later = self._bits[moment:]
        first = later.argmax(axis=0) if len(later) else np.zeros(self._bits.shape[1], np.int64)
        there = later[first, np.arange(len(first))] if len(later) else np.zeros(len(first), bool)
        lines = np.where(there, self.recording.lines[np.minimum(first + moment, max(self.moments - 1, 0))], 0)
        return [int(line) for line in lines[: self.recording.threads]]

    def search(self, wanted: Array, moment: int, back: bool = False) -> int | None:
        """Return the nearest moment after `moment` (or before it) among those `wanted`, bool[moments]."""
        found = np.flatnonzero(wanted)
        found = found[found < moment] if back else found[found > moment]
        return None if not found.size else int(found[-1] if back else found[0])

    def at_line(self, line: int, thread: int | None = None) -> Array:
        """Return which moments execute a line; of a thread, at which it comes there from another line."""
        here = self.recording.lines == line
        return np.asarray(here & self.steps_of(thread) if thread is not None else here)

    def at_barrier(self) -> Array:
        """Return which moments arrive at a barrier."""
        return self.recording.barriers

    def steps_of(self, thread: int) -> Array:
        """Return at which moments a thread comes to another line than it was at."""
        own = self.moments_of(thread)
        lines = self.recording.lines[own]
        found = np.zeros(self.moments, bool)
        found[own[np.append(True, lines[1:] != lines[:-1])[: len(own)]]] = True
        return found

    def writing(self, name: str, index: int) -> Array:
        """Return which moments write element `index` of an array. NotRunnable: there is no such element."""
        array, low, high = self._element(name, index)
        found = self._touching(array, low, high) & self.recording.accesses.writes
        moments = np.zeros(self.moments, bool)
        moments[self.recording.accesses.moment[found]] = True
        return moments

    # ---- threads and variables

    def frames(self, thread: int, moment: int) -> tuple[Frame, ...]:
        """Return the functions in which a thread is, the innermost last; none if it has ended."""
        if self._frames_now.get(-1) != moment:  # the questions about one moment ask for the same frames again
            self._frames_now.clear()
            self._frames_now[-1] = moment
        found = self._frames_now.get(thread)
        if found is None:
            found = self._frames_now[thread] = self._frames_at(thread, moment)
        return found

    @cached_property
    def _frames_now(self) -> dict[int, Any]:
        """The frames by thread; at -1 the moment."""
        return {}

    def _frames_at(self, thread: int, moment: int) -> tuple[Frame, ...]:
        own = self.moments_of(thread)
        until = int(np.searchsorted(own, moment))
        if until >= len(own):
            return ()
        places = self.recording.places[own[: until + 1]]
        known = np.flatnonzero(places)  # an instruction that the emulator inserts has no place: the one before holds
        places = places[known[np.maximum(np.searchsorted(known, np.arange(len(places)), side="right") - 1, 0)]]
        starts = np.array([one.low for one in self._functions] or [0])
        inside = np.searchsorted(starts, places, side="right") - 1
        changes = np.flatnonzero(np.diff(inside)) + 1
        stack = [(int(inside[0]), 0)]
        for at in changes.tolist():
            stack[-1] = (stack[-1][0], at - 1)
            below = [number for number, (function, _) in enumerate(stack) if function == inside[at]]
            if below:
                del stack[below[-1] + 1 :]
            else:
                stack.append((int(inside[at]), at))
        stack[-1] = (stack[-1][0], until)
        return tuple(
            Frame(self._functions[function] if 0 <= function < len(self._functions) else None,
                  int(self.recording.lines[own[at]]), int(places[at]))
            for function, at in stack
        )  # fmt: skip

    @cached_property
    def _pointers(self) -> dict[str, Type | None]:
        """What the parameters that are pointers point to."""
        of_all = (one for function in self._functions for one in function.variables if one.parameter)
        return {one.name: one.type.element for one in of_all if one.type.kind == "pointer"}

    @cached_property
    def _functions(self) -> tuple[Function, ...]:
        return tuple(sorted(self.info.functions, key=lambda one: one.low))

    def variables(self, thread: int, moment: int) -> tuple[Shown, ...]:
        """Return the variables that a thread knows at a moment: those of the innermost function first, and of these the
        last declared first, the parameters last."""
        found: list[Shown] = []
        for frame in reversed(self.frames(thread, moment)):
            found += self._of_frame(frame, thread, moment)
        return tuple(found)

    def _of_frame(self, frame: Frame, thread: int, moment: int) -> Iterator[Shown]:
        known = sorted(_known(frame).values(), key=lambda one: (one.parameter, 0 if one.parameter else -one.line))
        for variable in known:
            yield replace(self._shown(variable, frame, thread, moment), function=_name(frame))

    def state(self, line: int | None = None, thread: int = 0, moment: int | None = None) -> State:
        """Return what a thread knows when it is about to execute `line` for the last time, or at a moment.

        NotRunnable: it never executes the line, or has ended by then.
        """
        own = self.moments_of(thread)
        if moment is None:
            found = own if line is None else own[self.recording.lines[own] == line]
            if not found.size:
                raise NotRunnable(f"Thread {thread} of block {self.recording.block} never executes line {line}.")
            moment = int(found[-1])
        if moment < 0:
            raise NotRunnable(f"A recorded block starts at moment 0: there is no moment {moment}.")
        at = self.next_of(thread, moment)
        if at is None:
            raise NotRunnable(f"Thread {thread} has ended by moment {moment}.")
        return State(moment, int(self.recording.lines[at]), thread, self.variables(thread, moment))

    def row(self, name: str, thread: int, moment: int) -> list[str]:
        """Return a variable's value in each thread of the block, "" if it has none; `thread`: the one that is asked.

        NotRunnable: that thread knows no such variable.
        """
        return [one.text if one is not None else "" for one in self.in_all_threads(name, thread, moment)]

    def diverging(self, name: str, thread: int, moment: int) -> Array:
        """Return at which moments threads of one warp get different values of a variable, which `thread` knows at
        `moment`; none of a variable in memory."""
        found = np.zeros(self.moments, bool)
        for frame in reversed(self.frames(thread, moment)):
            variable = _known(frame).get(name)
            if variable is None:
                continue
            for register in {one.register for one in variable.locations if one.register}:
                values = self.recording.registers.get(register_name(frame.function, register))
                if values is not None:
                    found[values.moments[self._differ(values).any(axis=1)]] = True
            break
        return found

    def _differ(self, values: Values) -> Array:
        """Return which threads get another value of a register than the first active one of their warp, bool[E, T]."""
        active = self._bits[values.moments].reshape(len(values.moments), self._bits.shape[1] // WARP, WARP)
        bits = values.bits.reshape(active.shape)
        first = np.take_along_axis(bits, active.argmax(axis=2)[:, :, None], axis=2)
        return np.asarray(((bits != first) & active).reshape(len(values.moments), -1))

    def in_all_threads(self, name: str, thread: int, moment: int) -> list[Shown | None]:
        """Return a variable in each thread of the block, None in one that has none; `thread`: the one that is asked.

        NotRunnable: that thread knows no such variable.
        """
        frames = self.frames(thread, moment)
        if not any(name in _known(frame) for frame in frames):
            raise NotRunnable(f"Thread {thread} knows no variable {name!r} at this moment.")
        found: list[Shown | None] = []
        for each in range(self.recording.threads):
            shown = None
            for frame in reversed(self.frames(each, moment)):
                if name in (known := _known(frame)):
                    shown = self._shown(known[name], frame, each, moment)
                    break
            found.append(shown)
        return found

    def _shown(self, variable: Variable, frame: Frame, thread: int, moment: int) -> Shown:
        location = variable.at(frame.place)
        if location is None:
            return Shown(variable.name, variable.type.name, "", NOT_KEPT)
        data, known = self._contents(location, frame, variable.type, thread, moment)
        return self._decoded(variable.name, variable.type, data, known)

    def _contents(self, location: Location, frame: Frame, kind: Type, thread: int, moment: int) -> tuple[bytes, Array]:
        """Return the bytes at a location before a moment, and which of them are set."""
        if location.register:
            values = self.recording.registers.get(register_name(frame.function, location.register))
            if values is not None:
                at = int(np.searchsorted(values.moments, moment)) - 1
                # The row of the last change of any thread holds the values of all.
                first = self._first_set(location, frame, thread)
                if at >= 0 and first is not None and first < moment:
                    return int(values.bits[at][thread]).to_bytes(8, "little")[: kind.size], np.ones(kind.size, bool)
            return bytes(kind.size), np.zeros(kind.size, bool)
        array = next((one for one in self.recording.arrays if location.symbol.endswith(one.name)), None)
        if array is None:
            return bytes(kind.size), np.zeros(kind.size, bool)
        return self._bytes(array, location.offset, kind.size, thread, moment)

    def _first_set(self, location: Location, frame: Frame, thread: int) -> int | None:
        """Return the first moment at which a thread sets a register."""
        values = self.recording.registers[register_name(frame.function, location.register)]
        own = self._bits[values.moments, thread]
        return int(values.moments[own.argmax()]) if own.any() else None

    def _decoded(self, name: str, kind: Type, data: bytes, known: Array) -> Shown:
        if kind.fields:
            parts = tuple(
                self._decoded(one.name, one.type, data[one.offset : one.offset + one.type.size],
                              known[one.offset : one.offset + one.type.size])
                for one in kind.fields
            )  # fmt: skip
            return Shown(name, kind.name, "", parts=parts)
        if kind.kind == "array" and kind.element is not None and kind.element.size:
            size = kind.element.size
            parts = tuple(
                self._decoded(f"[{at}]", kind.element, data[at * size : at * size + size],
                              known[at * size : at * size + size])
                for at in range(min(kind.count, MOST_ELEMENTS))
            )  # fmt: skip
            return Shown(name, kind.name, "", parts=parts)
        if not known.all():
            return Shown(name, kind.name, "", NOT_SET)
        return Shown(name, kind.name, self._text(kind, data), number=number_in(kind, data))

    def _text(self, kind: Type, data: bytes) -> str:
        number = int.from_bytes(data, "little")
        if kind.kind == "pointer":
            return self.address_text(number)
        if kind.kind == "float" and kind.size in (2, 4, 8):
            return str(np.frombuffer(data, f"<f{kind.size}")[0])  # the digits that tell it from its neighbours
        if kind.kind == "bool":
            return "true" if number else "false"
        if kind.kind == "char" and 32 <= number < 127:
            return f"{number} {chr(number)!r}"
        found = number_in(kind, data)
        return f"0x{number:x}" if found is None else str(found)

    def address_text(self, address: int) -> str:
        """Return an address as an element of an array: "&s[3]"."""
        if not address:
            return "nullptr"
        window = address >> RANGE_BITS << RANGE_BITS
        space = {SHARED_WINDOW: "shared", LOCAL_WINDOW: "local"}.get(window, "global")
        place = address - window if space != "global" else address
        for one in self.recording.arrays:
            if one.space == space and one.start <= place < one.start + max(one.size, 1) and space != "local":
                at, rest = divmod(place - one.start, one.element)
                return f"&{one.name}[{at}]" + (f" + {rest} bytes" if rest else "")
        return f"a variable of the thread (0x{place:x})" if space == "local" else f"0x{address:x}"

    # ---- memory

    def arrays(self) -> tuple[str, ...]:
        """Return the names of the arrays in shared and global memory."""
        return tuple(dict.fromkeys(one.name for one in self.recording.arrays if one.space != "local"))

    def memory(self, name: str, moment: int, first: int = 0, count: int = MOST_ELEMENTS) -> Memory:
        """Return `count` elements of an array before a moment, from element `first` on. NotRunnable: no such array."""
        array, low, _ = self._element(name, first)
        count = max(0, min(count, (array.start + array.size - low) // array.element))
        data, known = self._bytes(array, low - array.start, count * array.element, None, moment)
        kind = self._kind(array)
        values = np.frombuffer(data, kind)
        whole: list[bool] = np.logical_and.reduce(known.reshape(count, array.element), axis=1).tolist()
        return Memory(
            name,
            array.space,
            tuple(value if there else None for value, there in zip(values.tolist(), whole, strict=True)),
            self._writers(array, low, count, moment),
        )

    def last_writer(self, name: str, index: int, moment: int) -> Writer | None:
        """Return who wrote an element last before a moment."""
        array, low, _ = self._element(name, index)
        return self._writers(array, low, 1, moment)[0]

    def pair(self, line: int, other: int) -> tuple[Touch, Touch] | None:
        """Return two accesses of different threads to one word, at two lines and with no barrier between them, at least
        one a write: a race's, in their order. The nearest such pair; None: the block has none."""
        found = self.recording.accesses
        own = (found.block == self.recording.block) & (found.space != SPACES.index("local"))
        one, two = (np.flatnonzero(own & (found.line == each)) for each in (line, other))
        passed = np.cumsum(self.recording.barriers)  # barriers up to a moment
        nearest: tuple[int, int] | None = None
        by_word: dict[int, list[int]] = {}
        for at in two.tolist():
            by_word.setdefault(int(found.address[at]), []).append(at)
        for at in one.tolist():
            for beside in by_word.get(int(found.address[at]), ()):
                early, late = sorted((at, beside))
                apart = passed[found.moment[late]] != passed[found.moment[early]]
                if apart or found.thread[at] == found.thread[beside] or not (found.writes[at] or found.writes[beside]):
                    continue
                if nearest is None or late - early < nearest[1] - nearest[0]:
                    nearest = early, late
        return None if nearest is None else (self._touch(nearest[0]), self._touch(nearest[1]))

    def _touch(self, at: int) -> Touch:
        found = self.recording.accesses
        address, space = int(found.address[at]), SPACES[int(found.space[at])]
        array = next((one for one in self.recording.arrays if one.space == space
                      and one.start <= address < one.start + one.size), None)  # fmt: skip
        name, index = (array.name, (address - array.start) // array.element) if array else ("", 0)
        return Touch(int(found.moment[at]), int(found.thread[at]), int(found.line[at]), bool(found.writes[at]), name,
                     index)  # fmt: skip

    def _element(self, name: str, index: int) -> tuple[RecordedArray, int, int]:
        array = next((one for one in self.recording.arrays if one.name == name and one.space != "local"), None)
        if array is None:
            raise NotRunnable(f"The block has no array {name!r}: there are {', '.join(self.arrays()) or 'none'}.")
        low = array.start + index * array.element
        if not 0 <= index < max(array.size // array.element, 1):
            raise NotRunnable(f"{name} has elements 0 to {array.size // array.element - 1}, so there is no {index}.")
        return array, low, low + array.element

    def _touching(self, array: RecordedArray, low: int, high: int) -> Array:
        """Return which accesses touch the bytes [low, high) of an array."""
        found = self.recording.accesses
        there = (found.space == SPACES.index(array.space)) & (found.address < high)
        return np.asarray(there & (found.address + found.size > low))

    def _bytes(
        self, array: RecordedArray, offset: int, size: int, thread: int | None, moment: int
    ) -> tuple[bytes, Array]:
        """Return bytes of an array before a moment, and which are set; `thread`: whose local memory."""
        low = array.start + offset
        known = np.full(size, array.data is not None)
        data = np.zeros(size, np.uint8)
        if array.data is not None:
            data[:] = array.data[offset : offset + size].view(np.uint8)
        found = self.recording.accesses
        there = self._touching(array, low, low + size) & found.writes & (found.moment < moment)
        if thread is not None:
            there &= found.thread == thread
        chosen = np.flatnonzero(there)
        raw = found.bits[chosen].astype("<u8").view(np.uint8).reshape(-1, 8)
        start, width = found.address[chosen] - low, found.size[chosen]
        for byte in range(int(width.max()) if chosen.size else 0):
            places = start + byte
            fits = (byte < width) & (places >= 0) & (places < size)
            data[places[fits]] = raw[fits, byte]  # of several writes to a byte, the last one stays
            known[places[fits]] = True
        return data.tobytes(), known

    def _writers(self, array: RecordedArray, low: int, count: int, moment: int) -> tuple[Writer | None, ...]:
        found = self.recording.accesses
        high = low + count * array.element
        chosen = np.flatnonzero(self._touching(array, low, high) & found.writes & (found.moment < moment))
        last = np.full(count, -1)
        places = (found.address[chosen] - low) // array.element
        inside = (places >= 0) & (places < count)
        last[places[inside]] = chosen[inside]
        return tuple(
            None if at < 0 else Writer(int(found.block[at]), int(found.thread[at]), int(found.line[at]),
                                       int(found.moment[at]))
            for at in last.tolist()
        )  # fmt: skip

    def _kind(self, array: RecordedArray) -> np.dtype[np.generic]:
        """Return the type of an array's elements: of the kernel's parameter, else of the first instruction that
        accesses it."""
        told = self._pointers.get(array.name) if array.space == "global" else None
        if told is not None and told.size == array.element and told.kind in _LETTERS:
            return np.dtype(f"<{_LETTERS[told.kind]}{told.size}")
        found = self.recording.accesses
        chosen = np.flatnonzero(self._touching(array, array.start, array.start + array.size))
        code = found.codes[int(found.code[chosen[0]])] if chosen.size else "u32"
        letter = {"f": "f", "s": "i", "b": "u"}.get(code[0], "u")
        if letter == "u" and array.space == "global" and code[0] == "u":
            letter = "i"
        if letter == "f" and array.element not in (2, 4, 8):
            letter = "u"
        return np.dtype(f"<{letter}{array.element}") if array.element in (1, 2, 4, 8) else np.dtype(np.uint8)


def number_in(kind: Type, data: bytes) -> float | int | bool | None:
    """Return the number that a variable holds; None if it holds none."""
    if kind.kind == "float" and kind.size in (2, 4, 8):
        return float(np.frombuffer(data, f"<f{kind.size}")[0])
    if kind.kind == "bool":
        return any(data)
    return int.from_bytes(data, "little", signed=kind.kind != "uint") if kind.kind in ("int", "uint", "char") else None


def _known(frame: Frame) -> dict[str, Variable]:
    """Return the variables in scope at a place by name, an inner one instead of an outer one of the same name."""
    function = frame.function
    known = function.variables if function else ()
    return {one.name: one for one in known if one.low <= frame.place < one.high}


def _name(frame: Frame) -> str:
    return frame.function.name if frame.function else ""


def register_name(function: Function | None, register: str) -> str:
    """Return a name of a register that differs from those of other functions."""
    return f"{function.low if function else 0} {register}"

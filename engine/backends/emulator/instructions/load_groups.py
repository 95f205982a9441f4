"""Several loads of shared memory from one base address, executed together.

With few lanes the calls of a load cost more than its copy. Addresses are checked at once, all elements are read at
once, and the observers see all loads as one event. Where that is not possible the loads are executed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.backends.emulator.instructions.loads import load_through
from engine.backends.emulator.instructions.memory_port import Port, address_reader, plain_address, site_of
from engine.backends.emulator.ptx.syntax import Instruction
from engine.backends.emulator.ptx.traits import registers_of
from engine.backends.emulator.registers.masks import Mask
from engine.backends.emulator.registers.operands import Registers
from engine.backends.emulator.registers.values import Value
from engine.backends.emulator.state.events import LoadPattern, Loads
from engine.backends.emulator.state.machine import Machine
from engine.records import Array

_ALIKE = 16  # bytes: loads that move by a multiple of it cost the same
_REMEMBERED = 1000  # addresses of a group


class LoadGroup:
    """The executor of loads of one opcode and one base register."""

    def __init__(self, machine: Machine, items: Sequence[Instruction]) -> None:
        self._machine = machine
        readers = [address_reader(machine, item.operands[1], item.line) for item in items]
        self._get = readers[0][0]
        self._ports = [
            Port(machine, site_of(machine, item), offset, item.operands[1])
            for item, (_, offset) in zip(items, readers, strict=True)
        ]
        self._steps = [
            load_through(machine, item, self._get, port) for item, port in zip(items, self._ports, strict=True)
        ]
        self._sites = tuple(port.site for port in self._ports)
        self._offsets = np.array([port.offset for port in self._ports], np.int64)
        self._targets = [index for item in items for index in registers_of(item.operands[0])]
        self._joins = machine.units["shared"] == self._sites[0].part
        self._patterns: dict[tuple[bytes, int], LoadPattern] = {}
        self._known: dict[tuple[bytes, int], tuple[Loads, Array]] = {}

    def __call__(self, registers: Registers, mask: Mask) -> None:
        """Execute all loads."""
        raw = self._get(registers)
        known = self._loads(raw, mask) if self._joins and mask.dense is None else None
        if known is None or self._machine.resident.stores is not None:
            for step in self._steps:
                step(registers, mask)
            return
        loads, index = known
        for hook in self._machine.hooks.on_loads:
            hook(loads)
        found = self._machine.words("shared").rows(index, mask)
        height = loads.pattern.offsets.shape[1]
        parts = found.reshape(len(self._targets), height, found.shape[1])
        for target, part in zip(self._targets, parts, strict=True):
            registers[target] = part

    def _loads(self, raw: Value, mask: Mask) -> tuple[Loads, Array] | None:
        """Return the loads at a base address, and the words that they read, by load, part and lane; None if the blocks
        have different addresses, or one of them is not in the array."""
        base = plain_address(raw)
        if base.shape[1] > 1:
            return None
        content = base.tobytes()
        found = self._known.get((content, id(mask)))
        if found is None:
            found = self._new_loads(base, mask)
            if found is not None:
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                    self._patterns.clear()
                self._known[content, id(mask)] = found
        return found

    def _new_loads(self, base: Array, mask: Mask) -> tuple[Loads, Array] | None:
        words, first = self._machine.words("shared"), int(base[0, 0])
        offsets = self._offsets[:, None] + base[:, 0]
        if not self._ports[0].known_inside(offsets, words):
            return None
        distance = first - first % _ALIKE
        key = (base - distance).tobytes(), id(mask)
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._patterns[key] = LoadPattern(self._sites, mask, offsets - distance)
        parts = np.arange(self._sites[0].count)[None, :, None]
        index = (offsets[:, None] >> words.shift) + parts
        return Loads(pattern, distance), index.reshape(-1)

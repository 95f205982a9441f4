"""The blocks of a launch that run together, and what they have while they do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from engine.backends.emulator.state.copies import Copies
from engine.backends.emulator.state.events import ChunkInfo
from engine.backends.emulator.state.memory import Words
from engine.backends.emulator.state.phases import Phases
from engine.backends.emulator.state.votes import Votes


class Resident:
    """`info`: which blocks. `memories`: their shared and local memory by name. `votes`: those of their barriers."""

    def __init__(self, info: ChunkInfo, memories: Mapping[str, Words]) -> None:
        self.info, self.memories = info, memories
        self.first, self.blocks = info.first, info.blocks
        self.votes = Votes(info.rows, info.blocks)

    @cached_property
    def phases(self) -> Phases:
        """What is under way to the barriers in their shared memory."""
        return Phases()

    @cached_property
    def copies(self) -> Copies:
        """Their asynchronous copies."""
        return Copies(self.info.rows, self.info.blocks)

"""A small kernel and its launch."""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import Array, Launch, Scalar, Source


@dataclass(frozen=True, eq=False)
class SmallCase:
    """A kernel of `threads` threads in each of `blocks` blocks.

    `arrays`: what is passed, as words, in the order of the parameters; `number`: the last parameter.
    """

    kernel: str
    text: str
    blocks: int
    threads: int
    arrays: dict[str, Array]
    number: int

    def launch(self) -> Launch:
        """The launch, for any backend. The text is compiled in a process that compiled nothing else: in one that had,
        NVRTC was seen to order branches in another way."""
        args = (*self.arrays, Scalar("int32", self.number))
        source = Source("small.cu", self.text, "int32", foreign=True)
        return Launch(self.kernel, source, (self.blocks, 1, 1), (self.threads, 1, 1), args)

"""What the ladder page is about in one run of its script; what the page's parts are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.catalogue import KERNELS, Kernel, Ladder, Rung, Topic
from engine.records import Settled
from views.session import work

WORK = "ladder work"  # the name of the runs that the page waits for


@dataclass(frozen=True)
class Page:
    """A ladder, the rung on the page, and what the menus say.

    `choices`: what the times are of, one a rung; `runs`: what Run runs, which on the emulator may be at another N.
    """

    ladder: Ladder
    topic: Topic
    position: int
    choices: tuple[Settled, ...]
    runs: tuple[Settled, ...]
    presenting: bool

    @property
    def rung(self) -> Rung:
        """The rung on the page."""
        return self.ladder.rungs[self.position]

    @property
    def kernel(self) -> Kernel:
        """Its kernel."""
        return KERNELS[self.rung.kernel]

    @property
    def counting(self) -> bool:
        """Whether runs are counted by the emulator, and not timed."""
        return self.choice.device == "emulator"

    @property
    def choice(self) -> Settled:
        """What the times of the rung on the page are of."""
        return self.choices[self.position]

    @property
    def run(self) -> Settled:
        """What Run would run."""
        return self.runs[self.position]


def run_sizes(asked: Sequence[Settled]) -> None:
    """Run these choices for the page, each named by its kernel and N. For callbacks."""
    work.start(WORK, asked, [f"{KERNELS[choice.kernel].title}, N = {choice.n:,}" for choice in asked])

"""The shapes of a lecture's claim: a count, a ratio of times, the best block size, how a run ends, a computation, and
what no run decides.

All begin with the lecture's own words: `name` in the catalogue, `lecture`, `slide`, `sentence`, and the `ladder` on
whose page it stands. `case`: what of the words is checked here. `why`: the reason, where today differs from the words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from engine.catalogue.entries import Kernel
from engine.records import Choice

CS121, CROVELLA, HEIDELBERG, COOPER, HEKUN = "cs121", "crovella", "heidelberg", "cooper", "hekun"
LECTURES: dict[str, str] = {
    CS121: "CS121",
    CROVELLA: "Crovella",
    HEIDELBERG: "Heidelberg",
    COOPER: "Cooper",
    HEKUN: "He Kun",
}

# direction: faster as the words say, but not by as much, or by more; close: no difference where the words promise one
Agreement = Literal["holds", "direction", "differs", "close", "untestable"]


@dataclass(frozen=True)
class Count:
    """scale * over / under, or just scale * over: of the whole run, or of the .cu line that contains `line`.

    `over`, `under`: names in engine.records.counters. `whole_under`: `under` is of the whole run even with a `line`.
    """

    over: str
    under: str = ""
    scale: float = 1.0
    line: str = ""
    whole_under: bool = False


SECTORS = Count("global_load_sectors", "global_load_requests")  # per request of a warp to global memory
LOAD_PASSES = Count("shared_load_wavefronts", "shared_load_requests")  # per request of a warp to shared memory
CONSTANT_PASSES = Count("constant_passes", "constant_requests")  # per request of a warp to constant memory


@dataclass(frozen=True)
class Claim:
    """A number that is counted on the emulator, whose counts are exact.

    `expected`: the number that follows from the words, in `unit`. `counted`: what is counted today where that is
    another number. `parameter`: the kernel's knob. `against`: another kernel; the value is then its count over this
    kernel's. The run: n, block_size, dtype, combine, grid_size.
    """

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    kernel: str
    count: Count
    unit: str
    expected: float
    case: str = ""
    parameter: int | None = None
    against: str = ""
    counted: float | None = None
    why: str = ""
    n: int = 4096
    block_size: int = 128
    dtype: str = "int32"
    combine: str | None = None
    grid_size: int | None = None

    def choice(self, kernel: str = "") -> Choice:
        """The run that is counted; `kernel`: the one that it is compared with."""
        other = kernel or self.kernel
        knob = self.parameter if other == self.kernel else None
        return Choice(other, self.n, self.block_size, self.grid_size, self.dtype, device="emulator",
                      combine=self.combine, parameter=knob)  # fmt: skip

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The runs that decide it."""
        return (self.choice(), self.choice(self.against)) if self.against else (self.choice(),)


@dataclass(frozen=True)
class Timed:
    """Something is faster than something else: decided by times of one GPU, live or recorded.

    `pairs`: (slower, faster) by the lecture; the value is the product of slow time / fast time over all pairs, or of
    fast / slow of another `metric`, where more is better. `said`: the lecture's own ratio, where it prints one; 1 where
    it says that both are equal. `today`: what came out on the GPU of the recorded runs.
    """

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    pairs: tuple[tuple[Choice, Choice], ...]
    said: float | None = None
    case: str = ""
    metric: str = "time_us"
    today: Agreement = "holds"
    why: str = ""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The runs that decide it, each once, on a GPU."""
        return tuple(dict.fromkeys(replace(choice, device="gpu") for pair in self.pairs for choice in pair))


@dataclass(frozen=True)
class Best:
    """One block size is the fastest: decided by times of one GPU with all of `tried`. `expected`: the lecture's."""

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    tried: tuple[Choice, ...]
    expected: int
    case: str = ""
    today: Agreement = "holds"
    why: str = ""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The runs that decide it, on a GPU."""
        return tuple(replace(choice, device="gpu") for choice in self.tried)


@dataclass(frozen=True)
class Ends:
    """How a run ends: right, wrong, with a hazard, never. `run`: on the emulator, or on a GPU.

    `statuses`: those that the words foretell; `today`: the one that comes where that is another. `edit`: what is
    changed in the kernel's text before it runs, (old, new): "what if" of a lecture is a run like any other.
    """

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    run: Choice
    statuses: tuple[str, ...]
    case: str = ""
    edit: tuple[str, str] | None = None
    today: str = ""
    why: str = ""

    def choice(self, kernel: Kernel) -> Choice:
        """The run, its text edited. ValueError: the text to be changed is not in the kernel."""
        if self.edit is None:
            return self.run
        if kernel.text.count(self.edit[0]) != 1:
            raise ValueError(f"{self.name}: {kernel.file_name} does not hold the text to be changed once")
        changed = kernel.text.replace(*self.edit)
        return replace(self.run, source=changed, source_name=f"{kernel.name}.cu, changed")


@dataclass(frozen=True)
class Computed:
    """A number that is computed from `source`, in `unit`; `compute()` may compile.

    `words`: what the lecture says where it names no number, "more instructions"; it must then exceed `expected`.
    """

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    compute: Callable[[], float]
    unit: str
    expected: float
    case: str = ""
    counted: float | None = None
    why: str = ""
    source: str = "the compiled kernel and the GPU's limits"
    words: str = ""


@dataclass(frozen=True)
class Untestable:
    """Words that no run decides: a cost of building hardware, say. `why`: what stands against testing them."""

    name: str
    lecture: str
    slide: str
    sentence: str
    ladder: str
    why: str
    case: str = ""


AnyClaim = Claim | Timed | Best | Ends | Computed | Untestable

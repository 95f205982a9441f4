"""The shape of a catalogue entry: Kernel, Rung, Ladder, Topic. No behaviour beyond reading a kernel's own header."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from engine.catalogue.gpu_models import GpuModel
from engine.records import Array, Check, Choice, Plan, Settled
from engine.records.shipped import shipped

CUDA_FOLDER = shipped("cuda")

# The labels of a .cu header comment, in their order. The text of a rung on a page is this header.
HEADER_LABELS = ("Idea", "Fixes", "Limit", "Conditions", "Lecture")


MAX_BLOCK = 1024  # threads in a block, on every GPU
SMALL_BLOCKS = (1, 2, 4, 8, 16)  # threads: less than a warp


@dataclass(frozen=True)
class BlockNeed:
    """A kernel's condition on its block size: from `least` to `most`, a multiple of `multiple_of`, a power of two.

    `why`: the reason in the kernel's own code, as the first part of a sentence that ends with these words.
    """

    why: str = ""
    least: int = 1
    multiple_of: int = 1
    power_of_two: bool = False
    most: int = MAX_BLOCK

    def met(self, block_size: int) -> bool:
        """Return whether a block of so many threads meets the condition."""
        powers = not self.power_of_two or block_size & (block_size - 1) == 0
        return self.least <= block_size <= self.most and block_size % self.multiple_of == 0 and powers

    @property
    def reason(self) -> str:
        """Return why the kernel refuses another block size, as a sentence without its capital letter."""
        least = f" from {self.least} on" if self.least > 1 else ""
        if self.most < MAX_BLOCK:
            least = f" from {self.least} to {self.most}"
        wanted = f"a power of two{least}" if self.power_of_two else f"a multiple of {self.multiple_of}"
        return f"{self.why}, so the block size must be {wanted}."


@dataclass(frozen=True)
class Parameter:
    """A kernel's own parameter, compiled in as the macro `name`: a stride, an offset, a number of ways.

    `words`: names of the values, if numbers say too little; such a parameter chooses the data and is no macro.
    """

    name: str
    label: str
    values: tuple[int, ...]
    default: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tile:
    """The part of P that a thread of a matrix kernel computes: `rows` x `columns` elements.

    `shared`: the block reads an element of M or N once for all its threads, through shared memory. `cut`: blocks share
    the sums of a piece of P, which starts as zeros; the grid has a block per multiprocessor. `fits`: the columns to
    choose from, if the plan compiles those with the shortest rounds of blocks; else none.
    """

    rows: int = 1
    columns: int = 1
    shared: bool = True
    cut: bool = False
    fits: tuple[int, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """One `.cu` file and its possible runs. Its lesson stands in the file's header comment, not here.

    `block_sizes`: the swept and recorded ones. `needs`: the condition on any other one; None: no other runs.
    `combines`: the ways to combine its blocks, default first. `coverage`: elements that one thread loads (1, 2, ...),
    or None for a grid-stride loop whose grid can be chosen. `bytes_per_thread`: the bytes that a thread of a vectorized
    kernel keeps in flight; the grid grows only as far as each thread has so many. `on_chip`: its bytes come from
    memories of the multiprocessors, so the GPU's peak bandwidth does not apply. `off_type`: it computes on other units
    than those of its element type, so their peak does not apply. `parameter`: the kernel's own parameter, if it has
    one. `tile`: of a matrix kernel. `expect`: "ok", or the lesson: "wrong" (it races: any run may be wrong), "hazard"
    (right, but only by luck), "deadlock" (never ends in lockstep; right with independent lanes, since Volta), "rounds"
    (right up to some n, beyond which rounding makes it wrong). `refuses`: element type, or block size as text -> why it
    cannot run with it. `capability`: the compute capability that its instructions need, as in Source. `emulated`:
    whether the emulator runs it in reasonable time. `work`: its computation, if the kernels of its topic compute
    different things. `processor`: the one that runs it. `operation`: the libraries' name for it, one of
    engine.catalogue.libraries.PEERS, if it is not its topic's. `law`: the name of the law of engine.lectures.laws that
    its parameter follows. `packed`: its threads reserve places, so its answer is packed, in the order of their arrival.
    `tree`: for a sum, "none": all threads add to one number; "barriers": its blocks wait once after loading and once
    after each step of their tree; "": another kind. `varies`: a difference between runs that are all right, beside
    float sums by atomics: "floats", float sums in the order of the threads' arrival; "order", the places of the
    answers.
    """

    name: str
    topic: str
    title: str
    dtypes: tuple[str, ...] = ("int32", "float32", "float64")
    block_sizes: tuple[int, ...] = (32, 64, 128, 256, 512, 1024)
    combines: tuple[str, ...] = ("none",)
    coverage: int | None = 1
    bytes_per_thread: int = 1
    expect: str = "ok"
    cooperative: bool = False
    on_chip: bool = False
    off_type: bool = False
    parameter: Parameter | None = None
    tile: Tile | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    capability: str = ""
    emulated: bool = True
    work: str = ""
    processor: Literal["gpu", "cpu"] = "gpu"
    needs: BlockNeed | None = None
    operation: str = ""
    varies: Literal["", "floats", "order"] = ""
    law: str = ""
    packed: bool = False
    tree: Literal["", "none", "barriers"] = ""

    @property
    def has_peak(self) -> bool:
        """Return whether the device's peak, for memory or for the element type, applies to this kernel."""
        return not self.on_chip and not self.off_type

    def value_of_parameter(self, asked: int | None) -> int | None:
        """Return the value of the kernel's own parameter: as asked for, else its default; None if there is neither."""
        return self.parameter.default if asked is None and self.parameter else asked

    def runs_on(self, device: str) -> bool:
        """Return whether a device can run it at all; the emulator lacks some instructions."""
        return self.emulated or device != "emulator"

    def runs_with(self, block_size: int) -> bool:
        """Return whether the kernel can run with this block size."""
        return block_size in self.block_sizes or (self.needs is not None and self.needs.met(block_size))

    @property
    def offered_block_sizes(self) -> tuple[int, ...]:
        """Return the block sizes of menus: the recorded ones, and those below a warp that the kernel accepts."""
        small = tuple(size for size in SMALL_BLOCKS if self.needs is not None and self.needs.met(size))
        return tuple(sorted({*small, *self.block_sizes}))

    @property
    def path(self) -> Path:
        """Return the kernel's file."""
        return CUDA_FOLDER / self.topic / f"{self.name}.cu"

    @property
    def file_name(self) -> str:
        """The file's name in messages: "cuda/reduction/reduce_interleaved.cu"."""
        return f"cuda/{self.topic}/{self.name}.cu"

    @cached_property
    def text(self) -> str:
        """Return the file's text."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def header(self) -> dict[str, str]:
        """The header comment: {"Summary": ..., "Idea": ..., "Fixes": ..., "Limit": ..., ...}, each one paragraph."""
        lines = []
        for line in self.text.splitlines():
            if not line.startswith("//"):
                break
            lines.append(line.removeprefix("//").strip())
        parts: dict[str, str] = {}
        label = "Summary"
        for line in lines:
            found = re.match(rf"({'|'.join(HEADER_LABELS)})(?: \([\w, ]+\))?:\s*(.*)", line)
            label, words = (found[1], found[2]) if found else (label, line)
            parts[label] = f"{parts[label]} {words}".strip() if label in parts else words
        return parts

    @cached_property
    def predecessors(self) -> tuple[str, ...]:
        """Return the kernels whose fault the header states: "// Fixes (reduce_strided): the bank conflicts."."""
        found = re.search(r"^// Fixes \(([\w, ]+)\):", self.text, re.MULTILINE)
        return tuple(found[1].split(", ")) if found else ()

    def fault_of(self, before: str) -> str:
        """Return the fault of another kernel that the header states; "" if it states none."""
        return self.header["Fixes"] if before in self.predecessors else ""


@dataclass(frozen=True)
class Published:
    """One figure that a lecture printed, with its origin. None: the lecture does not say; `grid_size`: its blocks."""

    lecture: str
    gpu: str
    n: int
    dtype: str
    block_size: int | None
    time_ms: float | None = None
    bandwidth_gb_s: float | None = None
    step_speedup: float | None = None
    cumulative_speedup: float | None = None
    grid_size: int | None = None


@dataclass(frozen=True)
class Rung:
    """A kernel's place in a ladder. `label`: the lecture's own name ("#1"). `lead`: the step from the rung before to
    this one.

    `combine`: how the lecture combines the blocks, if the kernel allows several ways. `published`: the lecture's
    figures. `shows`: the counter that falls from the rung before, one of engine.records.counters.COUNTERS;
    "+counter": it rises, "=counter": it stays; for a first rung, the counter that it is about. Empty: none.
    `promise`: its time against the rung before at the ladder's own N: "faster", "slower", or the "same"; "more": a
    higher rate, as it does more. Empty: the rung is about something else. `stand_in`: another kernel of the ladder,
    timed in its place if the slide's own code is wrong today. `picture`, `counter`: the plot and the counter to
    open here, if they are not the ladder's. `moment`: a part of the source line at which its picture opens; empty:
    chosen from its steps. `fixes`: the fault of the rung before. If the kernel's header states it, the catalogue
    adds it; after any other predecessor the ladder states it. Empty: a first rung.
    """

    kernel: str
    label: str
    lead: str
    slide: str = ""
    combine: str | None = None
    published: tuple[Published, ...] = ()
    promise: Literal["", "faster", "slower", "same", "more"] = ""
    stand_in: str = ""
    picture: str = ""
    counter: str = ""
    moment: str = ""
    shows: str = ""
    fixes: str = ""

    @property
    def timed(self) -> str:
        """Return the kernel whose times stand beside the lecture's."""
        return self.stand_in or self.kernel


@dataclass(frozen=True)
class Ladder:
    """An ordered list of rungs with the lecture it comes from. `baseline`: the rung that speedups count from.

    `n`: the lecture's own; `emulator_n`: the largest that the emulator counts quickly enough for a lecture; None: its
    topic's. `picture`: the name of the plot to open; `counter`: the one of engine.records.counters.IN_PLOTS that its
    lesson is about. The catalogue adds the name of the `topic` whose module lists the ladder. `today`: why today's
    numbers have another shape than the lecture's; engine.lectures.templates fills in the figures, and the catalogue
    adds it to ladders without one.
    """

    name: str
    title: str
    lecture: str
    summary: str
    rungs: tuple[Rung, ...]
    n: int
    block_size: int
    dtype: str
    baseline: int = 0
    emulator_n: int | None = None
    picture: str = "rate"
    counter: str = "warp_instructions"
    topic: str = ""
    today: tuple[str, ...] = ()

    def meant(self, position: int) -> tuple[str, str] | None:
        """Return (counter, "fall", "rise" or "stay"), the change that a rung is meant to show; None if it is meant to
        show none."""
        text = self.rungs[position].shows if position else ""
        return (text.lstrip("+="), {"+": "rise", "=": "stay"}.get(text[0], "fall")) if text else None


@dataclass(frozen=True)
class Topic:
    """The common properties of the kernels of one subject: how to plan, feed, check and rate them.

    `size_label`, `block_label`: the meanings of n and the block size here. `sizes`: the n offered in menus and
    recorded. `metric`: the column that the topic's kernels are rated by, "bandwidth_gb_s" or "gflop_s". `min_n`:
    the smallest n that makes sense, and `min_n_reason` why. `square`: n is the width of a square matrix.
    `plan(kernel, choice, gpu)` -> Plan for that GPU, or raises NotRunnable. `input_recipe(choice)` -> {buffer:
    (period, count)}: the data are that NumPy array repeated to `count` elements, which a GPU can do itself.
    `check(plan, output)` -> Check. `remark(result)`: a remark on an answer, as part of a sentence. `operation`: the
    libraries' name for the kernels' work, "" if none does it. `shows`: as in Rung, for kernels in the ladder of all
    rungs whose own ladders say something else.
    """

    name: str
    title: str
    size_label: str
    block_label: str
    kernels: tuple[Kernel, ...]
    ladders: tuple[Ladder, ...]
    sizes: tuple[int, ...]
    default_n: int
    default_block_size: int
    max_n: int
    emulator_max_n: int
    metric: str
    plan: Callable[[Kernel, Settled, GpuModel], Plan]
    input_recipe: Callable[[Choice], dict[str, tuple[Array, int]]]
    check: Callable[[Plan, Array], Check]
    data_note: str
    operation: str = ""
    shows: Mapping[str, str] = field(default_factory=dict)
    remark: Callable[[float | int], str] | None = None
    min_n: int = 1
    min_n_reason: str = ""
    square: bool = False

    @property
    def block_noun(self) -> str:
        """The word for a block size in a sentence: "tile width" of "Tile width (threads per side)"."""
        return self.block_label.partition(" (")[0].lower()


def same_bits(kernel: Kernel, dtype: str, combine: str | None = None) -> bool | None:
    """Return whether every run of a kernel gives the same bits with this element type and this way to combine blocks
    (None: its own); None for a kernel that is wrong, or right by luck."""
    if kernel.expect in ("wrong", "hazard", "deadlock"):
        return None
    rounded = not dtype.startswith("int")
    by_atomics = (combine or kernel.combines[0]) == "atomic"
    return kernel.varies != "order" and not (rounded and (by_atomics or kernel.varies == "floats"))

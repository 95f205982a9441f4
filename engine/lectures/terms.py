"""The terms of the lectures: an explanation, a drawing, and the numbers of a run.

TERMS["warp"] -> Term    pattern() -> regular expression of all spellings    sentence(term, values) -> str

To add a term, add a row to TERMS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from string import Formatter
from typing import Any

from engine.history.tables import counted_text, tile_text
from engine.lectures.terms_drawing import arrow, arrows, bars, box, drawing, label, line, middle, row
from engine.records.counters import COUNTERS, IN_TILES
from engine.records.words import text_of


@dataclass(frozen=True)
class Term:
    """A term. `text`: its explanation, at most 60 words; `drawing`: an SVG; `others`: other spellings in texts, beside
    the plural with "s"; `here`: a sentence with the numbers of a run, whose fields are columns of a ladder's table or
    "launch"."""

    name: str
    text: str
    drawing: str
    others: tuple[str, ...] = ()
    here: str = ""

    @property
    def anchor(self) -> str:
        """Return the term's place on the page of all terms: "term-bank-conflict"."""
        return "term-" + re.sub(r"\W+", "-", self.name.lower()).strip("-")


_TILES = {names[0]: names for names in IN_TILES}


def sentence(term: Term, values: Mapping[str, Any]) -> str:
    """Return the term's sentence with these values, as a tile writes them; "" if one is not known."""
    fields = [name for _, name, _, _ in Formatter().parse(term.here) if name]
    texts = {name: _text(values, name) for name in fields}
    return term.here.format(**texts) if fields and all(texts.values()) else ""


def _text(values: Mapping[str, Any], name: str) -> str:
    if values.get(name) is None:
        return ""
    if name in _TILES:
        return tile_text(values, _TILES[name])
    return counted_text(values, name) if name in COUNTERS else text_of(name, values[name])


@lru_cache(maxsize=1)
def spellings() -> Mapping[str, str]:
    """Return every spelling, in small letters, as HTML -> the name of its term."""
    return {
        escape(spelling.lower()): term.name
        for term in TERMS.values()
        for spelling in (f"{term.name}s", *term.others, term.name)
    }


@lru_cache(maxsize=1)
def pattern() -> str:
    """Return a regular expression of all spellings in HTML, longest first, that are no part of a longer word or of
    code."""
    words = "|".join(map(re.escape, sorted(spellings(), key=len, reverse=True)))
    return rf"(?<![\w.\-])(?:{words})(?![\w(\[\-]|\.\w)"


_HALF, _EVEN, _ODD = range(4), (0, 2, 4, 6), (1, 3, 5, 7)

TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        # What runs
        Term("thread",
             "One run through the kernel's code, with registers of its own. Thousands of threads run the same code; "
             "each knows its place from threadIdx and blockIdx, and so works on other data.",
             drawing("One thread of eight is marked", row(8, {2}), arrows(26, 50, [(2, 2)]))),
        Term("warp",
             "32 threads of a block with consecutive numbers. A warp issues one instruction for all of its threads "
             "at once, so 32 threads that do the same cost as much as one.",
             drawing("One instruction for eight lanes of a warp", label(100, 14, "one instruction", "middle"),
                     arrows(18, 34, [(i, i) for i in range(8)]), row(36, range(8))),
             here="Here: {warp_instructions} instructions of warps."),
        Term("lane",
             "A thread's place in its warp, from 0 to 31. An instruction runs only in the active lanes; the others "
             "wait, and their time is lost.",
             drawing("Lanes 0 to 7, half of them active", row(12, _HALF, "01234567"),
                     label(10, 48, "active"), label(102, 48, "wait")),
             here="Here: {active_lanes_per_instruction} of 32 lanes are active in an instruction, on average."),
        Term("block",
             "A group of up to 1,024 threads that runs on one multiprocessor. Its threads share its shared memory "
             "and can wait for each other at a barrier. Different blocks run in any order.",
             drawing("A block of threads with its shared memory", box(4, 2, 192, 56), row(8),
                     box(10, 32, 175, 20, True, "shared memory")),
             others=("thread block", "thread blocks"), here="Here: {launch}."),
        Term("grid",
             "All blocks of one launch of a kernel. The hardware gives them to the multiprocessors as room becomes "
             "free, so nothing is known about their order.",
             drawing("A grid of blocks", *(box(10 + 46 * i, 6 + 26 * j, 38, 20, False, f"{4 * j + i}")
                                           for j in (0, 1) for i in range(4))),
             here="Here: {launch}."),
        Term("kernel",
             "A function that the host launches on the GPU, marked __global__. Every thread of the grid runs it "
             "once.",
             drawing("One kernel, run by eight threads", box(60, 2, 80, 18, True, "kernel"),
                     *(arrow(100, 22, middle(i), 42) for i in range(8)), row(44))),
        Term("launch",
             "The start of a kernel with a number of blocks and threads. It costs a few microseconds; a later launch "
             "of the stream begins when the one before has ended, so it is also a barrier for the whole grid.",
             drawing("Two launches one after the other", *bars(18, [(10, 70)], (0,), ("1",), 22),
                     *bars(18, [(120, 70)], (0,), ("2",), 22), arrow(84, 29, 116, 29)),
             others=("launches", "launched", "relaunch"), here="Here: {launch}."),
        Term("multiprocessor",
             "A core of the GPU (SM, streaming multiprocessor) with registers, shared memory, an L1 cache and "
             "schedulers. An H200 has 132, each for up to 64 warps; other GPUs have room for 32 or 48. A block stays "
             "on its multiprocessor until it ends.",
             drawing("Four multiprocessors, each with blocks",
                     *(box(6 + 48 * i, 6, 42, 48) + box(12 + 48 * i, 12, 30, 14, True)
                       + box(12 + 48 * i, 32, 30, 14, i != 3) for i in range(4))),
             others=("SM", "SMs")),
        Term("scheduler",
             "The part of a multiprocessor that picks in each cycle a warp that is ready. A warp that waits costs "
             "nothing as long as another one is ready.",
             drawing("The scheduler takes a ready warp, others wait",
                     *bars(4, [(10, 60), (10, 60), (10, 60)], (1,), ("waits", "ready", "waits"), 16, 18),
                     arrow(76, 30, 128, 30), label(134, 34, "runs"))),
        Term("lockstep",
             "All lanes of a warp run the same instruction at the same time. Up to Pascal this held, and code relied "
             "on it; since Volta each lane has a program counter of its own, and nothing promises lockstep.",
             drawing("Lanes at one line, and lanes at different lines", row(8, _HALF, places=_HALF),
                     line((8, 30), (92, 30)), row(4, (), places=(4, 6)), row(22, (), places=(5, 7)),
                     line((102, 24), (122, 24)), line((125, 42), (145, 42)), line((148, 24), (168, 24)),
                     line((171, 42), (191, 42)), label(10, 54, "then"), label(102, 58, "since Volta"))),
        Term("divergence",
             "Lanes of one warp take different paths at a branch. The warp runs the paths one after the other, each "
             "with only its own lanes active. If each warp takes a single path, nothing is lost.",
             drawing("A branch: even lanes first, then odd lanes", row(6, _EVEN), row(36, _ODD),
                     arrow(100, 22, 100, 34)),
             others=("divergent", "diverge", "diverges", "diverged"),
             here="Here: {divergent_branches} divergent branches."),
        Term("convergence",
             "Lanes that took different paths come together again and go on as one warp. Since Volta only "
             "__syncwarp() and other warp-wide instructions promise it.",
             drawing("Two paths meet", line((20, 12), (90, 12), (120, 30)), line((20, 48), (90, 48), (120, 30)),
                     arrow(120, 30, 180, 30)),
             others=("converge", "converges", "converged")),
        Term("predication",
             "Short branches need no jump: the compiler gives each instruction a condition, and lanes without it do "
             "nothing. All lanes stay together, but pass every instruction.",
             drawing("An instruction with a condition in each lane", row(8, _EVEN, "10101010"),
                     label(10, 48, "if 1: add, else nothing")),
             others=("predicate", "predicates", "predicated")),
        Term("__syncwarp",
             "A barrier for the lanes of one warp: they wait for each other, and see what the others have written "
             "before. It costs far less than __syncthreads().",
             drawing("Eight lanes wait at one line", *(arrow(middle(i), 4 + 4 * (i % 3), middle(i), 38)
                                                        for i in range(8)), line((6, 42), (194, 42)),
                     label(100, 57, "__syncwarp()", "middle")),
             others=("__syncwarp()",)),
        Term("cooperative groups",
             "Names for the threads that work together: a part of a warp, a block, or the whole grid. A group can "
             "wait for its members and add up their numbers.",
             drawing("Eight lanes in two groups", box(5, 4, 94, 26), box(100, 4, 94, 26), row(10),
                     label(52, 48, "group 0", "middle"), label(147, 48, "group 1", "middle")),
             others=("cooperative group",)),
        Term("warpgroup",
             "Four neighbouring warps, 128 threads, that start one large multiplication on the tensor cores "
             "together. Since Hopper.",
             drawing("Four warps start one product", *bars(2, [(10, 70)] * 4, (), (), 11, 14),
                     *(arrow(84, 8 + 14 * i, 122, 22 + 5 * i) for i in range(4)),
                     box(128, 14, 60, 32, True, "product"))),
        Term("host",
             "The computer with the CPU that launches kernels. Its memory is separate from the GPU's: answers must be "
             "copied, and a copy takes longer than a small kernel.",
             drawing("Host and GPU with a copy between them", box(8, 14, 60, 32, False, "host"),
                     box(132, 14, 60, 32, True, "GPU"), arrow(72, 24, 128, 24), arrow(128, 38, 72, 38))),
        # Memory
        Term("global memory",
             "The GPU's large memory: gigabytes that all threads see, several hundred cycles away. It moves at least a "
             "sector of 32 bytes. Large reductions are as fast as they can read it.",
             drawing("All blocks reach one global memory", *(box(14 + 64 * i, 4, 44, 16) for i in range(3)),
                     *(arrow(36 + 64 * i, 22, 36 + 64 * i, 36) for i in range(3)),
                     box(8, 38, 184, 18, True, "global memory")),
             here="Here: {sectors} sectors."),
        Term("shared memory",
             "A small fast memory on the multiprocessor, up to 227 KiB a block on an H200. The threads of a block "
             "share it, and need barriers between writing and reading. It has 32 banks.",
             drawing("Lanes write to and read from shared memory", row(2), arrows(18, 34, [(0, 3), (3, 0), (5, 6)]),
                     row(36, (0, 3, 6))),
             here="Here: {wavefronts} wavefronts of shared memory."),
        Term("register",
             "The fastest memory: words that belong to one thread. A multiprocessor has 65,536 of them for all its "
             "threads: the more each thread needs, the fewer warps fit.",
             drawing("Each thread has its own registers", row(4, (0,)),
                     *(box(middle(i) - 7, 24 + 11 * j, 14, 9, i == 0) for i in range(8) for j in range(3)))),
        Term("spill",
             "Registers that do not fit are kept in local memory, which lies in global memory behind the caches. "
             "Each use then costs a load or a store.",
             drawing("A register too many goes to memory", *(box(10 + 22 * i, 6, 18, 16, True) for i in range(5)),
                     box(128, 6, 18, 16, False), arrow(137, 24, 137, 38), box(90, 40, 100, 16, False, "memory")),
             others=("spilled", "spilling", "local memory")),
        Term("constant memory",
             "64 KiB of read-only data with a cache of its own. One word for all lanes of a warp comes at once; "
             "different words come one after the other.",
             drawing("One word goes to all lanes", box(80, 2, 40, 16, True, "word"),
                     *(arrow(100, 20, middle(i), 40) for i in range(8)), row(42)),
             others=("constant cache",)),
        Term("L1 cache",
             "The cache of one multiprocessor, in the same memory as its shared memory. The hardware decides what it "
             "keeps, in lines of 128 bytes.",
             drawing("Multiprocessor, its L1 cache, and memory", box(6, 16, 44, 28, False, "SM"),
                     box(72, 16, 44, 28, True, "L1"), box(138, 16, 56, 28, False, "L2"), arrow(70, 30, 52, 30),
                     arrow(136, 30, 118, 30)),
             others=("L1",)),
        Term("L2 cache",
             "The cache between all multiprocessors and global memory, 60 MB on an H200. Data that are still there "
             "from the run before come faster: so it is cleared before a timed launch.",
             drawing("All multiprocessors share the L2 cache", *(box(10 + 64 * i, 2, 50, 14, False, "SM")
                                                                 for i in range(3)),
                     *(arrow(35 + 64 * i, 30, 35 + 64 * i, 18) for i in range(3)),
                     box(10, 32, 178, 20, True, "L2")),
             others=("L2",)),
        Term("coalescing",
             "The lanes of a warp load or store neighbouring words, and the hardware joins them to few sectors: 32 "
             "words of 4 bytes need 4. Scattered words need up to 32 sectors.",
             drawing("Neighbouring lanes read neighbouring words", row(4), arrows(20, 38, [(i, i) for i in range(8)]),
                     row(40, range(8))),
             others=("coalesced", "coalesce", "uncoalesced"),
             here="Here, sectors per load / store: {sectors_per_load}."),
        Term("sector",
             "32 neighbouring bytes: the least that global memory moves, however little of it is asked for. A load "
             "by a warp is best if it touches few sectors and uses all of each.",
             drawing("One word of a sector is used, the sector is moved", box(6, 18, 188, 26), row(24, (2,)),
                     label(100, 57, "32 bytes move", "middle")),
             here="Here, per load / store: {sectors_per_load}."),
        Term("wavefront",
             "One pass of a request through shared memory, as Nsight Compute calls it. A load of 32 words takes one "
             "if no two lanes need different words of one bank; each further one is a bank conflict.",
             drawing("A request in two passes", row(4, _EVEN), arrow(100, 20, 100, 32), row(36, _ODD)),
             here="Here: {wavefronts} wavefronts; {bank_conflicts} of them are bank conflicts."),
        Term("bank conflict",
             "Shared memory has 32 banks, each 4 bytes wide; word i lies in bank i mod 32. Lanes that need different "
             "words of one bank are served one after the other. Lanes that read the same word share it. Registers have "
             "banks too: an even and an odd one.",
             drawing("Three lanes need different words of bank 2", row(2), arrows(18, 36, [(0, 2), (2, 2), (5, 2)]),
                     row(38, (2,), "01234567")),
             others=("bank", "banks"), here="Here: {bank_conflicts} bank conflicts."),
        Term("broadcast",
             "Several lanes read the same word in one pass. It costs as much as one lane's read, and is no bank "
             "conflict.",
             drawing("One word goes to all lanes", row(2, (3,)), *(arrow(middle(3), 18, middle(i), 40)
                                                                     for i in range(8)), row(42)),
             others=("broadcasts",)),
        Term("stride",
             "The distance between the words that neighbouring lanes use. Stride 1 is coalesced and free of bank "
             "conflicts; stride 32 meets one bank, and stride 8 of 4-byte words a sector for each lane. In a tree it "
             "is the distance between the two numbers that are added.",
             drawing("Lanes read every second word", row(4, (), places=_HALF),
                     arrows(20, 38, [(0, 0), (1, 2), (2, 4), (3, 6)]), row(40, _EVEN)),
             others=("strided",)),
        Term("grid-stride loop",
             "A thread handles element i, then i plus the number of all threads, until the end. Any grid works for "
             "any n, the accesses of a warp stay coalesced, and a thread of a small grid gets many elements.",
             drawing("Thread 0 handles every fourth element", row(16, (0, 4)), line((17, 34), (17, 46), (109, 46)),
                     arrow(109, 46, 109, 33)),
             others=("grid stride", "grid-stride", "grid-stride loops", "strides over the grid")),
        Term("padding",
             "An unused column moves each row of a tile in shared memory to the next bank. Then a column, too, "
             "spreads over all banks.",
             drawing("A column that shifts by one in each row",
                     *(box(30 + 15 * i, 1 + 15 * j, 13, 13, (i - j) == 2) for j in range(4) for i in range(8)),
                     box(150, 1, 13, 58), label(168, 34, "pad")),
             others=("padded", "unused column")),
        Term("swizzle",
             "Each row of a tile keeps its words in another order, such as column XOR row. A column then spreads "
             "over all banks, without the unused words of padding.",
             drawing("Column 2, in another place of each row",
                     *(box(40 + 15 * i, 1 + 15 * j, 13, 13, i ^ j == 2) for j in range(4) for i in range(8))),
             others=("swizzled", "swizzles")),
        Term("tile",
             "A rectangular piece of a matrix that a block loads once into shared memory; every thread of the block "
             "uses it many times. In cooperative groups a tile is a part of a warp; in a "
             "prefix sum, the piece of the array that a block handles at a time.",
             drawing("A tile of a matrix", *(box(70 + 15 * i, 1 + 15 * j, 13, 13, i < 2 and j < 2)
                                               for j in range(4) for i in range(4)), arrow(66, 15, 20, 15),
                     label(136, 34, "matrix")),
             others=("tiled", "tiling")),
        Term("vector load",
             "One instruction that loads 8 or 16 neighbouring bytes per thread. Fewer instructions keep more bytes in "
             "flight. The address must be a multiple of the size.",
             drawing("One load of four words", row(6, (3,)), *(arrow(middle(3), 22, middle(i), 40) for i in _HALF),
                     row(42, _HALF)),
             others=("vectorized", "vectorised")),
        Term("in flight",
             "Loads that have begun and not yet arrived. A memory far away delivers its full bandwidth only with many "
             "bytes in flight: see Little's law.",
             drawing("Four loads overlap", *bars(3, [(10, 90), (30, 90), (50, 90), (70, 90)], (0, 1, 2, 3), (), 10, 14),
                     arrow(168, 54, 194, 54), label(150, 14, "time"))),
        Term("asynchronous copy",
             "A copy from global to shared memory that bypasses the registers. The thread starts it and goes on; later "
             "it waits until the copy has arrived.",
             drawing("A copy while the thread computes",
                     *bars(8, [(10, 130), (10, 90)], (0,), ("copy", "compute"), 18, 26),
                     line((144, 4), (144, 56), dotted=True), label(150, 34, "wait")),
             others=("asynchronous copies", "copied asynchronously", "asynchronously")),
        Term("copy engine",
             "Hardware of a multiprocessor (TMA, tensor memory accelerator) that copies a box of a matrix between "
             "global and shared memory. One thread requests it by its coordinates. Since Hopper. CUDA also gives this "
             "name to the unit that copies between host and GPU.",
             drawing("A box of a matrix is copied", *(box(10 + 13 * i, 4 + 13 * j, 11, 11, i in (1, 2) and j in (1, 2))
                                                       for j in range(4) for i in range(5)),
                     arrow(84, 30, 126, 30), box(134, 16, 28, 28, True)),
             others=("TMA",)),
        Term("pipeline",
             "Stages that overlap: while one tile is multiplied, the next ones are in flight. It is full once each "
             "stage has work; filling it costs time at the start.",
             drawing("Load and multiply overlap", *(box(10 + 40 * i, 6, 38, 18, False, "load") for i in range(4)),
                     *(box(50 + 40 * i, 34, 38, 18, True, "use") for i in range(3)))),
        # Waiting for each other
        Term("barrier",
             "A line that no thread of a block passes before all have arrived: __syncthreads(). What was written "
             "before it is visible after it. All threads wait for the slowest. grid.sync() is a barrier for a whole "
             "grid.",
             drawing("Threads wait at one line", *(arrow(middle(i), 4, middle(i), 18 + 5 * (i % 4))
                                                    for i in range(8)), line((6, 42), (194, 42)),
                     label(100, 57, "all have arrived", "middle")),
             others=("__syncthreads",), here="Here: warps arrived {barriers} times at a barrier."),
        Term("fence",
             "__threadfence(): other threads see the writes before it before those after it. It waits for nobody; "
             "with a flag or a ticket it makes a block's result safe for another block.",
             drawing("Data, fence, flag", box(8, 18, 46, 22, True, "data"), line((78, 8), (78, 52)),
                     label(84, 16, "fence"), box(140, 18, 46, 22, False, "flag"), arrow(58, 32, 136, 32)),
             others=("__threadfence",)),
        Term("race",
             "Two threads use one word, at least one writes, and nothing orders them. The answer then depends on "
             "chance, and may be right for years.",
             drawing("Two threads write one word", box(10, 4, 60, 18, False, "thread 0"),
                     box(130, 4, 60, 18, False, "thread 1"),
                     arrow(44, 24, 86, 42), arrow(156, 24, 114, 42), box(88, 40, 24, 18, True, "?")),
             others=("race condition", "race in a warp", "data race")),
        Term("atomic",
             "Reads, changes and writes a word as one indivisible step, so no addition is lost. Atomics at one "
             "address are served one after the other.",
             drawing("Additions to one word queue up", *(box(6 + 24 * i, 20, 20, 20, False, "+1") for i in range(4)),
                     arrow(104, 30, 138, 30), box(142, 16, 40, 28, True, "sum")),
             others=("atomically", "atomicAdd", "atomicAnd", "atomicDec", "atomicInc", "atomicMax", "atomicMin"),
             here="Here: {atomics} atomics of warps."),
        Term("compare-and-swap",
             "The atomic atomicCAS: it writes a new value only if the word still has the expected one, and returns "
             "the old one. A loop around it makes any other atomic.",
             drawing("As expected: write; else try again", box(8, 20, 60, 20, False, "as old?"), arrow(70, 30, 118, 30),
                     label(80, 22, "yes"), box(122, 20, 60, 20, True, "write"), line((38, 42), (38, 54), (4, 54)),
                     label(46, 56, "no: again")),
             others=("compare and swap", "atomicCAS")),
        Term("contention",
             "Many threads want the same word at once and must queue. Less of it: add up in registers, in the warp "
             "and in the block first, and only then use one atomic.",
             drawing("Many lanes, one word", row(2), *(arrow(middle(i), 18, 100, 40) for i in range(8)),
                     box(90, 42, 20, 16, True))),
        Term("serialised",
             "Done one after the other although the threads asked at once. The time grows with their number.",
             drawing("Four steps one after the other", *(box(10 + 46 * i, 8 + 12 * i, 44, 11, True) for i in range(4))),
             others=("serialises", "serialise")),
        Term("lock",
             "A word that one thread at a time may hold, taken with an atomic. In lockstep the lanes that wait "
             "for it can keep the lane that holds it from going on; since Volta lanes are independent, and it goes on.",
             drawing("One holds the lock, three wait", box(140, 20, 46, 22, True, "lock"),
                     *(box(8 + 30 * i, 22, 20, 18) for i in range(4)), arrow(122, 31, 137, 31)),
             others=("locked",)),
        Term("starvation",
             "A thread never proceeds because others always go first. Since Volta every lane proceeds in the end, as "
             "long as it is on the GPU.",
             drawing("One waits while others pass", *(arrow(20, 10 + 14 * i, 180, 10 + 14 * i) for i in range(3)),
                     box(10, 46, 40, 13, True), label(58, 57, "waits")),
             others=("starvation-free",)),
        Term("deadlock",
             "Threads wait for each other forever. In lockstep: one lane holds a lock, and its warp runs the lanes "
             "that wait for it.",
             drawing("Two wait for each other", box(20, 18, 50, 24, False, "A"), box(130, 18, 50, 24, False, "B"),
                     arrow(74, 24, 126, 24), arrow(126, 38, 74, 38))),
        Term("volatile",
             "Tells the compiler to do each load and store of a variable as written, and to keep none in a register. "
             "It orders no lanes: since Volta, code that needs __syncwarp() stays a race with it.",
             drawing("Each access goes to memory", box(10, 18, 64, 24, False, "thread"),
                     box(126, 18, 64, 24, True, "memory"),
                     arrow(78, 24, 122, 24), arrow(122, 36, 78, 36))),
        Term("shuffle",
             "Lanes of a warp hand each other registers, without memory and without a barrier: "
             "__shfl_down_sync() and others. A warp adds 32 numbers in five steps.",
             drawing("Lanes 4 to 7 hand numbers to lanes 0 to 3", row(4, (4, 5, 6, 7)),
                     arrows(20, 38, [(4, 0), (5, 1), (6, 2), (7, 3)]), row(40, _HALF)),
             here="Here: {shuffles} shuffles."),
        Term("ballot",
             "A vote of a warp: each lane says yes or no, and all get the 32 bits. __popc() counts the ones, so a "
             "lane learns how many lanes below it said yes.",
             drawing("Bits of eight lanes", row(8, (0, 3, 4), "10011000"), arrow(100, 26, 100, 38),
                     label(100, 54, "3 say yes", "middle"))),
        Term("prefix sum",
             "Element i of the answer is the sum of all elements up to i, also called a scan. It gives each thread "
             "its place in a packed output.",
             drawing("1 2 0 3 becomes 1 3 3 6", *(box(40 + 30 * i, 6, 22, 18, False, t) for i, t in enumerate("1203")),
                     arrow(100, 27, 100, 36), *(box(40 + 30 * i, 39, 22, 18, True, t) for i, t in enumerate("1336"))),
             others=("scan", "scans", "scanned", "inclusive prefix sum")),
        Term("unrolling",
             "A loop is written out, by hand or by the compiler: no counter, no comparison, no branch. No loop is "
             "left if the number of passes is known when the kernel is compiled; else each turn does several passes.",
             drawing("A loop, and its passes written out", line((30, 14), (60, 14), (60, 46), (30, 46)),
                     arrow(30, 46, 30, 16), arrow(74, 30, 104, 30), *bars(4, [(114, 70)] * 4, range(4), (), 10, 14)),
             others=("unroll", "unrolled", "unrolls")),
        Term("tensor core",
             "A unit that multiplies and adds small matrices in one instruction of a warp or a warpgroup, many times "
             "as fast as the float units, with operands of fewer bits.",
             drawing("Two small matrices and their product",
                     *(box(x + 12 * i, 10 + 12 * j, 10, 10, x > 120)
                       for x in (14, 80, 146) for i in range(3) for j in range(3)),
                     label(61, 32, "x"), label(126, 32, "="))),
        # How fast
        Term("latency",
             "The time from a request to its answer: several hundred cycles for global memory, about 30 for shared "
             "memory. Other warps, or other loads of the same thread, hide it.",
             drawing("From request to answer", box(6, 18, 46, 22, False, "load"), arrow(54, 29, 148, 29),
                     box(150, 18, 46, 22, True, "data"), label(100, 22, "latency", "middle")),
             others=("latencies",)),
        Term("bandwidth",
             "Bytes moved in a second. Here it is the lecture's: the bytes that the problem needs over the time of "
             "all launches. A reduction reads each number once, so its bandwidth is its speed.",
             drawing("Many bytes side by side", *(arrow(14, 8 + 11 * i, 186, 8 + 11 * i) for i in range(5))),
             here="Here: {bandwidth_gb_s} GB/s."),
        Term("throughput",
             "Work done in a second: additions and multiplications of floats, or instructions. It can be high "
             "although the latency of each is long, if many overlap.",
             drawing("Overlapping work that ends at a steady pace",
                     *bars(3, [(10 + 24 * i, 80) for i in range(4)], range(4), (), 10, 14))),
        Term("peak",
             "The most that a GPU could do: for memory its clock times its width, for floats its units times its "
             "clock. No kernel reaches it; 90% of the memory's peak is very good.",
             drawing("A bar below the peak", box(10, 20, 140, 22, True), line((176, 6), (176, 54))),
             here="Here: {percent_of_peak} of it."),
        Term("speedup",
             "The old time over the new one, for the same work: 2 means half of the time. The step's speedup counts "
             "from the rung before, the cumulative one from the first rung that does this work right.",
             drawing("Half of the time", *bars(8, [(10, 170), (10, 85)], (1,), ("before", "now"), 18, 26)),
             others=("cumulative",), here="Here: {step} against the rung before, {cumulative} in all."),
        Term("occupancy",
             "Resident warps over the most that a multiprocessor can hold: 64 on an H200. Registers, shared memory and "
             "block size limit it. More warps hide more latency, but full occupancy is rarely needed.",
             drawing("Five of eight places for warps are taken", row(20, range(5)),
                     label(10, 52, "resident"), label(128, 52, "free"))),
        Term("residency",
             "A block is resident from its start to its end: it has its registers and shared memory on a "
             "multiprocessor. A grid with a barrier of its own needs all its blocks resident at once.",
             drawing("Resident blocks, and blocks that wait", box(6, 6, 100, 46), box(12, 14, 26, 30, True),
                     box(43, 14, 26, 30, True), box(74, 14, 26, 30, True), box(130, 14, 26, 30), box(162, 14, 26, 30)),
             others=("resident",)),
        Term("Little's law",
             "Bytes in flight = bandwidth x latency. An H200 moves 4,800 GB/s, and one load takes about 640 cycles, "
             "or 325 ns: at least 1.6 MB must be in flight at all times, 12 KB on each multiprocessor.",
             drawing("A pipe, as long as the latency and as wide as the bandwidth",
                     box(30, 14, 150, 26, True, "in flight"),
                     label(105, 57, "latency", "middle"), arrow(16, 40, 16, 14))),
        Term("arithmetic intensity",
             "Operations for each byte moved to or from memory. A sum has 1/4 (an addition for 4 bytes); a tiled "
             "matrix product has many, so arithmetic limits it, not memory.",
             drawing("Operations over bytes", label(100, 24, "operations", "middle"), line((50, 31), (150, 31)),
                     label(100, 48, "bytes", "middle")),
             others=("operations a byte", "operations per byte")),
        Term("roofline",
             "The most that a kernel can reach, over its arithmetic intensity: first the memory's bandwidth limits "
             "it (the slope), then the arithmetic (the flat part). Points below the roof could be faster.",
             drawing("A slope, then a flat roof", line((20, 56), (90, 12), (190, 12)), box(60, 36, 6, 6, True),
                     box(140, 20, 6, 6, True)),
             others=("roof",)),
    )
}  # fmt: skip

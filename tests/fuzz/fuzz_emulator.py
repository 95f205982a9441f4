"""Break the catalogue's kernels in thousands of ways and let the emulator answer.

    python -m tests.fuzz.fuzz_emulator --cases 10000 --seed 0      # a summary; exit status 1 where a rule was broken
    python -m tests.fuzz.fuzz_emulator --seed 0 --only 1234        # one case again, with what was changed

Whatever a student writes, the emulator gives an answer or one sentence, in bounded time: never a hang, never a Python
exception other than RunFailed, CompileError and NotRunnable. A case depends on the seed and its number alone.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import random
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from types import FrameType
from unittest import mock

from engine.backends.emulator import launch
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import Program, link
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.catalogue import KERNELS, data, default_choice, topic_of
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.plan import plan
from engine.records import (
    Array,
    Choice,
    CompileError,
    HostRun,
    HostSum,
    Launch,
    NotRunnable,
    Plan,
    Run,
    RunFailed,
    Source,
)
from tests.fuzz.ptx_mutations import mutated_ptx
from tests.fuzz.source_mutations import mutated_source

SECONDS = 5  # what a case may take by the emulator's own deadline
HANG_SECONDS = 10  # of work: what makes it a hang, compiling included
PATIENCE_SECONDS = 120  # of waiting
STEPS = 1_200
SOURCE_SHARE = 0.15  # of the cases change the .cu file, which NVRTC compiles again; the others change the PTX
LONGEST_SENTENCE = 400
INSIDES = (
    "Traceback",
    " object at 0x",
    "<class",
    "None",
    "ndarray",
    "Register(",
    "Symbol(",
    "Address(",
    "Immediate(",
    "numpy",
)
SCHEDULES = (LOCKSTEP,) * 6 + (Schedule("independent", seed=1), Schedule("waves", blocks_per_wave=1))


class Hang(BaseException):
    """Raised by the watchdog; not an Exception, so no handler catches it."""


@dataclass(frozen=True)
class Case:
    """One broken kernel: its plan, and the PTX in place of the compiled one (None: the plan's source was changed)."""

    number: int
    plan: Plan
    original: str
    changed: str
    ptx: bool
    schedule: Schedule


@dataclass(frozen=True)
class Outcome:
    """`kind`: a status, or "broken rule". `text`: the sentence, or what rule was broken and how."""

    kind: str
    text: str


@lru_cache(maxsize=1)
def choices() -> tuple[Choice, ...]:
    """Small runs of every kernel of the catalogue that runs on the emulator."""
    made = []
    for name, kernel in KERNELS.items():
        topic = topic_of(kernel)
        for number, dtype in enumerate(kernel.dtypes):
            size = [size for size in kernel.block_sizes if size <= 64]
            for block_size in (size or kernel.block_sizes[:1])[-2:]:
                n = max(topic.min_n, 17 if "width" in topic.block_label else 150 + 31 * number)
                grid = 2 if kernel.coverage is None else None
                choice = replace(
                    default_choice(name), dtype=dtype, n=n, block_size=block_size, grid_size=grid, device="emulator"
                )
                try:
                    steps = plan(choice).steps
                except NotRunnable:
                    continue
                if not any(isinstance(step, HostRun) for step in steps):
                    made.append(choice)
    return tuple(made)


@cache
def inputs_of(choice: Choice) -> Mapping[str, Array]:
    """The topic's numbers."""
    recipe = topic_of(choice.kernel).input_recipe(choice)
    return {name: data.repeated(numbers, count).copy() for name, (numbers, count) in recipe.items()}


@cache
def answer_of(choice: Choice) -> bytes | None:
    """Return the unbroken kernel's answer; None if it never ends by design."""
    try:
        return launch.execute(plan(choice), inputs_of(choice), observers=()).output.tobytes()
    except RunFailed:
        return None


def case(seed: int, number: int, sources: float = SOURCE_SHARE) -> Case:
    """Case `number` of a seed; `sources`: the share of cases that change the .cu file."""
    make = random.Random(f"{seed}:{number}")
    choice = make.choice(choices())
    schedule = make.choice(SCHEDULES)
    made = plan(choice)
    if make.random() < sources:
        original = KERNELS[choice.kernel].text
        changed = mutated_source(original, make)
        return Case(
            number,
            plan(replace(choice, source=changed, source_name="changed.cu")),
            original,
            changed,
            False,
            schedule,
        )
    first = next(step for step in made.steps if isinstance(step, Launch))
    original = compile_source(first.source, EMULATED_ARCHITECTURE).decode()
    return Case(number, made, original, mutated_ptx(original, make), True, schedule)


def outcome(this: Case) -> Outcome:
    """Run a case and judge it."""
    inputs = inputs_of(replace(this.plan.choice, source=None, source_name=None))
    options = Options(step_limit=STEPS, seconds=SECONDS)
    try:
        with _watchdog(), _program(this), warnings.catch_warnings():
            warnings.simplefilter("error")
            run = launch.execute(this.plan, inputs, schedule=this.schedule, options=options)
    except (RunFailed, CompileError, NotRunnable) as error:
        if error.__cause__ is not None:  # a sentence for the student, but a fault of the emulator all the same
            return _fault(error.__cause__)
        kind = error.status if isinstance(error, RunFailed) else type(error).__name__
        return _judged(kind, str(error))
    except Hang:
        return Outcome("broken rule", f"a hang: no answer within {HANG_SECONDS} s")
    except Exception as error:
        return _fault(error)
    return _answered(this, run)


def _fault(error: BaseException) -> Outcome:
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename.rpartition('/')[2]}:{place.name}"
    return Outcome("broken rule", f"{type(error).__name__} in {where}: {str(error)[:100]}")


def _answered(this: Case, run: Run) -> Outcome:
    wanted = (1 if isinstance(this.plan.steps[-1], HostSum) else this.plan.result_count,)
    if run.output.shape != wanted or run.counts is None:
        return Outcome("broken rule", f"an output of shape {run.output.shape} instead of {wanted}")
    for finding in run.findings:
        judged = _judged("hazard", finding.message)
        if judged.kind == "broken rule":
            return judged
    if run.findings:
        return Outcome("hazard", run.findings[0].message)
    answer = answer_of(replace(this.plan.choice, source=None, source_name=None))
    return Outcome("same answer" if run.output.tobytes() == answer else "another answer", "")


def _judged(kind: str, sentence: str) -> Outcome:
    """A sentence must be one: not empty, one line, ended, without the looks of a program's insides."""
    ended = re.search(r"[^.?!][.?!]$", sentence)
    bad = not ended or "\n" in sentence or len(sentence) > LONGEST_SENTENCE or any(word in sentence for word in INSIDES)
    return Outcome("broken rule", f"no good sentence ({kind}): {sentence!r}") if bad else Outcome(kind, sentence)


@contextmanager
def _watchdog() -> Iterator[None]:
    """Raise after some seconds of CPU time, or after a long wait; a busy machine does not shorten the limit."""

    def bark(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = [(number, signal.signal(number, bark)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    signal.alarm(PATIENCE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in before:
            signal.signal(number, handler)


@contextmanager
def _program(this: Case) -> Iterator[None]:
    """The changed PTX in place of what the compiler makes."""
    if not this.ptx:
        yield
        return

    def load(source: Source, kernel: str) -> Program:
        return link(parse(this.changed, source.name), kernel)

    with mock.patch.object(launch, "load", load):
        yield


def difference(this: Case) -> str:
    """What was changed, as a diff."""
    lines = difflib.unified_diff(
        this.original.split("\n"), this.changed.split("\n"), "original", "changed", n=1, lineterm=""
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command line. 0: all rules held."""
    parser = argparse.ArgumentParser(description="Fuzz the emulator with broken kernels of the catalogue.")
    parser.add_argument("--cases", type=int, default=10_000, help="how many cases")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--start", type=int, default=0, help="the number of the first case")
    parser.add_argument(
        "--sources", type=float, default=SOURCE_SHARE, help="the share that changes the .cu file, 0 to 1"
    )
    parser.add_argument("--only", type=int, help="run one case and show what was changed")
    parser.add_argument("--verbose", action="store_true", help="show one sentence of every kind")
    chosen = parser.parse_args(arguments)
    if chosen.only is not None:
        this = case(chosen.seed, chosen.only, chosen.sources)
        print(this.plan.choice, this.schedule, difference(this), outcome(this), sep="\n")
        return 0
    started = time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    broken: dict[str, list[int]] = {}
    samples: dict[str, str] = {}
    slowest = (0.0, 0)
    for number in range(chosen.start, chosen.start + chosen.cases):
        began = time.monotonic()
        found = outcome(case(chosen.seed, number, chosen.sources))
        slowest = max(slowest, (time.monotonic() - began, number))
        counts[found.kind] += 1
        samples.setdefault(found.kind, f"case {number}: {found.text}")
        if found.kind == "broken rule":
            broken.setdefault(re.sub(r"'[^']*'|\d+", "…", found.text), []).append(number)
    seconds = time.monotonic() - started
    print(
        f"{chosen.cases} cases of seed {chosen.seed} in {seconds:.0f} s; "
        f"the slowest, {slowest[1]}, took {slowest[0]:.1f} s"
    )
    for kind, count in counts.most_common():
        print(f"  {count:6d}  {kind}" + (f"   {samples[kind]}" if chosen.verbose else ""))
    for text, numbers in sorted(broken.items(), key=lambda item: -len(item[1])):
        print(f"BROKEN {len(numbers)} times: {text}   (cases {', '.join(map(str, numbers[:5]))})")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

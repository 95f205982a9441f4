"""Random programs on the emulator and on the oracle: the results must agree bit for bit in every way of execution.

python -m tests.backends.emulator.random_programs --programs 1000 --files 20 --first 0   # exit status 1 if they differ
"""

from __future__ import annotations

import argparse
import sys
from functools import lru_cache

import numpy as np

from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.watching import results
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import RunFailed, Source
from tests.backends.emulator import emulated, oracle, random_ptx, random_sources

# Ways to execute that may not change an answer; those in lockstep may not change a counter either.
WAYS: dict[str, tuple[Options, Schedule]] = {
    "flat": (Options(flat=True), LOCKSTEP),
    "without sums": (Options(sums=False), LOCKSTEP),
    "block by block": (Options(lanes=32), LOCKSTEP),
    "one block a wave": (Options(), Schedule("waves", blocks_per_wave=1)),
    "independent 0": (Options(), Schedule("independent", seed=0)),
    "independent 1": (Options(), Schedule("independent", seed=1)),
    "independent 2": (Options(), Schedule("independent", seed=2)),
}
KERNELS_PER_FILE = 4


def differences(found: list[bytes], wanted: list[bytes]) -> list[str]:
    """Return the first differing words, as text."""
    lines = []
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        a, b = np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)
        for place in sorted(set((np.flatnonzero(a != b) // 8).tolist()))[:3]:
            thread, word = divmod(place, random_ptx.ROW)
            values = (part[8 * place : 8 * place + 8][::-1].hex() for part in (one, other))
            lines.append("argument {}, thread {}, word {}: {}, expected {}".format(number, thread, word, *values))
    return lines


def disagreements(
    text: str, module: oracle.Module, kernel: str, launch: random_ptx.Launch, ways: list[str], counted: bool
) -> list[str]:
    """Run one kernel on the oracle and on the emulator, in the usual way and in `ways`, and return the differences as
    text.

    `counted`: the number of executed instructions must agree as well (without calls, which the emulator inlines).
    """
    arguments = launch.arguments()
    executed = oracle.run(module, kernel, launch.grid, launch.block, arguments)
    wanted = [bytes(each) for each in arguments if isinstance(each, bytearray)]
    first = results.all_counters()
    made = []
    for name in ("usual", *ways):
        options, schedule = WAYS.get(name, (Options(), LOCKSTEP))
        counters = first if name == "usual" else results.all_counters()
        try:
            found = emulated.run(
                text, kernel, launch.grid, launch.block, launch.arguments(), options, schedule, counters
            )
        except RunFailed as error:
            made.append(f"{name}: {error}")
            continue
        made += [f"{name}: {difference}" for difference in differences(found, wanted)]
        if schedule.kind != "independent" and results.details(counters) != results.details(first):
            made.append(f"{name}: other counters")
    if counted and results.details(first)["thread_instructions"] != executed:
        made.append(f"{results.details(first)['thread_instructions']:.0f} instructions, expected {executed}")
    return made


def three_ways(number: int) -> list[str]:
    """Return three of the ways, different ones for each number."""
    names = list(WAYS)
    return [names[number % 4], names[(number // 4 + number + 1) % 4], names[4 + number % 3]]


def of_ptx(seed: int, ways: list[str]) -> list[str]:
    """Return the differences for the random PTX program of a seed."""
    launch = random_ptx.program(seed)
    return disagreements(launch.text, oracle.Module(launch.text), "probe", launch, ways, counted=True)


def of_source(seed: int, kernel: int, ways: list[str]) -> list[str]:
    """Return the differences for one kernel of the random .cu file of a seed."""
    text, module, launches = _compiled(seed)
    name, launch = launches[kernel]
    return disagreements(text, module, name, launch, ways, counted=False)


@lru_cache(maxsize=1)
def _compiled(seed: int) -> tuple[str, oracle.Module, list[tuple[str, random_ptx.Launch]]]:
    text, launches = random_sources.source(seed, KERNELS_PER_FILE)
    made = compile_source(Source("probe.cu", text, "int32"), EMULATED_ARCHITECTURE).decode()
    return made, oracle.Module(made), launches


def main(arguments: list[str] | None = None) -> int:
    """Run the command line. 0: no differences."""
    parser = argparse.ArgumentParser(description="Compare the emulator with the oracle on random programs.")
    parser.add_argument("--programs", type=int, default=1000, help="random PTX programs")
    parser.add_argument("--files", type=int, default=20, help=f"random .cu files of {KERNELS_PER_FILE} kernels each")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = parser.parse_args(arguments)
    bad = 0
    for seed in range(chosen.first, chosen.first + chosen.programs):
        found = of_ptx(seed, list(WAYS))
        bad += bool(found)
        if found:
            print(f"PTX {seed}:", *found[:4], sep="\n  ")
    for seed in range(chosen.first, chosen.first + chosen.files):
        for kernel in range(KERNELS_PER_FILE):
            found = of_source(seed, kernel, list(WAYS))
            bad += bool(found)
            if found:
                print(f".cu {seed}, kernel {kernel}:", *found[:4], sep="\n  ")
    print(f"{chosen.programs} PTX programs and {chosen.files} .cu files in {len(WAYS) + 1} ways: {bad} disagree")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

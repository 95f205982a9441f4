"""Float sums recorded on a GPU: the answer of every rung at many sizes, and of many runs of each rung.

A recording of times keeps no answers, so this file does. Rows of a kernel whose file has changed since are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import Any

from engine.backends.backend import backend_named, backend_of, quiet
from engine.catalogue import KERNELS, LADDERS, topic_of
from engine.catalogue.gpu_models import GPU
from engine.history import recordings
from engine.history.recordings import NEEDS_GPU, code_digest, file_of, read_compressed, write_compressed
from engine.lectures.arithmetic.float_sums import (
    RUNS,
    SIZES,
    TOPICS,
    Repeats,
    on_random_numbers,
    orders_of,
    repeat,
)
from engine.machine.environment import environment, has_gpu
from engine.plan import plan, settle
from engine.records import Check, Choice, CompileError, Measurement, NotRunnable, Progress, RunFailed, Settled

FOLDER = recordings.FOLDER / "float-sums"
DTYPES = ("float32", "float64")
Key = tuple[str, int, int, str, str | None, int | None]


@dataclass(frozen=True)
class FloatSums:
    """One recording. `answers`: (status, result, exact sum). `repeats`: (exact sum, answers of the runs)."""

    device: dict[str, Any]
    environment: dict[str, Any]
    answers: dict[Key, tuple[str, float, float]]
    repeats: dict[Key, tuple[float, tuple[float, ...]]]


def record(folder: Path = FOLDER, progress: Progress | None = None) -> Path:
    """Run every rung that adds floats on this GPU, write its answers, and return the file. NotRunnable without a
    GPU."""
    if not has_gpu():
        raise NotRunnable(NEEDS_GPU)
    say = progress or (lambda fraction, text: None)
    described = backend_named("gpu").describe()
    rungs = list(_rungs())
    answers: dict[Key, tuple[str, float, float]] = {}
    repeats: list[list[Any]] = []
    for number, rung in enumerate(rungs):
        say(number / len(rungs), f"Float sums: {rung.kernel} {rung.dtype}")
        for choice in _sizes(rung):
            key = _key(choice)  # a rung of two ladders has the same sizes twice
            if key not in answers and (found := _answer(choice)) is not None:
                answers[key] = found
        if rung.dtype == "float32":
            many = repeat(rung, RUNS["gpu"])
            repeats.append([*_key(many.choice), many.exact, list(many.results)])
    content = {
        "device": dict(described),
        "environment": environment(),
        "kernels": {name: code_digest(KERNELS[name]) for name in sorted({rung.kernel for rung in rungs})},
        "answers": [[*key, *found] for key, found in answers.items()],
        "repeats": repeats,
    }
    path = file_of(described["name"], folder)
    write_compressed(path, content)
    return path


def answer(choice: Settled) -> Measurement | None:
    """Return a GPU's recorded answer of this choice, without a time; None if there is none."""
    if choice.grid_size is not None or choice.source is not None:
        return None
    for recording in _recordings():
        found = recording.answers.get(_key(choice))
        if found is not None:
            status, result, exact = found
            ok = status == "ok"
            return Measurement(choice, recording.device, "ok" if ok else "wrong",
                               check=Check(ok, result, exact, abs(result - exact), nan),
                               environment=recording.environment, origin="recorded")  # fmt: skip
    return None


def repeats(choice: Settled) -> Repeats | None:
    """Return the recorded answers of many runs of this choice on a GPU, on the random numbers; None if there are
    none."""
    if choice.grid_size is not None or choice.source is not None:
        return None
    made = replace(on_random_numbers(choice), device="gpu")
    for recording in _recordings():
        found = recording.repeats.get(_key(made))
        if found is not None:
            return Repeats(
                made, recording.device, found[1], found[0], orders_of(plan(made, GPU)), recording.environment
            )
    return None


def _rungs() -> Iterator[Settled]:
    """Yield every rung that adds floats, in every float type, each once."""
    found: dict[Settled, None] = {}
    for ladder in LADDERS.values():
        for rung in ladder.rungs if ladder.topic in TOPICS else ():
            kernel = KERNELS[rung.kernel]
            for dtype in DTYPES:
                if dtype in kernel.dtypes and ladder.block_size in kernel.block_sizes:
                    made = Choice(kernel.name, ladder.n, ladder.block_size, dtype=dtype, device="gpu",
                                  combine=rung.combine)  # fmt: skip
                    found[settle(made)] = None
    yield from found


def _sizes(rung: Settled) -> Iterator[Settled]:
    parameter = KERNELS[rung.kernel].parameter
    for n in sorted({*SIZES, rung.n}):
        for value in parameter.values if parameter else (None,):
            yield replace(rung, n=n, parameter=value)


def _answer(choice: Settled) -> tuple[str, float, float] | None:
    """Return (status, result, exact sum); None if the choice cannot run."""
    try:
        made = plan(choice)
        run = backend_of(made).run(made, quiet)
    except (NotRunnable, CompileError, RunFailed):
        return None
    checked = topic_of(choice.kernel).check(made, run.output)
    return "ok" if checked.ok else "wrong", float(checked.result), float(checked.expected)


def _key(choice: Settled) -> Key:
    return (choice.kernel, choice.n, choice.block_size, choice.dtype, choice.combine, choice.parameter)


@lru_cache(maxsize=1)
def _recordings() -> tuple[FloatSums, ...]:
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.json.gz")))


def _read(path: Path) -> FloatSums:
    content = read_compressed(path)
    same = {
        name for name, digest in content["kernels"].items() if name in KERNELS and code_digest(KERNELS[name]) == digest
    }
    answers = {_key_of(row): tuple(row[6:]) for row in content["answers"] if row[0] in same}
    many = {_key_of(row): (row[6], tuple(row[7])) for row in content["repeats"] if row[0] in same}
    return FloatSums(content["device"], content["environment"], answers, many)


def _key_of(row: list[Any]) -> Key:
    kernel, n, block_size, dtype, combine, parameter = row[:6]
    return kernel, n, block_size, dtype, combine, parameter

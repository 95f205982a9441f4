"""Try the lab with a thousand hostile sources, an honest one after each, and say how long each took:

    python -m tests.lab.hostile [NUMBER...]

All of them, or those of these numbers. Every source is checked and launched in one worker, as the dashboard has it.
Exit status 1 where one leaked a file's text, ended the worker or passed its bound, or where an honest source had to
wait.
"""

from __future__ import annotations

import json
import pickle
import secrets as random_names
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from engine.commands.lab import check
from engine.lab.kernels import kernel
from engine.records import CompileError, NotRunnable, RunFailed
from engine.service.slots import WorkerSlot
from tests.lab.hostile_sources import FOUND, Hostile, hostile_sources

LAUNCH_S = 2.0
BOUND_S = 35.0  # two compilations of WALL_S, and the launch; without other programs beside it, 13 s
HONEST_S = 2.0
HONEST = "__global__ void k(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += %d; }"
MARK = "a-secret-that-nobody-may-see"


@dataclass(frozen=True)
class Tried:
    """`ended`: "check / launch" as statuses, or how it failed; `told`: all that a student would see; `seconds`: it and
    the honest source after it took."""

    hostile: Hostile
    ended: str
    told: str
    seconds: float
    honest_s: float
    wrong: str | None


def checked_and_launched(path: str) -> tuple[str, str]:
    """In the worker: what a check and a launch of a file say, and their statuses."""
    file = Path(path)
    answer = check(file, None)
    told = [json.dumps(answer.record), answer.text]
    if answer.status == "compile-error":
        return answer.status, "\n".join(told)
    status = "launched"
    try:
        one = kernel(file, "k" if b" k(" in file.read_bytes() else None)
        arguments = [np.zeros(200, np.float32) if each.size == 8 else 100 for each in one.parameters]
        run = one.run(2, 64, arguments, seconds=LAUNCH_S)
        assert len(run.findings) <= 51 and sum(map(len, run.printed)) <= 2 << 20
        told += [repr((run.arrays, run.findings, run.printed, run.warnings)), run._repr_html_()]
        stepped = one.record(2, 64, arguments, seconds=LAUNCH_S, most_bytes=32 << 20)
        told += [repr(stepped.variables(0, stepped.moments // 2)), repr(stepped.recording.ended)]
    except (CompileError, NotRunnable, RunFailed) as error:
        sentence = str(error)
        assert sentence.endswith(".") and len(sentence) < 2000, sentence[:3000]
        if "fault of the emulator" in sentence:
            raise
        told += [sentence, str(getattr(error, "log", ""))]
        status = type(error).__name__
    return f"{answer.status} / {status}", "\n".join(told)


def honest(number: int) -> float:
    """In the worker: an honest source that it has not seen yet, from its text to its answer."""
    run = kernel(HONEST % number, "k").run(4, 64, (np.zeros(200, np.float32), 200))
    return float(run.arrays["a"].sum()) / 200


@contextmanager
def folder_of_secrets() -> Iterator[Path]:
    """A folder with secrets, and a folder `own` in it for the sources."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "own").mkdir()
        for place in (folder, folder / "own"):
            for file in ("secret.txt", "secret.h"):
                (place / file).write_text(f"{MARK} {random_names.token_hex(8)}\n")
        yield folder


def tried(slot: WorkerSlot, folder: Path, found: list[Hostile]) -> Iterator[Tried]:
    """Each source in turn."""
    known = [line for file in ("/etc/passwd", "/etc/hostname") if Path(file).exists()
             for line in Path(file).read_text().splitlines() if len(line) > 8]  # fmt: skip
    for number, hostile in enumerate(found):
        path = folder / "own" / "pasted.cu"
        path.write_bytes(hostile.raw)
        before = time.monotonic()
        ok, made = _run(slot, "checked_and_launched", str(path))
        seconds = time.monotonic() - before
        before = time.monotonic()
        right = _run(slot, "honest", number + 1) == (True, float(number + 1))
        honest_s = time.monotonic() - before
        ended, told = made if ok else ("failed", repr(made))
        text = hostile.raw.decode("utf-8", "replace")
        leaks = [word for word in (MARK, *known, "PYTHONPATH=") if word in told and word not in text]
        if hostile.family == "whether a file is there" and (f"{FOUND}." in told or f"('{FOUND}" in told):
            leaks.append("that a file exists")
        wrong = f"failed: {made!r}"[:600] if not ok else f"leaks {leaks}" if leaks else None
        wrong = wrong or ("" if right else "the honest source after it failed") or None
        yield Tried(hostile, ended, told, seconds, honest_s, wrong)


def _run(slot: WorkerSlot, function: str, argument: object) -> tuple[bool, Any]:
    job = pickle.dumps((f"tests.lab.hostile:{function}", (argument,), {}))
    outcome = slot.run(job, 60.0, lambda fraction, text: None, lambda: False)
    try:
        return outcome.ok, outcome.value()
    except Exception as error:
        return False, error


def worker() -> WorkerSlot:
    """As the service has it for the emulator."""
    return WorkerSlot("emulator", "emulator", warm="engine.service.worker:warm_emulator",
                      environment={"CUDA_VISIBLE_DEVICES": ""})  # fmt: skip


def main(numbers: list[int]) -> int:
    """Try them, and print what was measured."""
    slot, rows, failures = worker(), [], 0
    with folder_of_secrets() as folder:
        every = list(hostile_sources(folder))
        numbers = numbers or list(range(len(every)))
        for row in tried(slot, folder, [every[number] for number in numbers]):
            rows.append(row)
            late = row.seconds > BOUND_S or row.honest_s > HONEST_S
            if row.wrong or late:
                failures += 1
                print(f"{numbers[len(rows) - 1]}: {row.hostile.family}: {row.ended}, {row.seconds:.1f} s, honest "
                      f"{row.honest_s:.2f} s: {row.wrong or 'late'}", flush=True)  # fmt: skip
    slot.close()
    for family in dict.fromkeys(row.hostile.family for row in rows):
        own = [row for row in rows if row.hostile.family == family]
        ends = sorted({row.ended for row in own}, key=lambda end: -sum(row.ended == end for row in own))
        print(f"{family:34} {len(own):3}: longest {max(row.seconds for row in own):5.1f} s; "
              + ", ".join(f"{sum(row.ended == end for row in own)} {end}" for end in ends))  # fmt: skip
    took, waited = [row.seconds for row in rows], [row.honest_s for row in rows]
    print(f"{len(rows)} sources, {failures} failures; each {median(took):.2f} s (median), {max(took):.1f} s (longest); "
          f"the honest one after it {median(waited):.3f} s (median), {max(waited):.2f} s (longest)")  # fmt: skip
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]]))

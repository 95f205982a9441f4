"""A server that is killed at any moment loses no more than the click in flight."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from engine.store import database, drafts, measurements, progress

ROOT = Path(__file__).parents[2]
TIMES = 20
WRITERS = 3  # at once
# A click is a measurement, a draft and a step in a sheet. A number is told when its click is over.
WRITER = """
import itertools, sys
from engine.store import drafts, measurements, progress
for number in itertools.count():
    click = f"{sys.argv[1]}-{number}"
    measurements.add(sys.argv[1], click + "x" * 3000)
    drafts.save(sys.argv[1], "tile.cu", click)
    progress.save(sys.argv[1], "sums", click, "right")
    print(number, flush=True)
"""


def start(writer: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-S", "-c", WRITER, writer]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed(process: subprocess.Popen[str], clicks: int, chance: random.Random) -> int:
    """The last click that it told of, when it was killed somewhere in a later one."""
    assert process.stdout is not None
    for _ in range(clicks):
        assert process.stdout.readline()
    for _ in range(chance.randrange(2000)):
        os.getpid()
    process.kill()
    told = process.stdout.read().split()
    process.wait(60)
    process.stdout.close()
    return int(told[-1]) if told else clicks - 1


@pytest.mark.thorough
def test_a_kill_at_any_moment_loses_no_more_than_the_click_in_flight() -> None:
    chance = random.Random(20261122)
    told: dict[str, int] = {}
    going = {f"w{number}": start(f"w{number}") for number in range(WRITERS)}
    for number in range(WRITERS, TIMES + WRITERS):
        writer = chance.choice(list(going))
        told[writer] = killed(going.pop(writer), chance.randrange(1, 20), chance)
        if number < TIMES:
            going[f"w{number}"] = start(f"w{number}")
    assert len(told) == TIMES and not going
    rows: dict[str, list[str]] = {}
    for row in measurements.all_rows():
        rows.setdefault(row.key, []).append(row.record.rstrip("x"))
    for writer, last in told.items():
        written = [f"{writer}-{number}" for number in range(last + 1)]
        in_flight = f"{writer}-{last + 1}"
        assert rows[writer] in (written, [*written, in_flight])
        assert drafts.load(writer, "tile.cu") in (written[-1], in_flight)
        assert set(progress.load(writer, "sums")) - {in_flight} == set(written)
    assert database.read("PRAGMA integrity_check") == [("ok",)] and database.trouble() is None

"""Whether a recording that somebody sends can be trusted: whole, private, right, steady, and possible for its GPU.

judged(path) -> a Judgement for each of these, with a sentence
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.catalogue import KERNELS, TOPICS
from engine.history.recordings import COLUMNS, KEY, Entry, Recording, entries, entries_of, read
from engine.records.words import many, reason_text

# What a recording says of a computer; anything else could be private.
_DEVICE = {"kind", "name", "compute_capability", "multiprocessors", "l2_bytes", "memory_bytes", "clock_max_mhz",
           "peak_bandwidth_gb_s", "peak_bandwidth_source", "read_ceiling_gb_s", "peak_gflop_s",
           "peak_gflop_source"}  # fmt: skip
_ENVIRONMENT = {"python", "commit", "cupy", "nvrtc", "cuda", "driver", "sm_clock_now_mhz", "memory_clock_now_mhz",
                "temperature_c", "power_w", "throttle_reasons", "utc", "cpu"}  # fmt: skip
_PRIVATE = re.compile(r"/(?:home|Users|root|tmp)/|[A-Za-z]:\\\\|[\w.+-]+@[\w-]+\.\w|\b\d{1,3}(?:\.\d{1,3}){3}\b")
FEWEST = 100  # rows with a time
WIDEST = 0.10  # of the time: the interval of nine rows in ten is narrower
MOST_PEAK = 102.0  # percent of the data sheet: no run with cold caches is beyond
LEAST_PEAK = 50.0  # percent: the fastest run of a healthy GPU is at least there
STRAYS = 0.002  # of the rows may have another outcome than the program's own record


@dataclass(frozen=True)
class Judgement:
    """`good`: whether the recording passes; `sentence`: what was found."""

    name: str
    good: bool
    sentence: str


def judged(path: Path) -> list[Judgement]:
    """Judge a recording's file. One that cannot be read has one judgement."""
    try:
        recording = read(path)
        mine = entries_of(recording)
        whole = all(name in row for row in recording.rows.values() for name in COLUMNS if name not in KEY)
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        return [Judgement("file", False, f"{path.name} is no recording that can be read: {reason_text(error)}.")]
    if not whole or not mine:
        return [Judgement("file", False, f"{path.name} has no rows of this catalogue, or lacks columns.")]
    gpu, rows = recording.device.get("name"), many(len(mine), "row")
    return [
        Judgement("file", True, f"{gpu}, {rows}, {many(len(recording.sessions), 'session')}."),
        _private(recording),
        _current(mine),
        _answers(mine),
        _steady(recording, mine),
        _possible(mine),
    ]


def _private(recording: Recording) -> Judgement:
    environments = [dict(one.environment) for one in recording.sessions]
    reasons = sorted({str(row["reason"]) for row in recording.rows.values()})
    names = {*recording.device} - _DEVICE | {name for one in environments for name in one} - _ENVIRONMENT
    texts = json.dumps([dict(recording.device), environments, dict(recording.left_out), reasons])
    found = [*sorted(names), *_PRIVATE.findall(texts)]
    if found:
        return Judgement("private", False, f"It says more of the computer than a recording does: {', '.join(found)}.")
    return Judgement("private", True, "It names the GPU, versions, clocks and days, and nothing else of the computer.")


def _current(mine: tuple[Entry, ...]) -> Judgement:
    old = sum(one.recording.sessions[one.row["session"]].kernels.get(one.key[0]) != one.code for one in mine)
    if old:
        said = f"{many(old, 'row')} of {len(mine):,} belong to texts that have changed since"
        return Judgement("texts", False, f"{said}: record them again with the program as it is now.")
    return Judgement("texts", True, "Every row belongs to the present text of its kernel.")


def _answers(mine: tuple[Entry, ...]) -> Judgement:
    """Compare the outcomes with those of the program's own records. A kernel that is wrong on purpose may be lucky."""
    known = {one.key: one.row["status"] for one in reversed(entries())}
    compared = [one for one in mine if one.key in known and KERNELS[one.key[0]].expect == "ok"]
    strays = [one for one in compared if one.row["status"] != known[one.key]]
    if len(strays) > STRAYS * len(compared):
        one = strays[0]
        said = f"{one.key[0]} at n = {one.key[KEY.index('n')]:,} is {one.row['status']}, and {known[one.key]} elsewhere"
        return Judgement("answers", False, f"{many(len(strays), 'outcome')} of {len(compared):,} differ: {said}.")
    return Judgement("answers", True, f"{len(compared) - len(strays):,} of {len(compared):,} outcomes are those of the "
                     "program's own records.")  # fmt: skip


def _steady(recording: Recording, mine: tuple[Entry, ...]) -> Judgement:
    slowed = sorted({why for one in recording.sessions for why in one.environment.get("throttle_reasons") or ()})
    timed = [one.row for one in mine if one.row["status"] == "ok" and one.row["time_us"]]
    if len(timed) < FEWEST:
        return Judgement("steady", False, f"Only {many(len(timed), 'row')} have a time; {FEWEST} are needed.")
    if slowed:
        return Judgement("steady", False, f"The GPU was slowed down while it was measured: {', '.join(slowed)}.")
    width = float(np.percentile([(row["high_us"] - row["low_us"]) / row["time_us"] for row in timed], 90))
    said = f"The interval of nine rows in ten is narrower than {width:.1%} of the time."
    if width > WIDEST:
        return Judgement("steady", False, f"{said} At most {WIDEST:.0%} is steady.")
    return Judgement("steady", True, said)


def _possible(mine: tuple[Entry, ...]) -> Judgement:
    """Hold the bandwidths with cold caches against the data sheet: caches make no memory faster."""
    best: tuple[float, Entry] | None = None
    for one in mine:
        row = one.row
        cold = one.key[KEY.index("cache")].startswith("cold")
        if not (cold and row["status"] == "ok" and row["time_us"]):
            continue
        if row["floor_us"] and row["time_us"] < row["floor_us"]:
            return Judgement("possible", False, f"{one.key[0]} is faster than an empty kernel.")
        if TOPICS[KERNELS[one.key[0]].topic].metric == "bandwidth_gb_s":
            percent = one.measurement.rates.percent_of_peak or 0.0
            if best is None or percent > best[0]:
                best = percent, one
    if best is None or not best[0]:
        return Judgement("possible", False, "No row has a bandwidth to hold against the GPU's data sheet.")
    percent, one = best
    said = f"The fastest row with cold caches, {one.key[0]}, reaches {percent:.1f}% of the data sheet's bandwidth"
    if percent > MOST_PEAK:
        return Judgement("possible", False, f"{said}, which is impossible.")
    if percent < LEAST_PEAK:
        return Judgement("possible", False, f"{said}: another program used the GPU, or it is slowed down.")
    return Judgement("possible", True, f"{said}.")

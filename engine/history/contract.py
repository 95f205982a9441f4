"""A Measurement as one flat object: what `--json` prints and what history keeps. The names are the contract.

flat(measurement) -> dict, ready for json.dumps            measurement_of(record) -> Measurement
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from math import isfinite, nan
from typing import Any

from engine.records import (
    Caveat,
    Check,
    Counts,
    Finding,
    LineCounters,
    Measurement,
    Rates,
    Settled,
    Timing,
)
from engine.records.counters import IN_JSON

_CHOSEN = ("kernel", "n", "block_size", "dtype", "cache", "combine", "parameter")
_CHECKED = ("result", "expected", "error", "error_bound")
_PLACES = ("begin", "wrong", "at", "columns")  # absent from old records
_TIMED = ("times_us", "time_us", "low_us", "high_us", "floor_us", "clock")
_PEER = ("time_us", "low_us", "high_us", "ratio", "ratio_low", "ratio_high")


def flat(measurement: Measurement) -> dict[str, Any]:
    """Flatten a measurement under the contract's names; a missing or non-finite value is null."""
    m = measurement
    check, timing = m.check, m.timing
    return {
        **{name: getattr(m.choice, name) for name in _CHOSEN},
        "grid_size": m.grid_size,
        "grid_asked": m.choice.grid_size,
        "schedule": m.choice.schedule,
        "device": m.device,
        "status": m.status,
        "reason": m.reason,
        "log": m.log,
        **{name: _finite(getattr(check, name)) if check else None for name in _CHECKED},
        **{name: getattr(timing, name) if timing else None for name in _TIMED},
        **asdict(m.rates),
        "peers": {name: _flat_peer(peer) for name, peer in timing.peers.items()} if timing else {},
        "badges": m.badges,
        "counters": None if m.counts is None else {name: m.counts.counters.get(name) for name in IN_JSON},
        "lines": [{"line": line.line, "text": line.text, **line.counters} for line in m.counts.lines]
        if m.counts
        else [],
        "caveats": [asdict(caveat) for caveat in m.caveats],
        "findings": [asdict(finding) for finding in m.findings],
        "printed": m.printed,
        "answer": check.answer if check else None,
        "answer_count": check.count if check else None,
        "answer_expected": check.first if check and check.answer else None,
        "answer_off": check.off if check else (),
        **{f"answer_{name}": getattr(check, name) if check else None for name in _PLACES},
        "environment": m.environment,
        "origin": m.origin,
    }


def measurement_of(record: Mapping[str, Any]) -> Measurement:
    """Restore a measurement from its flat form. KeyError, TypeError or ValueError: another program wrote it."""
    counted = record["counters"]
    lines = tuple(
        LineCounters(line["line"], line["text"], {k: v for k, v in line.items() if k not in ("line", "text")})
        for line in record["lines"]
    )
    caveats = tuple(Caveat(**caveat) for caveat in record["caveats"])
    chosen = {name: record[name] for name in _CHOSEN}
    return Measurement(
        Settled(**chosen, grid_size=record["grid_asked"], schedule=record["schedule"], device=record["device"]["kind"]),
        record["device"],
        record["status"],
        record["reason"],
        record["log"],
        record["grid_size"],
        check=_check(record),
        timing=_timing(record),
        rates=Rates(**{field.name: record[field.name] for field in fields(Rates)}),
        counts=None if counted is None else Counts({k: v for k, v in counted.items() if v is not None}, lines, caveats),
        findings=tuple(Finding(**finding) for finding in record["findings"]),
        printed=tuple(record["printed"]),
        badges=tuple(record["badges"]),
        environment=record["environment"],
        origin=record["origin"],
    )


def _check(record: Mapping[str, Any]) -> Check | None:
    if record["expected"] is None:
        return None
    answer, first = record["answer"], record["answer_expected"]
    numbers: dict[str, Any] = {name: nan if record[name] is None else record[name] for name in _CHECKED}
    numbers |= {name: record[f"answer_{name}"] for name in _PLACES if record.get(f"answer_{name}") is not None}
    return Check(
        record["status"] != "wrong",
        **numbers,
        note=record["environment"].get("check"),
        first=None if first is None else tuple(first),
        off=tuple(record["answer_off"]),
        answer=None if answer is None else tuple(answer),
        count=record["answer_count"],
    )


def _timing(record: Mapping[str, Any]) -> Timing | None:
    if record["time_us"] is None:
        return None
    values = {name: record[name] for name in _TIMED} | {"times_us": tuple(record["times_us"] or ())}
    peers = {name: _peer(peer) for name, peer in record["peers"].items()}
    first = next(iter(peers.values()), None)
    ratios = {name: getattr(first, name) for name in ("ratio", "ratio_low", "ratio_high")} if first else {}
    return Timing(**values, **ratios, peers=peers)


def _flat_peer(peer: Timing) -> dict[str, Any]:
    return {name: getattr(peer, name) for name in _PEER} | dict(peer.notes)


def _peer(record: Mapping[str, Any]) -> Timing:
    notes = {name: value for name, value in record.items() if name not in _PEER}
    values: dict[str, Any] = {name: record.get(name) for name in _PEER}
    return Timing((), **values, notes=notes)


def _finite(value: float | int) -> float | int | None:
    """Return None for NaN and infinity, which JSON lacks; the status reports them."""
    return value if isfinite(value) else None

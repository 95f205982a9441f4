"""The file of a recording, and its rows read back as Measurements.

A file holds the device, the environment and, column by column, one row for each kernel x combination of blocks x n x
block size x element type x cache state: its status, median, interval and number of samples, and its peer's. What was
left out, and why, stands in the file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, TOPICS, Kernel
from engine.records import Measurement

FOLDER = Path(__file__).parents[1] / "recorded"
FORMAT = 1
KEY = ("kernel", "combine", "parameter", "n", "block_size", "dtype", "cache")
COLUMNS = (*KEY, "grid_size", "status", "reason", "time_us", "low_us", "high_us", "samples", "floor_us", "clock",
           "badges", "bytes_moved", "flops", "peer", "peer_us", "peer_low_us", "peer_high_us", "ratio", "ratio_low",
           "ratio_high")  # fmt: skip

Row = dict[str, Any]
Rows = dict[tuple[Any, ...], Row]


def write(
    path: Path, described: Mapping[str, Any], around: Mapping[str, Any], rows: Rows, left_out: Mapping[str, int]
) -> None:
    """Write a recording: `rows` by their key, and what was left out with the number of choices it would have been."""
    table = [dict(zip(KEY, key, strict=True)) | row for key, row in rows.items()]
    content = {
        "format": FORMAT,
        "device": described,
        "environment": around,
        "left_out": left_out,
        "kernels": {name: _code_digest(kernel) for name, kernel in KERNELS.items()},
        "columns": {name: [_rounded(name, row.get(name)) for row in table] for name in COLUMNS},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))  # no time stamp: the same rows give the same file


def _rounded(name: str, value: Any) -> Any:
    return round(value, 4 if name.startswith("ratio") else 3) if isinstance(value, float) else value


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    if content["format"] != FORMAT:
        raise ValueError(f"{path.name} has format {content['format']}, this program reads {FORMAT}.")
    return content


def kept(path: Path, commit: str | None) -> Rows:
    """The rows of a recording that was broken off at the same commit; not those of kernels that were edited since."""
    if not path.exists() or commit is None:
        return {}
    content = _read(path)
    if content["environment"].get("commit") != commit:
        return {}
    changed = _changed(content)
    return {tuple(row[name] for name in KEY): row for row in _rows(content) if row["kernel"] not in changed}


def _rows(content: Mapping[str, Any]) -> Iterator[Row]:
    columns = content["columns"]
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def load(folder: Path = FOLDER) -> list[Measurement]:
    """Every recorded run as a Measurement with origin "recorded"; empty where nothing was recorded.

    A kernel whose code has changed since carries the badge "recorded with an earlier version of this kernel".
    """
    return list(_load(folder))


@lru_cache(maxsize=4)
def _load(folder: Path) -> tuple[Measurement, ...]:
    if not folder.is_dir():
        return ()
    paths = sorted(folder.glob("*.json.gz"))
    full = {path.name for path in paths if "-quick" not in path.name}
    wanted = [path for path in paths if path.name in full or path.name.replace("-quick", "") not in full]
    return tuple(measurement for path in wanted for measurement in _measurements(_read(path)))


def _measurements(content: Mapping[str, Any]) -> Iterator[Measurement]:
    recorded_on, around = content["device"], content["environment"]
    changed = _changed(content)
    for row in _rows(content):
        time_us = row["time_us"]
        kernel = KERNELS.get(row["kernel"])
        if kernel is None:
            continue
        rates = _rates(row, TOPICS[kernel.topic].metric, recorded_on) if time_us else {}
        badges = tuple(row["badges"].split(" · ")) if row["badges"] else ()
        if row["kernel"] in changed:
            badges += ("recorded with an earlier version of this kernel",)
        names = ("grid_size", "status", "reason", "time_us", "low_us", "high_us", "floor_us", "clock")
        yield Measurement(
            **{name: row[name] for name in (*KEY, *names)},
            **rates,
            device=recorded_on,
            peers=_peers(row),
            badges=badges,
            environment={**around, "samples": row["samples"]},
            origin="recorded",
        )


def _changed(content: Mapping[str, Any]) -> set[str]:
    """The kernels whose code is not what was recorded."""
    return {name for name, kernel in KERNELS.items() if content["kernels"].get(name) != _code_digest(kernel)}


def _rates(row: Row, metric: str, recorded_on: Mapping[str, Any]) -> dict[str, Any]:
    rates = {
        "bandwidth_gb_s": row["bytes_moved"] / row["time_us"] / 1e3,
        "gflop_s": row["flops"] / row["time_us"] / 1e3,
    }
    peak = recorded_on["peak_bandwidth_gb_s" if metric == "bandwidth_gb_s" else "peak_gflop_s"]
    if metric == "gflop_s" and row["dtype"] != "float32":
        peak = None  # the peak is that of the FP32 units
    reached = rates[metric]
    rates["percent_of_peak"] = 100 * reached / peak if peak else None
    return rates


def _peers(row: Row) -> dict[str, Any]:
    if row["peer"] is None:
        return {}
    times = {"time_us": row["peer_us"], "low_us": row["peer_low_us"], "high_us": row["peer_high_us"]}
    return {row["peer"]: times | {name: row[name] for name in ("ratio", "ratio_low", "ratio_high")}}


def _code_digest(kernel: Kernel) -> str | None:
    """A digest of a kernel's code without its comments and spacing: what the compiler sees."""
    if not kernel.path.exists():
        return None
    code = re.sub(r"//[^\n]*|/\*.*?\*/", " ", kernel.text, flags=re.DOTALL)
    return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()[:16]

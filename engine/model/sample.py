"""The recorded rows that the model is fitted to and judged by, and the file of their costs.

The costs of a row do not depend on a GPU: the emulator counts them. They are kept in a file, so a fit takes a second.
The rule chooses rows and not results: of each kernel, way of combining blocks, parameter, type and grid size two sizes
of N and three block sizes in the usual setting, else the largest of each. The choices with which pages open are added.

    python -m engine.model.sample          count the costs of all rows again, on two cores in some ten minutes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import lru_cache
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, default_choice, emulated_n
from engine.history.recordings import FOLDER, KEY, Recording, Row, files, read, read_compressed, write_compressed
from engine.model.costs import LaunchCosts, LineCosts
from engine.model.run import RunCosts, costs_of
from engine.plan import Key, settle
from engine.plan import key as key_of
from engine.records import Choice, CompileError, NotRunnable, RunFailed, Settled

FILE = Path(__file__).with_name("costs.json.gz")
MOST_N = 1 << 22  # an emulated run of a few seconds
_BLOCKS = (512, 256, 128)
_SECONDS = 120.0


def settled(key: Key) -> Settled:
    """Return the choice of a recorded row, for the emulator."""
    found = dict(zip(KEY, key, strict=True))
    grid = found.pop("grid_asked")
    return Settled(**found, grid_size=grid, device="emulator")


def usable(key: Key, row: Row, cache: str) -> bool:
    """Return whether a row has a time of the GPU alone that the emulator can give costs for."""
    kernel, n = KERNELS.get(key[0]), key[KEY.index("n")]
    if kernel is None or row["status"] != "ok" or row["clock"] != "event" or key[KEY.index("cache")] != cache:
        return False
    return runs_in_seconds(kernel, n)


def runs_in_seconds(kernel: Kernel, n: int) -> bool:
    """Return whether the emulator runs a kernel at this n, in seconds."""
    return kernel.runs_on("emulator") and n <= min(TOPICS[kernel.topic].emulator_max_n, MOST_N)


def chosen(recording: Recording, cache: str = "cold-clean") -> dict[Key, Row]:
    """Return the chosen rows of a recording in one cache state."""
    groups: dict[Key, dict[Key, Row]] = {}
    for key, row in recording.rows.items():
        if usable(key, row, cache):
            values = dict(zip(KEY, key, strict=True))
            group = tuple(values[name] for name in ("kernel", "combine", "parameter", "dtype", "grid_asked"))
            groups.setdefault(group, {})[key] = row
    found = {key: row for group, rows in groups.items() for key, row in _of_group(group, rows)}
    for key in sorted(usual_keys(cache), key=str):
        if key in recording.rows and usable(key, recording.rows[key], cache):
            found[key] = recording.rows[key]
    return found


@lru_cache(maxsize=4)
def usual_keys(cache: str = "cold-clean") -> frozenset[Key]:
    """Return the choices with which pages open, at the N of the emulator. The costs of their source lines are kept."""
    asked = [default_choice(name) for name in KERNELS]
    asked += [
        Choice(rung.kernel, emulated_n(ladder, ladder.n), ladder.block_size, dtype=ladder.dtype, combine=rung.combine)
        for ladder in LADDERS.values() for rung in ladder.rungs
    ]  # fmt: skip
    return frozenset(key_of(settle(replace(choice, cache=cache))) for choice in asked)


def every_key() -> list[Key]:
    """Return the rows whose costs are kept: the chosen ones of all recordings, and the usual choices."""
    found = {key for path in files(FOLDER) for key in chosen(read(path))}
    found |= {key for key in usual_keys() if runs_in_seconds(KERNELS[key[0]], key[KEY.index("n")])}
    return sorted(found, key=str)


def _of_group(group: Key, rows: dict[Key, Row]) -> Iterator[tuple[Key, Row]]:
    kernel = KERNELS[group[0]]
    usual = group[2] == kernel.value_of_parameter(None) and group[3] == kernel.dtypes[0] and group[4] is None
    n, block = KEY.index("n"), KEY.index("block_size")
    sizes = sorted({key[n] for key in rows})
    blocks = sorted({key[block] for key in rows}, key=lambda size: (size not in _BLOCKS, abs(size - 256), size))
    kept_sizes = {sizes[-1], sizes[len(sizes) // 2]} if usual else {sizes[-1]}
    kept_blocks = blocks[:3] if usual else blocks[:1]
    for key, row in rows.items():
        if key[n] in kept_sizes and key[block] in kept_blocks:
            yield key, row


def counted(key: Key) -> RunCosts | None:
    """Return the costs of a row; None if the emulator cannot run it."""
    try:
        return costs_of(settled(key), _SECONDS)
    except (CompileError, NotRunnable, RunFailed):
        return None


def _counted_row(key: Key) -> tuple[Key, dict[str, Any] | None]:
    found = counted(key)
    if found is None:
        return key, None
    launches = [asdict(one) for one in found.launches]
    for one in launches:
        if key in usual_keys():
            one["lines"] = [[line["line"], line["issued"], line["memory"]] for line in one["lines"]]
        else:
            del one["lines"]
    return key, {"launches": launches, "zeros": found.zeros}


def write(keys: list[Key], path: Path = FILE, processes: int = 2) -> int:
    """Count the costs of rows, write their file, and return how many rows it has."""
    with Pool(processes, maxtasksperchild=200) as pool:
        found = [[*key, costs] for key, costs in pool.imap_unordered(_counted_row, keys, chunksize=4) if costs]
    found.sort(key=lambda row: [str(part) for part in row[:-1]])
    write_compressed(path, {"key": list(KEY), "rows": found})
    return len(found)


@lru_cache(maxsize=1)
def known_costs(path: Path = FILE) -> dict[Key, RunCosts]:
    """Return the costs in the file."""
    content = read_compressed(path)
    return {
        tuple(row[:-1]): RunCosts(tuple(_launch(one) for one in row[-1]["launches"]), row[-1]["zeros"])
        for row in content["rows"]
    }


def _launch(found: dict[str, Any]) -> LaunchCosts:
    lines = tuple(LineCosts(*line) for line in found.pop("lines", ()))
    return LaunchCosts(**found, lines=lines)


if __name__ == "__main__":
    print(f"{write(every_key()):,} rows in {FILE}")

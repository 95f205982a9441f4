"""Fit the constants of a GPU to its recorded runs, and judge the formulas by runs that the fit has not seen.

    python -m engine.model.fit                       print the table for the H200
    python -m engine.model.fit --gpu h100 --write    fit, print, and write the constants to engine/model/gpus/

A fit lowers the sum of |log(estimated / recorded)| over the rows, weighted: a topic with many rows does not rule.
Constants that a microbenchmark or the data sheet gives stay as they are. The judgement leaves one topic out, fits to
the others and estimates it; HELD_OUT topics are in no fit at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from engine.catalogue import KERNELS, LADDERS
from engine.catalogue.gpu_models import GPU_MODELS, GpuModel
from engine.history.recordings import FOLDER as RECORDED
from engine.history.recordings import KEY, Recording, files, read, read_compressed, write_compressed
from engine.model import estimate, formulas
from engine.model.formulas import CONSTANTS, FITTED, Launches
from engine.model.sample import chosen, known_costs
from engine.plan import Key
from engine.records import CACHE_STATES, Array

HELD_OUT = ("floats", "volta", "transpose")
WORTH_ORDERING = 0.10  # neighbouring rungs whose recorded times differ by less are not compared
MEASURED_FOLDER = estimate.FOLDER / "measured"
_STEPS = 25  # at most, of a fit
_PULL = 0.3  # weight of the first values
_SOFT = 0.05  # where |error| becomes error^2
_BINS = (0.0, 1.5, 3.0)  # of an estimate in floors: each has a band of its own
_WITHIN = 0.80  # of the cases lie in the band


@dataclass(frozen=True)
class Rows:
    """Recorded runs with their costs. Arrays have a number a run."""

    keys: tuple[Key, ...]
    launches: Launches
    zeros: Array
    floor_us: Array
    time_us: Array
    topics: Array
    cold: bool = True

    def part(self, kept: Array) -> Rows:
        """Return the runs for which `kept` is true."""
        places = np.flatnonzero(kept)
        number = np.full(kept.size, -1)
        number[places] = np.arange(places.size)
        return Rows(
            tuple(self.keys[place] for place in places),
            self.launches.of_runs(kept, number), self.zeros[places], self.floor_us[places], self.time_us[places],
            self.topics[places], self.cold,
        )  # fmt: skip


def rows_of(gpu: str, cache: str = "cold-clean") -> Rows:
    """Return the chosen recorded runs of a GPU whose costs are known and for which the model has an estimate."""
    model = GPU_MODELS[gpu]
    recording = recording_of(gpu)
    costs = known_costs()
    cold_key = {(*key[:-2], "cold-clean", key[-1]): key for key in chosen(recording, cache)}
    keys = [key for key in cold_key if key in costs and estimate.refusal(costs[key].launches) is None]
    recorded = [recording.rows[cold_key[key]] for key in keys]
    return Rows(
        tuple(keys),
        formulas.columns([costs[key].launches for key in keys], model),
        np.array([costs[key].zeros for key in keys], float),
        np.array([row["floor_us"] for row in recorded], float),
        np.array([row["time_us"] for row in recorded], float),
        np.array([KERNELS[key[0]].topic for key in keys]),
        cache != "hot",
    )


@lru_cache(maxsize=2)
def recording_of(gpu: str) -> Recording:
    """Return the recorded runs of a GPU, by its name in GPU_MODELS. FileNotFoundError: there are none."""
    name = GPU_MODELS[gpu].name.lower().replace(" sxm", "").replace(" ", "-")
    path = next((path for path in files(RECORDED) if name in path.name), None)
    if path is None:
        raise FileNotFoundError(f"There are no recorded runs of the {GPU_MODELS[gpu].name}.")
    return read(path)


def constants_of(values: Array) -> dict[str, float]:
    """Return all constants; `values`: the logarithms of the fitted ones, in their order."""
    fitted = dict(zip(_fitted(), np.exp(values).tolist(), strict=True))
    return {name: fitted.get(name, one.first) for name, one in CONSTANTS.items()}


def _fitted() -> list[str]:
    return [name for name, one in CONSTANTS.items() if one.source == FITTED]


def estimated(values: Array, rows: Rows, model: GpuModel, known: Mapping[str, float]) -> Array:
    """Return the logarithm of the estimated time of each run. `known`: constants of this GPU that are measured."""
    c = {**constants_of(values), **known}
    found: Array = np.log(formulas.time_us(rows.launches, rows.zeros, rows.floor_us, c, model, rows.cold))
    return found


def fit(rows: Rows, model: GpuModel, known: Mapping[str, float], start: Array | None = None) -> Array:
    """Return the fitted logarithms of the constants: steps of reweighted least squares, damped."""
    first = np.log([CONSTANTS[name].first for name in _fitted()])
    values = first if start is None else start
    truth, weights = np.log(rows.time_us), _weights(rows.topics)

    def cost(tried: Array) -> float:
        error = estimated(tried, rows, model, known) - truth
        return float((weights * np.sqrt(error**2 + _SOFT**2)).sum() + _PULL * ((tried - first) ** 2).sum())

    damping, now = 1e-2, cost(values)
    for _ in range(_STEPS):
        found = estimated(values, rows, model, known)
        error = found - truth
        weight = weights / np.sqrt(error**2 + _SOFT**2)
        slopes = np.stack([_slope(values, i, found, rows, model, known) for i in range(values.size)], axis=1)
        matrix = (slopes * weight[:, None]).T @ slopes + 2 * _PULL * np.eye(values.size)
        gradient = (slopes * weight[:, None]).T @ error + 2 * _PULL * (values - first)
        for _ in range(6):
            step: Array = np.clip(np.linalg.solve(matrix + damping * np.diag(np.diag(matrix)), -gradient), -0.5, 0.5)
            after = cost(values + step)
            if after < now:
                break
            damping *= 8
        else:
            return values
        values, before, now, damping = values + step, now, after, max(damping / 4, 1e-6)
        if before - now < 1e-4 * before:
            return values
    return values


def _slope(values: Array, i: int, found: Array, rows: Rows, model: GpuModel, known: Mapping[str, float]) -> Array:
    moved = values.copy()
    moved[i] += 1e-4
    slope: Array = (estimated(moved, rows, model, known) - found) / 1e-4
    return slope


def _weights(topics: Array) -> Array:
    """Return a weight for each run: a topic counts as the root of its number of runs."""
    names, counts = np.unique(topics, return_counts=True)
    number = dict(zip(names.tolist(), counts.tolist(), strict=True))
    raw = np.array([number[topic] ** -0.5 for topic in topics.tolist()])
    even: Array = raw / raw.mean()
    return even


# ---- the judgement


@dataclass(frozen=True)
class Judged:
    """The errors log(estimated / recorded) of runs that no fit has seen, and the fit to all topics but HELD_OUT.

    `without`: name of formulas.CHANGES -> the estimated time of each run with this cost gone.
    """

    rows: Rows
    values: Array
    errors: Array
    without: Mapping[str, Array]

    @property
    def estimates(self) -> Array:
        """Return the estimated times."""
        return self.rows.time_us * np.exp(self.errors)


def fits(rows: Rows, model: GpuModel, known: Mapping[str, float]) -> dict[str, Array]:
    """Return for each topic the fit to the others; for HELD_OUT, and as "", the fit to all others."""
    base = ~np.isin(rows.topics, HELD_OUT)
    whole = fit(rows.part(base), model, known)
    apart = {topic: fit(rows.part(base & (rows.topics != topic)), model, known, whole)
             for topic in np.unique(rows.topics[base]).tolist()}  # fmt: skip
    return {"": whole, **dict.fromkeys(HELD_OUT, whole), **apart}


def judged(rows: Rows, found: Mapping[str, Array], model: GpuModel, known: Mapping[str, float]) -> Judged:
    """Estimate each topic from the fit that has not seen it. `found`: the fits, also to runs with other caches."""
    errors, without = np.zeros(rows.time_us.size), {name: np.zeros(rows.time_us.size) for name in formulas.CHANGES}
    for topic in np.unique(rows.topics).tolist():
        own = rows.topics == topic
        part, apart = rows.part(own), found[topic]
        errors[own] = estimated(apart, part, model, known) - np.log(part.time_us)
        for name, changed in formulas.CHANGES.items():
            gone = replace(part, launches=changed(part.launches))
            without[name][own] = np.exp(estimated(apart, gone, model, known))
    return Judged(rows, found[""], errors, without)


def bands(found: Judged) -> list[tuple[float, float, float]]:
    """Return (floors, low, high): from so many floors on, the factors of the band that holds most recorded times."""
    floors = found.estimates / found.rows.floor_us
    weights = _weights(found.rows.topics)
    made = []
    for low, high in pairwise((*_BINS, np.inf)):
        inside = (floors >= low) & (floors < high)
        off = -found.errors[inside]  # recorded / estimated
        edges = _quantiles(off, weights[inside], ((1 - _WITHIN) / 2, (1 + _WITHIN) / 2))
        made.append((low, round(float(np.exp(edges[0])), 3), round(float(np.exp(edges[1])), 3)))
    return made


def _quantiles(values: Array, weights: Array, wanted: Sequence[float]) -> Array:
    order = np.argsort(values)
    heights = np.cumsum(weights[order]) - weights[order] / 2
    found: Array = np.interp(np.array(wanted) * weights.sum(), heights, values[order])
    return found


def in_order(found: Judged) -> tuple[int, int]:
    """Return (pairs in the right order, pairs): neighbouring rungs of a ladder under equal conditions."""
    place = {key: i for i, key in enumerate(found.rows.keys)}
    right = pairs = 0
    for ladder in LADDERS.values():
        for one, two in pairwise(rung.kernel for rung in ladder.rungs):
            for key, i in place.items():
                if key[0] != one:
                    continue
                j = _beside(key, two, place)
                if j is None or abs(np.log(found.rows.time_us[i] / found.rows.time_us[j])) < np.log1p(WORTH_ORDERING):
                    continue
                pairs += 1
                right += bool(
                    (found.rows.time_us[i] < found.rows.time_us[j]) == (found.estimates[i] < found.estimates[j])
                )
    return right, pairs


# A rung that lowers this counter is what the rung before would be without this cost.
_SHOWS = {"bank_conflicts": "conflicts", "sectors_per_load": "coalesced", "sectors": "coalesced"}


def what_if_errors(found: Judged) -> dict[tuple[str, str, str], Array]:
    """Return log(estimated without a cost / recorded of the next rung), for each rung of a lecture that takes only this
    cost away: it brings no new passes through shared memory.

    The key: (what if, kernel, kernel of the next rung); a value for each pair of runs under equal conditions.
    """
    place = {key: i for i, key in enumerate(found.rows.keys)}
    made: dict[tuple[str, str, str], Array] = {}
    count, run = found.rows.launches.count, found.rows.launches.run
    passes = np.bincount(run, sum(count[f"shared_{kind}_wavefronts"] for kind in ("load", "store", "atomic")))
    for ladder in (each for each in LADDERS.values() if each.name != f"all-{each.topic}"):
        for position in range(1, len(ladder.rungs)):
            counter, way = ladder.meant(position) or ("", "")
            one, two = (ladder.rungs[at].kernel for at in (position - 1, position))
            if way != "fall" or counter not in _SHOWS:
                continue
            pairs = [(i, j) for key, i in place.items() if key[0] == one
                     and (j := _beside(key, two, place)) is not None and passes[j] <= passes[i]]  # fmt: skip
            at, beside = (np.array(each, int) for each in zip(*pairs, strict=True)) if pairs else ((), ())
            name = _SHOWS[counter]
            if pairs:
                made[name, one, two] = np.log(found.without[name][at] / found.rows.time_us[beside])
    return made


def _beside(key: Key, kernel: str, place: Mapping[Key, int]) -> int | None:
    """Return the run of another kernel at the same N, block size and type."""
    same = [KEY.index(name) for name in ("n", "block_size", "dtype", "grid_asked")]
    for combine in (key[KEY.index("combine")], *KERNELS[kernel].combines):
        other = (kernel, combine, KERNELS[kernel].value_of_parameter(None), *key[3:])
        if other in place and all(other[i] == key[i] for i in same):
            return place[other]
    return None


def table(found: Judged, model: GpuModel) -> str:
    """Return the table of the judgement."""
    base = ~np.isin(found.rows.topics, HELD_OUT)
    lines = [f"{model.name}: {len(found.rows.keys):,} recorded runs, {len(_fitted())} fitted constants",
             f"{'topic':64}{'runs':>6}{'median':>9}{'p90':>9}{'typical':>9}"]  # fmt: skip
    for topic in np.unique(found.rows.topics).tolist():
        note = ", in no fit" if topic in HELD_OUT else ""
        lines.append(_line(topic + note, found.errors[found.rows.topics == topic]))
    lines += [_line("one topic left out", found.errors[base]), _line("in no fit", found.errors[~base])]
    right, pairs = in_order(found)
    lines.append(f"neighbouring rungs that differ by more than {WORTH_ORDERING:.0%} in the right order: "
                 f"{right} of {pairs} ({right / max(1, pairs):.1%})")  # fmt: skip
    share = inside(found)
    lines.append(f"recorded times inside the band: {share:.1%}; bands {bands(found)}")
    what_ifs = what_if_errors(found)
    lines += [_line(f"what if: {name}, {one} as {two}", errors) for (name, one, two), errors in what_ifs.items()]
    lines.append(_line("what if, all", np.concatenate(list(what_ifs.values())) if what_ifs else np.zeros(1)))
    kernels = np.array([key[0] for key in found.rows.keys])
    medians = {name: float(np.median(found.errors[kernels == name])) for name in np.unique(kernels).tolist()}
    worst = sorted(medians, key=lambda name: -abs(medians[name]))[:12]
    lines.append("worst kernels: " + ", ".join(f"{name} {np.expm1(medians[name]):+.0%}" for name in worst))
    return "\n".join(lines)


def inside(found: Judged) -> float:
    """Return the share of recorded times inside the band; a topic weighs as in a fit."""
    floors, off = found.estimates / found.rows.floor_us, np.exp(-found.errors)
    low, high = np.zeros(off.size), np.zeros(off.size)
    for above, least, most in bands(found):
        low[floors >= above], high[floors >= above] = least, most
    weights = _weights(found.rows.topics)
    return float(weights[(off >= low) & (off <= high)].sum() / weights.sum())


def _line(name: str, errors: Array) -> str:
    size = np.expm1(np.abs(errors))
    typical = np.expm1(np.median(errors))
    return f"{name:64}{errors.size:6}{np.median(size):9.1%}{np.percentile(size, 90):9.1%}{typical:+9.1%}"


# ---- the file of a GPU


def content(found: Judged, hot: Judged, gpu: str, known: Mapping[str, float], origin: str) -> dict[str, Any]:
    """Return what the file of a GPU holds: every constant with its unit, meaning and source."""
    values = {**constants_of(found.values), **known}
    parts = formulas.terms(found.rows.launches, values, GPU_MODELS[gpu])
    return {
        "model": gpu,
        "origin": origin,
        "floor_us": float(np.median(found.rows.floor_us)),
        "runs": len(found.rows.keys),
        "bands": bands(found),
        "hot_bands": bands(hot),
        "most": {name: round(float(cycles.max()), 1) for name, cycles in parts.items()},
        "constants": {
            name: {"value": float(f"{values[name]:.4g}"), "unit": one.unit, "meaning": one.meaning,
                   "source": _source(name, known)}
            for name, one in CONSTANTS.items()
        },
    }  # fmt: skip


def judged_file(gpu: str) -> Path:
    """Return the file with the recorded and the estimated time of every judged run of a GPU."""
    return estimate.FOLDER / "judged" / f"{gpu}.json.gz"


@dataclass(frozen=True)
class JudgedRun:
    """A recorded run with its recorded time, and its time as estimated by a fit that has not seen its topic."""

    key: Key
    recorded_us: float
    estimated_us: float

    @property
    def topic(self) -> str:
        """Return the name of its topic."""
        return KERNELS[self.key[0]].topic

    @property
    def off(self) -> float:
        """Return by how much the larger of both times is larger: 0.1 for 10%."""
        return max(self.estimated_us / self.recorded_us, self.recorded_us / self.estimated_us) - 1


@lru_cache(maxsize=4)
def judged_runs(gpu: str) -> tuple[JudgedRun, ...]:
    """Return the judged runs in the file of a GPU."""
    rows = read_compressed(judged_file(gpu))["rows"]
    return tuple(JudgedRun(tuple(row[:-2]), *row[-2:]) for row in rows if row[0] in KERNELS)


def judged_gpus() -> tuple[str, ...]:
    """Return the names of the GPUs with judged runs, in the order of GPU_MODELS."""
    return tuple(name for name in GPU_MODELS if judged_file(name).exists())


def _rows_in_file(found: Judged) -> dict[str, Any]:
    rows = zip(found.rows.keys, found.rows.time_us.tolist(), found.estimates.tolist(), strict=True)
    return {"key": [*KEY, "recorded_us", "estimated_us"],
            "rows": [[*key, float(f"{time:.5g}"), float(f"{guess:.5g}")] for key, time, guess in rows]}  # fmt: skip


def _source(name: str, known: Mapping[str, float]) -> str:
    """Return where a constant comes from; one that was not measured on this GPU has the H200's value."""
    own = CONSTANTS[name].source
    return own if own == FITTED or name in known else f"{own} on the H200"


def known_of(gpu: str) -> dict[str, float]:
    """Return the constants that are measured on a GPU: by its recording, and by microbenchmarks (`MEASURED`)."""
    device = recording_of(gpu).device
    clock = float(device["clock_max_mhz"])
    known = {"clock_mhz": clock, "dram_bytes": device["read_ceiling_gb_s"] * 1e3 / clock}
    path = MEASURED_FOLDER / f"{gpu}.json"
    if path.exists():
        known |= measured_constants(json.loads(path.read_text(encoding="utf-8"))["constants"])
    return known


def measured_constants(found: Mapping[str, float]) -> dict[str, float]:
    """Return constants of the formulas from what `microbenchmarks.measure` found."""
    warp = (found["barrier_latency_1024"] - found["barrier_latency_32"]) / 31
    stores: dict[str, float] = {}
    if "store_sector_cycles_32" in found:
        loaded = formulas.SECTOR_BYTES / found["l2_bytes"]
        near, far = found["store_sector_cycles_8"], found["store_sector_cycles_32"]  # 4 sectors of a line, and 1
        part = (formulas.SECTORS_OF_LINE * near - far) / (formulas.SECTORS_OF_LINE - 1)
        stores = {"store_weight": found["store_sector_cycles_1"] / loaded, "part_store_weight": part / loaded,
                  "scattered_weight": (far - part) / loaded}  # fmt: skip
    atomics = {
        f"{name}_sector_cycles": 8 * found[f"atomic_cycles_{other}"]  # of 4 bytes in a sector
        for name, other in (("red", "spread"), ("atom", "spread_exchange"), ("swap", "spread_swap"))
        if f"atomic_cycles_{other}" in found
    }
    direct = ("fp64_cycles", "special_cycles", "l2_bytes_sm", "l2_bytes", "fp64_latency",
              "special_latency", "divide_latency", "shuffle_latency", "shared_latency", "shared_atomic_latency",
              "constant_latency", "l1_latency", "l2_latency", "dram_latency", "alu_latency", "zero_us",
              "constant_pass_cycles")  # fmt: skip
    return (
        {name: found[name] for name in direct if name in found}
        | stores
        | atomics
        | {
            "divide_slots": found["divide_cycles"] * formulas.SCHEDULERS,
            "wavefront_cycles": found["shared_cycles_1"],
            "atomic_cycles": found["atomic_cycles_warp"],
            "float_atomic_cycles": found["atomic_cycles_float"],
            "barrier_warp": warp,
            "barrier_latency": found["barrier_latency_32"] - warp,
            "local_latency": found["l1_latency"],
            "atomic_latency": found["atomic_latency"],
        }
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, judge and print; with --write, write the file of the GPU."""
    parser = argparse.ArgumentParser(prog="python -m engine.model.fit", description="Fits and judges the time model.")
    parser.add_argument("--gpu", default="h200", choices=sorted(GPU_MODELS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    model, known = GPU_MODELS[options.gpu], known_of(options.gpu)
    with np.errstate(divide="ignore"):
        cold = rows_of(options.gpu)
        fitted = fits(cold, model, known)
        found = judged(cold, fitted, model, known)
        others = {cache: judged(rows_of(options.gpu, cache), fitted, model, known) for cache in CACHE_STATES[1:]}
        if options.write:
            origin = f"fitted to {len(found.rows.keys):,} recorded runs of the {model.name}"
            path = estimate.FOLDER / f"{options.gpu}.json"
            made = content(found, others["hot"], options.gpu, known, origin)
            path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
            write_compressed(judged_file(options.gpu), _rows_in_file(found))
        print(table(found, model))
        for cache, other in others.items():
            print(_line(f"{cache}, one topic left out", other.errors[~np.isin(other.rows.topics, HELD_OUT)]))
            print(_line(f"{cache}, in no fit", other.errors[np.isin(other.rows.topics, HELD_OUT)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

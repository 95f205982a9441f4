"""An estimate of a run's time from its costs: the time with its band, what takes it, and what would pay.

An estimate is no measurement. It never stands in the place of a measured time, and no claim is judged by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from engine.catalogue.gpu_models import GPU_MODELS, H200, GpuModel
from engine.model import formulas
from engine.model.costs import LaunchCosts
from engine.model.formulas import Launches
from engine.model.run import RunCosts
from engine.records import Array, NotRunnable
from engine.records.words import three_digits

FOLDER = Path(__file__).parent / "gpus"
# The parts of a time, in the order of a bar: name -> (title, what it is).
PARTS = {
    "launch": ("Launching", "what an empty kernel takes, and the gaps between launches"),
    "dram": ("DRAM", "moving bytes from the memory of the GPU"),
    "l2": ("L2 and L1 cache", "moving sectors from the L2 cache, and lines through the L1 cache"),
    "shared": ("Shared memory", "passes through the 32 banks, bank conflicts among them"),
    "issue": ("Instructions", "issuing and computing"),
    "latency": ("Waiting for memory", "the loads of the slowest warp that nothing hides"),
    "atomics": ("Atomics", "operations at one address take turns"),
    "barriers": ("Barriers", "warps that wait for the others of their block"),
    "blocks": ("Starting blocks", "an SM starts one block after the other"),
}
_PART_OF = {"issue": "issue", "fp64": "issue", "special": "issue", "shared": "shared", "l1": "l2", "l2": "l2",
            "dram": "dram", "atomics": "atomics", "blocks": "blocks"}  # fmt: skip
_WAIT_PART = {"dram_load": "latency", "far_load": "latency", "near_load": "latency", "load_lines": "l2",
              "constant": "latency", "local": "latency", "shared": "shared", "shared_passes": "shared",
              "shared_atomic": "shared", "shuffle": "shared", "barrier": "barriers", "atomic": "atomics"}  # fmt: skip
WHAT_IFS = {
    "conflicts": "Without bank conflicts",
    "coalesced": "If every request were coalesced",
    "occupancy": "With twice the blocks on an SM",
    "barriers": "With half the barriers",
    "launches": "Without gaps between launches",
}
_WORTH_SAYING = 0.97  # of the time: a what-if that saves less is not told


@dataclass(frozen=True)
class Gpu:
    """The constants of a GPU. `origin`: where they come from, in words. `bands`: for an estimate of at least so many
    floors the factors (low, high) of its band; `hot_bands`: the same with the data in the L2 cache. `most`: the largest
    value of each term that the fit saw, in cycles."""

    name: str
    model: GpuModel
    constants: Mapping[str, float]
    floor_us: float
    bands: Sequence[tuple[float, float, float]]
    hot_bands: Sequence[tuple[float, float, float]]
    most: Mapping[str, float]
    origin: str

    def band(self, time_us: float, cold: bool) -> tuple[float, float]:
        """Return the factors of the band of an estimate."""
        bands = self.bands if cold else self.hot_bands
        return [(low, high) for above, low, high in bands if time_us >= above * self.floor_us or not above][-1]


@dataclass(frozen=True)
class Estimate:
    """An estimated time in microseconds, from `low_us` to `high_us` in four of five cases.

    `parts`: name of PARTS -> microseconds, which add up to the time; `largest`: the name of the largest that is not
    launching, `line`: the source line that carries most of it, None if no line stands out. `what_ifs`: name of
    WHAT_IFS -> microseconds. `gpu`: its name; `origin`: of its constants. `anchored`: it is a recorded time, changed by
    the model's ratio of two texts. If the model does not know, the times are None and `reason` says why.
    """

    low_us: float | None
    time_us: float | None
    high_us: float | None
    parts: Mapping[str, float]
    what_ifs: Mapping[str, float]
    largest: str | None
    line: int | None
    gpu: str
    origin: str
    anchored: bool = False
    reason: str | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The estimate in words: the time with its band, its largest part, and the changes that would pay."""
        if self.time_us is None or self.low_us is None or self.high_us is None:
            return (self.reason or "",)
        said = [f"Estimated {_range(self)} on the {self.gpu}: a model, not measured."]
        if self.largest is not None:
            share, launch = (self.parts.get(name, 0) / self.time_us for name in (self.largest, "launch"))
            which = "part" if launch <= share else f"part beside launching ({launch:.0%})"
            place = f", most of it in line {self.line}" if self.line else ""
            said.append(f"The largest {which}: {PARTS[self.largest][0]}, {share:.0%}{place}.")
        best = sorted(self.what_ifs, key=lambda name: self.what_ifs[name])
        said += [f"{WHAT_IFS[name]}: {three_digits(self.what_ifs[name])} µs." for name in best]
        return tuple(said)


@lru_cache(maxsize=16)
def gpu(model: GpuModel = H200) -> Gpu:
    """Return a GPU: with fitted constants if its runs are recorded, else with those of the H200, scaled by the data
    sheets, and a band twice as wide. NotRunnable: the number of its SMs is unknown."""
    path = next((FOLDER / f"{name}.json" for name, each in GPU_MODELS.items() if each.name == model.name), None)
    if path is not None and path.exists():
        return read_gpu(path)
    if not model.multiprocessors:
        raise NotRunnable(f"{model.name} has no known number of SMs, so there is no estimate for it.")
    known = gpu()
    changed = {
        "dram_bytes": known.constants["dram_bytes"] * model.bandwidth_gb_s / H200.bandwidth_gb_s,
        "l2_bytes": known.constants["l2_bytes"] * model.multiprocessors / H200.multiprocessors,
    }
    bands, hot = ([(above, low**2, high**2) for above, low, high in each] for each in (known.bands, known.hot_bands))
    origin = "no runs recorded: constants of the H200, with the bandwidth and SMs of its data sheet, and a wide band"
    return Gpu(model.name, model, {**known.constants, **changed}, known.floor_us, bands, hot, known.most, origin)


def read_gpu(path: Path) -> Gpu:
    """Read the constants of a GPU from its file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    constants = {name: one["value"] for name, one in content["constants"].items()}
    model = GPU_MODELS[content["model"]]
    bands, hot = ([tuple(row) for row in content[name]] for name in ("bands", "hot_bands"))
    return Gpu(model.name, model, constants, content["floor_us"], bands, hot, content["most"], content["origin"])


def estimate(costs: RunCosts, on: Gpu, cold: bool = True) -> Estimate:
    """Return the estimate of a run with these costs. `cold`: whether its data come from DRAM, not from the L2 cache."""
    columns = formulas.columns([costs.launches], on.model)
    reason = refusal(costs.launches) or _beyond(columns, on)
    if reason is not None:
        return no_estimate(reason, on)
    run = _Run(columns, costs.zeros, on, cold)
    time = run.time_us()
    low, high = on.band(time, cold)
    parts = run.parts()
    largest = max((name for name in parts if name != "launch"), key=lambda name: parts[name], default=None)
    what_ifs = {
        name: saved for name in WHAT_IFS if (saved := run.what_if(name)) is not None and saved < _WORTH_SAYING * time
    }
    return Estimate(time * low, time, time * high, parts, what_ifs, largest, _line_of(largest, costs.launches), on.name,
                    on.origin)  # fmt: skip


def no_estimate(reason: str, on: Gpu) -> Estimate:
    """Return an estimate without times. `reason`: why, as a sentence."""
    return Estimate(None, None, None, {}, {}, None, None, on.name, on.origin, reason=reason)


def anchored(costs: RunCosts, original: RunCosts, recorded_us: float, on: Gpu, cold: bool = True) -> Estimate:
    """Return the estimate of an edited kernel: the recorded time of the original, times the model's ratio of both."""
    own, before = estimate(costs, on, cold), estimate(original, on, cold)
    if own.time_us is None or before.time_us is None:
        return own
    time = recorded_us * own.time_us / before.time_us
    factor = time / own.time_us
    # Both texts share most of what the model misses, so the band is narrower: that of the change alone.
    changed = min(1.0, 3 * abs(log(own.time_us / before.time_us)) + 0.15)
    low, high = (exp(log(one) * changed) for one in on.band(time, cold))
    return replace(own, low_us=time * low, time_us=time, high_us=time * high, anchored=True,
                   parts={name: value * factor for name, value in own.parts.items()},
                   what_ifs={name: value * factor for name, value in own.what_ifs.items()})  # fmt: skip


def refusal(launches: Sequence[LaunchCosts]) -> str | None:
    """Return why the formulas do not describe a run; None if they do."""
    for one in launches:
        if one.spins:
            return (
                f"{one.kernel} waits in a loop until other threads write: how often depends on the time, so the model "
                "gives no estimate."
            )
        if one.prints:
            return f"{one.kernel} prints, and the model does not know how long the host takes to fetch the lines."
        if one.issued.get("matrix"):
            return f"{one.kernel} uses the tensor cores, which the model does not know."
    return None


def _beyond(columns: Launches, on: Gpu) -> str | None:
    """Return which term is far larger than in every run of the fit; None if none is."""
    for name, cycles in formulas.terms(columns, on.constants, on.model).items():
        if float(cycles.max()) > 4 * on.most.get(name, np.inf):
            title = PARTS[_PART_OF.get(name, "latency")][0].lower()
            return (
                f"The part “{title}” is far beyond every kernel that the model was fitted to, so it gives no estimate."
            )
    return None


@dataclass(frozen=True)
class _Run:
    """The launches of one run on a GPU, and the number of buffers that it clears."""

    launches: Launches
    zeros: int
    on: Gpu
    cold: bool

    def time_us(self) -> float:
        floor, c = np.array([self.on.floor_us]), self.on.constants
        return float(
            formulas.time_us(self.launches, np.array([self.zeros]), floor, c, self.on.model, self.cold)[0]
        )  # fmt: skip

    def parts(self) -> dict[str, float]:
        """Return what the parts take. Terms that hide behind each other share time as the formula weights them."""
        one, c, q = self.launches, self.on.constants, self.on.constants["overlap"]
        found = formulas.terms(one, c, self.on.model, self.cold)
        powers = {name: found[name] ** q for name in formulas.TERMS}
        whole = sum(powers.values())
        together = whole ** (1 / q)
        made = dict.fromkeys(PARTS, 0.0)
        starts = one.blocks.size * formulas.start(c, self.cold) / c["clock_mhz"]
        made["launch"] = self.on.floor_us + starts + c["launch_us"] * (one.blocks.size - 1) + c["zero_us"] * self.zeros
        waits = formulas.waits(one, c, self.cold)
        for name, value in powers.items():
            cycles = np.where(whole > 0, value / np.where(whole > 0, whole, 1) * together, 0)
            if name == "waves":
                _add_waits(made, waits, cycles, c)
            else:
                made[_PART_OF[name]] += float(cycles.sum()) / c["clock_mhz"]
        _add_waits(made, waits, found["chain"], c)
        return {name: value for name, value in made.items() if value > 0}

    def what_if(self, name: str) -> float | None:
        """Return the time with one cost gone; None if the run has no such cost."""
        if name == "launches":
            if self.launches.blocks.size == 1 and not self.zeros:
                return None
            c = {**self.on.constants, "launch_us": 0.0, "zero_us": 0.0}
            return replace(self, on=replace(self.on, constants=c)).time_us()
        return replace(self, launches=formulas.CHANGES[name](self.launches)).time_us()


def _add_waits(made: dict[str, float], waits: Mapping[str, Array], cycles: Array, c: Mapping[str, float]) -> None:
    """Share the cycles of a chain among the parts that it waits for."""
    whole = sum(waits.values())
    for name, value in waits.items():
        share = np.where(whole > 0, value / np.where(whole > 0, whole, 1), 0)
        made[_WAIT_PART.get(name, "issue")] += float((share * cycles).sum()) / c["clock_mhz"]


# For a part: the count of a line that it grows with.
_CARRIERS: dict[str, tuple[str, ...]] = {
    "dram": ("l2_load_sectors", "global_store_sectors"),
    "l2": ("l2_load_sectors", "load_lines", "store_lines", "global_store_sectors"),
    "latency": ("l2_load_sectors",),
    "shared": ("shared_load_wavefronts", "shared_store_wavefronts", "shared_atomic_wavefronts"),
    "atomics": ("global_atom_sectors", "global_red_sectors"),
}


def _line_of(part: str | None, launches: Sequence[LaunchCosts]) -> int | None:
    """Return the source line of the first kernel that carries most of a part."""
    if part is None or not launches:
        return None
    weights: dict[int, float] = {}
    for one in launches:
        if one.kernel != launches[0].kernel:
            continue
        for line in one.lines:
            if part == "issue":
                weight = float(sum(line.issued.values()) - line.issued.get("free", 0))
            elif part == "barriers":
                weight = float(line.issued.get("barrier", 0))
            else:
                weight = sum(line.memory.get(name, 0.0) for name in _CARRIERS.get(part, ()))
            weights[line.line] = weights.get(line.line, 0.0) + weight
    best = max(weights, key=lambda line: weights[line], default=None)
    return best if best and weights[best] > 0 else None


def headline(found: Estimate) -> str:
    """Return the shortest sentence of an estimate, for a slide."""
    return found.reason or f"Estimated {_range(found)}: a model, not measured."


def _range(found: Estimate) -> str:
    time, low, high = (three_digits(value or 0) for value in (found.time_us, found.low_us, found.high_us))
    return f"{time} µs ({low} to {high})"

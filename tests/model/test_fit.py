"""The fit, and the judgement of the formulas by recorded runs that no fit has seen."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import pytest

from engine.catalogue.gpu_models import GPU_MODELS
from engine.model import estimate, fit
from engine.model.fit import HELD_OUT, Judged
from engine.model.formulas import CONSTANTS, FITTED
from engine.model.sample import chosen, counted, known_costs, usual_keys
from engine.records import Array

LEFT_OUT = 0.08, 0.30  # median and p90 of a topic that the fit has not seen
OTHER_CACHES = 0.10, 0.35
WHAT_IF = 0.15  # median
ORDERED = 0.96


@lru_cache(maxsize=8)
def judged(gpu: str, cache: str = "cold-clean") -> Judged:
    with np.errstate(divide="ignore"):
        return fit.judged(fit.rows_of(gpu, cache), fitted(gpu), GPU_MODELS[gpu], fit.known_of(gpu))


@lru_cache(maxsize=2)
def fitted(gpu: str) -> dict[str, Array]:
    return fit.fits(fit.rows_of(gpu), GPU_MODELS[gpu], fit.known_of(gpu))


def test_the_errors_of_topics_that_the_fit_has_not_seen() -> None:
    found = judged("h200")
    size = np.expm1(np.abs(found.errors))
    for rows in (~np.isin(found.rows.topics, HELD_OUT), np.isin(found.rows.topics, HELD_OUT)):
        assert np.median(size[rows]) <= LEFT_OUT[0] and np.percentile(size[rows], 90) <= LEFT_OUT[1]
    right, pairs = fit.in_order(found)
    assert pairs > 100 and right / pairs >= ORDERED


@pytest.mark.parametrize("cache", ["cold-dirty", "hot"])
def test_other_states_of_the_caches_have_the_same_constants(cache: str) -> None:
    found = judged("h200", cache)
    size = np.expm1(np.abs(found.errors))
    assert np.median(size) <= OTHER_CACHES[0] and np.percentile(size, 90) <= OTHER_CACHES[1]


def test_a_cost_that_the_next_rung_takes_away_is_what_the_what_if_says() -> None:
    found = fit.what_if_errors(judged("h200"))
    assert {name for name, _, _ in found} == {"conflicts", "coalesced"} and len(found) >= 6
    assert np.median(np.expm1(np.abs(np.concatenate(list(found.values()))))) <= WHAT_IF


def test_four_of_five_recorded_times_lie_in_the_band() -> None:
    assert 0.75 <= fit.inside(judged("h200")) <= 0.85


@pytest.mark.parametrize("gpu", ["h200", "h100"])
def test_the_file_of_a_gpu_is_what_the_fit_gives(gpu: str) -> None:
    kept = json.loads((estimate.FOLDER / f"{gpu}.json").read_text())
    made = fit.content(judged(gpu), judged(gpu, "hot"), gpu, fit.known_of(gpu), kept["origin"])
    assert kept["constants"].keys() == CONSTANTS.keys() == made["constants"].keys()
    for name, one in kept["constants"].items():
        assert one["value"] == pytest.approx(made["constants"][name]["value"], rel=0.02), name
        assert one["unit"] == CONSTANTS[name].unit and one["source"].startswith(CONSTANTS[name].source)
    assert sum(one.source == FITTED for one in CONSTANTS.values()) <= 29


@pytest.mark.parametrize("gpu", fit.judged_gpus())
def test_the_kept_judgement_is_that_of_the_fit(gpu: str) -> None:
    kept, found = fit.judged_runs(gpu), judged(gpu)
    made = dict(zip(found.rows.keys, zip(found.rows.time_us, found.estimates, strict=True), strict=True))
    assert len(kept) == len(made)
    for run in kept:
        recorded, estimated = made[run.key]
        assert run.recorded_us == pytest.approx(recorded, rel=1e-3), run.key
        assert run.estimated_us == pytest.approx(estimated, rel=0.03), run.key


@pytest.mark.thorough
def test_kept_costs_are_what_the_emulator_counts() -> None:
    rows = [key for key in known_costs() if key[0] in ("reduce_strided", "histogram_global") and key[3] <= 1 << 16]
    assert rows
    for key in rows[:4]:
        found, kept = counted(key), known_costs()[key]
        assert found is not None and found.zeros == kept.zeros
        for one, other in zip(found.launches, kept.launches, strict=True):
            assert dict(one.memory) == pytest.approx(dict(other.memory)) and one.path == pytest.approx(other.path)


def test_the_rule_chooses_rows_and_not_results() -> None:
    recordings = [fit.recording_of(gpu) for gpu in fit.judged_gpus()]
    by_rule = {key for recording in recordings for key in chosen(recording)}
    assert by_rule >= {key for key in known_costs() if any(key in each.rows for each in recordings)} - usual_keys()

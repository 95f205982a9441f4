"""Medians, their confidence intervals and paired ratios. Pure functions of samples; no GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np

CONFIDENCE = 0.95
SAME = 1.03  # medians that differ by less than this factor count as equal


def median(values: Sequence[float]) -> float:
    """The middle value; of an even number of values the mean of the two middle ones. ValueError for none."""
    if not values:
        raise ValueError("The median of no samples does not exist.")
    return float(np.median(values))


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95% confidence interval of the median from order statistics, without an assumption on the
    distribution.

    Fewer than 6 values cannot give 95%: the interval is then their whole range. ValueError for none.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("The interval of no samples does not exist.")
    rank = _interval_rank(len(ordered))
    return ordered[rank], ordered[-1 - rank]


@lru_cache(maxsize=1024)
def _interval_rank(count: int) -> int:
    """Return the largest r for which the median lies between the r-th smallest and r-th largest value (from 0) with
    95%.
    """
    tail, rank = 0, 0
    for successes in range(count // 2):
        tail += comb(count, successes)
        if tail * 40 > 2**count:  # 2.5% on each side, in whole numbers
            break
        rank = successes
    return rank


def half_width(values: Sequence[float]) -> float:
    """Return half the width of the median's interval as a fraction of the median."""
    low, high = median_interval(values)
    return (high - low) / 2 / median(values)


def spread(values: Sequence[float]) -> float:
    """Return the interquartile range as a fraction of the median."""
    low, high = np.percentile(values, (25, 75))
    return float(high - low) / median(values)


def paired_ratio(
    numerators: Sequence[float], denominators: Sequence[float], resamples: int = 1000, seed: int = 1
) -> tuple[float, float, float]:
    """Return the median of numerators[i] / denominators[i] with its 95% bootstrap interval: (ratio, low, high).

    The samples are pairs, taken one after the other, so a drift of the clock affects both and cancels. ValueError: no
    samples, or unequal counts.
    """
    if len(numerators) != len(denominators) or not numerators:
        raise ValueError("A paired ratio needs as many numerators as denominators, and at least one.")
    ratios = np.asarray(numerators, float) / np.asarray(denominators, float)
    drawn = np.random.default_rng(seed).integers(0, len(ratios), (resamples, len(ratios)))
    medians = np.median(ratios[drawn], axis=1)
    low, high = np.percentile(medians, (100 * (1 - CONFIDENCE) / 2, 100 * (1 + CONFIDENCE) / 2))
    return float(np.median(ratios)), float(low), float(high)

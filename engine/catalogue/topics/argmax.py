"""The kernels of the topic "aggregate" that find the largest number and its place: their plan, data and check.

`out` has two doubles, the number and the place; both are exact in a double whatever the element type.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from engine.catalogue import data
from engine.catalogue.entries import Kernel
from engine.catalogue.gpu_models import GpuModel
from engine.catalogue.plans import slots
from engine.catalogue.topics import reduction
from engine.records import Array, Buffer, Check, Launch, Plan, Scalar, Settled

OPERATION = "argmax"
LEVELS = 2**14  # different numbers: few enough that the largest soon comes twice, many enough that it comes late
_OUT = Buffer("out", "float64", 2, "poison")


def plan(kernel: Kernel, choice: Settled, gpu: GpuModel) -> Plan:
    """The launches of a maximum of the same shape, with places beside the numbers."""
    made = reduction.plan(kernel, choice, gpu)
    first, blocks = made.steps[0], made.grid_size
    assert isinstance(first, Launch)
    numbers, n = made.buffers[0], Scalar("uint32", choice.n)
    if kernel.combines == ("hand-over",):
        handed = replace(slots(choice.dtype, blocks), count=slots(choice.dtype, blocks).count + 2 * blocks)
        return replace(made, buffers=(numbers, _OUT, handed), result_count=2)
    found = (Buffer("numbers", choice.dtype, blocks, "poison"), Buffer("places", "uint32", blocks, "poison"))
    last = Launch("best_of_blocks", first.source, (1, 1, 1), first.block,
                  ("numbers", "places", Scalar("uint32", blocks), "out"))  # fmt: skip
    steps = (replace(first, args=("in", "numbers", n, "places")), last)
    return replace(made, buffers=(numbers, *found, _OUT), steps=steps, result="out", result_count=2)


@lru_cache(maxsize=4)
def numbers(dtype: str, seed: int) -> Array:
    """One period, shape (data.PERIOD,): LEVELS different numbers, from -LEVELS / 2 on, or floats from -1 to 1."""
    bits = np.random.default_rng(seed).integers(0, LEVELS, data.PERIOD) - LEVELS // 2
    made: Array = (bits if dtype == "int32" else bits * (2 / LEVELS)).astype(dtype)
    made.flags.writeable = False
    return made


def check(plan: Plan, output: Array, seed: int) -> Check:
    """The largest number and the first of its places: nothing is rounded, so both must be equal."""
    period = numbers(plan.choice.dtype, seed)[: plan.choice.n]
    place = int(np.argmax(period))  # the first of the largest, which a repetition does not bring earlier
    number = period[place].item()
    ok = bool((output == (number, place)).all())
    found = int(output[1]) if np.isfinite(output[1]) else output[1].item()
    note = f"Checked: the largest number, {output[0].item():.9g} (expected {number:.9g}), and the first of its places."
    off = tuple(np.flatnonzero(output != (number, place)).tolist())
    return Check(ok, found, place, abs(found - place), 0, note, (float(number), float(place)), off)

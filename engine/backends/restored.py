"""Buffers that a launch must leave as the next launch needs them: set to zero again, or an input that is unchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from engine.catalogue import inputs_of, kernel_named
from engine.records import Array, Finding, Plan


def not_restored(plan: Plan, contents: Callable[[str, int], Array]) -> tuple[Finding, ...]:
    """Return a finding for each buffer that is not zero again after a run, and for each input that a file of one's own
    has changed. `contents`: its elements, by its name and their number."""
    made = []
    for buffer in plan.buffers:
        if not buffer.restored:
            continue
        left = contents(buffer.name, buffer.count)
        if left.any():
            place = int(np.flatnonzero(left)[0])
            what = f"`{buffer.name}[{place}]`" if buffer.count > 1 else f"`{buffer.name}`"
            sentence = (
                f"The kernel leaves {what} at {int(left[place]):,}. It is zero before the first launch only, so the "
                "kernel must set it to zero again: the next launch starts with what this one leaves."
            )
            made.append(Finding("not-restored", None, None, sentence))
    return (*made, *_changed_inputs(plan, contents))


def changed(before: Mapping[str, Array], after: Mapping[str, Array], names: Iterable[str]) -> tuple[Finding, ...]:
    """Return a finding for the first array of `names` whose bytes are not the same as before."""
    for name in names:
        old, new = (np.ascontiguousarray(arrays[name]).ravel().view(np.uint8) for arrays in (before, after))
        if not np.array_equal(old, new):
            place = int(np.flatnonzero(old != new)[0]) // before[name].itemsize
            sentence = (
                f"The kernel changes its input, `{name}[{place}]`: whoever reads the array next gets other numbers."
            )
            return (Finding("changed-input", None, None, sentence),)
    return ()


def is_const(name: str, text: str) -> bool:
    """Return whether a text declares the array `name` const."""
    return re.search(rf"\bconst\b[^,;()]*\*[^,;()*]*\b{re.escape(name)}\b", text) is not None


def _changed_inputs(plan: Plan, contents: Callable[[str, int], Array]) -> tuple[Finding, ...]:
    choice = plan.choice
    if choice.source is None or choice.device != "emulator":  # a GPU's buffers are too large for a copy
        return ()
    text = kernel_named(choice.kernel).text
    counts = {one.name: one.count for one in plan.buffers if one.fill == "input" and is_const(one.name, text)}
    given = inputs_of(choice) if counts else {}
    before = {name: given[name][:count] for name, count in counts.items()}
    return changed(before, {name: contents(name, count) for name, count in counts.items()}, counts)

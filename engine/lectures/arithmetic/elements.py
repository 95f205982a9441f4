"""How many elements a thread should take: Crovella's claim against the measured times.

divisions(sweep, facts) -> one Division a number of elements    judgement(divisions) -> whether the claim holds
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.backends.timing.statistics import SAME
from engine.catalogue import KERNELS
from engine.catalogue.gpu_models import resident_threads
from engine.history.history import Known, device_line, recorded_for
from engine.lectures.arithmetic.complexity import brent_cost, brent_steps
from engine.plan import grid_for, offered_elements, strides
from engine.records import Settled
from engine.records.words import size_text, time_text

CLAIM = (1024, 4096)  # elements per thread: "best perf with ... 1024-4096 elements per thread"
SLIDE = "Algorithm Cascading"


@dataclass(frozen=True)
class Division:
    """The division of n numbers among threads that take `elements` each: Brent's steps and cost, and the measured time
    (None: not measured)."""

    elements: int
    choice: Settled
    threads: int
    steps: int
    cost: int
    time_us: float | None = None
    origin: str | None = None


def sweep_choices(choice: Settled) -> tuple[tuple[int, Settled], ...]:
    """Return (elements per thread, the choice with a grid for it); nothing for a kernel whose grid follows from N."""
    if not strides(KERNELS[choice.kernel]):
        return ()
    return tuple(
        (elements, replace(choice, grid_size=grid_for(choice.n, choice.block_size, elements)))
        for elements in offered_elements(choice.n, choice.block_size)
    )


def divisions(made: Sequence[tuple[int, Settled]], facts: Sequence[Known]) -> tuple[Division, ...]:
    """Return the sweep with its times; `facts` stand beside `made`."""
    found = []
    for (elements, choice), fact in zip(made, facts, strict=True):
        threads = (choice.grid_size or 1) * choice.block_size
        timed = fact.timed
        found.append(
            Division(
                elements=elements,
                choice=choice,
                threads=threads,
                steps=brent_steps(choice.n, threads),
                cost=brent_cost(choice.n, threads),
                time_us=timed.time_us if timed else None,
                origin=device_line(timed) if timed else None,
            )
        )
    return tuple(found)


def recorded_blocks(choice: Settled) -> tuple[int, ...]:
    """Return the other block sizes at which the sweep of this N was recorded, as far as the claim needs it."""
    found = []
    for block_size in KERNELS[choice.kernel].block_sizes:
        made = sweep_choices(replace(choice, block_size=block_size))
        known = [elements for elements, one in made if (m := recorded_for(one)) is not None and m.time_us is not None]
        inside = [elements for elements in known if CLAIM[0] <= elements <= CLAIM[1]]
        if inside and len(inside) < len(known) and block_size != choice.block_size:
            found.append(block_size)
    return tuple(found)


def room(device: Mapping[str, Any]) -> int | None:
    """Return how many threads a measurement's GPU holds at a time; None if the record does not say."""
    many = device.get("multiprocessors")
    return int(many) * resident_threads(str(device.get("compute_capability"))) if many else None


@dataclass(frozen=True)
class Judgement:
    """The verdict on the lecture's claim: whether it `holds` here (None: not measured yet), and a `sentence` about
    it."""

    holds: bool | None
    sentence: str
    best: Division | None = None


def judgement(found: Sequence[Division], room: int | None = None) -> Judgement:
    """Judge the claim "1024-4096 elements per thread" against the measured sweep of one kernel, on one device.

    `room`: the threads that the GPU holds, for the reason.
    """
    timed = {one.elements: one for one in found if one.time_us is not None}
    if not any(map(_claimed, (one.elements for one in found))):
        return Judgement(None, f"With so few elements no thread can have {CLAIM[0]:,}: choose a larger N.")
    compared = _compared({elements: one.time_us or 0.0 for elements, one in timed.items()}, smallest=True)
    if compared is None:
        have = f"{len(timed)} of {len(found)} times are known" if timed else "no times are known"
        return Judgement(None, f"The lecture claims 1,024 to 4,096 elements per thread; {have} for these choices.")
    if len({one.origin for one in timed.values()}) > 1:
        return Judgement(None, "The times come from different machines: run the whole sweep on one.")
    best, allowed = timed[compared.best], timed[compared.claimed]
    where = f"{best.origin}, N = {size_text(best.choice.n)}, {best.choice.block_size} threads per block"
    fastest = f"fastest with {_elements(best.elements)} per thread, {time_text(best.time_us or 0.0)}"
    if compared.loss <= SAME:
        also = "" if best is allowed else f"; {allowed.elements:,} take the same within {SAME - 1:.0%}"
        return Judgement(True, f"True here. {where}: {fastest}{also}.", best)
    least = f"{allowed.elements:,} take {time_text(allowed.time_us or 0.0)}, {compared.loss:.3g} times as long"
    why = ""
    if room and best.elements < CLAIM[0] and allowed.threads < room:
        why = f" They leave {allowed.threads:,} threads, and this GPU has room for {room:,}."
    return Judgement(False, f"Not true here. {where}: {fastest}; {least}.{why}", best)


def judged_variants(
    variants: Mapping[str, Mapping[int, float]], swept: Sequence[int], smallest: bool, device: str
) -> str:
    """Judge the claim against the sweeps of several kernels, in a sentence. `variants`: title -> {elements: value}.

    `swept`: the requested numbers of elements; `smallest`: the least value is the best.
    """
    low, high = CLAIM
    claim = f"Crovella's slide, of a G80: best with {low:,} to {high:,} elements per thread."
    if max(swept) < low:
        return f"{claim} Here no thread has so many: choose a larger N."
    tried = {title: one for title, values in variants.items() if (one := _compared(values, smallest)) is not None}
    if not tried:
        return f"{claim} Too few numbers are known to try it."
    others = [f"{title} at {one.best:,}" for title, one in tried.items() if one.loss > SAME]
    holds = len(tried) - len(others)
    sentence = f"{claim} On {device}: true within {SAME - 1:.0%} for {holds} of {len(tried)} variants."
    return f"{sentence} Best elsewhere: {'; '.join(others)}." if others else sentence


@dataclass(frozen=True)
class _Compared:
    """The best number of elements, the best one in the claimed range, and how many times worse that one is (at least
    1)."""

    best: int
    claimed: int
    loss: float


def _compared(values: Mapping[int, float], smallest: bool) -> _Compared | None:
    """Judge the claim by {elements: value}; None unless values inside and outside the claimed range are known."""
    inside = [elements for elements in values if _claimed(elements)]
    if not inside or len(inside) == len(values):
        return None
    pick = min if smallest else max
    best, claimed = pick(values, key=values.__getitem__), pick(inside, key=values.__getitem__)
    loss = values[claimed] / values[best] if smallest else values[best] / values[claimed]
    return _Compared(best, claimed, loss)


def _claimed(elements: int) -> bool:
    return CLAIM[0] <= elements <= CLAIM[1]


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count:,} elements"

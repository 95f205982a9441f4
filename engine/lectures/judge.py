"""The judge of claims: of lectures, of rungs and of sheets.

claims_of(ladder) -> its claims      runs(claim) -> the runs that decide it      verdict(claim, *finds) -> Verdict

If today's hardware or compiler differs from the lecture, the claim says so, and why; the lecture's words and number
stay beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from engine.catalogue import KERNELS, Rung
from engine.history.tables import value_of
from engine.lectures import cooper, crovella, cs121, heidelberg, hekun
from engine.lectures.claim import (
    Claim,
    Computed,
    Counted,
    FastestBlock,
    Findings,
    Outcome,
    Relation,
    Status,
    TimeRatio,
    Untestable,
)
from engine.plan import settle
from engine.records import Choice, Measurement, Settled
from engine.records.counters import COUNTERS, with_derived
from engine.records.words import three_digits

CLAIMS: tuple[Claim, ...] = (*cs121.CLAIMS, *crovella.CLAIMS, *heidelberg.CLAIMS, *cooper.CLAIMS, *hekun.CLAIMS)

# Times that differ by less than this count as equal, because they repeat no better from run to run.
MARGIN = 0.02
NEAR = 0.08

# A ratio agrees in size if its gain, ratio - 1, is at least this part of the lecture's gain, and the lecture's gain at
# least this part of it. The gains are compared, not the ratios: 1.07 is 94% of 1.14, but half of its gain. Another GPU
# of the lecture's own time could have changed the gain by a quarter; beyond that a lecturer has to say another number.
SAME_SIZE = 0.75

Find = Callable[[Settled], Measurement | None]


@dataclass(frozen=True)
class Verdict:
    """A claim beside the finding. `said`, `found`: text with units; `value`: the found number, if it is one.

    `outcome`: compared with the sentence; `as_known`: whether it is the claim's known result of today. `measurements`:
    those that it comes from; none for a computation.
    """

    claim: Claim
    said: str
    found: str
    outcome: Outcome
    as_known: bool
    value: float | None = None
    measurements: tuple[Measurement, ...] = ()

    @property
    def holds(self) -> bool:
        """Return whether the sentence holds here and now."""
        return self.outcome == "holds"

    @property
    def kind(self) -> str:
        """Return the key of KINDS for the verdict: the cause, if the sentence does not hold and the cause is known."""
        if self.claim.asks and self.outcome != "untestable":
            return "answered"
        fails = self.outcome in ("differs", "close")
        return self.claim.cause if fails and self.claim.cause else self.outcome


# Each kind of verdict as a part of a sentence.
KINDS = {
    "holds": "holds",
    "answered": "a question, answered here",
    "direction": "direction holds, size does not",
    "changed": "was so then: the GPU or its compiler changed",
    "rules": "was so then: today's rules judge otherwise",
    "case": "does not hold in this case",
    "error": "does not hold: the lecture errs",
    "differs": "does not hold",
    "close": "does not hold: no difference",
    "untestable": "not testable here",
}


@dataclass(frozen=True)
class _Found:
    """The value of a quantity: a number or a status; `least`, `most`: the bounds that the times' intervals give."""

    value: float | str
    text: str
    least: float | None = None
    most: float | None = None


def claims_of(ladder: str) -> tuple[Claim, ...]:
    """Return the claims of the lectures that belong to a ladder's page, first those of the lecture with the most."""
    here = [claim for claim in CLAIMS if claim.ladder == ladder]
    counts = Counter(claim.lecture for claim in here)
    return tuple(sorted(here, key=lambda claim: -counts[claim.lecture]))


def runs(claim: Claim) -> tuple[Settled, ...]:
    """Return the runs that decide a claim, each on its device; none for a computation. ValueError: the text that the
    claim changes is not in the kernel exactly once."""
    choices: Sequence[Choice] = claim.runs
    if isinstance(claim.quantity, TimeRatio | FastestBlock):
        choices = [replace(choice, device="gpu") for choice in choices]
    elif isinstance(claim.quantity, Status) and claim.quantity.edit is not None:
        choices = [_edited(claim.name, choice, *claim.quantity.edit) for choice in choices]
    return tuple(settle(choice) for choice in choices)


def _edited(name: str, choice: Choice, old: str, new: str) -> Choice:
    kernel = KERNELS[choice.kernel]
    if kernel.text.count(old) != 1:
        raise ValueError(f"{name}: {kernel.file_name} does not hold the text to be changed once")
    return replace(choice, source=kernel.text.replace(old, new), source_name=f"{kernel.name}.cu, changed")


def verdict(claim: Claim, *finds: Find) -> Verdict | None:
    """Return the verdict from the first of `finds` that knows all runs of the claim; None if none does."""
    if not claim.runs:
        return decided(claim, ())
    for find in finds:
        found = [measurement for choice in runs(claim) if (measurement := find(choice)) is not None]
        if len(found) == len(claim.runs) and (made := decided(claim, found)) is not None:
            return made
    return None


def decided(claim: Claim, measurements: Sequence[Measurement]) -> Verdict | None:
    """Return the verdict from the measurements of the claim's runs; None if nothing was counted, or timed."""
    if isinstance(claim.quantity, Untestable):
        return Verdict(claim, "", "", "untestable", as_known=True)
    found = _found(claim, measurements)
    if found is None:
        return None
    outcome = _outcome(claim, found)
    as_known = outcome == "holds" if claim.today is None else claim.today in (outcome, found.value)
    value = None if isinstance(found.value, str) else found.value
    if value is not None and isinstance(claim.quantity, TimeRatio) and claim.relation != "equals":
        # So close to 1, another recording may find "close" if this one finds more, and vice versa.
        as_known = as_known or (abs(value - 1) < NEAR and "close" in (outcome, claim.today))
    return Verdict(claim, said(claim), found.text, outcome, as_known, value, tuple(measurements))


def _found(claim: Claim, measurements: Sequence[Measurement]) -> _Found | None:
    match claim.quantity:
        case Counted() as count:
            try:
                values = [counted(count, measurement) for measurement in measurements]
            except KeyError:
                return None
            value = values[1] / values[0] if len(values) > 1 else values[0]
            return _Found(value, amount(value, count.unit))
        case Status():
            status = measurements[0].status
            return _Found(status, _ENDS.get(status, status))
        case Findings() as counting:
            hazards = len(counting.of(measurements[0]))
            return _Found(hazards, amount(hazards, "hazards"))
        case Computed() as computed:
            value = _computed(computed)
            return _Found(value, amount(value, computed.unit))
        case TimeRatio() as ratio:
            return _ratio(ratio, measurements)
        case FastestBlock():
            return _fastest(claim, measurements)
    return None


def _ratio(quantity: TimeRatio, measurements: Sequence[Measurement]) -> _Found | None:
    metric = quantity.metric
    if not _comparable(measurements) or any(value_of(each, metric) is None for each in measurements):
        return None
    if quantity.beyond:
        slow, fast, base = (value_of(each, metric) or 0 for each in measurements)
        if fast <= base:
            return None
        ratio = (slow - base) / (fast - base)
        return _Found(ratio, f"{three_digits(ratio)}× {quantity.unit}", ratio, ratio)
    pairs = list(zip(measurements[::2], measurements[1::2], strict=True))
    values = [(value_of(slow, metric) or 0, value_of(fast, metric) or 0) for slow, fast in pairs]
    ratio = prod(slow / (fast or 1) if metric == "time_us" else fast / (slow or 1) for slow, fast in values)
    text = f"{three_digits(ratio)}× {quantity.unit or _AS_MUCH[metric]}"
    if quantity.medians:
        return _Found(ratio, text, ratio, ratio)
    # The ends of the medians' 95% intervals: first those that speak against the sentence, then those for it.
    least = ratio * prod(_end(slow, "low_us") / _end(fast, "high_us") for slow, fast in pairs)
    most = ratio * prod(_end(slow, "high_us") / _end(fast, "low_us") for slow, fast in pairs)
    return _Found(ratio, text, least, most)


def _fastest(claim: Claim, measurements: Sequence[Measurement]) -> _Found | None:
    """Return the fastest block size; the expected one counts as fastest if its time is the same within MARGIN."""
    if not _comparable(measurements):
        return None
    times = {m.choice.block_size: m.time_us or 0.0 for m in measurements}
    best, expected = min(times, key=lambda size: times[size]), int(_number_of(claim))
    loss = times[expected] / times[best]
    text = f"{best} threads"
    if best != expected:
        text += f"; {expected} take {three_digits(loss)}× as long"
    return _Found(best, text, least=loss)


def _outcome(claim: Claim, found: _Found) -> Outcome:
    if isinstance(found.value, str):
        assert isinstance(claim.expected, tuple)
        return "holds" if found.value in claim.expected else "differs"
    expected, value = _number_of(claim), found.value
    if isinstance(claim.quantity, FastestBlock):
        return "holds" if (found.least or 0) <= 1 + MARGIN else "differs"
    if claim.relation == "at least" or claim.relation == "at most":
        return "holds" if (value >= expected if claim.relation == "at least" else value <= expected) else "differs"
    if found.least is None or found.most is None:  # an exact number
        if claim.relation == "about":
            return "holds" if _same_size(value, expected) else "direction" if value > 1 else "differs"
        return "holds" if (value > expected if claim.relation == "more than" else value == expected) else "differs"
    outcome: Outcome = "holds" if found.least > 1 + MARGIN else "differs" if found.most < 1 / (1 + MARGIN) else "close"
    if claim.relation == "equals":
        return "holds" if outcome == "close" or abs(value - 1) < NEAR else "differs"
    if outcome == "holds" and claim.relation == "about" and not _same_size(value, expected):
        return "direction"
    return outcome


def _number_of(claim: Claim) -> float:
    assert not isinstance(claim.expected, tuple)
    return claim.expected


def _comparable(found: Sequence[Measurement]) -> bool:
    """Return whether all were timed with a right answer, on one GPU."""
    timed = all(m.time_us is not None and m.status in ("ok", "hazard") for m in found)
    return timed and len({m.device.get("name") for m in found}) == 1


def _same_size(found: float, expected: float) -> bool:
    """Return whether the gain of a ratio agrees with the lecture's in size; both ratios are above 1."""
    return SAME_SIZE <= (found - 1) / (expected - 1) <= 1 / SAME_SIZE


def _end(measurement: Measurement, side: str) -> float:
    """Return an end of the interval as a part of the median; 1 without an interval."""
    timing = measurement.timing
    end = getattr(timing, side) if timing else None
    return float(end / timing.time_us) if timing and end else 1.0


def counted(count: Counted, measurement: Measurement) -> float:
    """Return the number that `count` describes. KeyError: the run has no counters, or no line with that text."""
    whole = measurement.counts
    if whole is None:
        raise KeyError(f"{measurement.kernel} was not counted: {measurement.reason or 'it ran on a GPU'}")
    total = with_derived(whole.counters)
    lines = [line.counters for line in whole.lines if count.line in line.text] if count.line else [total]
    if not lines:
        raise KeyError(f"{measurement.kernel} has no line with {count.line!r} that did anything")
    over = count.scale * sum(_count(line, count.over) for line in lines)
    if not count.under:
        return over
    return over / sum(_count(line, count.under) for line in ([total] if count.whole_under else lines))


def _count(counters: Mapping[str, float], name: str) -> float:
    """Return a counter; a derived one is 0 if nothing of its kind happened."""
    return float(counters[name] if COUNTERS[name].json is not None else counters.get(name, 0.0))


@lru_cache(maxsize=64)
def _computed(quantity: Computed) -> float:
    return quantity.compute()


# ---- what a rung promises

_PROMISES = {
    "faster": "it is not faster than the rung before",
    "slower": "it is not slower than the rung before",
    "same": "it does not take as long as the rung before",
    "more": "it does not do more in a second than the rung before",
}


def kept(rung: Rung, before: Measurement | None, now: Measurement | None, metric: str) -> bool | None:
    """Return whether a rung's time keeps its promise; None: it promises nothing, or the two have no times of one
    device. `metric`: the column of the rates."""
    if not rung.promise or before is None or now is None:
        return None
    quantity = TimeRatio(metric if rung.promise == "more" else "time_us", medians=True)
    relation: Relation = "equals" if rung.promise == "same" else "more than"
    pair = (now, before) if rung.promise == "slower" else (before, now)
    made = decided(Claim(rung.kernel, "", rung.slide, rung.lead, "", quantity, relation), pair)
    return None if made is None else made.holds


def unkept(rung: Rung, before: Measurement | None, now: Measurement | None, metric: str) -> str:
    """Return the sentence for a rung that does not keep its promise; "" for any other."""
    if kept(rung, before, now, metric) is not False:
        return ""
    return f"At this N and block size {_PROMISES[rung.promise]}."


# ---- words

_ENDS = {
    "ok": "a right answer",
    "wrong": "a wrong answer",
    "hazard": "a hazard: right only by luck",
    "deadlock": "never ends",
    "timeout": "never ends",
    "refused": "cannot be launched",
    "crashed": "a crash",
    "out-of-bounds": "reads outside its memory",
    "compile-error": "does not compile",
}
_MORE = {"time_us": "faster", "bandwidth_gb_s": "more bandwidth", "gflop_s": "more per second"}
_AS_MUCH = {"time_us": "as fast", "bandwidth_gb_s": "the bandwidth", "gflop_s": "as much per second"}
_BRIEFLY = {"ok": "right", "wrong": "wrong", "hazard": "right by luck"}


def said(claim: Claim) -> str:
    """Return what the sentence promises, as text: "32 passes", "2.33× as fast", "a wrong answer"."""
    match claim.quantity:
        case TimeRatio(metric=metric, unit=unit, words=words):
            if claim.relation == "about":
                return f"{_number(_number_of(claim))}× {unit or _AS_MUCH[metric]}"
            if words:
                return words
            return "no difference" if claim.relation == "equals" else _MORE[metric]
        case Computed(unit=unit, words=words):
            return words or amount(_number_of(claim), unit)
        case Counted(unit=unit, words=words):
            return words or amount(_number_of(claim), unit)
        case FastestBlock():
            return f"{claim.expected} threads"
        case Status():
            assert isinstance(claim.expected, tuple)
            if len(claim.expected) == 1:
                return _ENDS[claim.expected[0]]
            return " or ".join(dict.fromkeys(_BRIEFLY.get(status, _ENDS[status]) for status in claim.expected))
    return ""


def amount(value: float, unit: str) -> str:
    """Return "32 passes", "1 pass"; a unit without a singular, such as "times", stays."""
    first, _, rest = unit.partition(" ")
    if value == 1 and first.endswith("s") and first not in ("is", "times"):
        first = first.removesuffix("es") if first.endswith("sses") else first.removesuffix("s")
    return f"{_number(value)} {first} {rest}".rstrip()


def _number(value: float) -> str:
    """Return whole numbers in full, others with three digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"

"""What the lectures claim, each claim with what decides it, and the judge.

claims_of(ladder) -> its claims      runs(claim) -> the runs that decide it      verdict(claim, *finds) -> Verdict

Where today's hardware or compiler differs from what the lecture says, the claim says so, and why; the lecture's words
and its number stay beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from engine.catalogue import KERNELS
from engine.history.tables import value_of
from engine.lectures.claims import cooper, crovella, cs121, cs121_tiling, heidelberg, hekun
from engine.lectures.claims.kinds import Agreement, AnyClaim, Best, Claim, Computed, Count, Ends, Timed, Untestable
from engine.plan import settle
from engine.records import Choice, Measurement, Settled
from engine.records.words import three_digits

__all__ = ["CLAIMS", "AnyClaim", "Best", "Claim", "Computed", "Count", "Ends", "Timed", "Untestable", "Verdict",
           "claims_of", "counted", "runs", "said", "verdict"]  # fmt: skip

CLAIMS: tuple[AnyClaim, ...] = (
    *cs121.CLAIMS,
    *cs121_tiling.CLAIMS,
    *crovella.CLAIMS,
    *heidelberg.CLAIMS,
    *cooper.CLAIMS,
    *hekun.CLAIMS,
)

# Times that differ by less than this are not called different: what repeats from run to run is no better.
MARGIN = 0.02
NEAR = 0.08

# A ratio agrees in size if the gain, ratio - 1, is at least this part of the lecture's gain, and the lecture's at least
# this part of it. The gain and not the ratio: 1.07 is 94% of 1.14 and half of what was promised. A quarter is what
# another GPU of the lecture's own time would have changed; beyond it a lecturer has to say another number.
SAME_SIZE = 0.75

Find = Callable[[Settled], Measurement | None]


@dataclass(frozen=True)
class Verdict:
    """A claim beside what was found. `said`, `found`: as text with units; `value`: the number, where it is one.

    `outcome`: compared with the lecture's words; `as_known`: whether it is what the claim says of today.
    `measurements`: where it comes from, for its origin; none for a computation.
    """

    claim: AnyClaim
    said: str
    found: str
    outcome: Agreement
    as_known: bool
    value: float | None = None
    measurements: tuple[Measurement, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the lecture's words hold here and now."""
        return self.outcome == "holds"


def claims_of(ladder: str) -> tuple[AnyClaim, ...]:
    """The claims that belong to a ladder's page."""
    return tuple(claim for claim in CLAIMS if claim.ladder == ladder)


def runs(claim: AnyClaim) -> tuple[Settled, ...]:
    """The runs that decide a claim, each on its device; none for a computation."""
    if isinstance(claim, Computed | Untestable):
        return ()
    made = (claim.choice(KERNELS[claim.run.kernel]),) if isinstance(claim, Ends) else claim.choices
    return tuple(settle(choice) for choice in made)


def said(claim: AnyClaim) -> str:
    """What the lecture's words come to, as text: "32 passes", "2.33× as fast", "a wrong answer"."""
    if isinstance(claim, Timed):
        if claim.said is None:
            return _MORE[claim.metric]
        return f"{_number(claim.said)}× {_better(claim)}" if claim.said != 1 else "no difference"
    if isinstance(claim, Untestable):
        return ""
    if isinstance(claim, Best):
        return f"{claim.expected} threads"
    if isinstance(claim, Computed) and claim.words:
        return claim.words
    if isinstance(claim, Ends):
        if len(claim.statuses) == 1:
            return _ENDS[claim.statuses[0]]
        return " or ".join(dict.fromkeys(_BRIEFLY.get(status, _ENDS[status]) for status in claim.statuses))
    return _amount(claim.expected, claim.unit)


def verdict(claim: AnyClaim, *finds: Find) -> Verdict | None:
    """The claim against the runs that `finds` know, the first that knows all of them; None where none does."""
    if isinstance(claim, Computed):
        return _of_number(claim, _computed(claim), ())
    if isinstance(claim, Untestable):
        return Verdict(claim, "", "", "untestable", as_known=True)
    for find in finds:
        found = [measurement for choice in runs(claim) if (measurement := find(choice)) is not None]
        if len(found) == len(runs(claim)):
            made = _decided(claim, found)
            if made is not None:
                return made
    return None


def _decided(claim: Claim | Timed | Best | Ends, found: Sequence[Measurement]) -> Verdict | None:
    """None where the runs do not decide it: nothing was counted, or timed."""
    if isinstance(claim, Claim):
        try:
            value = counted(claim.count, found[0])
            if claim.against:
                value = counted(claim.count, found[1]) / value
        except KeyError:
            return None
        return _of_number(claim, value, tuple(found))
    if isinstance(claim, Timed):
        return _of_times(claim, dict(zip(claim.choices, found, strict=True)))
    if isinstance(claim, Best):
        return _of_block_sizes(claim, found)
    status = found[0].status
    known = claim.today or claim.statuses
    outcome: Agreement = "holds" if status in claim.statuses else "differs"
    as_known = status in known if isinstance(known, tuple) else status == known
    return Verdict(claim, said(claim), _ENDS.get(status, status), outcome, as_known, None, tuple(found))


def _of_number(claim: Claim | Computed, value: float, found: tuple[Measurement, ...]) -> Verdict:
    if isinstance(claim, Computed) and claim.words:
        more = value > claim.expected
        as_known = more == (claim.why == "")
        return Verdict(claim, said(claim), _amount(value, claim.unit), "holds" if more else "differs", as_known, value)
    known = claim.expected if claim.counted is None else claim.counted
    outcome: Agreement = "holds" if value == claim.expected else "differs"
    return Verdict(claim, said(claim), _amount(value, claim.unit), outcome, value == known, value, found)


def _of_times(claim: Timed, found: Mapping[Choice, Measurement]) -> Verdict | None:
    pairs = [[found[replace(choice, device="gpu")] for choice in pair] for pair in claim.pairs]
    every = [measurement for pair in pairs for measurement in pair]
    if not _comparable(every) or any(value_of(m, claim.metric) is None for m in every):
        return None
    if claim.metric == "time_us":
        ratio = prod((slow.time_us or 0) / (fast.time_us or 1) for slow, fast in pairs)
    else:
        ratio = prod((value_of(fast, claim.metric) or 0) / (value_of(slow, claim.metric) or 1) for slow, fast in pairs)
    # The ends of the 95% intervals of the medians, all on the side that speaks against the words, then for them.
    least = ratio * prod(_end(slow, "low_us") / _end(fast, "high_us") for slow, fast in pairs)
    most = ratio * prod(_end(slow, "high_us") / _end(fast, "low_us") for slow, fast in pairs)
    outcome: Agreement = "holds" if least > 1 + MARGIN else "differs" if most < 1 / (1 + MARGIN) else "close"
    near = False
    if claim.said == 1:
        outcome = "holds" if outcome == "close" or abs(ratio - 1) < NEAR else "differs"
    else:
        # So near to 1, another recording may well say "close" where this one says more, or the other way round.
        near = abs(ratio - 1) < NEAR and "close" in (outcome, claim.today)
        if outcome == "holds" and claim.said is not None and not _same_size(ratio, claim.said):
            outcome = "direction"
    text = f"{three_digits(ratio)}× {_better(claim)}"
    return Verdict(claim, said(claim), text, outcome, outcome == claim.today or near, ratio, tuple(every))


def _of_block_sizes(claim: Best, found: Sequence[Measurement]) -> Verdict | None:
    """The fastest block size; the lecture's counts as that too where it takes the same time within MARGIN."""
    if not _comparable(found):
        return None
    times = {m.choice.block_size: m.time_us or 0.0 for m in found}
    best = min(times, key=lambda size: times[size])
    loss = times[claim.expected] / times[best]
    outcome: Agreement = "holds" if loss <= 1 + MARGIN else "differs"
    text = f"{best} threads"
    if best != claim.expected:
        text += f"; {claim.expected} take {three_digits(loss)}× as long"
    return Verdict(claim, said(claim), text, outcome, outcome == claim.today, best, tuple(found))


def _comparable(found: Sequence[Measurement]) -> bool:
    """Whether all were timed with a right answer, on one GPU."""
    timed = all(m.time_us is not None and m.status in ("ok", "hazard") for m in found)
    return timed and len({m.device.get("name") for m in found}) == 1


def _same_size(found: float, said: float) -> bool:
    """Whether a ratio is as large as the lecture's, both above 1."""
    return SAME_SIZE <= (found - 1) / (said - 1) <= 1 / SAME_SIZE


def _end(measurement: Measurement, side: str) -> float:
    """An end of the interval as a part of the median; 1 where there is none."""
    timing = measurement.timing
    end = getattr(timing, side) if timing else None
    return float(end / timing.time_us) if timing and end else 1.0


def _better(claim: Timed) -> str:
    return _AS_MUCH[claim.metric]


def counted(count: Count, measurement: Measurement) -> float:
    """The number that `count` describes. KeyError: the run has no counters, or no line with that text."""
    whole = measurement.counts
    if whole is None:
        raise KeyError(f"{measurement.kernel} was not counted: {measurement.reason or 'it ran on a GPU'}")
    lines = [line.counters for line in whole.lines if count.line in line.text] if count.line else [whole.counters]
    if not lines:
        raise KeyError(f"{measurement.kernel} has no line with {count.line!r} that did anything")
    over = count.scale * sum(float(line[count.over]) for line in lines)
    if not count.under:
        return over
    below = [whole.counters] if count.whole_under else lines
    return over / sum(float(line[count.under]) for line in below)


@lru_cache(maxsize=64)
def _computed(claim: Computed) -> float:
    return claim.compute()


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


def _amount(value: float, unit: str) -> str:
    """ "32 passes", "1 pass"."""
    first, _, rest = unit.partition(" ")
    if value == 1 and first.endswith("s"):
        first = first.removesuffix("es") if first.endswith("sses") else first.removesuffix("s")
    return f"{_number(value)} {first} {rest}".rstrip()


def _number(value: float) -> str:
    """Whole numbers whole, others with three digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"

"""Whether a rung keeps what its words lead one to expect of its time, or of its rate, against the rung before."""

from __future__ import annotations

from engine.catalogue import Rung
from engine.history.tables import value_of
from engine.lectures.claims.verdicts import MARGIN, NEAR
from engine.records import Measurement

_EXPECTED = {
    "faster": "is faster than the rung before",
    "slower": "is slower than the rung before",
    "same": "takes as long as the rung before",
    "more": "does more in a second than the rung before",
}


def kept(rung: Rung, before: Measurement | None, now: Measurement | None, metric: str) -> bool | None:
    """None: the words promise nothing, or the two have no times of one device. `metric`: the column of the rates."""
    if not rung.promise or before is None or now is None or before.device.get("name") != now.device.get("name"):
        return None
    key = metric if rung.promise == "more" else "time_us"
    old, new = value_of(before, key), value_of(now, key)
    if old is None or new is None:
        return None
    if rung.promise == "same":
        return abs(old / new - 1) < NEAR
    gain = old / new if rung.promise == "faster" else new / old
    return gain > 1 + MARGIN


def unkept(rung: Rung, before: Measurement | None, now: Measurement | None, metric: str) -> str:
    """The sentence for a rung that does not keep its promise; "" for one that does, or where nothing says so."""
    if kept(rung, before, now, metric) is not False:
        return ""
    return f"That it {_EXPECTED[rung.promise]} does not hold at this N, with these blocks."

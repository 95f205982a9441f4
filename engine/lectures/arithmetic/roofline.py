"""The roofline of the matrix ladders: the limits of memory and arithmetic, and the rungs below them.

A rung stands at its arithmetic intensity: FLOP for each byte that it reads from global memory by the lecture's count,
as if every read went to memory. Reads that the caches serve cost the memory nothing, so a rung may stand above the
memory's roof; its height above shows the gain from L1 and L2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from engine.catalogue import KERNELS, Ladder, matmul
from engine.history.history import Known, device_line
from engine.lectures.arithmetic.matmul import intensity
from engine.records import Measurement, Settled

PEER = "cuBLAS"


@dataclass(frozen=True)
class Roofs:
    """The limits of one GPU, from the device's attributes, as in its percentages of peak."""

    device: str
    bandwidth_gb_s: float
    peak_gflop_s: float

    def at(self, flop_per_byte: float) -> float:
        """GFLOP/s that the roofs allow there."""
        return min(self.peak_gflop_s, self.bandwidth_gb_s * flop_per_byte)


@dataclass(frozen=True)
class Spot:
    """One rung: its place, or the reason why it is not drawn (`missing`).

    `gflop_s`: None if no time is known. `origin`: the device and date of the measurement; `live`: measured in this
    session.
    """

    label: str
    title: str
    flop_per_byte: float
    gflop_s: float | None = None
    origin: str = ""
    live: bool = False
    missing: str = ""


@dataclass(frozen=True)
class Roofline:
    """The rungs under the roofs of one GPU; `roofs` is None if no rung has a time. `peer_gflop_s`: the rate of cuBLAS
    there."""

    roofs: Roofs | None
    spots: tuple[Spot, ...]
    peer_gflop_s: float | None


def roofline(ladder: Ladder, choices: Sequence[Settled], facts: Sequence[Known], position: int) -> Roofline:
    """Return the facts of every rung on the GPU that timed the rung on the page, else on the first GPU that timed
    one."""
    timed = [fact.timed for fact in facts]
    leader = timed[position] or next((m for m in timed if m is not None), None)
    roofs = _roofs(leader)
    spots = tuple(
        _spot(rung.label, choice, measurement, roofs)
        for rung, choice, measurement in zip(ladder.rungs, choices, timed, strict=True)
    )
    same = [m for m in timed if m is not None and roofs is not None and m.device.get("name") == roofs.device]
    peers = [
        m.rates.gflop_s * m.timing.time_us / m.peers[PEER].time_us
        for m in same
        if m.rates.gflop_s and m.timing and PEER in m.peers
    ]
    return Roofline(roofs, spots, median(peers) if peers else None)


def sentence(found: Roofline, position: int) -> str:
    """Return sentences on the rung on the page and the roofs."""
    spot, roofs = found.spots[position], found.roofs
    if roofs is None:
        return "No rung has a time for these choices: run the ladder on a GPU, or choose N as it was recorded."
    allowed, x = roofs.at(spot.flop_per_byte), spot.flop_per_byte
    bound = "memory" if allowed < roofs.peak_gflop_s else "arithmetic"
    said = f"{spot.title}: {x:.3g} FLOP for each byte read; the {bound} roof is at {allowed:,.0f} GFLOP/s there"
    if spot.gflop_s is None:
        return f"{said}, and no time is known: {spot.missing}."
    said += f", and {spot.gflop_s:,.0f} were measured"
    if spot.gflop_s > allowed:
        caches = "L2 and L1 serve most reads, and the roof counts reads as if each went to memory."
        return f"{said}, which is above it: {caches}"
    return f"{said}: {spot.gflop_s / allowed:.0%} of the roof and {spot.gflop_s / roofs.peak_gflop_s:.0%} of the peak."


def missing(found: Roofline) -> str:
    """Return the rungs that are not drawn, and why; "" if all are drawn."""
    reasons: dict[str, list[str]] = {}
    for spot in found.spots:
        if spot.gflop_s is None:
            reasons.setdefault(spot.missing, []).append(spot.label)
    return "; ".join(f"{', '.join(labels)}: {why}" for why, labels in reasons.items())


def _roofs(measurement: Measurement | None) -> Roofs | None:
    if measurement is None:
        return None
    device = measurement.device
    memory, arithmetic = device.get("peak_bandwidth_gb_s"), device.get("peak_gflop_s")
    if not memory or not arithmetic:
        return None
    return Roofs(str(device.get("name")), float(memory), float(arithmetic))


def _spot(label: str, choice: Settled, measurement: Measurement | None, roofs: Roofs | None) -> Spot:
    kernel = KERNELS[choice.kernel]
    if label.isdecimal():  # a ladder of all rungs only counts them
        label = kernel.name.removeprefix(f"{kernel.topic}_").replace("_", " ")
    x = intensity(choice.n, matmul.reads(kernel, choice.n, choice.block_size))
    if measurement is None or measurement.rates.gflop_s is None:
        unfit = not kernel.runs_with(choice.block_size)
        why = f"does not run with tiles of {choice.block_size}" if unfit else "no time for these choices"
        return Spot(label, kernel.title, x, missing=why)
    if roofs is None or measurement.device.get("name") != roofs.device:
        return Spot(label, kernel.title, x, missing=f"timed on another GPU: {device_line(measurement)}")
    live = measurement.origin == "live"
    return Spot(label, kernel.title, x, measurement.rates.gflop_s, device_line(measurement), live)

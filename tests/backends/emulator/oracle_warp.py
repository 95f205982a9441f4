"""The results of warp-synchronous instructions, one lane at a time."""

from __future__ import annotations

from typing import Any

from tests.backends.emulator.exact import decode


def answers(opcode: str, lanes: dict[int, tuple[Any, ...]]) -> dict[int, tuple[int, ...]]:
    """Return the results of every lane. `lanes`: lane number -> its operands, the member mask last."""
    words = opcode.split(".")
    match words[0]:
        case "bar":
            return dict.fromkeys(lanes, ())
        case "shfl":
            return {lane: _shuffled(words[2], lane, lanes) for lane in lanes}
        case "vote":
            return dict.fromkeys(lanes, _voted(words[2], lanes))
        case "match":
            return {lane: _matched(words[1], lane, lanes) for lane in lanes}
        case _:
            return dict.fromkeys(lanes, _reduced(words[2], words[-1], lanes))


def _shuffled(kind: str, lane: int, lanes: dict[int, tuple[Any, ...]]) -> tuple[int, int]:
    _, amount, control, _ = lanes[lane]
    segment, clamp = control >> 8 & 31, control & 31
    amount &= 31
    low, high = lane & segment, (lane & segment) | (clamp & ~segment)
    if kind == "up":
        source, inside = lane - amount, lane - amount >= high
    elif kind == "down":
        source, inside = lane + amount, lane + amount <= high
    elif kind == "bfly":
        source, inside = lane ^ amount, lane ^ amount <= high
    else:
        source = low | (amount & ~segment)
        inside = source <= high
    if not inside:
        source = lane
    assert source in lanes, f"lane {lane} reads lane {source}, which does not take part: undefined"
    return lanes[source][0], int(inside)


def _voted(kind: str, lanes: dict[int, tuple[Any, ...]]) -> tuple[int]:
    votes = {lane: bool(operands[0]) for lane, operands in lanes.items()}
    if kind == "ballot":
        return (sum(vote << lane for lane, vote in votes.items()),)
    every, some = all(votes.values()), any(votes.values())
    return (int({"all": every, "any": some, "uni": every or not some}[kind]),)


def _matched(kind: str, lane: int, lanes: dict[int, tuple[Any, ...]]) -> tuple[int, int]:
    same = sum(1 << other for other, operands in lanes.items() if operands[0] == lanes[lane][0])
    everyone = sum(1 << other for other in lanes)
    if kind == "any":
        return same, 0
    return (everyone, 1) if same == everyone else (0, 0)


def _reduced(name: str, code: str, lanes: dict[int, tuple[Any, ...]]) -> tuple[int]:
    values = [decode(operands[0], code) for operands in lanes.values()]
    result = int(values[0])
    for value in map(int, values[1:]):
        result = {
            "add": result + value, "min": min(result, value), "max": max(result, value),
            "and": result & value, "or": result | value, "xor": result ^ value,
        }[name]  # fmt: skip
    return (result,)

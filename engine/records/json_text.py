"""JSON from outside this program: the one reader, whose only error is ValueError."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def read_json(text: str | bytes, number: Callable[[str], float] | None = None) -> Any:
    """Return the value of a JSON text. `number`: reads a number with a fraction, NaN and Infinity.

    ValueError: it is no JSON, is nested too deeply, or `number` refuses one.
    """
    try:
        return json.loads(text, parse_constant=number, parse_float=number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None

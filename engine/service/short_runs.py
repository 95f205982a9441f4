"""A slot for short runs keeps none that turned out long, while a short one waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf

from engine.service.handle import Run
from engine.service.line import Line
from engine.service.running import Running
from engine.service.slot import Slot

LOOK_S = 0.5


def watch(
    slot: Slot,
    line: Line[Run],
    running: Running,
    changed: threading.Condition,
    serves: Callable[[Slot, Line[Run]], bool],
) -> None:
    """Watch this slot, if it is one, in a thread of its own for as long as it `serves` the line. `changed` locks them
    all."""

    def look() -> None:
        with changed:
            while serves(slot, line):
                if running.outlasts(slot, line.waiting):
                    slot.interrupt()
                changed.wait(LOOK_S)

    if slot.most_s < inf:
        threading.Thread(target=look, name=f"short runs of {slot.name}", daemon=True).start()

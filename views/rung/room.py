"""How much of the window is left for the plot: what stands above it, and how wide its column is."""

from __future__ import annotations

from collections.abc import Sequence

from views import panels
from views.panels.plot import controls_of, plot_shown, plots_of
from views.session import keyboard
from views.session.page import Page
from views.session.rungs import MENU, labels

COLUMNS = (1.12, 1)  # the text and the source, the numbers and the plot
MARGINS, GAP = 64, 24  # pixels beside the page, and between its columns
# Pixels of the window above the plot where the rungs and the plots are one line each; what counters and lines add.
ABOVE, COUNTERS, RUNGS, PLOTS = 362, 67, 33, 49
BELOW = 9
LETTER, BUTTON, SEGMENT = 6.6, 29, 19  # pixels of a letter, and of what is around a button's and a segment's


def width() -> int:
    """Pixels of the plot's column."""
    return round((keyboard.window()[0] - MARGINS - GAP) * COLUMNS[1] / sum(COLUMNS))


def height(page: Page) -> int:
    """Pixels of the window below the plot's menu."""
    wide, high = keyboard.window()
    stepper = wide - MARGINS - MENU - GAP
    rungs = lines([button(word, BUTTON) for word in ("←", "→", *labels(page.ladder))], stepper)
    plots = lines([*(button(word, SEGMENT) for word in plots_of(page).values()), *controls_of(page)], width())
    return high - ABOVE - COUNTERS * counters(page) - RUNGS * (rungs - 1) - PLOTS * (plots - 1) - BELOW


def counters(page: Page) -> bool:
    """Whether what was counted stands below the times: a block in motion has its place."""
    return page.counting and plot_shown(page) not in panels.scenes_of(page)


def button(word: str, around: float) -> float:
    """Pixels that a button with a word takes, and what is around the word."""
    return len(word) * LETTER + around


def lines(buttons: Sequence[float], room: float) -> int:
    """How many lines buttons so wide take in so much room."""
    taken, count = 0.0, 1
    for wide in buttons:
        if taken and taken + wide > room:
            taken, count = 0.0, count + 1
        taken += wide
    return count

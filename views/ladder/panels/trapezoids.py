"""The trapezoids of Cooper's lecture under its function, and the two errors of the runs over N."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.catalogue import trapezoid
from engine.figures.errors import Curve, Series, error_lines
from engine.figures.look import Figure, Look
from engine.figures.trapezoids import trapezoid_figure
from engine.lectures.arithmetic import trapezoids
from engine.records import Settled
from views.ladder.view import Facts, Page, Picture, run_sizes
from views.shared import address, work

SLIDER = "partitions"
COUNTS = {str(count): f"{count} trapezoids" for count in trapezoids.PARTITIONS}
MOST_NAMED = 4  # rungs in the legend; of more only the one on the page
SIZES = tuple(2**power for power in range(3, 23))
EIGHT_WIDE = {"n": "16", "block": str(trapezoids.LECTURE_BLOCK), "dtype": "float64"}


def offered(page: Page) -> bool:
    """Return whether the page shows the trapezoidal rule."""
    return page.topic.name == trapezoid.TOPIC.name


def partitions() -> int:
    """Return the slider's value, or its default."""
    asked = str(st.session_state.get(SLIDER) or "")
    return int(asked) if asked in COUNTS else trapezoids.DEFAULT


def controls(page: Page) -> None:
    """Show the slider, and a link to the lecture's race with 8 threads at a time."""
    st.session_state[SLIDER] = str(partitions())
    slider, button, link = st.columns([1.5, 0.8, 1], vertical_alignment="bottom")
    slider.select_slider("Trapezoids", list(COUNTS), key=SLIDER,
                         value=st.session_state[SLIDER],
                         help="N points make N − 1 trapezoids. This number is for the picture only.")  # fmt: skip
    button.button("Blocks of 8", key="eight wide", on_click=_eight_wide, args=(page,), icon=":material/view_column:",
                  help="The lecture's example: 16 points, blocks of 8 threads.")  # fmt: skip
    race = next(kernel.name for kernel in page.topic.kernels if kernel.expect == "wrong")
    link.page_link("views/inside/page.py", label="See the race", icon=":material/frame_inspect:",
                   query_params={"ladder": "cooper", "rung": race, "schedule": "waves:1", **EIGHT_WIDE},
                   help="The lecture's example on the page Inside: one block of 8 after the other.")  # fmt: skip
    width, points, lecture = trapezoids.LECTURE_BLOCK, trapezoids.terms(16).tolist(), trapezoids.LECTURE_NUMBERS
    st.caption(
        f"Block by block, the race over 16 points gives {trapezoids.raced(points, width):.4f} instead of "
        f"{sum(points):.4f}; over the lecture's numbers {trapezoids.raced(lecture, width):.0f} instead of "
        f"{sum(lecture)}."
    )


def _eight_wide(page: Page) -> None:
    st.session_state[SLIDER] = "15"
    address.keep(page.topic.name, EIGHT_WIDE)


def figure(page: Page, facts: Facts, look: Look) -> Figure:
    """Return f and its trapezoids."""
    return trapezoid_figure(trapezoids.trapezoids(partitions()), page.choice.block_size, look)


# ---- the two errors over N


def run_every_size(page: Page) -> None:
    """Run every rung at every size. For the button."""
    run_sizes([replace(choice, n=n) for choice in page.choices for n in SIZES])


def error_controls(page: Page) -> None:
    """Show the button that fills the plot."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Run every N", key="errors over n", on_click=run_every_size, args=(page,),
                  icon=":material/query_stats:",
                  help=f"Every rung with {len(SIZES)} sizes from {SIZES[0]:,} to {SIZES[-1]:,} points.")  # fmt: skip
        st.caption("Open: this rung against the integral. Filled: every rung against the exact trapezoid sum, "
                   "which leaves only rounding. The slide says O(h); for a smooth function it is O(h²).")  # fmt: skip


def errors(page: Page, facts: Facts, look: Look) -> Figure:
    """Return truncation and rounding, as measured and as computed."""
    sizes = sorted({*SIZES, page.choice.n} - {1})
    series = []
    for position, (rung, choice) in enumerate(zip(page.ladder.rungs, page.choices[: page.shown], strict=False)):
        found = [(n, _errors(replace(choice, n=n))) for n in sizes]
        known = [(n, both) for n, both in found if both is not None]
        if position == page.position:
            off = [(n, both["truncation"]) for n, both in known]
            series.append(Series(f"{rung.label}: off the integral", off, position, open=True))
        rounding = [(n, both["rounding"]) for n, both in known]
        own = position == page.position or len(page.ladder.rungs) <= MOST_NAMED
        series.append(Series(rung.label, rounding, position, named=own))
    laws = (
        Curve("exact sum − integral", trapezoids.truncations(sizes)),
        Curve("h² law", trapezoids.laws(sizes)),
    )
    return error_lines(series, laws, page.choice.n, look)


def _errors(choice: Settled) -> dict[str, float] | None:
    found = trapezoids.errors_of(choice, work.outcome(choice).live)
    return dict(found) if found is not None else None


TRAPEZOIDS = Picture("trapezoids", "Trapezoids", offered, figure, controls, covers=False)
ERRORS = Picture("errors", "Errors", offered, errors, error_controls)

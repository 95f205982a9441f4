"""The plots of every ladder: bars of rates, times, speedups, or a counter."""

from __future__ import annotations

from textwrap import wrap

from engine.figures.ladder import metric_bars, speedup_bars, time_bars
from engine.figures.look import Figure, Look
from engine.history.history import not_recorded
from engine.history.tables import marks
from views.ladder.panels import counters
from views.ladder.view import Bars, Facts, Page, all_known


def _rates(page: Page, facts: Facts, look: Look) -> Figure:
    """Return the bars of the rates; the reference lines rest on all rungs, so they stay when a rung is shown."""
    return metric_bars(facts.rows, page.topic.metric, marks(page.topic, all_known(page)), look, _no_times(page))


def _times(page: Page, facts: Facts, look: Look) -> Figure:
    return time_bars(facts.rows, look, _no_times(page))


def _speedups(page: Page, facts: Facts, look: Look) -> Figure:
    return speedup_bars(facts.rows, look, _no_times(page))


def _no_times(page: Page) -> str:
    """Return why there are no times, in lines that fit a plot."""
    return "<br>".join(line for sentence in not_recorded(page.choice) for line in wrap(sentence, 36))


TIMES = Bars("time", "Time", lambda page: True, _times)
BARS = (
    Bars("rate", "Bandwidth", lambda page: page.topic.metric == "bandwidth_gb_s", _rates),
    Bars("rate", "Throughput", lambda page: page.topic.metric == "gflop_s", _rates),
    TIMES,
    Bars(
        "speedup",
        "Speedup",
        lambda page: True,
        _speedups,
        paired=lambda page: any(rung.published for rung in page.ladder.rungs),
    ),
    Bars(
        counters.NAME,
        "Counters",
        lambda page: True,
        counters.figure,
        counters.menu,
        counters.words,
        paired=counters.paired,
    ),
)

"""Every law is what the emulator counts, and what is said about it is true."""

from __future__ import annotations

import json
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from engine.catalogue import KERNELS, default_choice
from engine.catalogue.plans import value_of_parameter
from engine.figures.law import law_figure
from engine.figures.look import Look
from engine.history.history import Known
from engine.lectures import laws
from engine.lectures.laws import LAWS, law_of
from engine.records import Choice, Measurement
from tests.cases import case
from tests.made import measure, measured
from tests.sentences import says, sentence

FIRST = [next(name for name in KERNELS if KERNELS[name].law == law) for law in LAWS]
WITH_LAW = [name for law in LAWS for name in KERNELS if KERNELS[name].law == law]


def chosen(kernel: str, dtype: str = "") -> Choice:
    return replace(default_choice(kernel), dtype=dtype or KERNELS[kernel].dtypes[0])


def known_by(found: dict[Choice, Measurement]):
    return lambda choice: Known(found.get(choice))


def counts_of(choice: Choice, which: slice) -> dict[Choice, Measurement]:
    return {each: measure(each) for each in laws.counting(choice)[which]}


def holds(choice: Choice, which: slice) -> None:
    points = [p for p in laws.points(choice, known_by(counts_of(choice, which))) if p.counted is not None]
    assert points
    assert [(p.value, p.counted) for p in points] == [(p.value, p.expected) for p in points]


@pytest.mark.sampled(quick=3, thorough=4)
@pytest.mark.parametrize("kernel", [case(name, quick=i % 3 == 0) for i, name in enumerate(FIRST)])
def test_the_law_holds_at_the_ends_and_in_the_middle(kernel: str) -> None:
    number = len(laws.counting(chosen(kernel)))
    holds(chosen(kernel), slice(0, None, max(1, (number - 1) // 2)) if number > 3 else slice(0, 1))


# A law knows a type by its bytes alone: float32 is int32 again. The thorough run takes every third value from the last
# one down: powers of two, primes and others; a release takes every value, for every type.
@pytest.mark.sampled(thorough=12)
@pytest.mark.parametrize(
    ("kernel", "dtype", "every"),
    [case(k, d, every, quick=False, thorough=d == KERNELS[k].dtypes[0] and every == 3)
     for k in WITH_LAW for d in KERNELS[k].dtypes if d != "float32" or d == KERNELS[k].dtypes[0] for every in (1, 3)],
)  # fmt: skip
def test_the_law_holds_at_the_values_for_every_type(kernel: str, dtype: str, every: int) -> None:
    holds(chosen(kernel, dtype), slice(None, None, -every))


def test_every_parameter_about_memory_warps_and_contention_has_a_law() -> None:
    topics = ("memory", "atomics", "aggregate")
    without = {k.name for k in KERNELS.values() if k.parameter and k.topic in topics and law_of(k.name) is None}
    # Whichever lane it is that hands out its number, nothing changes; what fits in a cache shows in times alone.
    assert without == {"warp_broadcast", "latency_l1"}


def test_the_lectures_own_formula_is_kept_where_it_differs() -> None:
    points = {p.value: p for p in laws.points(chosen("copy_strided"), known_by({}))}
    assert points[32].lecture == 128 and points[32].expected == 32  # 4 KB by the lecture, 1 KB today
    assert points[1].lecture == points[1].expected == 4
    doubles = {p.value: p for p in laws.points(chosen("copy_strided", "float64"), known_by({}))}
    assert doubles[4].expected == 32 and doubles[1].lecture == 8


def counted_as(kernel: str, value: float) -> Measurement:
    choice = chosen(kernel)
    counters = {"shared_load_wavefronts": value * 10, "shared_load_requests": 10.0}
    return measured(choice, time_us=None, device={"kind": "emulator"}, counters=counters)


def test_the_verdict_says_what_holds_and_what_does_not() -> None:
    choice = chosen("banks_strided")
    wanted = laws.counting(choice)
    say = lambda found: laws.verdict(choice, laws.points(choice, known_by(found)))  # noqa: E731
    assert sentence("law.not-counted", say({}))
    right = {each: counted_as("banks_strided", p.expected)
             for each, p in zip(wanted, laws.points(choice, known_by({})), strict=True)}  # fmt: skip
    assert say(right) == f"The law holds at all {len(wanted)} strides."
    assert say(dict(list(right.items())[:5])) == "The law holds at the 5 strides counted."
    broken = right | {wanted[2]: counted_as("banks_strided", 7)}
    assert says("law.broken-at-one", say(broken)) and f" 1 of {len(wanted)} " in say(broken)


def test_counts_without_their_lines_are_none() -> None:
    choice = chosen("divergence_ways")
    found = {each: measured(each, counters={"warp_instructions": 1.0}, lines=()) for each in laws.counting(choice)}
    assert all(p.counted is None for p in laws.points(choice, known_by(found)))


def timed(kernel: str, times: list[float], floor: float = 3.0) -> dict[Choice, Measurement]:
    gpu = replace(chosen(kernel), device="gpu")
    return {each: measured(each, time_us=us, floor_us=floor, origin="recorded")
            for each, us in zip(laws.swept(gpu), times, strict=False)}  # fmt: skip


def test_the_times_are_told_beside_the_law() -> None:
    choice = chosen("banks_broadcast")
    say = lambda found: laws.timing_sentence(choice, laws.points(choice, known_by(found)))  # noqa: E731
    assert say({}) == "" and say(timed("banks_broadcast", [10.0])) == ""
    said = say(timed("banks_broadcast", [10.0, 21.0, 30.0, 40.0]))
    assert sentence("law.times", said)
    assert says("law.larger-n", say(timed("banks_broadcast", [4.0, 5.0])))
    assert "hardly slower" in say(timed("banks_broadcast", [30.0, 30.5]))
    assert laws.origins(laws.points(choice, known_by(timed("banks_broadcast", [1.0])))).startswith("NVIDIA H200, rec")
    assert "for 1 pass per request instead of 2." in say(timed("banks_broadcast", [40.0, 30.0]))


def test_a_law_of_one_number_has_no_cost_that_a_larger_n_shows() -> None:
    choice = chosen("atomic_add_aggregated")
    found = laws.points(choice, known_by(timed("atomic_add_aggregated", [4.0, 5.0])))
    assert "a larger N" not in laws.timing_sentence(choice, found)


@pytest.mark.sampled(quick=5)
@pytest.mark.parametrize("kernel", WITH_LAW)
@pytest.mark.parametrize("some", [True, False])
def test_plotly_accepts_every_law(kernel: str, some: bool) -> None:
    choice, law = chosen(kernel), law_of(kernel)
    assert law is not None
    known = known_by(timed(kernel, [10.0 * (i + 1) for i in range(40)]) if some else {})
    points = laws.points(choice, known)
    others = {"other": laws.times(choice, known), "nothing": ()}
    for look in (Look(), Look(28, 600)):
        figure = law_figure(law, choice, points, others, value_of_parameter(KERNELS[kernel], choice), look)
        go.Figure(figure)  # raises where a name or a value is none of Plotly's
        json.dumps(figure, allow_nan=False)
        assert ("yaxis2" in figure["layout"]) is some
        assert figure["data"][-1]["x"] == []  # nothing was counted
        texts = [note["text"] for note in figure["layout"]["annotations"]]
        assert any("law" in text for text in texts)
        assert any("NVIDIA H200" in text for text in texts) is some


def test_a_count_that_breaks_the_law_is_a_cross() -> None:
    choice = chosen("banks_strided")
    found = {each: counted_as("banks_strided", 3) for each in laws.counting(choice)[:1]}
    law = law_of("banks_strided")
    assert law is not None
    figure = law_figure(law, choice, laws.points(choice, known_by(found)), {}, 1)
    assert figure["data"][-1]["marker"]["symbol"] == ["x"]

"""The picture of the trapezoids: its numbers, its polygons, its blocks, and the lecture's race of 8 threads."""

from dataclasses import replace

import pytest

from engine.backends import emulator
from engine.catalogue import trapezoid
from engine.figures.errors import Curve, Series, error_lines
from engine.figures.trapezoids import trapezoid_figure
from engine.lectures.arithmetic import trapezoids
from engine.records import Choice
from tests.made import measure

RACE = next(kernel for kernel in trapezoid.KERNELS if kernel.name == "trapezoid_global_race")
ONE_BY_ONE = emulator.Schedule("waves", blocks_per_wave=1)


@pytest.mark.sampled(quick=5)
@pytest.mark.parametrize("partitions", trapezoids.PARTITIONS)
def test_the_areas_add_up_and_the_error_follows_the_law(partitions: int):
    found = trapezoids.trapezoids(partitions)
    assert found.x.shape == found.values.shape == (partitions + 1,)
    assert found.error == pytest.approx(found.law, rel=6 / partitions**2, abs=3e-16)
    above, below = trapezoids.polygons(found.x, found.values)
    assert _area(above) - _area(below) == pytest.approx(found.total, abs=1e-12)
    assert all(y >= 0 for piece in above for _, y in piece) and all(y <= 0 for piece in below for _, y in piece)


def _area(pieces: list[list[tuple[float, float]]]) -> float:
    """By the shoelace formula."""
    corners = ((piece, [*piece[1:], piece[0]]) for piece in pieces)
    return sum(
        abs(sum(x * y2 - x2 * y for (x, y), (x2, y2) in zip(here, after, strict=True))) / 2 for here, after in corners
    )


def test_every_point_belongs_to_one_block():
    assert [list(part) for part in trapezoids.blocks(10, 8)] == [list(range(8)), [8, 9]]
    assert len(trapezoids.blocks(65536, 256)) == 256


def test_the_integral_has_the_lectures_digits():
    assert float(trapezoids.INTEGRAL_TEXT) == trapezoid.INTEGRAL


def test_the_lectures_race_gives_the_lectures_wrong_number_on_the_emulator():
    """Suppose one SM of size 8: strides 1, 2 and 4 make 24 of the first eight numbers; stride 8 adds the -2 that the
    second eight have not touched. 22 stands in place 0, and the sum is 41."""
    numbers = ", ".join(map(str, trapezoids.LECTURE_NUMBERS))
    own = f"const double lecture[16] = {{{numbers}}};\n    f_val[i] = lecture[i];\n"
    lines = RACE.text.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "f_val[i] = f(a + i * h) * h" in line)
    source = "".join([*lines[:first], f"    {own}", *lines[first + 2 :]])
    choice = Choice(RACE.name, 16, 8, dtype="float64", device="emulator", source=source)
    run = emulator.run(trapezoid.plan(RACE, choice), {}, schedule=ONE_BY_ONE)
    assert run.output[0] == 22 == trapezoids.raced(trapezoids.LECTURE_NUMBERS, 8)
    assert sum(trapezoids.LECTURE_NUMBERS) == 41 and sum(trapezoids.LECTURE_NUMBERS[:8]) == 24
    together = emulator.run(trapezoid.plan(RACE, replace(choice, block_size=32)), {}, schedule=ONE_BY_ONE)
    assert together.output[0] == 41, "one warp in lockstep, and nothing is too late"


@pytest.mark.parametrize("n", [16, 40, 64])
def test_what_the_page_says_of_the_race_is_what_the_emulator_does(n: int):
    found = measure(Choice(RACE.name, n, 8, dtype="float64", device="emulator"), schedule="waves:1")
    assert found.status == "wrong"
    assert found.check.result == pytest.approx(trapezoids.raced(trapezoids.terms(n).tolist(), 8), rel=1e-13)


def test_both_errors_of_a_run():
    choice = Choice("trapezoid_sequential", 1000, 256, dtype="float64", device="emulator")
    found = trapezoids.errors_of(choice, measure(choice))
    assert found is not None and found["rounding"] < 1e-15
    assert found["truncation"] == pytest.approx(abs(trapezoids.law(999)), rel=1e-4)
    assert trapezoids.errors_of(choice, None) is None
    assert trapezoid.against_integral(-0.3) == "off the integral by 0.047"


@pytest.mark.parametrize(
    ("partitions", "block_size", "polygons", "strips"),
    [(15, 8, 2, 2), (1, 8, 2, 1), (512, 8, 0, 65), (65535, 8, 0, 0)],
)
def test_the_figure_draws_what_has_room(partitions: int, block_size: int, polygons: int, strips: int):
    figure = trapezoid_figure(trapezoids.trapezoids(partitions), block_size)
    assert sum("fill" in part for part in figure["data"]) == polygons
    assert len(figure["layout"]["shapes"]) == strips
    texts = " ".join(note["text"] for note in figure["layout"]["annotations"])
    assert "0.347022118633863243825" in texts and "h² law" in texts and f"{partitions:,} trapezoid" in texts


def test_an_exact_answer_has_a_place_on_a_logarithmic_axis():
    series = [Series("tree", [(8, 1e-3), (16, 0.0)], 1), Series("serial", [], 0)]
    figure = error_lines(series, [Curve("law", [(8, 1e-2), (16, float("inf"))])], 16)
    law, dots = figure["data"]
    assert law["x"] == [8] and dots["y"][1] < 1e-3 and dots["customdata"] == ["N = 8: 0.001", "N = 16: exact"]
    assert "exact" in figure["layout"]["yaxis"]["ticktext"]
    empty = error_lines([Series("tree", [], 0)], [], 16, nothing="Nothing yet")
    assert empty["layout"]["annotations"][0]["text"] == "Nothing yet"

"""The trapezoid topic: its reference, its refusals, its plans, and the rung that runs on the CPU."""

from dataclasses import replace
from fractions import Fraction
from math import cos, fsum, isclose, sin

import numpy as np
import pytest

from engine.backends import emulator
from engine.catalogue import trapezoid
from engine.records import Choice, HostRun, HostSum, Launch
from tests.made import measure

KERNELS = {kernel.name: kernel for kernel in trapezoid.KERNELS}


def plan_for(kernel: str, n: int, block_size: int = 256, source: str | None = None):
    return trapezoid.plan(KERNELS[kernel], Choice(kernel, n, block_size, dtype="float64", source=source))


def test_the_reference_is_the_trapezoid_sum_and_tends_to_the_integral():
    assert trapezoid.trapezoid_sum(2) == trapezoid.f(-1.0) + trapezoid.f(1.0)
    by_hand = fsum(trapezoid.f(x) * w for x, w in ((-1.0, 0.5), (0.0, 1.0), (1.0, 0.5)))
    assert isclose(trapezoid.trapezoid_sum(3), by_hand, rel_tol=1e-15)
    assert abs(trapezoid.trapezoid_sum(65536) - trapezoid.INTEGRAL) < 2e-10
    assert abs(trapezoid.trapezoid_sum(2**24) - trapezoid.INTEGRAL) < 1e-14


def test_both_ways_to_the_reference_agree(monkeypatch: pytest.MonkeyPatch):
    for n in (5000, 65536):
        summed = trapezoid.trapezoid_sum(n)
        monkeypatch.setattr(trapezoid, "SUMMED_MAX_N", 0)
        assert abs(trapezoid.trapezoid_sum.__wrapped__(n) - summed) < 2e-16
        monkeypatch.undo()


def test_the_function_is_the_lectures():
    x = 0.3
    g = float(-Fraction(1, 5) * Fraction(x) ** 3 + Fraction(1, 2) * Fraction(x) ** 2 - Fraction(x) + 2)
    assert isclose(trapezoid.f(x), sin(g) + 2 * cos(g), rel_tol=1e-15)


def test_a_wrong_sum_is_found_out_and_a_right_one_passes():
    made = plan_for("trapezoid_sequential", 65536)
    right = trapezoid.trapezoid_sum(65536)
    assert trapezoid.check(made, np.array([right])).ok
    # one point less, NaN, and the value on the lecture's slide
    _, values = trapezoid.points(65536)
    for wrong in (right - values[1] * 2 / 65535, float("nan"), -0.326483):
        found = trapezoid.check(made, np.array([wrong]))
        assert not found.ok
    assert "misses the integral" in found.note


@pytest.mark.parametrize("n", [2, 3, 255, 256, 257, 65536, 70001])
def test_relaunching_ends_with_one_block(n: int):
    for kernel in ("trapezoid_shared_relaunch", "trapezoid_sequential"):
        made = plan_for(kernel, n)
        launches = [step for step in made.steps if isinstance(step, Launch)]
        assert launches[0].kernel == kernel and launches[-1].grid == (1, 1, 1)
        assert all(step.kernel == "reduce_sums" for step in launches[1:])
        sizes = {buffer.name: buffer.count for buffer in made.buffers}
        assert sizes[made.result] == 1
        assert all(arg in sizes for step in launches for arg in step.args if isinstance(arg, str))


def test_the_host_adds_one_sum_per_block():
    assert plan_for("trapezoid_shared_host", 1000, 32).steps[-1] == HostSum("out", 32)
    assert plan_for("trapezoid_blocked_global", 1000, 32).steps[-1] == HostSum("out", 32)


def test_only_our_own_text_runs_on_the_cpu():
    own = KERNELS["trapezoid_scalar"].text
    assert isinstance(plan_for("trapezoid_scalar", 10, source=own).steps[0], HostRun)
    foreign = plan_for("trapezoid_scalar", 10, source=own + "// edited").steps[0]
    assert isinstance(foreign, Launch) and foreign.grid == foreign.block == (1, 1, 1)


def test_pythons_stand_in_does_what_the_file_does():
    for n in (2, 3, 1000):
        out = np.full(1, np.nan)
        trapezoid._in_python(out, trapezoid.A, trapezoid.B, n)
        assert trapezoid.check(replace(plan_for("trapezoid_scalar", n)), out).ok


def test_the_race_is_the_lectures_example_of_blocks_that_run_one_after_the_other():
    """Suppose one multiprocessor of size 8: f_val[0] is summed before f_val[8] holds the sum of its eight."""
    _, values = trapezoid.points(16)
    terms = values * 2 / 15
    terms[[0, -1]] /= 2
    one_by_one = emulator.Schedule("waves", blocks_per_wave=1)
    run = emulator.run(plan_for("trapezoid_global_race", 16, 8), {}, schedule=one_by_one)
    assert run.output[0] == pytest.approx(fsum(terms[:8]) + terms[8], rel=1e-14) and run.findings
    alone = emulator.run(plan_for("trapezoid_global_race", 8, 8), {}, schedule=one_by_one)
    assert alone.output[0] == pytest.approx(trapezoid.trapezoid_sum(8), rel=1e-14)


def test_the_scalar_rung_names_its_cpu_and_is_no_time_of_the_emulator():
    found = measure(Choice("trapezoid_scalar", 1000, 256, dtype="float64", device="emulator"))
    assert found.status == "ok" and found.timing is None
    assert found.environment["cpu"] in found.badges[0] and found.environment["cpu_threads"] == 1

"""Steps, work and cost: the lecture's formulas, what is launched, and what the emulator counts of it."""

from dataclasses import replace
from itertools import pairwise
from math import ceil, log2

import pytest

from engine.catalogue import reduction
from engine.figures.complexity import sweep_figure, tree_figure
from engine.lectures.arithmetic import complexity
from engine.plan import plan
from engine.records import Choice, Launch
from tests.lectures.arithmetic.test_elements import points
from tests.made import measure

TREE = Choice("reduce_sequential", 2**16, 128, device="emulator")


def test_the_slides_numbers():
    n = 2**22
    assert complexity.work(n) == sum(n // 2**step for step in range(1, 23)) == n - 1
    assert complexity.brent_steps(n, n) == 1 + 22 and complexity.brent_cost(n, n) == n * 23
    assert complexity.brent_steps(n, 1) == n == complexity.brent_cost(n, 1)
    cascading = complexity.brent_cost(n, ceil(n / 22)) / n
    assert 1 < cascading < 2, "cost-efficient: it grows like N"
    lines = complexity.lecture_lines(replace(TREE, n=n))
    assert "log₂ N = 22 steps" in lines[0] and "4,194,303" in lines[1] and "23 per element" in lines[2]
    assert complexity.lecture_lines(replace(TREE, n=1))


@pytest.mark.parametrize("n", [1, 2, 1000, 2**22, 10_000_000])
def test_the_slides_equations_hold_for_this_n(n: int):
    steps, work, cost, brent = complexity.lecture_lines(replace(TREE, n=n))
    exact = n & (n - 1) == 0
    assert ("log₂ N = " in steps) == ("N/2 + N/4" in work) == exact, "no sum of halves without a power of two"
    assert ("⌈log₂ N⌉" in steps and "⌈log₂ N⌉" in cost and "⌈N / ⌈log₂ N⌉⌉" in brent) or exact


@pytest.mark.parametrize("kernel", reduction.KERNELS, ids=lambda kernel: kernel.name)
def test_the_levels_are_the_launches_of_the_plan(kernel):
    choice = Choice(kernel.name, 100_000, 128)
    made = complexity.levels(choice)
    launches = [step for step in plan(choice).steps if isinstance(step, Launch)]
    assert [(level.blocks, level.block_size) for level in made] == [
        (step.grid[0], step.block[0]) for step in launches
    ] or kernel.name == "reduce_scalar"
    assert made[0].n == 100_000
    assert complexity.steps_of(made) >= ceil(log2(100_000)) or kernel.expect == "wrong"
    assert complexity.cost_of(made) >= complexity.work(100_000)
    for before, after in pairwise(made):
        assert after.n == before.blocks
    for level in made:
        assert sum(level.working()[level.loads :]) <= level.cost


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("kernel", [kernel.name for kernel in reduction.KERNELS if kernel.tree == "barriers"])
@pytest.mark.parametrize(("n", "block_size"), [(2**14, 128), (5000, 256), (33, 64)])
def test_what_is_computed_is_what_the_emulator_counts(kernel: str, n: int, block_size: int):
    choice = replace(TREE, kernel=kernel, n=n, block_size=block_size)
    found = complexity.compared(choice, measure(choice))
    assert [row.computed for row in found] == [row.counted for row in found] and len(found) == 2


def test_nothing_is_compared_where_nothing_was_counted_or_the_formula_is_not_exact():
    assert complexity.compared(TREE, None) == ()
    shuffle = replace(TREE, kernel="reduce_warp_shuffle", n=1000)
    assert complexity.compared(shuffle, measure(shuffle)) == ()


def test_the_figures_have_the_claim_brent_and_the_times():
    figure = sweep_figure(points({1: 9.0, 1024: 3.0}), None)
    names = [trace["name"] for trace in figure["data"]]
    assert names == ["steps T = N/P + log₂ P", "cost P·T, per element", "time: NVIDIA H200, live"]
    assert figure["data"][2]["x"] == [1, 1024] and figure["layout"]["shapes"][0]["x0"] == 1024
    assert any("log₂ N = 22" in note["text"] for note in figure["layout"]["annotations"])
    assert len(sweep_figure(points({}), None)["data"]) == 2
    own = replace(points({1: 9.0})[0], threads=2**18)
    assert sweep_figure(points({1: 9.0}), own)["data"][-1]["x"] == [16.0]


def test_the_tree_is_drawn_step_by_step():
    made = complexity.levels(TREE)
    area, bars = tree_figure(made, TREE.n, "8 µs: a GPU")["data"]
    assert len(bars["x"]) == complexity.steps_of(made) == 24
    assert sum(area["y"]) == complexity.cost_of(made) and bars["y"][-1] == 1
    serial = tree_figure(complexity.levels(replace(TREE, kernel="reduce_atomic")), TREE.n, "")
    assert serial["data"][1]["text"] == ["", "× 65,536"]
    raced = complexity.levels(replace(TREE, kernel="reduce_racy"))
    assert complexity.steps_of(raced) == 1 and "race" in str(tree_figure(raced, TREE.n, "")["layout"]["annotations"])

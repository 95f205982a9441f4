"""Pieces of P that are fitted to a GPU: the arithmetic of their rounds, and the answer with each of their widths."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

import numpy as np
import pytest

from engine.backends.emulator import launch as emulator
from engine.catalogue import KERNELS, default_choice, topic_of
from engine.catalogue.gpu_models import GPU
from engine.catalogue.matmul import block_shape, tile_of
from engine.plan import plan, settle
from engine.records import Launch

FITTED = KERNELS["matmul_fitted_pieces"]


@pytest.mark.parametrize(
    ("multiprocessors", "n", "columns", "slices"),
    [
        (132, 777, 80, 4),  # 13 x 10 pieces
        (132, 850, 96, 4),  # 14 x 9
        (132, 1100, 80, 2),  # 18 x 14, two for each multiprocessor
        (132, 1200, 96, 2),  # 19 x 13
        (132, 1500, 96, 4),  # 24 x 16, three for each
        (132, 100, 64, 4),  # all in one round
        (132, 25, 64, 4),  # four phases, one for each slice
        (132, 24, 64, 2),  # three phases: a slice without one would copy zeros that nobody waits for
        (132, 8, 64, 1),
        (108, 1200, 112, 2),  # 19 x 11; 13 pieces of 96 across would need a third round
    ],
)
def test_a_piece_is_as_wide_as_makes_the_rounds_shortest(
    multiprocessors: int, n: int, columns: int, slices: int
) -> None:
    gpu = replace(GPU, multiprocessors=multiprocessors)
    assert block_shape(FITTED, n, 16, gpu) == (64, columns)
    (launch,) = plan(settle(replace(default_choice(FITTED.name), n=n, device="gpu")), gpu).steps
    assert isinstance(launch, Launch) and launch.grid == (-(-n // columns), -(-n // 64), 1)
    assert {"COLUMNS": columns // 8, "SLICES": slices}.items() <= dict(launch.source.defines).items()
    assert launch.block == (16, 4 * slices, 1)


def test_a_kernel_without_a_choice_keeps_its_tile() -> None:
    kernel = KERNELS["matmul_sliced_k"]
    assert tile_of(kernel, 777, 16) == kernel.tile


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize(
    ("multiprocessors", "n", "columns", "slices"),
    [
        (2, 7, 64, 1),
        (2, 20, 64, 2),
        (2, 75, 80, 4),
        (2, 90, 96, 4),
        (2, 100, 112, 4),
        (1, 75, 80, 2),
        (1, 150, 80, 2),
        (1, 101, 112, 2),
    ],
)
def test_every_width_of_a_piece_gives_the_product(multiprocessors: int, n: int, columns: int, slices: int) -> None:
    """Of a GPU of so few multiprocessors that small widths have as many pieces as large ones elsewhere."""
    choice = settle(replace(default_choice(FITTED.name), n=n, device="emulator"))
    made = plan(choice, replace(GPU, multiprocessors=multiprocessors))
    (launch,) = made.steps
    assert isinstance(launch, Launch)
    macros = {"COLUMNS": columns // 8, "WORDS": gcd(n, 4), "SLICES": slices}
    assert macros.items() <= dict(launch.source.defines).items()
    topic = topic_of(FITTED)
    inputs = {name: np.resize(period, count) for name, (period, count) in topic.input_recipe(choice).items()}
    ran = emulator.run(made, inputs)
    assert topic.check(made, ran.output).ok and not ran.findings

"""Pieces of P that are fitted to a GPU: the arithmetic of their rounds, and the answer with each of their widths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.backends.emulator import launch as emulator
from engine.catalogue import KERNELS, default_choice, topic_of
from engine.catalogue.gpu_models import GPU
from engine.catalogue.topics.matmul import block_shape, tile_of
from engine.choices import settle
from engine.plan import plan
from engine.records import Launch

FITTED = KERNELS["matmul_fitted_pieces"]


@pytest.mark.parametrize(
    ("multiprocessors", "n", "columns"),
    [
        (132, 777, 80),  # 13 x 10 pieces
        (132, 850, 96),  # 14 x 9
        (132, 1100, 80),  # 18 x 14, in two rounds
        (132, 1200, 96),  # 19 x 13, in two rounds
        (132, 100, 64),  # all in one round
        (108, 1200, 112),  # 19 x 11, in two rounds; 13 pieces of 96 across would need a third
    ],
)
def test_a_piece_is_as_wide_as_makes_the_rounds_shortest(multiprocessors: int, n: int, columns: int) -> None:
    gpu = replace(GPU, multiprocessors=multiprocessors)
    assert block_shape(FITTED, n, 16, gpu) == (64, columns)
    (launch,) = plan(settle(replace(default_choice(FITTED.name), n=n, device="gpu")), gpu).steps
    assert isinstance(launch, Launch) and launch.grid == (-(-n // columns), -(-n // 64), 1)
    assert dict(launch.source.defines)["COLUMNS"] * 8 == columns


def test_a_kernel_without_a_choice_keeps_its_tile() -> None:
    kernel = KERNELS["matmul_sliced_k"]
    assert tile_of(kernel, 777, 16) == kernel.tile


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "columns", "words"), [(75, 80, 1), (90, 96, 2), (100, 112, 4)])
def test_every_width_of_a_piece_gives_the_product(n: int, columns: int, words: int) -> None:
    """Of a GPU of two multiprocessors, so that small widths have as many pieces as large ones elsewhere."""
    choice = settle(replace(default_choice(FITTED.name), n=n, device="emulator"))
    made = plan(choice, replace(GPU, multiprocessors=2))
    (launch,) = made.steps
    assert isinstance(launch, Launch)
    assert {"COLUMNS": columns // 8, "WORDS": words}.items() <= dict(launch.source.defines).items()
    topic = topic_of(FITTED)
    inputs = {name: np.resize(period, count) for name, (period, count) in topic.input_recipe(choice).items()}
    ran = emulator.run(made, inputs)
    assert topic.check(made, ran.output).ok and not ran.findings

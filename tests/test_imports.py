"""No module of the engine needs another to be imported before it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import case


@pytest.mark.parametrize("share", [case("4", quick=False), case("1", quick=False, thorough=False)])
def test_every_module_can_be_the_first_that_is_imported(share: str) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.imports", share], capture_output=True, text=True, check=False,
                          cwd=Path(__file__).parents[1])  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_gpu_can_be_the_first_that_is_imported() -> None:
    command = "import engine.backends.gpu.backend"
    subprocess.run([sys.executable, "-c", command], check=True, cwd=Path(__file__).parents[1])

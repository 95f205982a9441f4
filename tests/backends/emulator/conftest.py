"""The generations of GPUs that the programs of students are compiled for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.backends.emulator import launch
from engine.compile.nvrtc import EMULATED_ARCHITECTURE


@pytest.fixture(
    params=[
        pytest.param("compute_75", marks=pytest.mark.thorough),
        pytest.param("compute_80", marks=pytest.mark.thorough),
        EMULATED_ARCHITECTURE,
    ],
)
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Compile for an older GPU; what was compiled for another one is forgotten."""
    other = request.param != EMULATED_ARCHITECTURE
    monkeypatch.setattr(launch, "EMULATED_ARCHITECTURE", request.param)
    for cache in (launch.module_of, launch.load) if other else ():
        cache.cache_clear()
    yield request.param
    for cache in (launch.module_of, launch.load) if other else ():
        cache.cache_clear()

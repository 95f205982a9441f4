"""The generations of GPUs that the programs of students are compiled for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.backends.emulator import launch, loading
from engine.compile.nvrtc import EMULATED_ARCHITECTURE
from tests.cases import case


@pytest.fixture(
    params=[case(name, quick=name == EMULATED_ARCHITECTURE) for name in ("compute_75", "compute_80", "compute_90")],
)
def architecture(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Compile for an older GPU, and forget texts that were compiled for another one."""
    other = request.param != EMULATED_ARCHITECTURE
    for module in (launch, loading):
        monkeypatch.setattr(module, "EMULATED_ARCHITECTURE", request.param)
    for cache in (loading.module_of, loading.load) if other else ():
        cache.cache_clear()
    yield request.param
    for cache in (loading.module_of, loading.load) if other else ():
        cache.cache_clear()

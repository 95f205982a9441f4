"""Every logarithmic axis of every figure says that it is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cases import case
from tests.views.pages import figures_of, opened

PICTURES = [("harris", "paper"), ("harris", "complexity"), ("float-truths", "rounding"), ("cooper", "errors"),
            ("cs121-tiling", "roofline"), ("cs121-latency", "rate"), ("cooper", "time"), ("cs121-coalescing", "law"),
            ("heidelberg-histogram", "law"), ("all-matrix_sums", "law")]  # fmt: skip


def axes(figure: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for name, value in figure["layout"].items() if name.startswith(("xaxis", "yaxis"))]


@pytest.mark.sampled(quick=4, thorough=2)
@pytest.mark.parametrize(("ladder", "show"), [case(*names, quick=i < 4) for i, names in enumerate(PICTURES)])
def test_a_logarithmic_axis_says_so(ladder: str, show: str) -> None:
    figure = json.loads(figures_of(opened(ladder=ladder, show=show))[0])
    assert axes(figure)
    for axis in axes(figure):
        said = "log" in axis.get("title", {}).get("text", "")
        assert said == (axis.get("type") == "log")

"""Why a rung is fast, on the ladder page."""

from __future__ import annotations

import re

from tests.sentences import says
from tests.views.pages import asked, html_of, opened


def test_the_machine_code_of_the_rung_and_of_the_one_before() -> None:
    app = opened(ladder="harris", rung="reduce_sequential", below="reasons", n="2^20", block="128", dtype="int32")
    shown = html_of(app)
    table = shown.partition("Kernel<small>")[2].partition("</table>")[0]
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr")[1:]]
    assert [(row[0], row[3], row[4], row[5]) for row in rows] == [
        ("#2", "512 bytes", "16", "100%"), ("#3", "512 bytes", "16", "100%"),
    ]  # fmt: skip
    assert "Profiled on an NVIDIA H200" in shown and "memory alone takes" in shown
    assert asked(app)["below"] == "reasons"


def test_a_rung_of_the_cpu_has_no_machine_code_of_a_gpu() -> None:
    shown = html_of(opened(ladder="cooper", rung="trapezoid_scalar", below="reasons"))
    assert says("reasons.no-machine-code", shown)

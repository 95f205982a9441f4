"""Why a rung is fast: of the kernels in the catalogue, and where their times lie under the roofline."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.catalogue import LADDERS, default_choice
from engine.lectures.reasons import point, reasons, roofline_lines, sentences
from engine.plan import settle
from engine.records import NotRunnable, Settled, dtype_of
from tests.made import measured
from tests.sentences import says, sentence


def choice(kernel: str, **wanted: object) -> Settled:
    return settle(replace(default_choice(kernel), device="gpu", **wanted))


def test_a_sum_of_one_launch_per_kernel() -> None:
    found = reasons(choice("reduce_sequential", n=2**20, block_size=128))
    assert found.architecture == "sm_90" and len(found.kernels) == 1, "one kernel, however often it is launched"
    kernel = found.kernels[0]
    assert (kernel.threads, kernel.resources.shared_bytes, kernel.dynamic_shared_bytes) == (128, 512, 0)
    assert (kernel.occupancy.blocks, kernel.occupancy.limited_by) == (16, ("threads",))
    assert kernel.code.bytes_in_flight == 4 and kernel.bytes_in_flight == 4 * 128 * 16
    assert kernel.multiply_add_share == 0 and kernel.resources.local_bytes == 0


ONE_IN_FLIGHT = re.compile(r"(?:one|a single) (?:load|word)[^.;]* in flight")
FEW_LOADS = sorted({before.kernel for ladder in LADDERS.values() for before, rung in pairwise(ladder.rungs)
                    if ONE_IN_FLIGHT.search(rung.fixes)})  # fmt: skip


@pytest.mark.parametrize("kernel", FEW_LOADS)
def test_a_kernel_whose_fault_is_one_load_in_flight_has_no_more(kernel: str) -> None:
    asked = choice(kernel)
    codes = [each.code for each in reasons(asked).kernels if each.kernel == kernel]
    words = [code.bytes_in_flight / dtype_of(asked.dtype).itemsize for code in codes]
    assert len(words) == 1 and words[0] <= 2, "one in the loop, and the first number"


def test_what_was_counted_stands_in_the_words() -> None:
    lines = sentences(choice("reduce_strided", n=2**20, block_size=128))
    assert says("reasons.pass-of-the-loop", *lines) and says("reasons.bank-conflicts", *lines)


def test_a_rung_of_the_cpu_says_so() -> None:
    with pytest.raises(NotRunnable, match="runs on the CPU"):
        reasons(choice("trapezoid_scalar"))


def test_a_time_that_memory_bounds() -> None:
    asked = choice("reduce_sequential", n=2**20, block_size=128)
    found = reasons(asked)
    timed = measured(asked, time_us=10.0)
    at = point(found, timed)
    bandwidth = timed.device.get("read_ceiling_gb_s") or timed.device["peak_bandwidth_gb_s"]
    assert at is not None and at.bound_by == "memory"
    assert at.bound_us == pytest.approx(found.bytes_moved / bandwidth / 1e3)
    assert at.percent == pytest.approx(100 * at.bound_us / 10.0)
    (within,), (above,) = (
        roofline_lines(asked, found, measured(asked, time_us=at.bound_us * part)) for part in (2, 0.5)
    )
    assert "50.0% of the roof." in within and "200% of the roof; caches serve reads" in above
    (line,) = roofline_lines(asked, found, None)
    assert sentence("reasons.operations-a-byte", line)
    assert point(found, None) is None and point(found, replace(timed, device={"name": "unknown"})) is None


@pytest.mark.thorough
def test_what_the_copy_engine_loads_and_what_tensor_cores_multiply_for_floats_is_not_guessed() -> None:
    asked = choice("matmul_split")
    found = reasons(asked)
    split, product = found.kernels
    assert split.code.loop is None and split.multiply_add_share is None
    assert not any(line.startswith("Emulated") for line in sentences(asked)), "which would take too long"
    assert product.code.copy_engine and product.bytes_in_flight is None and product.code.widest_load is None
    assert product.code.loop is not None and product.code.loop.multiply_adds == {"HGMMA": 8}
    assert point(found, measured(asked, time_us=10.0)) is None, "the peak of FP32 is not its roof"
